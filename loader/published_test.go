package loader_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"pannier"
	"pannier/loader"
)

const publishedKinds = "testdata/published.txtar"

// TestPublishedKinds reads one skill of each kind of slip that people publish: what is read despite it, and what is refused.
func TestPublishedKinds(t *testing.T) {
	a, err := txtar.ParseFile(publishedKinds)
	if err != nil {
		t.Fatal(err)
	}
	update := flag.Lookup("update").Value.String() == "true"
	wants := map[string]string{}
	for _, f := range a.Files {
		if name, ok := strings.CutSuffix(f.Name, "/want"); ok {
			wants[name] = string(f.Data)
		}
	}
	var files []txtar.File
	for _, f := range a.Files {
		name, ok := strings.CutSuffix(f.Name, "/SKILL.md")
		if !ok {
			continue
		}
		root := t.TempDir()
		writeSkill(t, root, "folder", string(f.Data))
		got := wordsOf(only(t, load(t, loader.New(loader.Options{Rules: rulesFor(root)}), pannier.Batch{Full: true})))
		if got != wants[name] && !update {
			t.Errorf("%s:\n%s\nwant:\n%s", name, got, wants[name])
		}
		files = append(files, f, txtar.File{Name: name + "/want", Data: []byte(got)})
	}
	if len(files) < 2*40 {
		t.Errorf("%d files", len(files))
	}
	if update {
		if err := os.WriteFile(publishedKinds, txtar.Format(&txtar.Archive{Comment: a.Comment, Files: files}), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// wordsOf returns what was read of a skill, a line for each fact.
func wordsOf(s *pannier.Skill) string {
	var b strings.Builder
	state := "usable"
	if s.Broken {
		state = "refused"
	}
	fmt.Fprintf(&b, "%s: %s\n", state, s.Name)
	if s.Description != "" {
		fmt.Fprintf(&b, "description %q\n", s.Description)
	}
	r := s.Requirements
	for _, list := range []struct {
		name  string
		items []string
	}{{"bins", r.Bins}, {"env", r.Env}, {"os", r.OS}, {"tags", s.Tags}, {"allowed-tools", s.AllowedTools}} {
		if len(list.items) > 0 {
			fmt.Fprintf(&b, "%s %s\n", list.name, strings.Join(list.items, " "))
		}
	}
	for _, p := range s.Problems {
		fmt.Fprintf(&b, "%d: %s: %s (%s)\n", p.Line, p.Severity, p.Message, p.Code)
	}
	return b.String()
}
