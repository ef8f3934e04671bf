package execute

import (
	"bytes"
	"errors"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"pannier"
	"pannier/tools/output"
)

// content returns a whole artifact.
func content(t *testing.T, e *Executor, call, name string) ([]byte, error) {
	t.Helper()
	var all []byte
	for {
		part, err := e.Artifact(t.Context(), call, name, int64(len(all)))
		if err != nil || len(part) == 0 {
			return all, err
		}
		all = append(all, part...)
	}
}

// TestArtifacts keeps regular files, also those that the program made unreadable, and counts all others by reason.
func TestArtifacts(t *testing.T) {
	e := executor(t, Options{Environ: []string{"KEY=a-secret-value"}})
	j := shell(t, skill(t, ""), "sh", "-c", `cd "$PANNIER_ARTIFACTS"
		printf '{}' >report.json; mkdir -p sub/dir; head -c 1500000 /dev/zero >sub/dir/big.bin; : >empty
		printf x >closed; chmod 0 closed; mkdir shut; printf x >shut/in; chmod 0 shut
		ln -s /etc/passwd passwd; ln -s sub linked; printf x >hard; ln hard hard2; mkfifo pipe
		printf x >.hidden; mkdir .git; printf x >.git/config; printf x >"$(printf 'a\nb')"; printf x >"$(printf 'a\377')"; printf x >"$KEY"; printf x >'a\b'
		echo at home >"$HOME/file"; exit 3`)
	j.Env = []string{"KEY"}
	got := run(t, e, j)
	names := map[string]int64{}
	for _, a := range got.Artifacts {
		names[a.Name] = a.Bytes
		text, err := content(t, e, j.ID, a.Name)
		if err != nil || int64(len(text)) != a.Bytes || pannier.DigestOf(text) != a.Digest {
			t.Errorf("%+v: %d bytes, %v", a, len(text), err)
		}
	}
	if want := map[string]int64{"report.json": 2, "sub/dir/big.bin": 1500000, "empty": 0, "closed": 1, "shut/in": 1}; !maps.Equal(names, want) || codeOf(got) != pannier.ToolFailed {
		t.Errorf("%v, %+v", names, got)
	}
	if want := map[string]int{pannier.ArtifactLink: 4, pannier.ArtifactSpecial: 1, pannier.ArtifactHidden: 2, pannier.ArtifactName: 4}; !maps.Equal(got.ArtifactsLeftOut, want) {
		t.Errorf("left out: %v", got.ArtifactsLeftOut)
	}
	for _, at := range [][2]string{{j.ID, "passwd"}, {j.ID, "../skills"}, {j.ID, ""}, {"other", "empty"}} {
		if _, err := content(t, e, at[0], at[1]); !errors.As(err, new(*pannier.ToolError)) {
			t.Errorf("%q: %v", at, err)
		}
	}
}

// TestManyArtifacts is bounded in number and bytes, and what a program leaves that was ended for its files is not kept.
func TestManyArtifacts(t *testing.T) {
	e := executor(t, Options{})
	dir := skill(t, "")
	got := run(t, e, shell(t, dir, "sh", "-c", `cd "$PANNIER_ARTIFACTS"; for i in $(seq 1000); do : >f$i; done`))
	if len(got.Artifacts) != pannier.MaxArtifacts || got.ArtifactsLeftOut[pannier.ArtifactTooMany] != 1000-pannier.MaxArtifacts {
		t.Errorf("%d files, %v", len(got.Artifacts), got.ArtifactsLeftOut)
	}
	got = run(t, e, shell(t, dir, "sh", "-c", `cd "$PANNIER_ARTIFACTS"; truncate -s 60M a; truncate -s 10M b; truncate -s 1M c`))
	if len(got.Artifacts) != 2 || got.ArtifactsLeftOut[pannier.ArtifactTooLarge] != 1 {
		t.Errorf("%+v, %v", got.Artifacts, got.ArtifactsLeftOut)
	}
	got = run(t, e, shell(t, dir, "sh", "-c", `cd "$PANNIER_ARTIFACTS"; truncate -s 1G huge; for i in $(seq 16); do head -c 60M /dev/zero >f$i; done; sleep 60`))
	if codeOf(got) != pannier.ToolOutputLimit || len(got.Artifacts) > 0 {
		t.Errorf("a gigabyte: %+v, %+v", got.Error, got.Artifacts)
	}
	got = run(t, e, shell(t, dir, "sh", "-c", `cd "$PANNIER_ARTIFACTS"; i=0; while [ $i -lt 11000 ]; do : >f$i; i=$((i+1)); done; sleep 60`))
	if codeOf(got) != pannier.ToolOutputLimit || len(got.Artifacts) > 0 {
		t.Errorf("many files: %+v, %d", got.Error, len(got.Artifacts))
	}
	if kept, err := os.ReadDir(e.left.dir); err != nil || len(kept) != 2 {
		t.Errorf("kept: %v, %v", kept, err)
	}
}

