package loader_test

import (
	"fmt"
	"testing"
)

// TestTextsStayApart reads more skills at once than get room of their own, and finds each with the texts that are in it.
func TestTextsStayApart(t *testing.T) {
	root := tree(t)
	text := func(i int) string {
		return fmt.Sprintf("---\nname: s%[1]d\ndescription: does %[1]d\nversion: %[1]d\ntags: [a%[1]d, b%[1]d]\nexamples: []\ntriggers: [t%[1]d]\npaths: p%[1]d\nconflicts: c%[1]d\ncompatibility: k%[1]d\ncommands: [{name: n%[1]d, description: e%[1]d, args: g%[1]d}]\ndependencies: {api_keys: [K%[1]d], mcp: m%[1]d, config: f%[1]d}\nmetadata: {openclaw: {primaryEnv: E%[1]d, skillKey: y%[1]d, requires: {bins: [bin%[1]d]}}}\n---\nbody\n", i)
	}
	const many = 200
	for i := range many {
		writeSkill(t, root, fmt.Sprintf("s%03d", i), text(i))
	}
	for i, s := range full(t, root).Skills {
		want := fmt.Sprintf("s%[1]d does %[1]d %[1]d s%03[1]d [a%[1]d b%[1]d] [] [bin%[1]d] [t%[1]d] [p%[1]d] [c%[1]d] k%[1]d [{n%[1]d e%[1]d g%[1]d []}] [K%[1]d] [m%[1]d] [f%[1]d] E%[1]d y%[1]d", i)
		needs := s.Requirements
		got := fmt.Sprint(s.Name, " ", s.Description, " ", s.Version, " ", s.Slug, " ", s.Tags, " ", s.Examples, " ", needs.Bins)
		got += fmt.Sprint(" ", s.Triggers, " ", s.Paths, " ", s.Conflicts, " ", s.Compatibility, " ", s.Commands, " ", needs.APIKeys, " ", needs.MCP, " ", needs.Config, " ", s.PrimaryEnv, " ", s.SkillKey)
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if cap(s.Tags) != len(s.Tags) {
			t.Errorf("%s: appending a tag writes into another list", s.Path)
		}
		if s.Path != "skills/"+s.Folder || s.PathBelowRoot != s.Folder {
			t.Errorf("path %q, below the root %q, folder %q", s.Path, s.PathBelowRoot, s.Folder)
		}
	}
}
