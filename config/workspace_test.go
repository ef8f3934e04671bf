//go:build unix

package config_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"pannier"
	"pannier/config"
)

// writeConfig writes the config.yaml of a workspace.
func writeConfig(t testing.TB, dir, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, pannier.WorkspaceFile), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// defaults returns what a file without a field says, changed by change.
func defaults(change func(w *pannier.Workspace)) pannier.Workspace {
	w := pannier.Workspace{Name: "Workspace", Version: "1.0.0", Streaming: true, PushNotifications: true}
	if change != nil {
		change(&w)
	}
	return w
}

func listed(skills ...string) func(w *pannier.Workspace) {
	return func(w *pannier.Workspace) { w.Listed, w.Skills = true, skills }
}

// codes returns the codes and lines of problems.
func codes(t testing.TB, w pannier.Workspace) (all []problem) {
	t.Helper()
	for _, p := range w.Problems {
		ours := p.Path == "config.yaml" || slices.ContainsFunc(w.Prompts, func(f pannier.PromptFile) bool { return f.Path == p.Path })
		if !ours || p.Message == "" || p.Hint == "" || p.Severity == "" {
			t.Errorf("incomplete problem %+v", p)
		}
		all = append(all, problem{p.Code, p.Field, p.Line})
	}
	return all
}

type problem struct {
	Code, Field string
	Line        int
}

