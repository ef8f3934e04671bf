package loader

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"pannier"
)

// maxMetaBytes bounds a _meta.json. The largest of twenty thousand real ones has under six thousand bytes.
const maxMetaBytes = 64 << 10

// meta is what a _meta.json tells of a skill's identity (ClawHub's sidecar file).
type meta struct {
	slug, owner, displayName, version string
}

// jsonFields are the fields of a JSON object. Unlike those of a struct, their names are compared exactly.
type jsonFields map[string]json.RawMessage

var errNoObject = errors.New("expected a JSON object")

// jsonObject reads a text as an object, which null is not.
func jsonObject(text []byte) (jsonFields, error) {
	var fields jsonFields
	err := json.Unmarshal(text, &fields)
	if _, wrong := errors.AsType[*json.UnmarshalTypeError](err); wrong || err == nil && fields == nil {
		return nil, errNoObject
	}
	return fields, err
}

// read puts the value of a field into v, which stays as it is where there is none.
func (f jsonFields) read(name string, v any) error {
	if raw, ok := f[name]; ok {
		return json.Unmarshal(raw, v)
	}
	return nil
}

// rawMeta is a _meta.json as it is written: fields that are not texts are kept apart, to be reported.
type rawMeta struct {
	slug, owner, ownerID, displayName, version, latestVersion metaText

	wrongLatest bool
}

// readMetaFields returns what stands in the fields of a _meta.json.
func readMetaFields(fields jsonFields) rawMeta {
	raw := rawMeta{
		slug: metaTextOf(fields["slug"]), owner: metaTextOf(fields["owner"]), ownerID: metaTextOf(fields["ownerId"]),
		displayName: metaTextOf(fields["displayName"]), version: metaTextOf(fields["version"]),
	}
	if latest := fields["latest"]; len(latest) > 0 && string(latest) != "null" {
		release, err := jsonObject(latest)
		raw.wrongLatest = err != nil
		raw.latestVersion = metaTextOf(release["version"])
	}
	return raw
}

// metaText is a value that should be a text.
type metaText struct {
	text  string
	wrong bool
}

// metaTextOf returns a field, of which absent and null are no text and not wrong either.
func metaTextOf(raw json.RawMessage) (t metaText) {
	if len(raw) == 0 || string(raw) == "null" {
		return t
	}
	t.wrong = json.Unmarshal(raw, &t.text) != nil
	t.text = strings.TrimSpace(t.text)
	return t
}

// parseMeta reads a _meta.json. Values of a wrong type count as absent.
func parseMeta(text []byte, path string) (meta, []pannier.Problem) {
	fields, err := jsonObject(text)
	if err != nil {
		return meta{}, []pannier.Problem{{
			Code: "meta.syntax", Severity: pannier.SeverityWarning, Path: path, Line: jsonLine(text, err),
			Message: "expected a JSON object" + jsonCause(err),
			Hint:    "fix or remove the file; until then only SKILL.md and the folder say what the skill is called",
		}}
	}
	raw := readMetaFields(fields)
	return meta{
		slug: raw.slug.text, owner: firstText(raw.owner.text, raw.ownerID.text),
		displayName: raw.displayName.text, version: firstText(raw.version.text, raw.latestVersion.text),
	}, raw.problems(path)
}

func (raw *rawMeta) problems(path string) []pannier.Problem {
	var problems []pannier.Problem
	tell := func(field string, wrong bool, kind, hint string) {
		if wrong {
			problems = append(problems, pannier.Problem{
				Code: "meta.type", Severity: pannier.SeverityWarning, Path: path, Field: field,
				Message: fmt.Sprintf("%q is not %s and counts as absent", field, kind), Hint: hint,
			})
		}
	}
	for _, f := range []struct {
		name string
		text metaText
	}{{"slug", raw.slug}, {"owner", raw.owner}, {"ownerId", raw.ownerID}, {"displayName", raw.displayName}, {"version", raw.version}, {"latest.version", raw.latestVersion}} {
		tell(f.name, f.text.wrong, "a text", "write the value in double quotes")
	}
	tell("latest", raw.wrongLatest, "an object", `write {"version": "1.2.3"}`)
	return problems
}

// jsonCause returns what a syntax error says. Any other error names types of this program, which users do not know.
func jsonCause(err error) string {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return ": " + syntax.Error()
	}
	return ""
}

// jsonLine returns the line that a syntax error is in, or 0.
func jsonLine(text []byte, err error) int {
	syntax, ok := errors.AsType[*json.SyntaxError](err)
	if !ok || syntax.Offset > int64(len(text)) {
		return 0
	}
	return bytes.Count(text[:syntax.Offset], []byte("\n")) + 1
}
