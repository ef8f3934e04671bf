package link

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"pannier"
	"pannier/internal/fsx"
	"pannier/sidecar"
)

// disk reads the files of skills. It implements [Contents].
type disk struct{ dir string }

func (d disk) Files(_ context.Context, slug string) (files []pannier.File, err error) {
	dir := filepath.Join(d.dir, slug)
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			info, _ := e.Info()
			rel, _ := filepath.Rel(dir, path)
			files = append(files, pannier.File{Path: rel, Executable: info.Mode()&0o111 != 0})
		}
		return err
	})
	return files, err
}

func (d disk) Read(_ context.Context, slug, path string, to io.Writer) error {
	text, err := os.ReadFile(filepath.Join(d.dir, slug, path))
	if err == nil {
		_, err = to.Write(text)
	}
	return err
}

// bench is a workspace with skills, and a directory of a host.
type bench struct {
	t       *testing.T
	dir     *Directory
	options Options
	skills  []Skill
}

func newBench(t *testing.T, slugs ...string) *bench {
	t.Helper()
	top := must(filepath.EvalSymlinks(t.TempDir()))(t)
	w := filepath.Join(top, "agent")
	b := &bench{t: t, dir: &Directory{Path: filepath.Join(top, ".claude/skills")}}
	b.options = Options{
		WorkspaceID: "one", Workspace: w, Contents: disk{filepath.Join(w, "skills")},
		Rules: pannier.DiscoveryRules{Workspace: w, Roots: []pannier.Root{{Path: filepath.Join(w, "skills")}}, Skip: []string{"node_modules"}},
	}
	for _, slug := range slugs {
		b.add(slug)
	}
	return b
}

func (b *bench) add(slug string) {
	b.t.Helper()
	dir := filepath.Join(b.options.Workspace, "skills", slug)
	write(b.t, filepath.Join(dir, "SKILL.md"), "---\nname: "+slug+"\n---\n")
	b.skills = append(b.skills, Skill{Slug: slug, Dir: dir, Offered: true})
}

func (b *bench) path(name string) string { return filepath.Join(b.dir.Path, name) }

func must[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func need(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t testing.TB, path, text string) {
	t.Helper()
	need(t, os.MkdirAll(filepath.Dir(path), 0o755))
	need(t, os.WriteFile(path, []byte(text), 0o644))
}

// keep runs a pass and compares the changes, written as "linked pdf".
func (b *bench) keep(want ...string) Report {
	b.t.Helper()
	report, err := b.dir.Keep(b.t.Context(), b.options, b.skills)
	need(b.t, err)
	b.changed(report, want...)
	return report
}

func (b *bench) changed(report Report, want ...string) {
	b.t.Helper()
	var got []string
	for _, c := range report.Changes {
		got = append(got, string(c.Action)+" "+c.Slug)
	}
	if !slices.Equal(got, want) {
		b.t.Errorf("changes: %q, want %q", got, want)
	}
}

func (b *bench) remove(want ...string) {
	b.t.Helper()
	report, err := b.dir.Remove(b.t.Context(), b.options, b.skills)
	need(b.t, err)
	b.changed(report, want...)
}

// fails runs a pass that fails with a message.
func (b *bench) fails(says string) {
	b.t.Helper()
	if _, err := b.dir.Keep(b.t.Context(), b.options, b.skills); err == nil || !strings.Contains(err.Error(), says) {
		b.t.Errorf("error %v, want %q", err, says)
	}
}

// names returns the entries of the directory.
func (b *bench) names(want ...string) {
	b.t.Helper()
	entries, err := os.ReadDir(b.dir.Path)
	need(b.t, err)
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if !slices.Equal(got, want) {
		b.t.Errorf("the directory has %q, want %q", got, want)
	}
}

func (b *bench) reads(name, want string) {
	b.t.Helper()
	if text := string(must(os.ReadFile(b.path(name)))(b.t)); text != want {
		b.t.Errorf("%s is %q, want %q", name, text, want)
	}
}

func TestLinks(t *testing.T) {
	b := newBench(t, "csv", "pdf")
	b.options.DryRun = true
	b.keep("linked csv", "linked pdf")
	if _, err := os.Lstat(b.dir.Path); !errors.Is(err, fs.ErrNotExist) {
		t.Fatal("a dry run made the directory", err)
	}
	b.options.DryRun = false
	b.keep("linked csv", "linked pdf")
	if text := must(os.Readlink(b.path("pdf")))(t); text != "../../agent/skills/pdf" {
		t.Errorf("the link is %q", text)
	}
	b.reads("pdf/SKILL.md", "---\nname: pdf\n---\n")
	if r := b.keep(); r.Skills != 2 {
		t.Errorf("%d skills", r.Skills)
	}

	b.skills[0].Offered = false
	b.options.DryRun = true
	b.keep("removed csv")
	b.names(".pannier", "csv", "pdf")
	b.options.DryRun = false
	b.keep("removed csv")
	b.names(".pannier", "pdf")

	moved := filepath.Join(b.options.Workspace, "skills", "deep", "pdf")
	need(t, os.MkdirAll(filepath.Dir(moved), 0o755))
	need(t, os.Rename(b.skills[1].Dir, moved))
	b.skills[1].Dir = moved
	b.keep("linked pdf")
	b.reads("pdf/SKILL.md", "---\nname: pdf\n---\n")

	b.remove("removed pdf")
	if _, err := os.Lstat(b.dir.Path); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the directory that pannier created is still there", err)
	}
	b.remove()
}

