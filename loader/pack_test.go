package loader_test

import (
	"fmt"
	"testing"
)

// TestTextsStayApart reads more skills at once than get room of their own, and finds each with the texts that are in it.
func TestTextsStayApart(t *testing.T) {
	root := tree(t)
	text := func(i int) string {
		return fmt.Sprintf("---\nname: s%[1]d\ndescription: does %[1]d\nversion: %[1]d\ntags: [a%[1]d, b%[1]d]\nexamples: []\nmetadata: {openclaw: {requires: {bins: [bin%[1]d]}}}\n---\nbody\n", i)
	}
	const many = 200
	for i := range many {
		writeSkill(t, root, fmt.Sprintf("s%03d", i), text(i))
	}
	for i, s := range full(t, root).Skills {
		want := fmt.Sprintf("s%[1]d does %[1]d %[1]d s%03[1]d [a%[1]d b%[1]d] [] [bin%[1]d]", i)
		if got := fmt.Sprint(s.Name, " ", s.Description, " ", s.Version, " ", s.Slug, " ", s.Tags, " ", s.Examples, " ", s.Requirements.Bins); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if cap(s.Tags) != len(s.Tags) {
			t.Errorf("%s: whoever appends a tag writes into another list", s.Path)
		}
		if s.Path != "skills/"+s.Folder || s.PathBelowRoot != s.Folder {
			t.Errorf("path %q, below the root %q, folder %q", s.Path, s.PathBelowRoot, s.Folder)
		}
	}
}