// TestSpecialArtifacts has what a program could leave without a sandbox: sockets, devices and names of files elsewhere.
func TestSpecialArtifacts(t *testing.T) {
	outside, work := filepath.Join(t.TempDir(), "outside"), t.TempDir()
	a := artifacts{dir: t.TempDir()}
	l, err := net.Listen("unix", filepath.Join(work, "socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	err = errors.Join(os.WriteFile(outside, []byte("secret"), 0o600), os.Link(outside, filepath.Join(work, "hard")), os.Symlink(outside, filepath.Join(work, "soft")), os.Symlink(filepath.Dir(outside), filepath.Join(work, "dir")))
	want := map[string]int{pannier.ArtifactLink: 3, pannier.ArtifactSpecial: 1}
	if err == nil && unix.Mknod(filepath.Join(work, "null"), unix.S_IFCHR|0o666, 1<<8|3) == nil { // root only
		want[pannier.ArtifactSpecial]++
	}
	deep := work
	for range 2 * maxDepth {
		deep = filepath.Join(deep, "d")
	}
	err = errors.Join(err, os.MkdirAll(deep, 0o700), os.WriteFile(filepath.Join(deep, "file"), nil, 0o600))
	want[pannier.ArtifactName]++ // the directory that is too deep
	files, leftOut := a.keep(t.Context(), "c", work, output.NewMask())
	if err != nil || len(files) > 0 || !maps.Equal(leftOut, want) {
		t.Errorf("%v: %+v, %v", err, files, leftOut)
	}
	if text, err := os.ReadFile(outside); string(text) != "secret" || err != nil {
		t.Errorf("the file elsewhere is %q, %v", text, err)
	}
	if files, leftOut := a.keep(t.Context(), "c", filepath.Join(work, "missing"), output.NewMask()); files != nil || leftOut != nil {
		t.Errorf("%+v, %v", files, leftOut)
	}
}

// TestArtifactsEnd removes the oldest calls where there are too many, and each after an hour.
func TestArtifactsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := artifacts{dir: t.TempDir()}
		mask := output.NewMask()
		keep := func(call string, size int) {
			work := filepath.Join(t.TempDir(), "work")
			err := os.Mkdir(work, 0o700)
			if err == nil {
				err = os.WriteFile(filepath.Join(work, "file"), bytes.Repeat([]byte("x"), size), 0o600)
			}
			if files, _ := a.keep(t.Context(), call, work, mask); err != nil || len(files) != 1 {
				t.Fatalf("%v, %v", files, err)
			}
		}
		has := func(call string) bool { _, err := a.read(call, "file", 0); return err == nil }
		keep("first", 1)
		time.Sleep(time.Minute)
		for i := range maxKeptCalls - 1 {
			keep(strings.Repeat("c", i+1), 1)
		}
		if !has("first") {
			t.Error("a call is gone before there are too many")
		}
		keep("last", 1)
		if has("first") || !has("c") || !has("last") {
			t.Error("not the oldest call was removed")
		}
		time.Sleep(pannier.MaxArtifactAge - time.Second)
		if !has("last") {
			t.Error("a call is gone before its time")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if has("last") || has("c") || len(a.calls) > 0 || a.bytes != 0 {
			t.Errorf("%d calls, %d bytes are left", len(a.calls), a.bytes)
		}
		if left, err := os.ReadDir(a.dir); err != nil || len(left) > 0 {
			t.Errorf("%v, %v", left, err)
		}
		keep("small", 1)
		a.bytes = maxKeptBytes // as of larger files
		keep("large", 2)
		if has("small") || !has("large") {
			t.Error("the bytes of all calls are not bounded")
		}
		a.close()
	})
}

func TestArtifactNames(t *testing.T) {
	for name, want := range map[string]bool{
		"a": true, "a/b c.txt": true, "ä": true, "": false, ".": false, "..": false, "../a": false, "a/../b": false, "/a": false, "a//b": false, "a/": false,
		".a": false, "a/.b": false, "a\x00": false, "a\n": false, "a\xff": false, `a\b`: false, "a\u202eb": false, strings.Repeat("a", 513): false,
	} {
		if got := pannier.IsArtifactName(name); got != want {
			t.Errorf("%q: %t", name, got)
		}
	}
}