// TestForeignStays: what others made is neither replaced nor removed, whatever it is.
func TestForeignStays(t *testing.T) {
	for name, make := range map[string]func(t *testing.T, at string){
		"directory": func(t *testing.T, at string) { write(t, at+"/SKILL.md", "theirs") },
		"file":      func(t *testing.T, at string) { write(t, at, "theirs") },
		"link":      func(t *testing.T, at string) { need(t, os.Symlink("../../elsewhere", at)) },
		"FIFO":      func(t *testing.T, at string) { need(t, syscall.Mkfifo(at, 0o644)) },
		"copy of another workspace": func(t *testing.T, at string) {
			write(t, at+"/.pannier/copy.json", `{"workspace_id":"two","slug":"pdf","files":{}}`)
		},
		"copy under another name": func(t *testing.T, at string) {
			write(t, at+"/.pannier/copy.json", `{"workspace_id":"one","slug":"docx","files":{}}`)
		},
	} {
		for _, copies := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/%v", name, copies), func(t *testing.T) {
				b := newBench(t, "csv", "pdf")
				b.dir.Copy = copies
				need(t, os.MkdirAll(b.dir.Path, 0o755))
				make(t, b.path("pdf"))
				before := must(os.Lstat(b.path("pdf")))(t)
				done := map[bool]string{false: "linked csv", true: "copied csv"}[copies]
				r, err := b.dir.Keep(t.Context(), b.options, b.skills)
				need(t, err)
				if r.Skills != 1 || !slices.Equal(r.Conflicts(), []string{"pdf"}) || !slices.ContainsFunc(r.Changes, func(c Change) bool { return string(c.Action)+" "+c.Slug == done }) {
					t.Errorf("%+v", r)
				}
				b.skills[1].Offered = false
				b.keep()
				b.remove("removed csv")
				b.names("pdf")
				if after := must(os.Lstat(b.path("pdf")))(t); !os.SameFile(before, after) || !after.ModTime().Equal(before.ModTime()) {
					t.Error("the entry of others was changed")
				}
			})
		}
	}
}

// TestTakenOver: a link that others replaced by something of theirs is theirs.
func TestTakenOver(t *testing.T) {
	b := newBench(t, "pdf")
	b.keep("linked pdf")
	need(t, os.Remove(b.path("pdf")))
	write(t, b.path("pdf/SKILL.md"), "theirs")
	b.keep("foreign pdf")
	b.skills[0].Offered = false
	b.keep()
	b.reads("pdf/SKILL.md", "theirs")
}

func TestRemovedUnderUs(t *testing.T) {
	b := newBench(t, "csv", "pdf")
	b.keep("linked csv", "linked pdf")
	need(t, os.Remove(b.path("pdf")))
	b.keep("linked pdf")
	need(t, os.RemoveAll(b.dir.Path))
	b.keep("linked csv", "linked pdf")
	need(t, os.RemoveAll(b.path(".pannier")))
	b.keep() // the links are as good as ever
	b.skills[0].Offered = false
	b.keep("removed csv")
	need(t, os.RemoveAll(filepath.Dir(b.dir.Path)))
	b.keep("linked pdf")
	b.dir.Path = filepath.Join(filepath.Dir(b.options.Workspace), "gone/.claude/skills")
	b.fails("does not exist, so")
}

