// Package link keeps directories that hosts load by themselves in step with the skills that the model may be offered.
//
// A directory has an entry for each such skill, called by its slug: a relative symlink to the skill directory, or a copy
// of the files that are served. All that is pannier's own lies in its directory `.pannier`:
//
//	links.json  the manifest: whose workspace the entries are of, and the links that were made
//	lock        empty; locked during a pass
//	new-*       a copy or a link that is being made
//	old-*       a copy that is being removed
//	kept-*      files that others wrote into a copy that was removed
//
// An entry is pannier's own if it is a link that the manifest names, with that target, or a copy with a marker of the
// workspace and the slug. Nothing else is ever replaced or removed. The manifest names a link before it is made, so that a
// killed process leaves none behind that nothing owns.
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
	"time"

	"golang.org/x/sys/unix"

	"pannier"
	"pannier/config"
	"pannier/internal/fsx"
	"pannier/sidecar"
)

// Skill is a skill of the workspace.
type Skill struct {
	Slug string
	// Dir is the absolute skill directory as this process sees it.
	Dir string
	// Offered says that the model may be offered the skill without being told to. Only such skills have an entry.
	Offered bool
	// Fingerprint is that of the files, zero if it is not known. A copy is not compared again while it is the same.
	Fingerprint pannier.Digest
}

// SkillsOf returns the skills of a list. A skill that cannot be read now keeps its entry as long as it is usable.
func SkillsOf(workspace string, entries []*pannier.Entry) []Skill {
	var skills []Skill
	for _, e := range entries {
		if e.State == pannier.StateShadowed {
			continue
		}
		dir := filepath.FromSlash(e.Path)
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(workspace, dir)
		}
		skills = append(skills, Skill{
			Slug: e.Slug, Dir: dir, Offered: e.Automatic() && !e.ToolsOnly, Fingerprint: e.Fingerprint,
		})
	}
	return skills
}

// IsPartial reports whether problems of a workspace say that a part of it could not be read, such as a volume that is not
// mounted yet.
func IsPartial(problems []pannier.Problem) bool {
	return slices.ContainsFunc(problems, func(p pannier.Problem) bool {
		return p.Code == config.CodeWorkspaceMissing || p.Code == "card.withheld"
	})
}

// Contents reads the files of skills that are served. It is needed for copies only.
type Contents interface {
	// Files returns the files of a usable skill.
	Files(ctx context.Context, slug string) ([]pannier.File, error)
	// Read writes a file of a skill.
	Read(ctx context.Context, slug, path string, to io.Writer) error
}

// Options say whose skills a directory has.
type Options struct {
	// WorkspaceID and Workspace are those of the workspace. A directory has skills of one workspace.
	WorkspaceID, Workspace string
	// Rules are those that the workspace is read by, so that no directory of skills is linked into itself.
	Rules    pannier.DiscoveryRules
	Contents Contents
	// Partial says that not all skills are known: entries of others stay.
	Partial bool
	// DryRun reports what would change, and changes nothing.
	DryRun bool
}

// Directory is a directory that a host loads. It is for one caller at a time.
type Directory struct {
	// Path is absolute. The directory may be missing; its last two components are created.
	Path string
	// Copy copies skills, for hosts that do not follow links, or do not see the workspace.
	Copy bool

	compared map[string]pannier.Digest // fingerprints of the skills whose copies are up to date, by slug
}

// Action is what was done, or could not be done, with an entry.
type Action string

// The actions.
const (
	Linked  Action = "linked"  // the entry is new, or its target is
	Copied  Action = "copied"  // the copy is new, or its content is
	Removed Action = "removed" // the skill may not be offered any more
	Foreign Action = "foreign" // something that pannier did not make has the name; it stays
	Kept    Action = "kept"    // files that others wrote into a copy stay in the directory that Message names
	Failed  Action = "failed"  // the skill could not be copied; an older copy stays
)

// Change is one change of a directory.
type Change struct {
	Action  Action `json:"action"`
	Slug    string `json:"slug"`
	Message string `json:"message,omitempty"`
}

// Report is what became of a directory.
type Report struct {
	// Directory is the path without symlinks.
	Directory string `json:"directory"`
	// Skills is the number of entries that are in place.
	Skills  int      `json:"skills"`
	Changes []Change `json:"changes"`
}

