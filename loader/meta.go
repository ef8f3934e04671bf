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
	Slug        metaText `json:"slug"`
	Owner       metaText `json:"owner"`
	OwnerID     metaText `json:"ownerId"`
	DisplayName metaText `json:"displayName"`
	Version     metaText `json:"version"`
	Latest      struct {
		Version metaText `json:"version"`
	} `json:"latest"`
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
			Message: "this is not the JSON object that it should be: " + err.Error(),
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
	for _, f := range []struct {
		name string
		text metaText
	}{{"slug", raw.Slug}, {"owner", raw.Owner}, {"ownerId", raw.OwnerID}, {"displayName", raw.DisplayName}, {"version", raw.Version}, {"latest.version", raw.Latest.Version}} {
		if f.text.wrong {
			problems = append(problems, pannier.Problem{
				Code: "meta.type", Severity: pannier.SeverityWarning, Path: path, Field: f.name,
				Message: fmt.Sprintf("%q is not a text and counts as absent", f.name), Hint: "write the value in double quotes",
			})
		}
	}
	return problems
}

// jsonLine returns the line that a syntax error is in, or 0.
func jsonLine(text []byte, err error) int {
	syntax, ok := errors.AsType[*json.SyntaxError](err)
	if !ok || syntax.Offset > int64(len(text)) {
		return 0
	}
	return bytes.Count(text[:syntax.Offset], []byte("\n")) + 1
}
