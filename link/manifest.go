package link

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"pannier"
	"pannier/internal/fsx"
	"pannier/sidecar"
)

const (
	manifestName    = pannier.OwnDir + "/links.json"
	manifestVersion = 1
	// maxManifest bounds the manifest in bytes; each of 20,000 skills has fewer than 400.
	maxManifest = 8 << 20
)

// manifest says which entries of a directory pannier made.
type manifest struct {
	Version     int    `json:"version"`
	WorkspaceID string `json:"workspace_id"`
	Workspace   string `json:"workspace"`
	// Created is set where pannier created the directory.
	Created bool `json:"created,omitempty"`
	// Links are the texts of the links that were made, or were about to be made, by name.
	Links map[string][]string `json:"links"`

	// rebuilt is set where the file is damaged: links to skills of the workspace are taken for pannier's own.
	rebuilt bool
	written []byte // as the disk has it
}

func (m *manifest) add(name, text string) {
	if !slices.Contains(m.Links[name], text) {
		m.Links[name] = append(m.Links[name], text)
	}
}

// readManifest reads the manifest of the directory. A damaged one is rebuilt, since all but dangling links are known
// without it.
func (p *pass) readManifest() error {
	text, _, err := fsx.ReadRegularIn(p.root, manifestName, maxManifest)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var m manifest
	if err := json.Unmarshal(text, &m); err != nil || m.Version < 1 || m.WorkspaceID == "" {
		p.made.rebuilt = true
		return nil
	}
	if m.Version > manifestVersion {
		return &sidecar.Error{
			Message: fmt.Sprintf("%s was written by a newer version of pannier", p.real), Hint: "run that version, or remove the directory",
		}
	}
	if m.WorkspaceID != p.WorkspaceID {
		return &sidecar.Error{
			Message: fmt.Sprintf("%s has the skills of another workspace, %s", p.real, m.Workspace),
			Hint:    fmt.Sprintf("name another directory, or run \"pannier link %s --remove --workspace %s\"", p.real, m.Workspace),
		}
	}
	m.written, m.Workspace = text, p.Workspace
	if m.Links == nil {
		m.Links = map[string][]string{}
	}
	p.made = m
	return nil
}

func (p *pass) writeManifest() error {
	p.made.Version = manifestVersion
	text, err := json.MarshalIndent(p.made, "", "  ")
	if err != nil || string(text) == string(p.made.written) {
		return err
	}
	err = fsx.WriteFileIn(p.root, manifestName, text, fsx.WriteOptions{
		Temporary: p.fresh("new-"), Prepare: func(f *os.File) error { return f.Chmod(0o644) }, // sidecars of other users read it
	})
	if err == nil {
		p.made.written = text
	}
	return err
}

// fresh returns a new name in pannier's own directory.
func (p *pass) fresh(prefix string) string { return pannier.OwnDir + "/" + prefix + rand.Text() }

// clean removes what a killed process was making, and finishes its removals.
func (p *pass) clean() error {
	entries, err := fs.ReadDir(p.root.FS(), pannier.OwnDir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		at := pannier.OwnDir + "/" + e.Name()
		switch {
		case strings.HasPrefix(e.Name(), "new-"):
			err = errors.Join(err, p.root.RemoveAll(at))
		case strings.HasPrefix(e.Name(), "old-"):
			m, _ := p.markerIn(at)
			err = errors.Join(err, p.purge(m.Slug, at))
		}
	}
	return err
}
