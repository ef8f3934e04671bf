package install

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"golang.org/x/sys/unix"

	"pannier"
	"pannier/internal/fsx"
	"pannier/loader/fingerprint"
	"pannier/loader/scan"
)

// heldName is the file that tells whether a process still has a use for a directory of staging.
const heldName = "held"

// Staged is a skill that lies beside a root, whole and judged, and can be installed. Whoever has it must call
// [Staged.Discard] at the end, also after it was installed. It is for one caller at a time.
type Staged struct {
	// Skill is as the loader reads it, at the place where it would be installed. It must not be changed.
	Skill       *pannier.Skill
	Fingerprint pannier.Digest
	// Problems are those of the skill's files, Findings what the scan says; none of them keeps it from being installed.
	Problems []pannier.Problem
	Findings []pannier.Finding
	// Decision is that of the scan, Truncated says that not every finding is told.
	Decision  pannier.ScanDecision
	Truncated bool
	// Files and Bytes count what is in it.
	Files int
	Bytes int64

	store  *Store
	root   pannier.Root
	area   *area
	accept []string // rules whose blocking findings are accepted
}

// Fill writes the files of a skill right into an empty directory, and returns what the directory that they come from is called,
// empty where that is not known.
type Fill func(ctx context.Context, into *os.Root) (folder string, err error)

// Stage makes a directory, fills it, syncs what is in it, and reads and judges that. A skill that says no slug is called by
// the folder that it comes from, or else by its name. What is no skill, or is not to be installed, is a [*pannier.Refusal]. An
// error of fill is returned. What was written is removed after an error. Blocking findings of the accepted rules do not refuse it.
func (s *Store) Stage(ctx context.Context, kind pannier.SourceKind, fill Fill, accept ...string) (*Staged, error) {
	roots, err := s.rootsOf(kind)
	if err != nil {
		return nil, err
	}
	a, err := s.newArea(ctx, roots[0])
	if err != nil {
		return nil, err
	}
	return s.staged(ctx, roots[0], a, fill, accept)
}

// staged fills and judges an area that was made for a root.
func (s *Store) staged(ctx context.Context, root pannier.Root, a *area, fill Fill, accept []string) (*Staged, error) {
	st := &Staged{store: s, root: root, area: a, accept: accept}
	if err := st.take(ctx, fill); err != nil {
		return nil, explain(root, errors.Join(a.unlessGone(err), st.Discard()))
	}
	return st, nil
}

// Discard removes what is staged. Where that fails, the next recovery does it, and [LeftBehind] tells of it. Done again, it
// does nothing.
func (st *Staged) Discard() error {
	if st.area.p == nil {
		return nil
	}
	err := st.area.close()
	if st.area.outside == "" {
		st.store.tidy(st.root)
	}
	if err != nil {
		return fmt.Errorf("discard what was staged for %s: %w", st.root.Path, err)
	}
	return nil
}

// area is a directory of staging that this process holds.
type area struct {
	p    *place
	id   string
	held *os.File
	// outside is the directory that is only there for this area, empty where it lies in a root.
	outside string
}

// newArea makes a directory of staging, while nobody sweeps.
func (s *Store) newArea(ctx context.Context, root pannier.Root) (*area, error) {
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.end()
	p, err := s.enter(ctx, root)
	if err != nil {
		return nil, err
	}
	defer p.leave()
	return p.newArea()
}

func (p *place) newArea() (*area, error) {
	a := &area{id: randomName()}
	if err := p.store.step("stage.make"); err != nil {
		return nil, err
	}
	own, err := p.store.open(p.root) // the place is left before the area is
	if err != nil {
		return nil, err
	}
	a.p = own
	if err := a.make(); err != nil {
		return nil, explain(p.root, errors.Join(err, a.close()))
	}
	return a, nil
}

