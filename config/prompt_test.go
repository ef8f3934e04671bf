//go:build unix

package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"pannier"
	"pannier/config"
)

// writeFile writes a file of a workspace, with the directories that it lies in.
func writeFile(t testing.TB, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// said returns what each prompt file says, in order, as path=text.
func said(w pannier.Workspace) (all []string) {
	for _, f := range w.Prompts {
		all = append(all, f.Path+"="+f.Text)
	}
	return all
}

func link(t *testing.T, dir, target, name string) {
	t.Helper()
	check(t, os.Symlink(target, filepath.Join(dir, name)))
}

func TestPromptFiles(t *testing.T) {
	big := strings.Repeat("x", 256<<10)
	tests := []struct {
		name, config string
		files        map[string]string
		make         func(t *testing.T, dir string)
		want         []string
		problems     []problem
	}{
		{name: "nothing is there"},
		{name: "default", files: map[string]string{"system-prompt.md": "\n S \n\n"}, want: []string{"system-prompt.md=S"}},
		{name: "memory after what is listed", config: "prompt_files: [b.md, a.md]\n", files: map[string]string{"a.md": "A", "b.md": "B", "MEMORY.md": "M", "USER.md": "U", "system-prompt.md": "S"}, want: []string{"b.md=B", "a.md=A", "MEMORY.md=M", "USER.md=U"}},
		{name: "memory where it is listed", config: "prompt_files: [./USER.md, a.md]\n", files: map[string]string{"a.md": "A", "MEMORY.md": "M", "USER.md": "U"}, want: []string{"USER.md=U", "a.md=A", "MEMORY.md=M"}},
		{name: "null", config: "prompt_files:\n", files: map[string]string{"system-prompt.md": "S"}, want: []string{"system-prompt.md=S"}},
		{name: "empty list", config: "prompt_files: []\n", files: map[string]string{"system-prompt.md": "S"}, want: []string{"system-prompt.md=S"}},
		{name: "empty text", config: "prompt_files: ''\n", files: map[string]string{"system-prompt.md": "S"}, want: []string{"system-prompt.md=S"}},
		{name: "mapping", config: "prompt_files: {a.md: 1}\n", files: map[string]string{"system-prompt.md": "S", "a.md": "A"}, want: []string{"system-prompt.md=S"}, problems: []problem{{"config.prompt_shape", "prompt_files", 1}}},
		{name: "text", config: "prompt_files: a.md\n", files: map[string]string{"a.md": "A"}, want: []string{"a.md=A"}, problems: []problem{{"config.prompt_shape", "prompt_files", 1}}},
		{name: "list in a text", config: "prompt_files: \"[a.md, 'b.md']\"\n", files: map[string]string{"a.md": "A", "b.md": "B"}, want: []string{"a.md=A", "b.md=B"}, problems: []problem{{"config.prompt_shape", "prompt_files", 1}}},
		{name: "empty list in a text", config: "prompt_files: '[]'\n", files: map[string]string{"system-prompt.md": "S"}, want: []string{"system-prompt.md=S"}, problems: []problem{{"config.prompt_shape", "prompt_files", 1}}},
		{name: "what is left out", config: "prompt_files:\n- /etc/passwd\n- ../a.md\n- ~\n- [a]\n- {b: c}\n- ''\n- .\n- a/../../b\n- a.md\n- ./a.md\n", files: map[string]string{"a.md": "A", "system-prompt.md": "S"}, want: []string{"a.md=A"}, problems: []problem{
			{"config.prompt_outside", "prompt_files[0]", 2},
			{"config.prompt_outside", "prompt_files[1]", 3},
			{"config.prompt_entry", "prompt_files[2]", 4},
			{"config.prompt_entry", "prompt_files[3]", 5},
			{"config.prompt_entry", "prompt_files[4]", 6},
			{"config.prompt_entry", "prompt_files[5]", 7},
			{"config.prompt_outside", "prompt_files[6]", 8},
			{"config.prompt_outside", "prompt_files[7]", 9},
			{"config.prompt_repeated", "prompt_files[9]", 11},
		}},
		{name: "too deep", config: "prompt_files:\n- " + strings.Repeat("a/", 32) + "a.md\n- " + strings.Repeat("a/", 33) + "a.md\n", problems: []problem{
			{"config.prompt_too_deep", "prompt_files[1]", 3},
			{"config.prompt_missing", "prompt_files[0]", 2},
		}},
		{name: "nothing that is listed can be", config: "prompt_files: [/x]\n", files: map[string]string{"system-prompt.md": "S"}, problems: []problem{{"config.prompt_outside", "prompt_files[0]", 1}}},
		{name: "missing", config: "prompt_files:\n- a.md\n- no.md\n- a.md/no.md\n- no/no.md\n- system-prompt.md\n", files: map[string]string{"a.md": "A"}, want: []string{"a.md=A"}, problems: []problem{
			{"config.prompt_missing", "prompt_files[1]", 3},
			{"config.prompt_missing", "prompt_files[2]", 4},
			{"config.prompt_missing", "prompt_files[3]", 5},
			{"config.prompt_missing", "prompt_files[4]", 6},
		}},
		{name: "encodings", config: "prompt_files: [bom.md, crlf.md, latin.md, nul.md, empty.md]\n", files: map[string]string{"bom.md": "\ufeffB\n", "crlf.md": "a\r\nb\rc\r\n", "latin.md": "x\nCaf\xe9\n", "nul.md": "x\n\x00", "empty.md": ""}, want: []string{"bom.md=B", "crlf.md=a\nb\nc", "latin.md=x\nCaf\ufffd", "nul.md=", "empty.md="}, problems: []problem{
			{"config.prompt_encoding", "", 2}, {"config.prompt_encoding", "", 2},
		}},
		{name: "size", config: "prompt_files: [most.md, more.md, a.md]\n", files: map[string]string{"most.md": big, "more.md": big + "x", "a.md": "A"}, want: []string{"most.md=" + big, "more.md=", "a.md=A"}, problems: []problem{{"config.prompt_too_large", "", 0}}},
		{name: "size together", config: "prompt_files: [1, 2, 3, 4, 5, a]\n", files: map[string]string{"1": big, "2": big[1:], "3": big, "4": big, "5": "xx", "a": "A"}, want: []string{"1=" + big, "2=" + big[1:], "3=" + big, "4=" + big, "5=", "a=A"}, problems: []problem{{"config.prompt_too_large", "", 0}}},
		{name: "no files", config: "prompt_files: [dir, pipe, device, loop]\n", make: func(t *testing.T, dir string) {
			check(t, os.Mkdir(filepath.Join(dir, "dir"), 0o700))
			check(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
			link(t, dir, "/dev/zero", "device")
			link(t, dir, "loop", "loop")
		}, want: []string{"dir=", "pipe=", "device=", "loop="}, problems: []problem{
			{"config.prompt_not_regular", "", 0}, {"config.prompt_not_regular", "", 0}, {"config.prompt_outside", "", 0}, {"config.prompt_unreadable", "", 0},
		}},
		{name: "links", config: "prompt_files: [in.md, out.md, back/a.md, nowhere.md]\n", files: map[string]string{"sub/a.md": "A"}, make: func(t *testing.T, dir string) {
			link(t, dir, "sub/a.md", "in.md")
			link(t, dir, "/etc/passwd", "out.md")
			link(t, dir, "../"+filepath.Base(dir)+"/sub", "back")
			link(t, dir, "gone", "nowhere.md")
		}, want: []string{"in.md=A", "out.md=", "back/a.md="}, problems: []problem{
			{"config.prompt_outside", "", 0}, {"config.prompt_outside", "", 0}, {"config.prompt_missing", "prompt_files[3]", 1},
		}},
		{name: "memory that cannot be read", make: func(t *testing.T, dir string) { check(t, os.Mkdir(filepath.Join(dir, "MEMORY.md"), 0o700)) }, want: []string{"MEMORY.md="}, problems: []problem{{"config.prompt_not_regular", "", 0}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			writeConfig(t, dir, tt.config)
			for name, text := range tt.files {
				writeFile(t, dir, name, text)
			}
			if tt.make != nil {
				tt.make(t, dir)
			}
			r := config.NewWorkspaceReader(dir, 0)
			first, got := r.Read(), r.Read()
			if diff := cmp.Diff(first, got); diff != "" {
				t.Errorf("a second look differs: %s", diff)
			}
			if diff := cmp.Diff(tt.want, said(got)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.problems, codes(t, got)); diff != "" {
				t.Errorf("problems: %s", diff)
			}
			checkPrompts(t, got, r.Watched(), dir)
		})
	}
}

func TestPromptFilesAreBounded(t *testing.T) {
	dir := t.TempDir()
	var list strings.Builder
	for i := range 70 {
		name := fmt.Sprintf("%d.md", i)
		writeFile(t, dir, name, name)
		list.WriteString("- " + name + "\n")
	}
	writeConfig(t, dir, "prompt_files:\n"+list.String())
	got := config.NewWorkspaceReader(dir, 0).Read()
	if len(got.Prompts) != 64 {
		t.Errorf("%d files, want 64", len(got.Prompts))
	}
	if all := codes(t, got); len(all) != 6 || all[0] != (problem{"config.prompt_too_many", "prompt_files[64]", 66}) {
		t.Errorf("problems %v", all)
	}
	writeConfig(t, dir, "prompt_files: ["+strings.Repeat("a/", 1<<18)+"]\n")
	if got := config.NewWorkspaceReader(dir, 0).Read(); len(got.Problems) != 1 {
		t.Errorf("a path that is far too long: %d problems", len(got.Problems))
	}
}

func TestPromptFilesWithoutConfig(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, dir, "system-prompt.md", "S")
	r := config.NewWorkspaceReader(dir, 0)
	if diff := cmp.Diff([]string{"system-prompt.md=S"}, said(r.Read())); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(pannier.UsualEntries(), r.Entries()); diff != "" {
		t.Error(diff)
	}
	writeFile(t, dir, "sub/a.md", "A")
	writeConfig(t, dir, "\n\nprompt_files: [sub/a.md, b.md]\n")
	r.Read()
	writeFile(t, dir, "sub/a.md", "AA")
	writeConfig(t, dir, "prompt_files: [")
	got := r.Read()
	if diff := cmp.Diff([]string{"sub/a.md=AA"}, said(got)); diff != "" {
		t.Errorf("with a broken config.yaml: %s", diff)
	}
	if diff := cmp.Diff([]problem{{"config.syntax", "", 1}, {"config.prompt_missing", "prompt_files[1]", 0}}, codes(t, got)); diff != "" || !got.LastGood {
		t.Error(diff)
	}
	check(t, os.RemoveAll(dir))
	got = r.Read()
	if len(got.Prompts) > 0 || len(got.Problems) != 1 || got.Problems[0].Code != config.CodeWorkspaceMissing || len(r.Watched()) > 0 || r.Entries() != nil {
		t.Errorf("without a workspace: %v, %v, %v", got.Prompts, got.Problems, r.Watched())
	}
}

func TestWatched(t *testing.T) {
	dir := t.TempDir()
	writeConfig(t, dir, "prompt_files: [p/q/a.md, p/b.md, no/c.md, p/r/s/d.md, top.md, e.md/f.md, ln.md, k8s.md, d/g.md]\n")
	for _, name := range []string{"p/q/a.md", "p/b.md", "p/r/x", "top.md", "e.md", "far/away/l.md", "..data/k8s.md", "real/g.md"} {
		writeFile(t, dir, name, name)
	}
	link(t, dir, "far/away/l.md", "ln.md")
	link(t, dir, "..data/k8s.md", "k8s.md")
	link(t, dir, "real", "d")
	r := config.NewWorkspaceReader(dir, 0)
	watched := func() (all []string) {
		for _, d := range r.Watched() {
			below, err := filepath.Rel(dir, d)
			check(t, err)
			all = append(all, below)
		}
		return all
	}
	if len(watched()) > 0 || r.Entries() != nil {
		t.Errorf("%v and %v are watched before the first look", watched(), r.Entries())
	}
	r.Read()
	if diff := cmp.Diff([]string{"MEMORY.md", "USER.md", "d", "e.md", "k8s.md", "ln.md", "no", "p", "top.md"}, r.Entries()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"d", "e.md", "k8s.md", "ln.md", "no", "p", "p/q", "p/r", "p/r/s"}, watched()); diff != "" {
		t.Error(diff)
	}
	// What leads out of the workspace is not followed, but the links that lead there are watched, and config.yaml if it is one.
	writeFile(t, dir, "in/x", "")
	link(t, dir, "/etc", "in/out")
	link(t, dir, "in", "a")
	link(t, dir, "loop", "loop")
	writeConfig(t, dir, "prompt_files: [a/out/passwd, later/q.md, loop]\n")
	check(t, os.Rename(filepath.Join(dir, pannier.WorkspaceFile), filepath.Join(dir, "real.yaml")))
	link(t, dir, "real.yaml", pannier.WorkspaceFile)
	link(t, dir, "nowhere", "later")
	r.Read()
	if diff := cmp.Diff([]string{"config.yaml", "in", "later", "loop"}, watched()); diff != "" {
		t.Error(diff)
	}
}

