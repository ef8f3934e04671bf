package config

import (
	"cmp"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"pannier"
)

const (
	socketName        = "pannier.sock"
	defaultSocketTold = `the path that "pannier socket" prints`
	defaultStateTold  = "/var/lib/pannier for root, else below $XDG_STATE_HOME or ~/.local/state"
	tokenName         = ".auth_token"

	// maxSocketPath is what fits into the address of a unix socket beside its closing NUL (Linux, unix(7): sun_path).
	maxSocketPath = 107
)

func (l *settingsLoader) completeWorkspace() {
	d := &l.draft
	_, d.Given.Workspace = l.from["workspace"]
	_, d.Given.Roots = l.from["roots"]
	_, d.Given.Socket = l.from["socket"]
	dir, err := filepath.Abs(d.Workspace)
	if err != nil {
		l.faults = append(l.faults, l.place("workspace").fault("the working directory is gone: "+err.Error(), "give an absolute path"))
		return
	}
	d.Workspace = dir
	urlSpace := [16]byte{0x6b, 0xa7, 0xb8, 0x11, 0x9d, 0xad, 0x11, 0xd1, 0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4, 0x30, 0xc8}
	sum := sha1.Sum(append(urlSpace[:], dir...))
	sum[6] = sum[6]&0x0f | 0x50 // version 5
	sum[8] = sum[8]&0x3f | 0x80 // variant of the RFC
	id := hex.EncodeToString(sum[:16])
	d.WorkspaceID = cmp.Or(d.WorkspaceID, strings.Join([]string{id[:8], id[8:12], id[12:16], id[16:20], id[20:]}, "-"))
}

// in returns the root as it is once the workspace is known.
func (r writtenRoot) in(workspace string) pannier.Root {
	root := pannier.Root{Path: pathIn(workspace, r.path), Kind: r.kind, Trust: cmp.Or(r.trust, rootTrust)}
	for _, dir := range r.targets {
		root.LinkTargets = append(root.LinkTargets, pathIn(workspace, dir))
	}
	root.Name = root.Path
	place := pannier.SourceExtra
	if below, err := filepath.Rel(workspace, root.Path); err == nil && filepath.IsLocal(below) {
		root.Name, place = filepath.ToSlash(below), pannier.SourceWorkspace
	}
	root.Kind = cmp.Or(root.Kind, place)
	root.Implicit = root.Kind == pannier.SourceWorkspace
	if r.implicit != nil {
		root.Implicit = *r.implicit
	}
	return root
}

// pathIn returns a path that is below the workspace where it is relative.
func pathIn(workspace, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(workspace, path)
}

func (l *settingsLoader) completeSocket() {
	if l.bad["socket"] {
		return
	}
	d := &l.draft
	if d.Socket.Path == "" {
		d.Socket.Path = defaultSocket(os.Geteuid(), l.variables)
	}
	place := l.place("socket")
	if d.Socket.Path == "" {
		l.faults = append(l.faults, place.fault("there is no place for it: neither XDG_RUNTIME_DIR nor HOME is set", "give --socket"))
	}
	if len(d.Socket.Path) > maxSocketPath {
		l.faults = append(l.faults, place.fault(fmt.Sprintf("the path has %d bytes, and a unix socket can have %d", len(d.Socket.Path), maxSocketPath), "give a shorter --socket, such as one below /run or /tmp"))
	}
}

// defaultState returns where the state of a user is, or nothing. Relative directories do not count (XDG Base Directory
// Specification).
func defaultState(uid int, v variables) string {
	if uid == 0 {
		return "/var/lib/pannier"
	}
	if filepath.IsAbs(v["XDG_STATE_HOME"]) {
		return filepath.Join(v["XDG_STATE_HOME"], "pannier")
	}
	if filepath.IsAbs(v["HOME"]) {
		return filepath.Join(v["HOME"], ".local", "state", "pannier")
	}
	return ""
}

// defaultSocket returns where the socket of a user is, or nothing.
func defaultSocket(uid int, v variables) string {
	if uid == 0 {
		return "/run/pannier/" + socketName
	}
	if filepath.IsAbs(v["XDG_RUNTIME_DIR"]) {
		return filepath.Join(v["XDG_RUNTIME_DIR"], "pannier", socketName)
	}
	if dir := defaultState(uid, v); dir != "" {
		return filepath.Join(dir, socketName)
	}
	return ""
}
