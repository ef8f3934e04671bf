package admin_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pannier"
	"pannier/admin"
	"pannier/admin/archive"
	"pannier/admin/install"
)

// workshop is a fixture with a workspace on disk. Preflight and rescan are fakes that record their calls.
type workshop struct {
	*fixture
	dir string
	// reasons stand against whatever is judged, among others; served are those before.
	reasons        []pannier.Reason
	others, served []*pannier.Entry
	// policy is how the switches of what is judged stand.
	policy pannier.EffectivePolicy
	// uploads are the archives that are ready, by id; unreleased fails their release.
	uploads    map[string]string
	unreleased error
	// blind fails the look.
	blind error
	// before is called before each step of the installation store.
	before func(step string) error
}

const maxBody = 1 << 20

func newWorkshop(t *testing.T) *workshop {
	t.Helper()
	w := &workshop{dir: t.TempDir(), uploads: map[string]string{}}
	write(t, filepath.Join(w.dir, "skills/own/SKILL.md"), "---\nname: own\ndescription: Mine.\n---\nMine.\n")
	store, err := install.Open(t.Context(), install.Options{Rules: rulesOf(w.dir), Trust: pannier.TrustCommunity, Step: w.step})
	if err != nil {
		t.Fatal(err)
	}
	w.fixture = newFixture(t, t.TempDir(), func(o *admin.Options) {
		o.Install = admin.InstallOptions{
			Store: store, Trust: pannier.TrustCommunity, HoldUpload: w.take, Current: w.current, Preflight: w.preflight, Rescan: w.look, Spool: t.TempDir(),
			Archive: archive.Limits{MaxUncompressed: 1 << 20, MaxFile: 1 << 20, MaxEntries: 100}, MaxCompressed: maxBody,
		}
	})
	return w
}

func rulesOf(dir string) pannier.DiscoveryRules {
	return pannier.DiscoveryRules{
		Workspace: dir, MaxDepth: 4, MaxDirs: 1000, MaxSkillBytes: 1 << 20, MaxFrontmatterBytes: 64 << 10,
		Roots: []pannier.Root{{Path: filepath.Join(dir, "skills"), Name: "skills", Kind: pannier.SourceWorkspace, Trust: pannier.TrustInternal, Implicit: true}},
	}
}

// step notes when the disk changes for good.
func (w *workshop) step(name string) error {
	if name == "lock.commit" {
		w.note("disk")
	}
	if w.before != nil {
		return w.before(name)
	}
	return nil
}

func (w *workshop) take(_ context.Context, owner, id string) (*os.File, pannier.Upload, func(bool) error, error) {
	file, err := os.Open(w.uploads[id])
	if err != nil || owner != actor.Owner() {
		return nil, pannier.Upload{}, nil, &pannier.Refusal{Code: "upload.not_found", Message: "no such upload", Hint: "start it"}
	}
	info, err := file.Stat()
	w.note("take %s", id)
	return file, pannier.Upload{ID: id, Size: info.Size(), Format: pannier.TarGz}, func(consumed bool) error {
		w.note("release consumed %t", consumed)
		return errors.Join(file.Close(), w.unreleased)
	}, err
}

func (w *workshop) current() *pannier.Snapshot { return &pannier.Snapshot{Entries: w.served} }

func (w *workshop) preflight(skill *pannier.Skill) (*pannier.Entry, *pannier.Snapshot) {
	w.note("judge %s %s", skill.Slug, skill.TrustLevel)
	e := &pannier.Entry{Skill: skill, Reasons: w.reasons, Policy: w.policy}
	return e, &pannier.Snapshot{Entries: append([]*pannier.Entry{e}, w.others...)}
}

func (w *workshop) look(ctx context.Context, dirs ...string) (*pannier.Snapshot, error) {
	for i, dir := range dirs {
		dirs[i], _ = filepath.Rel(w.dir, dir)
	}
	w.note("look at %s", strings.Join(dirs, " "))
	if _, bounded := ctx.Deadline(); !bounded {
		return nil, errors.New("the look has no bound")
	}
	if w.blind != nil {
		return nil, w.blind
	}
	w.registry.Version++
	s := w.registry
	return &s, nil
}

// upload makes an archive ready.
func (w *workshop) upload(t *testing.T, id string, body []byte) pannier.InstallSource {
	t.Helper()
	w.uploads[id] = filepath.Join(t.TempDir(), id)
	write(t, w.uploads[id], string(body))
	return pannier.InstallSource{UploadID: id}
}

func body(b []byte) pannier.InstallSource {
	return pannier.InstallSource{Body: bytes.NewReader(b), Name: "it.tgz"}
}

// disk returns the files of the workspace, and fails where anything of a change is left half done.
func (w *workshop) disk(t *testing.T) string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(w.dir, func(name string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(w.dir, name)
		if err == nil && strings.Contains(rel, ".pannier/staging/") {
			t.Errorf("%s is left", rel)
		}
		if err == nil && !d.IsDir() && !strings.Contains(rel, ".pannier") {
			names = append(names, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(names, " ")
}

// did returns what has happened since it was asked last.
func (w *workshop) did() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	was := strings.Join(w.happened, "\n")
	w.happened = nil
	return was
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// skillText is the SKILL.md of a version of the skill it.
func skillText(version string) string {
	return "---\nname: it\ndescription: Does it.\nversion: " + version + "\n---\n# It\nDo it.\n"
}

// skillOf packs a version of the skill it.
func skillOf(version string) []byte {
	return pack(map[string]string{"it/SKILL.md": skillText(version)})
}

// pack makes a tar.gz of files. A file whose text is "-> target" is a link.
func pack(files map[string]string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	t := tar.NewWriter(z)
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(files)) {
		text := files[name]
		h := &tar.Header{Name: name, Mode: 0o644, Size: int64(len(text)), ModTime: time.Unix(1, 0)}
		if target, link := strings.CutPrefix(text, "-> "); link {
			h.Typeflag, h.Linkname, h.Size, text = tar.TypeSymlink, target, 0, ""
		}
		errs = append(errs, t.WriteHeader(h))
		_, err := t.Write([]byte(text))
		errs = append(errs, err)
	}
	if err := errors.Join(append(errs, t.Close(), z.Close())...); err != nil {
		panic(err)
	}
	return b.Bytes()
}
