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

	"pannier"
	"pannier/internal/fsx"
	"pannier/loader/fingerprint"
	"pannier/loader/scan"
)

// heldName is the file in a staging directory that the process using it locks.
const heldName = "held"

// Staged is a complete and checked skill in a staging directory. The caller must call [Staged.Discard], also after it
// was installed. It is not safe for concurrent use.
type Staged struct {
	// Skill is as the loader reads it at its future path. It must not be changed.
	Skill       *pannier.Skill
	Fingerprint pannier.Digest
	// Problems are those of the files, Findings those of the scan. None of them prevents the installation.
	Problems []pannier.Problem
	Findings []pannier.Finding
	// Decision is that of the scan. Truncated says that findings are missing.
	Decision  pannier.ScanDecision
	Truncated bool
	// Files and Bytes count the content.
	Files int
	Bytes int64

	store  *Store
	root   pannier.Root
	area   *area
	accept []string // rules whose blocking findings are accepted
	// dropped is the path of the skill directory in the archive, empty if the skill is at its top.
	dropped string
}

// Fill writes the files of a skill into an empty directory. It returns the path of the directory in the archive, empty
// if there is none.
type Fill func(ctx context.Context, into *os.Root) (folder string, err error)

// Stage creates a staging directory, fills it, syncs it, and reads and checks the skill. A skill without a slug gets
// the name of its folder or its own name. An invalid skill is a [*pannier.Refusal]; errors of fill are returned. After
// an error the files are removed. Blocking findings of accepted rules do not refuse it. A dry run stages below
// [Options.Scratch] and writes nothing into a root; its result cannot be installed.
func (s *Store) Stage(ctx context.Context, req pannier.InstallRequest, fill Fill) (_ *Staged, err error) {
	roots, err := s.rootsOf(req.SourceKind)
	if err != nil {
		return nil, err
	}
	st := &Staged{store: s, root: roots[0], accept: req.Accept.Rules}
	where := st.root
	if req.DryRun {
		where = pannier.Root{Path: s.scratch}
		st.area, err = s.newScratch()
	} else {
		st.area, err = s.newArea(ctx, st.root)
	}
	if err != nil {
		return nil, err
	}
	complete := false
	defer func() { // also after a panic
		if !complete {
			err = explain(where, errors.Join(err, st.Discard()))
		}
	}()
	if err := st.prepare(ctx, fill); err != nil {
		return nil, st.area.explainMissing(err)
	}
	complete = true
	return st, nil
}

// Discard removes the staged files. If it fails, the next recovery removes them, and [LeftBehind] is the problem to
// report. It is idempotent.
func (st *Staged) Discard() error {
	if st.area.p == nil {
		return nil
	}
	err := st.area.close()
	if st.area.outside == "" {
		st.store.removeEmptyOwn(st.root)
	}
	if err != nil {
		return fmt.Errorf("discard what was staged for %s: %w", st.root.Path, err)
	}
	return nil
}

// area is a staging directory that this process holds.
type area struct {
	p    *place
	id   string
	held *os.File
	// outside is the scratch directory of the area, empty if the area is in a root.
	outside string
}

// newArea creates a staging directory while no recovery runs.
func (s *Store) newArea(ctx context.Context, root pannier.Root) (*area, error) {
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.end()
	p, err := s.enter(ctx, root)
	if err != nil {
		return nil, err
	}
	defer p.close()
	return p.newArea()
}

func (p *place) newArea() (*area, error) {
	a := &area{id: randomName()}
	if err := p.store.step("stage.make"); err != nil {
		return nil, err
	}
	own, err := p.store.open(p.root) // the caller closes p before the area
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

// close removes the directory and releases its lock. If an intent names the directory, the recovery needs it.
func (a *area) close() error {
	p := a.p
	if p == nil {
		return nil
	}
	a.p = nil
	defer p.close()
	if a.held != nil {
		defer fsx.Unlock(a.held)
	}
	in, err := p.readIntent()
	if err == nil && (in == nil || in.ID != a.id) {
		err = p.clear(a.rel())
	}
	if a.outside != "" {
		err = errors.Join(err, os.RemoveAll(a.outside))
	}
	return err
}

// prepare fills the area, renames the directory to the slug, and reads and checks the skill.
func (st *Staged) prepare(ctx context.Context, fill Fill) error {
	folder, err := st.fill(ctx, fill)
	if err != nil {
		return err
	}
	slug, err := st.slugOf(ctx, folder)
	if err == nil {
		err = st.rename(folder, slug)
	}
	if err == nil {
		st.Skill, err = st.read(ctx, slug)
	}
	if err != nil {
		return err
	}
	st.Problems = st.Skill.Problems
	if err := st.checkUsable(st.Skill, slug); err != nil {
		return err
	}
	p := st.area.p
	err = st.step("stage.sync", func(rel string) error {
		return fs.WalkDir(p.dir.FS(), rel, func(sub string, d fs.DirEntry, err error) error {
			if err != nil || ctx.Err() != nil || !d.IsDir() && !d.Type().IsRegular() {
				return errors.Join(err, ctx.Err())
			}
			return p.sync(sub)
		})
	})
	if err != nil {
		return err
	}
	return st.check(ctx)
}

// step runs a step on the parent of the staged directory.
func (st *Staged) step(name string, do func(rel string) error) error {
	if err := st.store.step(name); err != nil {
		return err
	}
	return do(path.Join(st.area.rel(), "new"))
}

// fill returns the name of the directory: that in the archive, or the id of the area if it has no usable name there.
func (st *Staged) fill(ctx context.Context, fill Fill) (folder string, err error) {
	err = st.step("stage.fill", func(rel string) error {
		dir := st.area.p.dir
		rel = path.Join(rel, st.area.id)
		if err := errors.Join(dir.Mkdir(rel, 0o755), dir.Chmod(rel, 0o755)); err != nil { // regardless of the umask
			return err
		}
		into, err := fsx.OpenRootIn(dir, rel)
		if err != nil {
			return err
		}
		defer into.Close()
		if st.dropped, err = fill(ctx, into); err != nil {
			return fmt.Errorf("%w: %w", errFill, err)
		}
		if _, err := into.Lstat(pannier.OwnDir); err == nil {
			return refuse("install.invalid", "the skill has a directory "+pannier.OwnDir+", which is reserved for pannier", "remove it")
		}
		return ctx.Err()
	})
	if err != nil {
		return "", err
	}
	if folder = path.Base(st.dropped); !fs.ValidPath(st.dropped) || !isName(folder) || folder[0] == '.' || len(folder) > maxSlugBytes {
		return st.area.id, nil
	}
	return folder, st.rename(st.area.id, folder)
}

func (st *Staged) rename(folder, slug string) error {
	if folder == slug {
		return nil
	}
	return st.step("stage.name", func(rel string) error {
		return st.area.p.rename(path.Join(rel, folder), path.Join(rel, slug), 0)
	})
}

// check scans the skill and computes the fingerprint. Symlinks must not lead out of the skill.
func (st *Staged) check(ctx context.Context) error {
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
	if err := st.refuseBlocked(report.Findings, st.accept...); err != nil {
		return err
	}
	print, err := fingerprint.Of(ctx, root, ".", fingerprint.Options{})
	st.Fingerprint, st.Files, st.Bytes = print.Digest, print.Files, print.Bytes
	return err
}