func randomName() string {
	var b [8]byte
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

func (a *area) make() error {
	if err := a.p.dir.MkdirAll(path.Join(a.rel(), "new"), 0o755); err != nil {
		return err
	}
	f, err := a.p.dir.OpenFile(path.Join(a.rel(), heldName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	a.held = f
	_, err = fsx.TryLock(f)
	return errors.Join(err, a.p.sync(a.rel()), a.p.sync(stagingRel))
}

func (a *area) rel() string { return path.Join(stagingRel, a.id) }

// close removes the directory and gives up what holds it.
func (a *area) close() error {
	if a.p == nil {
		return nil
	}
	err := a.p.clear(a.rel())
	if a.outside != "" {
		err = errors.Join(err, os.RemoveAll(a.outside))
	}
	if a.held != nil {
		fsx.Unlock(a.held)
	}
	a.p.leave()
	a.p = nil
	return err
}

// take fills the area and judges what is in it.
func (st *Staged) take(ctx context.Context, fill Fill) error {
	folder, err := st.fill(ctx, fill)
	if err != nil {
		return err
	}
	if err := st.settle(ctx, folder); err != nil {
		return err
	}
	if err := st.step("stage.sync", func(rel string) error { return st.area.p.syncTree(ctx, rel) }); err != nil {
		return err
	}
	return st.judge(ctx)
}

// settle gives the directory the name that it is installed under, and reads it there.
func (st *Staged) settle(ctx context.Context, folder string) error {
	slug, err := st.slug(ctx, folder)
	if err == nil {
		err = st.call(folder, slug)
	}
	if err != nil {
		return err
	}
	if st.Skill, err = st.read(ctx, slug); err != nil {
		return err
	}
	st.Problems = st.Skill.Problems
	return acceptable(st.Skill, slug)
}

// step runs a step on the staged directory.
func (st *Staged) step(name string, do func(rel string) error) error {
	if err := st.store.step(name); err != nil {
		return err
	}
	return do(path.Join(st.area.rel(), "new"))
}

// fill returns the name that the directory has then: that of the folder, or one that says that there is none.
func (st *Staged) fill(ctx context.Context, fill Fill) (folder string, err error) {
	err = st.step("stage.fill", func(rel string) error {
		into, err := st.area.p.makeRoom(path.Join(rel, st.area.id))
		if err != nil {
			return err
		}
		defer into.Close()
		if folder, err = fill(ctx, into); err != nil {
			return fmt.Errorf("%w: %w", errFill, err)
		}
		if _, err := into.Lstat(pannier.OwnDir); err == nil {
			return refuse("install.invalid", "the skill has a directory "+pannier.OwnDir+", which is pannier's own", "leave it out")
		}
		return ctx.Err()
	})
	if err != nil {
		return "", err
	}
	if !isName(folder) || folder[0] == '.' || len(folder) > maxSlugBytes {
		return st.area.id, nil
	}
	return folder, st.call(st.area.id, folder)
}

// makeRoom makes a directory that everybody may look into, whatever the mask of this process is.
func (p *place) makeRoom(rel string) (*os.Root, error) {
	if err := errors.Join(p.dir.Mkdir(rel, 0o755), p.dir.Chmod(rel, 0o755)); err != nil {
		return nil, err
	}
	return fsx.OpenRootIn(p.dir, rel)
}

// call renames the directory.
func (st *Staged) call(folder, slug string) error {
	if folder == slug {
		return nil
	}
	return st.step("stage.name", func(rel string) error {
		return st.area.p.rename(path.Join(rel, folder), path.Join(rel, slug), 0)
	})
}

// judge computes the fingerprint and scans. Links may not leave the skill itself.
func (st *Staged) judge(ctx context.Context) error {
	root, err := fsx.OpenRootIn(st.area.p.dir, path.Join(st.area.rel(), "new", st.Skill.Slug))
	if err != nil {
		return err
	}
	defer root.Close()
	report, err := scan.Directory(ctx, root, ".", st.store.scan)
	if err != nil {
		return err
	}
	st.Findings, st.Decision, st.Truncated = report.Findings, pannier.ScanDecision(report.Decision), report.Truncated
	if err := blocked(report.Findings, st.accept...); err != nil {
		return err
	}
	print, err := fingerprint.Of(ctx, root, ".", fingerprint.Options{})
	st.Fingerprint, st.Files, st.Bytes = print.Digest, print.Files, print.Bytes
	return err
}

// syncTree syncs every regular file and every directory.
func (p *place) syncTree(ctx context.Context, rel string) error {
	return fs.WalkDir(p.dir.FS(), rel, func(sub string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || ctx.Err() != nil:
			return errors.Join(err, ctx.Err())
		case d.IsDir():
			return p.sync(sub)
		case !d.Type().IsRegular():
			return nil
		}
		f, err := p.dir.OpenFile(sub, os.O_RDONLY|unix.O_NONBLOCK, 0)
		if err != nil {
			return fmt.Errorf("sync what is staged: %w", err)
		}
		defer f.Close()
		return f.Sync()
	})
}