func TestWorkspace(t *testing.T) {
	tests := []struct {
		name, text string
		want       func(w *pannier.Workspace)
		problems   []problem
	}{
		{name: "empty", text: ""},
		{name: "comments alone", text: "# name: x\n\n# y\n"},
		{name: "null document", text: "~\n"},
		{name: "byte order mark", text: "\ufeffname: Ann\n", want: func(w *pannier.Workspace) { w.Name = "Ann" }},
		{name: "document mark after comments", text: "# by hand\n\n---\nname: Ann\n", want: func(w *pannier.Workspace) { w.Name = "Ann" }},
		{name: "lines end as in Windows", text: "name: Ann\r\nskills:\r\n  - a\r\n", want: func(w *pannier.Workspace) { w.Name = "Ann"; listed("a")(w) }},
		{name: "every field", text: "name: Ann\ndescription: |\n  Two\n  lines\nversion: 1.0\nruntime: hermes\nskills: [b, a]\na2a: {streaming: false, push_notifications: False, port: 8000}\ntier: 3\n", want: func(w *pannier.Workspace) {
			*w = pannier.Workspace{Name: "Ann", Description: "Two\nlines\n", Version: "1.0", Runtime: "hermes", Listed: true, Skills: []string{"b", "a"}}
		}},
		{name: "texts as they are written", text: "name: yes\ndescription: 2024-01-01\nversion: 010\nruntime: 'on'\n", want: func(w *pannier.Workspace) {
			w.Name, w.Description, w.Version, w.Runtime = "yes", "2024-01-01", "010", "on"
		}},
		{name: "empty text", text: "name: ''\n", want: func(w *pannier.Workspace) { w.Name = "" }},
		{name: "null", text: "name:\ndescription: ~\nversion: null\nruntime:\nskills:\na2a:\n"},
		{name: "null below", text: "a2a: {streaming: , push_notifications: ~}\n"},
		{name: "wrong shapes", text: "name: [a]\ndescription: {b: c}\nversion:\n  - 1\na2a: true\nruntime: x\n", want: func(w *pannier.Workspace) { w.Runtime = "x" }, problems: []problem{
			{"config.type", "name", 1}, {"config.type", "description", 2}, {"config.type", "version", 4}, {"config.type", "a2a", 5},
		}},
		{name: "truth in words", text: "a2a:\n  streaming: No\n  push_notifications: 'true'\n", want: func(w *pannier.Workspace) { w.Streaming = false }, problems: []problem{
			{"config.bool", "a2a.streaming", 2}, {"config.bool", "a2a.push_notifications", 3},
		}},
		{name: "no truth", text: "a2a:\n  streaming: 0\n  push_notifications: [false]\n", problems: []problem{
			{"config.type", "a2a.streaming", 2}, {"config.type", "a2a.push_notifications", 3},
		}},
		{name: "repeated keys", text: "name: a\nskills: [x]\nname: b\nskills: [y]\nsandbox: {a: 1, a: 2}\n", want: func(w *pannier.Workspace) { w.Name = "b"; listed("y")(w) }, problems: []problem{
			{"config.key.repeated", "", 3}, {"config.key.repeated", "", 4}, {"config.key.repeated", "", 5},
		}},
		{name: "no skills", text: "skills: []\n", want: listed()},
		{name: "maps and numbers", text: "skills: [{name: a, x: y}, 3, 1.0, true]\n", want: listed("a", "3", "1.0", "true")},
		{name: "ornaments", text: "skills: [' a ', ./b/, c//d, ././/e]\n", want: listed("a", "b", "c/d", "e")},
		{name: "what is left out", text: "skills:\n- ~\n- [a]\n- {b: c}\n- {name: [d]}\n- ''\n- /etc\n- a/../../b\n- ./\n- e\n", want: listed("e"), problems: []problem{
			{"config.skills.entry", "skills[0]", 2},
			{"config.skills.entry", "skills[1]", 3},
			{"config.skills.entry", "skills[2]", 4},
			{"config.skills.entry", "skills[3]", 5},
			{"config.skills.entry", "skills[4]", 6},
			{"config.skills.entry", "skills[5]", 7},
			{"config.skills.entry", "skills[6]", 8},
			{"config.skills.entry", "skills[7]", 9},
		}},
		{name: "repeated skills", text: "skills:\n- a\n- b\n- ./a\n", want: listed("a", "b"), problems: []problem{{"config.skills.repeated", "skills[2]", 4}}},
		{name: "list in a text", text: "skills: \"[a, 'b', c/d ]\"\n", want: listed("a", "b", "c/d"), problems: []problem{{"config.skills.shape", "skills", 1}}},
		{name: "empty list in a text", text: "skills: '[ ]'\n", want: listed(), problems: []problem{{"config.skills.shape", "skills", 1}}},
		{name: "hole in a list in a text", text: "skills: '[a,,b]'\n", want: listed("a", "b"), problems: []problem{{"config.skills.shape", "skills", 1}, {"config.skills.entry", "skills", 1}}},
		{name: "text", text: "\nskills: abc\n", want: listed("abc"), problems: []problem{{"config.skills.shape", "skills", 2}}},
		{name: "all", text: "name: Ann\nskills: all\n", want: func(w *pannier.Workspace) { w.Name = "Ann" }},
		{name: "a star", text: "skills: '*'\n"},
		{name: "off in a mapping", text: "skills: {a: false, b: true, c: off, d: {enabled: false}, e: ~}\n", want: listed("b", "e"), problems: []problem{{"config.skills.shape", "skills", 1}}},
		{name: "off in a list", text: "skills:\n- name: a\n  enabled: false\n- name: b\n  enabled: true\n- name: c\n  enabled: 'no'\n- d\n", want: listed("b", "d")},
		{name: "mapping", text: "skills:\n  a: 1\n  b: {x: y}\n", want: listed("a", "b"), problems: []problem{{"config.skills.shape", "skills", 2}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			writeConfig(t, dir, tt.text)
			got := config.NewWorkspaceReader(dir, 0).Read()
			if diff := cmp.Diff(tt.problems, codes(t, got)); diff != "" {
				t.Errorf("problems: %s", diff)
			}
			got.Problems = nil
			if diff := cmp.Diff(defaults(tt.want), got, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(got, "Fields", "Keys")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLongTextForSkillsIsBounded(t *testing.T) {
	dir := t.TempDir()
	writeConfig(t, dir, "skills: '["+strings.Repeat(",", 1<<19)+"]'\n")
	if n := len(config.NewWorkspaceReader(dir, 0).Read().Problems); n > 5000 {
		t.Errorf("%d problems", n)
	}
}

// broken is each way in which a file can be there and say nothing.
var broken = []struct {
	name string
	make func(t *testing.T, path string)
	want problem
}{
	{"unquoted colon", text("name: x\ndescription: Note: y\n"), problem{"config.syntax", "", 2}},
	{"list", text("- a\n"), problem{"config.syntax", "", 1}},
	{"two documents", text("name: a\n---\nname: b\n"), problem{"config.syntax", "", 2}},
	{"two documents after comments", text("# c\n---\nname: a\n---\nname: b\n"), problem{"config.syntax", "", 4}},
	{"alias", text("name: *a\n"), problem{"config.syntax", "", 1}},
	{"not UTF-8", text("name: x\ndescription: \xe9\n"), problem{"config.encoding", "", 2}},
	{"NUL", text("name: x\x00\n"), problem{"config.encoding", "", 1}},
	{"too large", text("# " + strings.Repeat("x", 1<<20)), problem{"config.too_large", "", 0}},
	{"directory", func(t *testing.T, path string) { check(t, os.Mkdir(path, 0o700)) }, problem{"config.not_regular", "", 0}},
	{"pipe", func(t *testing.T, path string) { check(t, syscall.Mkfifo(path, 0o600)) }, problem{"config.not_regular", "", 0}},
	{"device", func(t *testing.T, path string) { check(t, os.Symlink("/dev/zero", path)) }, problem{"config.not_regular", "", 0}},
	{"link to itself", func(t *testing.T, path string) { check(t, os.Symlink(path, path)) }, problem{"config.unreadable", "", 0}},
}

func text(text string) func(t *testing.T, path string) {
	return func(t *testing.T, path string) { check(t, os.WriteFile(path, []byte(text), 0o600)) }
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestBrokenFileKeepsTheLastGood(t *testing.T) {
	for _, tt := range broken {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, pannier.WorkspaceFile)
			writeConfig(t, dir, "name: Ann\nskills: [a, 'a', b]\n")
			r := config.NewWorkspaceReader(dir, 0)
			good := r.Read()
			check(t, os.Remove(path))
			tt.make(t, path)
			for range 2 {
				got := r.Read()
				expectOnly(t, got, tt.want)
				got.Problems, got.LastGood = good.Problems, !got.LastGood
				if diff := cmp.Diff(good, got); diff != "" {
					t.Error(diff)
				}
			}
			check(t, os.Remove(path))
			writeConfig(t, dir, "name: Bob\n")
			if got := r.Read(); got.Name != "Bob" || got.LastGood || len(got.Problems) > 0 {
				t.Errorf("a mended file reads as %+v", got)
			}
		})
	}
}

func TestBrokenFromTheStartIsTheDefaults(t *testing.T) {
	for _, tt := range broken {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			tt.make(t, filepath.Join(dir, pannier.WorkspaceFile))
			got := config.NewWorkspaceReader(dir, 0).Read()
			expectOnly(t, got, tt.want)
			got.Problems = nil
			if diff := cmp.Diff(defaults(nil), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// expectOnly checks that the one problem is the error want.
func expectOnly(t *testing.T, w pannier.Workspace, want problem) {
	t.Helper()
	if diff := cmp.Diff([]problem{want}, codes(t, w)); diff != "" {
		t.Fatal(diff)
	}
	if s := w.Problems[0].Severity; s != pannier.SeverityError {
		t.Errorf("severity %s", s)
	}
}

func TestMissingFileIsTheDefaults(t *testing.T) {
	dir := t.TempDir()
	r := config.NewWorkspaceReader(dir, 0)
	first := r.Read()
	writeConfig(t, dir, "name: Ann\nskills: [a]\n")
	if got := r.Read(); got.Name != "Ann" {
		t.Errorf("name %q, want Ann", got.Name)
	}
	check(t, os.Remove(filepath.Join(dir, pannier.WorkspaceFile)))
	for _, got := range []pannier.Workspace{first, r.Read()} {
		if len(got.Problems) != 1 || got.Problems[0].Code != "config.missing" || got.Problems[0].Severity != pannier.SeverityInfo {
			t.Errorf("problems %v", got.Problems)
		}
		got.Problems = nil
		if diff := cmp.Diff(defaults(nil), got); diff != "" {
			t.Error(diff)
		}
	}
}

func TestReadStill(t *testing.T) {
	for moves, want := range map[int]string{0: "0", 2: "2", 3: ""} {
		reads := 0
		text, err := config.ReadStill(func() ([]byte, bool, error) {
			reads++
			return []byte{byte('0' + reads - 1)}, reads > moves, nil
		})
		if string(text) != want || (err == nil) != (want != "") {
			t.Errorf("%d moves: %q, %v; want %q", moves, text, err, want)
		}
	}
}

// TestSkillsThatAreNoListKeepTheLastGood: a value that could only empty the card does not.
func TestSkillsThatAreNoListKeepTheLastGood(t *testing.T) {
	for _, value := range []string{"3", "true", "false", "''", "/etc", "../a", "1.5"} {
		dir := t.TempDir()
		r := config.NewWorkspaceReader(dir, 0)
		writeConfig(t, dir, "name: Ann\nskills: [a]\n")
		r.Read()
		writeConfig(t, dir, "name: Other\nskills: "+value+"\n")
		got := r.Read()
		if diff := cmp.Diff([]problem{{"config.skills.shape", "skills", 2}}, codes(t, got)); diff != "" {
			t.Errorf("%s: %s", value, diff)
		}
		if !got.LastGood || got.Name != "Ann" || !slices.Equal(got.Skills, []string{"a"}) || got.Problems[0].Severity != pannier.SeverityError {
			t.Errorf("%s: %+v", value, got)
		}
	}
}

// TestWorkspaceFileThatVanishes says what it last said for the grace, and is missed after it.
func TestWorkspaceFileThatVanishes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		file := filepath.Join(dir, "config.yaml")
		write := func() {
			if err := os.WriteFile(file, []byte("name: Desk\nskills: [a]\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		write()
		r := config.NewWorkspaceReader(dir, 2*time.Second)
		if w := r.Read(); w.Name != "Desk" || !r.Due().IsZero() {
			t.Fatalf("%+v, due %v", w, r.Due())
		}
		for range 2 { // it may vanish again
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
			gone := time.Now()
			w := r.Read()
			if w.Name != "Desk" || !w.Listed || !w.LastGood || len(w.Problems) != 1 || w.Problems[0].Severity != pannier.SeverityWarning {
				t.Errorf("in its grace: %+v", w)
			}
			if due := r.Due(); !due.Equal(gone.Add(2 * time.Second)) {
				t.Errorf("due %v", due.Sub(gone))
			}
			time.Sleep(1999 * time.Millisecond)
			if r.Read().Name != "Desk" {
				t.Error("gone before its grace is over")
			}
			write()
			if w := r.Read(); w.LastGood || !r.Due().IsZero() {
				t.Errorf("back: %+v, due %v", w, r.Due())
			}
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		r.Read()
		time.Sleep(2 * time.Second)
		if w := r.Read(); w.Name == "Desk" || w.Listed || w.LastGood || !r.Due().IsZero() {
			t.Errorf("after its grace: %+v, due %v", w, r.Due())
		}
	})
}