func (r *Report) add(action Action, slug, message string) {
	r.Changes = append(r.Changes, Change{action, slug, message})
}

// Conflicts returns the names of skills without an up-to-date entry.
func (r *Report) Conflicts() (slugs []string) {
	for _, c := range r.Changes {
		if c.Action == Foreign || c.Action == Failed {
			slugs = append(slugs, c.Slug)
		}
	}
	return slugs
}

// Keep makes the entries of the directory those of the skills. Where it fails, what it has done so far stays, and
// another call goes on.
func (d *Directory) Keep(ctx context.Context, o Options, skills []Skill) (Report, error) {
	p, err := d.open(ctx, o)
	if err != nil {
		return Report{Directory: d.Path}, err
	}
	defer p.close()
	err = p.keep(ctx, skills)
	return p.report, err
}

// Remove removes all entries that pannier made, and then what it needs for them.
func (d *Directory) Remove(ctx context.Context, o Options, skills []Skill) (Report, error) {
	if _, err := os.Lstat(filepath.Join(d.Path, pannier.OwnDir)); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return Report{Directory: d.Path}, nil
		}
		return Report{Directory: d.Path}, err
	}
	o.Partial = false
	for i := range skills {
		skills[i].Offered = false
	}
	p, err := d.open(ctx, o)
	if err != nil {
		return Report{Directory: d.Path}, err
	}
	defer p.close()
	if err = p.keep(ctx, skills); err == nil && !o.DryRun {
		err = p.clear()
	}
	return p.report, err
}

// pass is one pass over a directory.
type pass struct {
	*Directory
	Options
	root   *os.Root // nil in a dry run if the directory is missing
	lock   *os.File
	real   string
	made   manifest
	report Report
}

