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

// rawMeta is a _meta.json as it is written: fields that are no texts are kept apart, to be told of.
type rawMeta struct {
	Slug        metaText   `json:"slug"`
	Owner       metaText   `json:"owner"`
	OwnerID     metaText   `json:"ownerId"`
	DisplayName metaText   `json:"displayName"`
	Version     metaText   `json:"version"`
	Latest      metaLatest `json:"latest"`
}

// metaLatest is the newest release as it is written.
type metaLatest struct {
	Version metaText `json:"version"`
	wrong   bool
}

// UnmarshalJSON implements [json.Unmarshaler].
func (l *metaLatest) UnmarshalJSON(b []byte) error {
	type plain metaLatest
	l.wrong = len(b) > 0 && b[0] != '{' && string(b) != "null"
	if l.wrong {
		return nil
	}
	return json.Unmarshal(b, (*plain)(l))
}

// metaText is a value that should be a text.
type metaText struct {
	text  string
	wrong bool
}

// UnmarshalJSON implements [json.Unmarshaler].
func (t *metaText) UnmarshalJSON(b []byte) error {
	t.wrong = len(b) > 0 && b[0] != '"' && string(b) != "null"
	if t.wrong {
		return nil
	}
	if err := json.Unmarshal(b, &t.text); err != nil {
		return err
	}
	t.text = strings.TrimSpace(t.text)
	return nil
}

// parseMeta reads a _meta.json. Values of a wrong type count as absent.
func parseMeta(text []byte, path string) (meta, []pannier.Problem) {
	var raw rawMeta
	if err := json.Unmarshal(text, &raw); err != nil {
		return meta{}, []pannier.Problem{{
			Code: "meta.syntax", Severity: pannier.SeverityWarning, Path: path, Line: jsonLine(text, err),
			Message: "this is not the JSON object that it should be" + jsonCause(err),
			Hint:    "mend or remove the file; until then only SKILL.md and the folder say what the skill is called",
		}}
	}
	return meta{
		slug: raw.Slug.text, owner: firstText(raw.Owner.text, raw.OwnerID.text),
		displayName: raw.DisplayName.text, version: firstText(raw.Version.text, raw.Latest.Version.text),
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
	}{{"slug", raw.Slug}, {"owner", raw.Owner}, {"ownerId", raw.OwnerID}, {"displayName", raw.DisplayName}, {"version", raw.Version}, {"latest.version", raw.Latest.Version}} {
		tell(f.name, f.text.wrong, "a text", "write the value in double quotes")
	}
	tell("latest", raw.Latest.wrong, "an object", `write {"version": "1.2.3"}`)
	return problems
}

// jsonCause returns what a syntax error says. Any other error names types of this program, which tells nobody anything.
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
