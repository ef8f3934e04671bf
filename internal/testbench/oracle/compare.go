package oracle

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// List is what a comparison asks of `GET /v1/skills`. It is decoded here, and not by the types of the product, so that what is
// compared is the wire.
type List struct {
	SnapshotVersion uint64   `json:"snapshot_version"`
	TreeDigest      string   `json:"tree_digest"`
	Held            Held     `json:"held"`
	Skills          []Listed `json:"skills"`
}

// Held names, by slug, the skills that are not as the disk has them: those held as they last were, and those that are gone
// and in their grace.
type Held struct {
	LastGood []string `json:"last_good"`
	Deleting []string `json:"deleting"`
}

// Listed is one skill of a list.
type Listed struct {
	Slug      string `json:"slug"`
	Path      string `json:"path"`
	State     string `json:"state"`
	Digest    string `json:"digest"`
	ToolsOnly bool   `json:"tools_only"`
	LastGood  bool   `json:"last_good"`
	Deleting  bool   `json:"deleting"`
}

// maxListBytes bounds a list.
const maxListBytes = 64 << 20

// ReadList reads the answer of `GET /v1/skills`.
func ReadList(r io.Reader) (List, error) {
	var list List
	if err := json.NewDecoder(io.LimitReader(r, maxListBytes)).Decode(&list); err != nil {
		return List{}, fmt.Errorf("read list: %w", err)
	}
	return list, nil
}

// Compare walks the workspace, which must not change meanwhile, and returns nil where a list shows it as it is. Else the
// error names what is missing, what should not be there and what differs, a line each, ordered by path.
func Compare(list List, rules Rules) error {
	tree, err := Walk(rules)
	if err != nil {
		return fmt.Errorf("walk: %w", err)
	}
	return list.Against(tree)
}

// Against compares a list with what a walk found, as [Compare] does.
func (l List) Against(tree Tree) error {
	lines := append(l.differences(tree), l.heldDifferences()...)
	if want := tree.Digest(); len(lines) == 0 && l.TreeDigest != want {
		lines = append(lines, fmt.Sprintf("tree_digest %s, want %s: a _meta.json differs, or the text of a skill that is held", l.TreeDigest, want))
	}
	if lines == nil {
		return nil
	}
	return errors.New(strings.Join(lines, "\n"))
}

// differences compares the skills one by one.
func (l List) differences(tree Tree) []string {
	listed := map[string]Listed{}
	var lines []string
	for _, s := range l.Skills {
		if _, twice := listed[s.Path]; twice {
			lines = append(lines, "twice: "+s.Path)
		}
		listed[s.Path] = s
	}
	for _, want := range tree {
		shown := wirePath(want.Path)
		got, ok := listed[shown]
		delete(listed, shown)
		if difference := got.differs(want); !ok {
			lines = append(lines, "missing: "+shown)
		} else if difference != "" {
			lines = append(lines, difference)
		}
	}
	for shown, s := range listed {
		if !s.Deleting {
			lines = append(lines, "extra: "+shown)
		}
	}
	slices.Sort(lines)
	return lines
}

// differs says how a skill is listed otherwise than it lies on the disk. What is held as it was shows its text of then.
func (s Listed) differs(want Skill) string {
	text := strings.TrimPrefix(s.Digest, "sha256:")
	switch {
	case s.Deleting:
		return "deleting though it is there: " + s.Path
	case s.ToolsOnly != want.ToolsOnly:
		return fmt.Sprintf("other kind: %s: tools_only is %t, want %t", s.Path, s.ToolsOnly, want.ToolsOnly)
	case s.LastGood:
		return ""
	case text != want.Text:
		return fmt.Sprintf("other digest: %s: %q, want %q", s.Path, text, want.Text)
	}
	return ""
}

// heldDifferences compares the names of what is held with the skills that say so.
func (l List) heldDifferences() []string {
	var lines, lastGood, deleting []string
	for _, s := range l.Skills {
		if s.LastGood {
			lastGood = append(lastGood, s.Slug)
		}
		if s.Deleting {
			deleting = append(deleting, s.Slug)
		}
	}
	if !sameNames(lastGood, l.Held.LastGood) {
		lines = append(lines, fmt.Sprintf("held: last_good names %q, the skills say %q", l.Held.LastGood, lastGood))
	}
	if !sameNames(deleting, l.Held.Deleting) {
		lines = append(lines, fmt.Sprintf("held: deleting names %q, the skills say %q", l.Held.Deleting, deleting))
	}
	return lines
}

func sameNames(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// wirePath returns a path as JSON can show it: each byte that is not text becomes U+FFFD.
func wirePath(p string) string { return string([]rune(p)) }
