package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pannier"
	"pannier/internal/testbench/realskills"
	"pannier/publish/client"
)

// bundle is a skill folder as ClawHub packs it, with a _meta.json that says slug and version.
type bundle struct {
	name          string // below the corpus
	slug, version string
	files         map[string]string
}

// TestBundlesOfARegistry installs folders with a _meta.json, each as a flat zip and as a tar.gz with one directory, and pins
// what becomes of them.
func TestBundlesOfARegistry(t *testing.T) {
	t.Parallel()
	s := startSidecar(t, newWorkspace(t), "--platform-url", "off", "--state-dir", t.TempDir(), "--log-level", "warn")
	var words strings.Builder
	installed := 0
	for _, b := range bundles(t, 40) {
		zipped := s.became(t, b, pannier.Zip, flatZip(t, b.files))
		folder := map[string]string{}
		for name, text := range b.files {
			folder["bundle/"+name] = text
		}
		tarred := s.became(t, b, pannier.TarGz, packed(folder))
		if strings.HasPrefix(zipped, "installed") {
			installed++
		}
		if zipped != tarred {
			zipped += "; as a tar.gz " + tarred
		}
		fmt.Fprintf(&words, "%s: %s\n", b.name, zipped)
	}
	if installed < 10 {
		t.Errorf("%d were installed", installed)
	}
	realskills.CheckGolden(t, "testdata/bundles.golden", words.String())
}

// became installs an archive, says in words what came of it, and removes it again.
func (s *sidecarUnderTest) became(t *testing.T, b bundle, format pannier.ArchiveFormat, archive []byte) string {
	t.Helper()
	src := pannier.InstallSource{Body: bytes.NewReader(archive), Format: format}
	result, err := s.Install(t.Context(), pannier.InstallRequest{AllowMissing: true}, src)
	if refusal, ok := errors.AsType[*client.Error](err); ok && strings.Contains(refusal.Code, ".") && refusal.Hint != "" {
		s.healthyStill(t, b)
		return "refused, " + refusal.Code
	}
	if err != nil {
		t.Fatalf("%s: %v", b.name, err)
	}
	e, err := s.Skill(t.Context(), result.Skill.Slug, "")
	if err != nil || e.Version != b.version || e.Slug != b.slug || len(e.Commands)+len(e.Tools) > 0 {
		t.Errorf("%s says %s %s, and is %s %s, %v", b.name, b.slug, b.version, e.Slug, e.Version, err)
	}
	if _, err := s.Uninstall(t.Context(), pannier.RemoveRequest{Slug: result.Skill.Slug}); err != nil {
		t.Errorf("%s: %v", b.name, err)
	}
	return fmt.Sprintf("%s as %s %s, %d files", result.Status, e.Slug, e.Version, result.Files)
}

// healthyStill checks that a refusal left nothing.
func (s *sidecarUnderTest) healthyStill(t *testing.T, b bundle) {
	t.Helper()
	list, err := s.Skills(t.Context(), "", true)
	if err != nil || len(list.Skills) > 0 {
		t.Errorf("%s: refused, and %d skills are served, %v", b.name, len(list.Skills), err)
	}
}

// bundles returns so many of the corpus, from all over it.
func bundles(t *testing.T, most int) (some []bundle) {
	t.Helper()
	dir := realskills.Dir(t)
	var metas []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "_meta.json" {
			metas = append(metas, path)
		}
		return err
	})
	if err != nil || len(metas) < most {
		t.Fatalf("%d bundles, %v", len(metas), err)
	}
	slices.Sort(metas)
	for i := range most {
		some = append(some, readBundle(t, dir, filepath.Dir(metas[i*len(metas)/most])))
	}
	return some
}

func readBundle(t *testing.T, corpus, dir string) bundle {
	t.Helper()
	b := bundle{files: map[string]string{}}
	b.name, _ = filepath.Rel(corpus, dir)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		b.files[rel] = string(text)
		return err
	})
	var meta struct {
		Slug   string
		Latest struct{ Version string }
	}
	if err := errors.Join(err, json.Unmarshal([]byte(b.files["_meta.json"]), &meta)); err != nil {
		t.Fatalf("%s: %v", b.name, err)
	}
	b.slug, b.version = meta.Slug, meta.Latest.Version
	return b
}

func flatZip(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for name, text := range files {
		f, err := z.Create(name)
		if err == nil {
			_, err = f.Write([]byte(text))
		}
		need(t, err)
	}
	need(t, z.Close())
	return out.Bytes()
}