func (d *Directory) open(ctx context.Context, o Options) (*pass, error) {
	real, missing, err := resolve(d.Path)
	if err != nil {
		return nil, err
	}
	if err := checkRoots(o.Rules, real); err != nil {
		return nil, err
	}
	p := &pass{Directory: d, Options: o, real: real, report: Report{Directory: real, Changes: []Change{}}}
	p.made = manifest{WorkspaceID: o.WorkspaceID, Workspace: o.Workspace, Created: missing, Links: map[string][]string{}}
	if missing && o.DryRun {
		return p, nil
	}
	if p.root, err = openOwned(o.Workspace, d.Path); err != nil {
		return nil, err
	}
	if err = p.begin(ctx); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// openOwned opens a directory, or makes it. An ordinary user must not choose, by a symlink, which directory of another
// user the sidecar of root writes to.
func openOwned(workspace, dir string) (*os.Root, error) {
	root, rel, err := fsx.OpenOwnedAbove(workspace, dir)
	if refused, ok := errors.AsType[*fsx.OwnerError](err); ok {
		return nil, &sidecar.Error{Message: refused.Message, Hint: refused.Hint}
	}
	if err != nil || rel == "." {
		return root, err
	}
	defer root.Close()
	if err := root.MkdirAll(rel, 0o755); err != nil {
		return nil, err
	}
	return fsx.OpenRootIn(root, rel)
}

// begin locks the directory, reads the manifest, and removes what a killed process left.
func (p *pass) begin(ctx context.Context) error {
	if !p.DryRun {
		if err := p.takeLock(ctx); err != nil {
			return err
		}
	}
	if err := p.readManifest(); err != nil {
		return err
	}
	if p.DryRun {
		return nil
	}
	return p.clean()
}

func (p *pass) close() {
	if p.lock != nil {
		fsx.Unlock(p.lock)
	}
	if p.root != nil {
		p.root.Close()
	}
}

// lockTimeout bounds how long a pass waits for another one.
const lockTimeout = 10 * time.Second

// takeLock locks the directory against other processes.
func (p *pass) takeLock(ctx context.Context) error {
	const name = pannier.OwnDir + "/lock"
	ctx, cancel := context.WithTimeoutCause(ctx, lockTimeout, &sidecar.Error{
		Message: "another process is changing " + p.real, Hint: "wait until it ends, and try again",
	})
	defer cancel()
	for {
		if err := p.root.Mkdir(pannier.OwnDir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		f, err := p.root.OpenFile(name, os.O_RDWR|os.O_CREATE|unix.O_NONBLOCK, 0o644)
		if err != nil {
			return err
		}
		if err := fsx.LockContext(ctx, f, 20*time.Millisecond); err != nil {
			f.Close()
			return err
		}
		opened, err := f.Stat()
		now, gone := p.root.Stat(name) // a removal of all entries removes the lock too
		if err == nil && gone == nil && os.SameFile(opened, now) {
			p.lock = f
			return nil
		}
		fsx.Unlock(f)
		if err := errors.Join(err, context.Cause(ctx)); err != nil {
			return err
		}
	}
}

// createdParts is how many components of a missing directory are created: those that a host has below a project, such as
// .claude/skills. A mount that is not there yet must not be hidden by a directory in its place.
const createdParts = 2

// resolve returns a directory without symlinks, and whether it is still to be created.
func resolve(path string) (real string, missing bool, err error) {
	rest := ""
	for at := path; ; {
		real, err := filepath.EvalSymlinks(at)
		if err == nil {
			info, err := os.Stat(real)
			if err == nil && !info.IsDir() {
				err = &fs.PathError{Op: "open", Path: at, Err: unix.ENOTDIR}
			}
			return filepath.Join(real, rest), rest != "", err
		}
		if _, dangling := os.Lstat(at); dangling == nil || !errors.Is(err, fs.ErrNotExist) {
			return "", false, err
		}
		if strings.Count(rest, "/") == createdParts-1 || at == filepath.Dir(at) {
			return "", false, &sidecar.Error{
				Message: fmt.Sprintf("directory %s does not exist, so %s is not created", filepath.Dir(at), path),
				Hint:    "create " + filepath.Dir(at) + ", or name another directory",
			}
		}
		rest, at = filepath.Join(filepath.Base(at), rest), filepath.Dir(at)
	}
}

// checkRoots refuses a directory that the workspace is read from: each skill in it would have an entry that is a skill.
func checkRoots(rules pannier.DiscoveryRules, dir string) error {
	for _, root := range rules.Roots {
		at := root.Path
		if real, err := filepath.EvalSymlinks(at); err == nil {
			at = real
		}
		below, err := filepath.Rel(at, dir)
		if err != nil {
			continue
		}
		up := below == ".." || strings.HasPrefix(below, "../")
		skipped := !up && below != "." && slices.ContainsFunc(strings.Split(below, "/"), rules.Skips)
		above, err := filepath.Rel(dir, at)
		holds := err == nil && above != ".." && !strings.HasPrefix(above, "../")
		if holds || !up && !skipped {
			return &sidecar.Error{
				Message: fmt.Sprintf("%s cannot be linked into, because pannier reads the skills of %s itself", dir, root.Path),
				Hint:    "name a directory outside of the roots, or move the skills to a workspace of their own and name it with --workspace",
			}
		}
	}
	return nil
}

// target returns the text of the link to a skill. A relative one holds wherever the tree is mounted.
func (p *pass) target(s Skill) string {
	rel, err := filepath.Rel(p.real, s.Dir)
	if err != nil {
		return s.Dir
	}
	return rel
}

// maxName is the longest name of a file in bytes, of the usual file systems.
const maxName = 255

// keep removes what may not be offered first, since that works on a full disk too.
func (p *pass) keep(ctx context.Context, skills []Skill) error {
	byName := map[string]Skill{}
	for _, s := range skills {
		byName[s.Slug] = s
		if text := p.target(s); p.made.rebuilt && p.isLink(s.Slug, text) {
			p.made.add(s.Slug, text)
		}
	}
	for _, name := range p.owned() {
		if s, ok := byName[name]; ok && s.Offered || !ok && p.Partial {
			continue
		}
		if err := p.remove(name); err != nil {
			return err
		}
		p.report.add(Removed, name, "")
		if !p.DryRun {
			delete(p.made.Links, name)
		}
	}
	var todo []Skill
	for _, s := range skills {
		if !s.Offered {
			continue
		}
		if len(s.Slug) > maxName {
			p.report.add(Failed, s.Slug, "the slug is longer than the name of a file")
			continue
		}
		switch state := p.state(s); {
		case state == stateForeign:
			p.report.add(Foreign, s.Slug, "pannier did not make "+filepath.Join(p.real, s.Slug)+"; it stays")
		case state == stateCurrent && !p.Copy:
			p.made.Links[s.Slug] = []string{p.target(s)}
			p.report.Skills++
		default:
			todo = append(todo, s)
		}
	}
	var err error
	if p.Copy {
		err = p.copyAll(ctx, todo)
	} else {
		err = p.linkAll(todo)
	}
	if err != nil || p.DryRun {
		return err
	}
	return p.writeManifest()
}

// linkAll makes links, after the manifest names them.
func (p *pass) linkAll(todo []Skill) error {
	if len(todo) == 0 {
		return nil
	}
	if !p.DryRun {
		for _, s := range todo {
			p.made.add(s.Slug, p.target(s))
		}
		if err := p.writeManifest(); err != nil {
			return err
		}
	}
	for _, s := range todo {
		if _, err := os.Stat(s.Dir); err != nil { // another machine or container has the workspace
			p.report.add(Failed, s.Slug, err.Error()+"; copies (--copy) need no access to the directory")
			continue
		}
		if !p.DryRun {
			if err := p.link(s); err != nil {
				return err
			}
			p.made.Links[s.Slug] = []string{p.target(s)}
		}
		p.report.add(Linked, s.Slug, "")
		p.report.Skills++
	}
	return nil
}

// link makes one link, atomically.
func (p *pass) link(s Skill) error {
	switch p.state(s) {
	case stateMissing:
		return p.root.Symlink(p.target(s), s.Slug) // fails where another file has the name by now
	case stateCopy:
		if err := p.remove(s.Slug); err != nil {
			return err
		}
		return p.root.Symlink(p.target(s), s.Slug)
	case stateForeign:
		return &fs.PathError{Op: "link", Path: filepath.Join(p.real, s.Slug), Err: fs.ErrExist}
	}
	fresh := p.fresh("new-")
	if err := p.root.Symlink(p.target(s), fresh); err != nil {
		return err
	}
	return p.root.Rename(fresh, s.Slug)
}

// The states of an entry.
type state int

const (
	stateMissing state = iota
	stateCurrent       // a link with the text that it should have
	stateLink          // another link that pannier made
	stateCopy          // a copy that pannier made
	stateForeign
)

func (p *pass) state(s Skill) state {
	if p.root == nil {
		return stateMissing
	}
	info, err := p.root.Lstat(s.Slug)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return stateMissing
	case err != nil:
		return stateForeign
	case info.IsDir():
		if _, ok := p.marker(s.Slug); ok {
			return stateCopy
		}
	case p.isLink(s.Slug, p.target(s)): // with the text of pannier's link, it is as good as one
		return stateCurrent
	case p.owns(s.Slug):
		return stateLink
	}
	return stateForeign
}

// isLink reports whether an entry is a link with a text.
func (p *pass) isLink(name string, texts ...string) bool {
	if p.root == nil {
		return false
	}
	text, err := p.root.Readlink(name)
	if err != nil {
		return false
	}
	inJSON := string([]rune(text)) // bytes that are not UTF-8 are replaced in the manifest
	return slices.Contains(texts, text) || slices.Contains(texts, inJSON)
}

// owns reports whether pannier made an entry.
func (p *pass) owns(name string) bool {
	if p.isLink(name, p.made.Links[name]...) {
		return true
	}
	_, ok := p.marker(name)
	return ok
}

// owned returns the names of the entries that pannier made, in order.
func (p *pass) owned() (names []string) {
	if p.root == nil {
		return nil
	}
	entries, _ := fs.ReadDir(p.root.FS(), ".")
	for _, e := range entries {
		if e.Name() != pannier.OwnDir && (e.IsDir() || e.Type() == fs.ModeSymlink) && p.owns(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names
}

// remove removes an entry that pannier made.
func (p *pass) remove(name string) error {
	if p.DryRun {
		return nil
	}
	delete(p.compared, name)
	if p.isLink(name, p.made.Links[name]...) {
		return p.root.Remove(name)
	}
	old := p.fresh("old-")
	if err := p.root.Rename(name, old); err != nil {
		return err
	}
	return p.purge(name, old)
}

// clear removes what pannier needs for entries, and the directory itself if pannier created it and nothing is left in it.
func (p *pass) clear() error {
	entries, err := fs.ReadDir(p.root.FS(), pannier.OwnDir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "kept-") {
			return p.root.Remove(manifestName)
		}
	}
	if err := p.root.RemoveAll(pannier.OwnDir); err != nil || !p.made.Created {
		return err
	}
	_ = os.Remove(p.real) // fails where others have files in it
	return nil
}
