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

// parseMeta reads a _meta.json. Values of a wrong type count as absent.
func parseMeta(text []byte, path string) (m meta, problems []pannier.Problem) {
	fields, err := jsonObject(text)
	if err != nil {
		return meta{}, []pannier.Problem{{
			Code: "meta.syntax", Severity: pannier.SeverityWarning, Path: path, Line: jsonLine(text, err),
			Message: "expected a JSON object" + jsonCause(err),
			Hint:    "fix or remove the file; until then only SKILL.md and the folder say what the skill is called",
		}}
	}
	wrong := func(field, kind, hint string) {
		problems = append(problems, pannier.Problem{
			Code: "meta.type", Severity: pannier.SeverityWarning, Path: path, Field: field,
			Message: fmt.Sprintf("%q is not %s and counts as absent", field, kind), Hint: hint,
		})
	}
	read := func(from jsonFields, name, field string) (text string) {
		if raw := from[name]; isGiven(raw) && json.Unmarshal(raw, &text) != nil {
			wrong(field, "a text", "write the value in double quotes")
		}
		return strings.TrimSpace(text)
	}
	m.slug = read(fields, "slug", "slug")
	m.owner = firstText(read(fields, "owner", "owner"), read(fields, "ownerId", "ownerId"))
	m.displayName, m.version = read(fields, "displayName", "displayName"), read(fields, "version", "version")
	if latest := fields["latest"]; isGiven(latest) {
		release, err := jsonObject(latest)
		if err != nil {
			wrong("latest", "an object", `write {"version": "1.2.3"}`)
		}
		m.version = firstText(m.version, read(release, "version", "latest.version"))
	}
	return m, problems
}

// isGiven reports whether a field is neither absent nor null.
func isGiven(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

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