// TestUnchangedFilesAreNotReadAgain counts reads: within the racy window of a change every look reads, after it none does.
func TestUnchangedFilesAreNotReadAgain(t *testing.T) {
	dir := t.TempDir()
	writeConfig(t, dir, "name: x\nprompt_files: [a.md, b.md, no.md, bad.md]\n")
	for _, name := range []string{"a.md", "b.md", "USER.md"} {
		writeFile(t, dir, name, name)
	}
	writeFile(t, dir, "bad.md", "\xff")
	r := config.NewWorkspaceReader(dir, 0)
	var reads []string
	r.TellReads(func(path string) { reads = append(reads, path) })
	later := time.Duration(0)
	r.SetClock(func() time.Time { return time.Now().Add(later) })
	look := func(want ...string) pannier.Workspace {
		t.Helper()
		reads = nil
		w := r.Read()
		if diff := cmp.Diff(want, reads, cmpopts.EquateEmpty()); diff != "" {
			t.Error(diff)
		}
		return w
	}
	all := []string{"a.md", "b.md", "bad.md", "USER.md"}
	first := look(all...)
	look(all...)
	later = time.Hour
	look(all...) // what was read within the window is not proven yet
	if diff := cmp.Diff(first, look()); diff != "" {
		t.Errorf("what is known differs from what was read: %s", diff)
	}

	info, err := os.Stat(filepath.Join(dir, "b.md"))
	check(t, err)
	writeFile(t, dir, "b.md", "B.MD") // same size, and below the same time
	check(t, os.Chtimes(filepath.Join(dir, "b.md"), info.ModTime(), info.ModTime()))
	if w := look("b.md"); w.Prompts[1].Text != "B.MD" || w.Prompts[0].Text != "a.md" {
		t.Errorf("%v", said(w))
	}
	check(t, os.Remove(filepath.Join(dir, "a.md")))
	if w := look(); len(w.Prompts) != 3 {
		t.Errorf("%v", said(w))
	}
	writeFile(t, dir, "a.md", "a.md")
	look("a.md")
}