func TestRoots(t *testing.T) {
	b := newBench(t, "pdf")
	root, top := b.options.Rules.Roots[0].Path, filepath.Dir(b.options.Workspace)
	need(t, os.Symlink(root, filepath.Join(top, "alias")))
	for _, path := range []string{root, root + "/pdf", root + "/pdf/new", b.options.Workspace, top + "/alias", top + "/alias/x"} {
		b.dir.Path = path
		_, err := b.dir.Keep(t.Context(), b.options, b.skills)
		if e, ok := errors.AsType[*sidecar.Error](err); !ok || !strings.Contains(e.Message, "pannier reads the skills of") || e.Hint == "" {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, path := range []string{root + "/.claude/skills", root + "/node_modules/x", top + "/skills"} { // which are not read
		b.dir.Path = path
		b.keep("linked pdf")
	}
}

func TestTwoWorkspaces(t *testing.T) {
	b := newBench(t, "pdf")
	b.keep("linked pdf")
	b.options.WorkspaceID = "two"
	b.fails("has the skills of another workspace, " + b.options.Workspace)
	if _, err := b.dir.Remove(t.Context(), b.options, b.skills); err == nil {
		t.Error("another workspace removed the entries")
	}
	b.names(".pannier", "pdf")
}

// TestTwoProcesses: passes of two processes come one after the other, also if one removes what the other keeps.
func TestTwoProcesses(t *testing.T) {
	b := newBench(t, "csv", "pdf", "docx")
	failed := make(chan error, 40)
	for n := range 40 {
		go func() {
			d := Directory{Path: b.dir.Path}
			skills := slices.Clone(b.skills)
			var err error
			if n%4 == 3 {
				_, err = d.Remove(context.Background(), b.options, skills)
			} else {
				_, err = d.Keep(context.Background(), b.options, skills)
			}
			failed <- err
		}()
	}
	for range 40 {
		if err := <-failed; err != nil && !errors.Is(err, fs.ErrNotExist) { // the directory was removed as a whole meanwhile
			t.Error(err)
		}
	}
	_, err := b.dir.Keep(t.Context(), b.options, b.skills)
	need(t, err)
	b.names(".pannier", "csv", "docx", "pdf")

	f := must(os.OpenFile(b.path(".pannier/lock"), os.O_RDWR, 0))(t)
	defer f.Close()
	need(t, fsx.Lock(f))
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("stop"))
	if _, err := b.dir.Keep(ctx, b.options, b.skills); err == nil {
		t.Error("a pass did not wait for the lock")
	}
}

func TestDamagedManifest(t *testing.T) {
	for _, text := range []string{"", "{", "null", "[]", `{"version":1}`, `{"version":1,"workspace_id":7}`, strings.Repeat("x", 100)} {
		b := newBench(t, "csv", "pdf")
		write(t, b.path("theirs/SKILL.md"), "theirs")
		b.keep("linked csv", "linked pdf")
		need(t, os.WriteFile(b.path(".pannier/links.json"), []byte(text), 0o644))
		b.skills[0].Offered = false
		b.keep("removed csv")
		b.remove("removed pdf")
		b.names("theirs")
	}
	b := newBench(t, "pdf")
	write(t, b.path(".pannier/links.json"), `{"version":2,"workspace_id":"one"}`)
	b.fails("newer version")
	need(t, os.Remove(b.path(".pannier/links.json")))
	need(t, syscall.Mkfifo(b.path(".pannier/links.json"), 0o644))
	b.fails("links.json")
}

// TestKilled goes on where a process was killed at each point of its work.
func TestKilled(t *testing.T) {
	b := newBench(t, "csv", "docx", "pdf")
	b.keep("linked csv", "linked docx", "linked pdf")
	need(t, os.Remove(b.path("docx")))                            // the manifest named it before it was made
	need(t, os.Symlink("x", b.path(".pannier/new-A")))            // a link before its rename
	write(t, b.path(".pannier/new-B/SKILL.md"), "half")           // a copy before its rename
	need(t, os.Symlink("../../agent/skills/old", b.path("csv2"))) // a target that was about to change
	need(t, os.Rename(b.path("csv2"), b.path("csv")))
	write(t, b.path(".pannier/links.json"), strings.Replace(string(must(os.ReadFile(b.path(".pannier/links.json")))(t)), `"../../agent/skills/csv"`, `"../../agent/skills/old", "../../agent/skills/csv"`, 1))
	b.keep("linked csv", "linked docx")
	b.reads("csv/SKILL.md", "---\nname: csv\n---\n")

	b.dir.Copy = true
	b.keep("copied csv", "copied docx", "copied pdf")
	need(t, os.Rename(b.path("csv"), b.path(".pannier/old-C"))) // in the midst of a removal
	need(t, os.Remove(b.path(".pannier/old-C/SKILL.md")))
	b.keep("copied csv")
	entries := must(os.ReadDir(b.path(".pannier")))(t)
	if len(entries) != 2 {
		t.Errorf("pannier's directory has %v", entries)
	}
}

func TestCopies(t *testing.T) {
	b := newBench(t, "csv", "pdf")
	b.dir.Copy = true
	write(t, b.skills[1].Dir+"/scripts/run.sh", "#!/bin/sh\n")
	need(t, os.Chmod(b.skills[1].Dir+"/scripts/run.sh", 0o755))
	b.keep("copied csv", "copied pdf")
	b.keep()
	for name, want := range map[string]fs.FileMode{"pdf/SKILL.md": 0o444, "pdf/scripts/run.sh": 0o555} {
		if info := must(os.Lstat(b.path(name)))(t); info.Mode() != want {
			t.Errorf("%s has mode %v", name, info.Mode())
		}
	}
	write(t, b.skills[1].Dir+"/no \xff text", "left out")
	write(t, b.skills[1].Dir+"/a \"b\"\n%41?#.md", "odd")
	b.keep("copied pdf")
	b.keep()
	b.reads("pdf/a \"b\"\n%41?#.md", "odd")
	write(t, b.skills[1].Dir+"/SKILL.md", "new")
	need(t, os.Remove(b.skills[1].Dir+"/scripts/run.sh"))
	b.options.DryRun = true
	b.keep("copied pdf")
	b.options.DryRun = false
	b.keep("copied pdf")
	b.reads("pdf/SKILL.md", "new")
	if _, err := os.Lstat(b.path("pdf/scripts")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a removed directory is still there", err)
	}

	need(t, os.Chmod(b.skills[1].Dir, 0))
	need(t, os.Rename(b.skills[1].Dir, b.skills[1].Dir+"x"))
	r := b.keep("failed pdf")
	b.reads("pdf/SKILL.md", "new") // the older copy stays
	if !slices.Equal(r.Conflicts(), []string{"pdf"}) {
		t.Errorf("%+v", r)
	}
	need(t, os.Rename(b.skills[1].Dir+"x", b.skills[1].Dir))
	need(t, os.Chmod(b.skills[1].Dir, 0o755))

	b.dir.Copy = false
	b.keep("linked csv", "linked pdf")
	b.dir.Copy = true
	b.keep("copied csv", "copied pdf")
	b.remove("removed csv", "removed pdf")
}

// TestFilesOfOthersInACopy: what others wrote into a copy outlives it.
func TestFilesOfOthersInACopy(t *testing.T) {
	b := newBench(t, "csv", "pdf")
	b.dir.Copy = true
	b.keep("copied csv", "copied pdf")
	write(t, b.path("pdf/notes/a.md"), "mine")
	need(t, os.Remove(b.path("pdf/SKILL.md")))
	write(t, b.path("pdf/SKILL.md"), "edited")
	write(t, b.path("csv/scripts/__pycache__/x.pyc"), "made by a run")
	b.skills[0].Offered = false
	b.keep("removed csv")
	write(t, b.skills[1].Dir+"/SKILL.md", "new")
	r := b.keep("kept pdf", "copied pdf")
	kept := strings.TrimPrefix(r.Changes[0].Message, "files that others wrote into the copy are in ")
	for name, want := range map[string]string{"SKILL.md": "edited", "notes/a.md": "mine"} {
		if text := string(must(os.ReadFile(filepath.Join(kept, name)))(t)); text != want {
			t.Errorf("%s is %q", name, text)
		}
	}
	b.reads("pdf/SKILL.md", "new")
	b.remove("removed pdf")
	b.names(".pannier")
}

func TestOtherFileSystem(t *testing.T) {
	b := newBench(t, "csv", "pdf")
	b.dir.Path = "/dev/shm/" + filepath.Base(filepath.Dir(filepath.Dir(b.options.Workspace))) + "/skills"
	if must(fsx.Lstat("/dev/shm"))(t).Dev == must(fsx.Lstat(b.options.Workspace))(t).Dev {
		t.Skip("/dev/shm is on the same file system")
	}
	need(t, os.MkdirAll(filepath.Dir(b.dir.Path), 0o755))
	t.Cleanup(func() { os.RemoveAll(filepath.Dir(b.dir.Path)) })
	b.keep("linked csv", "linked pdf")
	b.reads("pdf/SKILL.md", "---\nname: pdf\n---\n")
	b.dir.Copy = true
	b.keep("copied csv", "copied pdf")
	b.reads("pdf/SKILL.md", "---\nname: pdf\n---\n")
}

// mount mounts a tmpfs of 64 KiB as the directory.
func (b *bench) mount() {
	b.t.Helper()
	need(b.t, os.MkdirAll(b.dir.Path, 0o755))
	if err := unix.Mount("tmpfs", b.dir.Path, "tmpfs", 0, "size=64k,nr_inodes=40"); err != nil {
		b.t.Skip("mounting a file system needs root:", err)
	}
	b.t.Cleanup(func() { need(b.t, unix.Unmount(b.dir.Path, unix.MNT_DETACH)) })
}

// TestReadOnly: the directory stays as it is, and once it can be written it is kept in step again.
func TestReadOnly(t *testing.T) {
	b := newBench(t, "csv", "pdf")
	b.mount()
	b.keep("linked csv", "linked pdf")
	need(t, unix.Mount("", b.dir.Path, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	b.skills[0].Offered = false
	b.fails("read-only file system")
	b.names(".pannier", "csv", "pdf")
	need(t, unix.Mount("", b.dir.Path, "", unix.MS_REMOUNT, ""))
	b.keep("removed csv")
}

// TestDiskFull: a skill that may not be offered any more goes although nothing can be written, and a copy that does not
// fit leaves nothing behind.
func TestDiskFull(t *testing.T) {
	b := newBench(t, "csv", "pdf")
	b.mount()
	b.keep("linked csv", "linked pdf")
	b.fill()
	b.skills[0].Offered = false
	b.fails("no space left")
	b.names(".pannier", "fill", "pdf")
	need(t, os.Remove(b.path("fill")))
	b.keep()

	b.dir.Copy = true
	b.keep("copied pdf")
	write(t, b.skills[1].Dir+"/large", strings.Repeat("x", 100_000))
	b.fails("no space left")
	b.reads("pdf/SKILL.md", "---\nname: pdf\n---\n")
	need(t, os.Remove(b.skills[1].Dir+"/large"))
	b.keep()
	b.names(".pannier", "pdf")
}

// fill fills the disk of the directory.
func (b *bench) fill() {
	f := must(os.Create(b.path("fill")))(b.t)
	defer f.Close()
	for {
		if _, err := f.Write(make([]byte, 4096)); err != nil {
			if !errors.Is(err, unix.ENOSPC) {
				b.t.Fatal(err)
			}
			return
		}
	}
}

// TestLinksOfLinks: neither links in the workspace nor links to the directory lead elsewhere.
func TestLinksOfLinks(t *testing.T) {
	b := newBench(t, "pdf")
	top := filepath.Dir(b.options.Workspace)
	need(t, os.Rename(b.skills[0].Dir, top+"/real"))
	need(t, os.Symlink("../../real", b.skills[0].Dir))
	need(t, os.MkdirAll(top+"/deep/deeper/skills", 0o755))
	need(t, os.Mkdir(filepath.Dir(b.dir.Path), 0o755))
	need(t, os.Symlink("../deep/deeper/skills", b.dir.Path))
	b.keep("linked pdf")
	b.reads("pdf/SKILL.md", "---\nname: pdf\n---\n")
	if text := must(os.Readlink(b.path("pdf")))(t); text != "../../../agent/skills/pdf" {
		t.Errorf("the link is %q", text)
	}
	b.remove("removed pdf")
	need(t, os.RemoveAll(top+"/deep"))
	b.fails("no such file") // a link that leads nowhere is not replaced

	need(t, os.Remove(b.dir.Path))
	need(t, os.Symlink("skills", b.dir.Path))
	b.fails("too many links")
	need(t, os.Remove(b.dir.Path))
	write(t, b.dir.Path, "a file")
	b.fails("not a directory")
}

// TestOtherOwner: a symlink that an ordinary user made leads the sidecar of root to no directory of another user.
func TestOtherOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files to others")
	}
	b := newBench(t, "pdf")
	private := must(filepath.EvalSymlinks(t.TempDir()))(t)
	b.dir.Path = filepath.Join(b.options.Workspace, ".claude/skills")
	need(t, os.Mkdir(filepath.Dir(b.dir.Path), 0o755))
	for _, linked := range []string{b.dir.Path, filepath.Dir(b.dir.Path)} {
		need(t, os.RemoveAll(linked))
		need(t, os.Symlink(private, linked))
		need(t, filepath.WalkDir(b.options.Workspace, func(path string, _ fs.DirEntry, err error) error {
			return errors.Join(err, os.Lchown(path, 1000, 1000))
		}))
		b.fails("a symlink of user 1000")
		if entries := must(os.ReadDir(private))(t); len(entries) > 0 {
			t.Errorf("%s: %v was made in the directory of root", linked, entries)
		}
	}
	need(t, os.Remove(filepath.Dir(b.dir.Path)))
	b.keep("linked pdf")
	b.keep()
}

// TestPartial: while a part of the workspace cannot be read, only skills that are known to be refused go.
func TestPartial(t *testing.T) {
	b := newBench(t, "csv", "pdf")
	b.keep("linked csv", "linked pdf")
	b.options.Partial = true
	all := b.skills
	b.skills = all[:1]
	b.skills[0].Offered = false
	b.keep("removed csv")
	b.names(".pannier", "pdf")
	b.options.Partial = false
	b.keep("removed pdf")
}

func TestOddNames(t *testing.T) {
	b := newBench(t, "pdf")
	dir := filepath.Join(b.options.Workspace, "skills", "a \"b\"\n$(c) -d é \xff")
	write(t, dir+"/SKILL.md", "odd")
	b.skills = append(b.skills,
		Skill{Slug: "-", Dir: b.skills[0].Dir, Offered: true}, Skill{Slug: "skill-1a2b3c4d", Dir: dir, Offered: true},
		Skill{Slug: strings.Repeat("x", 255), Dir: dir, Offered: true}, Skill{Slug: strings.Repeat("x", 256), Dir: dir, Offered: true},
		Skill{Slug: "gone", Dir: dir + "x", Offered: true},
	)
	r, err := b.dir.Keep(t.Context(), b.options, b.skills)
	need(t, err)
	if len(r.Conflicts()) != 2 || r.Skills != 4 {
		t.Errorf("%d skills, %+v", r.Skills, r.Conflicts())
	}
	b.reads("skill-1a2b3c4d/SKILL.md", "odd")
	b.skills = b.skills[:1] // a name that is not UTF-8 survives the manifest
	b.keep("removed -", "removed skill-1a2b3c4d", "removed "+strings.Repeat("x", 255))
}

func TestManySkills(t *testing.T) {
	var slugs []string
	for n := range 1000 {
		slugs = append(slugs, fmt.Sprintf("skill-%04d", n))
	}
	b := newBench(t, slugs...)
	if r, err := b.dir.Keep(t.Context(), b.options, b.skills); err != nil || r.Skills != 1000 {
		t.Fatal(r.Skills, err)
	}
	b.keep()
	for i := range b.skills {
		b.skills[i].Offered = i%2 == 0
	}
	if r, err := b.dir.Keep(t.Context(), b.options, b.skills); err != nil || r.Skills != 500 || len(r.Changes) != 500 {
		t.Fatal(r.Skills, err)
	}
	if r, err := b.dir.Remove(t.Context(), b.options, b.skills); err != nil || len(r.Changes) != 500 {
		t.Fatal(len(r.Changes), err)
	}
}

func TestFind(t *testing.T) {
	if !slices.IsSortedFunc(Hosts(), func(a, b Host) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("the hosts are not sorted")
	}
	for _, tt := range []struct{ text, home, want string }{
		{"claude-code", "", "/p/.claude/skills"},
		{"goose", "/home/me", "/home/me/.config/goose/skills"},
		{"./x", "", "/here/x"},
		{"x/../y", "", "/here/y"},
		{"/abs/", "", "/abs"},
	} {
		d, err := Find(tt.text, "/p", tt.home, "/here")
		if err != nil || d.Path != tt.want {
			t.Errorf("%s: %+v %v", tt.text, d, err)
		}
	}
	_, err := Find("emacs", "/p", "", "/here")
	if e, ok := errors.AsType[*sidecar.Error](err); !ok || !strings.Contains(e.Hint, "./emacs") {
		t.Error(err)
	}
}