func TestUnchangedConfigIsReadOnce(t *testing.T) {
	dir := t.TempDir()
	writeConfig(t, dir, "name: Ann\n")
	r := config.NewWorkspaceReader(dir, 0)
	r.SetClock(func() time.Time { return time.Now().Add(time.Hour) })
	first := r.Read()
	if diff := cmp.Diff(first, r.Read()); diff != "" {
		t.Error(diff)
	}
	writeConfig(t, dir, "name: Bob\n")
	if got := r.Read(); got.Name != "Bob" {
		t.Errorf("name %q", got.Name)
	}
	writeConfig(t, dir, "name: [\n")
	if got := r.Read(); got.Name != "Bob" || !got.LastGood {
		t.Errorf("%+v", got)
	}
	check(t, os.Remove(filepath.Join(dir, pannier.WorkspaceFile)))
	if got := r.Read(); got.Name != "Workspace" || got.Fields != nil {
		t.Errorf("%+v", got)
	}
}

func TestReadingsAreNotChangedAfterwards(t *testing.T) {
	dir := t.TempDir()
	writeConfig(t, dir, "name: [x]\nprompt_files: [a.md, b.md]\n")
	writeFile(t, dir, "a.md", "A")
	r := config.NewWorkspaceReader(dir, 0)
	r.SetClock(func() time.Time { return time.Now().Add(time.Hour) })
	first := r.Read()
	problems, prompts := slices.Clone(first.Problems), slices.Clone(first.Prompts)
	writeFile(t, dir, "a.md", "\xff")
	writeFile(t, dir, "b.md", "\xff")
	r.Read()
	if diff := cmp.Diff(problems, first.Problems) + cmp.Diff(prompts, first.Prompts); diff != "" {
		t.Error(diff)
	}
}

// BenchmarkReadUnchanged is what a look costs at which nothing of the workspace has changed.
func BenchmarkReadUnchanged(b *testing.B) {
	dir := b.TempDir()
	writeConfig(b, dir, "name: Ann\ndescription: d\nskills: [a, b, c]\nprompt_files: [1.md, 2.md, sub/3.md, sub/4.md, 5.md]\n")
	for _, name := range []string{"1.md", "2.md", "sub/3.md", "sub/4.md", "5.md"} {
		writeFile(b, dir, name, strings.Repeat(name+"\n", 2000))
	}
	r := config.NewWorkspaceReader(dir, 0)
	r.SetClock(func() time.Time { return time.Now().Add(time.Hour) })
	r.Read()
	b.ReportAllocs()
	for b.Loop() {
		r.Read()
	}
}
