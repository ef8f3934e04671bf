package install

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"time"

	"pannier"
	"pannier/loader/fingerprint"
	"pannier/loader/scan"
)

// current is what there is of a slug in a root.
type current struct {
	entry *pannier.LockEntry // what the lock file says
	print pannier.Digest     // of the directory, zero where there is none
	// strange says what is there that is no directory, such as a link; empty where that is not so.
	strange string
	// large says that there is a directory that is too large for a fingerprint.
	large bool
}

// there reports whether there is anything in the place of the skill.
func (c current) there() bool { return c.strange != "" || c.large || !c.print.IsZero() }

func (p *place) now(ctx context.Context, slug string) (c current, err error) {
	if p.dir == nil {
		return c, nil
	}
	lock, err := p.lock()
	if err == nil {
		c.entry, err = lock.entry(p.root, slug)
	}
	if err != nil {
		return c, err
	}
	info, err := p.dir.Lstat(slug)
	if err != nil {
		return c, unlessMissing(err)
	}
	if c.strange = strangeKind(info.Mode()); c.strange == "" {
		err = p.printNow(ctx, slug, &c)
	}
	return c, err
}

// printNow computes the fingerprint of what is there.
func (p *place) printNow(ctx context.Context, slug string, c *current) error {
	print, err := p.printKnown(ctx, slug)
	c.print, p.known = print.Digest, print.Known
	switch {
	case errors.Is(err, fingerprint.ErrTooLarge):
		c.large = true
		return nil
	case errors.Is(err, pannier.ErrChanged):
		return fmt.Errorf("%w: %w", refuse("install.changing", path.Join(p.root.Name, slug)+" is being written to right now", "try again when nobody writes to it; nothing was changed"), err)
	}
	return err
}

// strangeKind says what something is that is no directory.
func strangeKind(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return ""
	case mode.IsRegular():
		return "a plain file"
	case mode&fs.ModeSymlink != 0:
		return "a link"
	case mode&fs.ModeNamedPipe != 0:
		return "a FIFO"
	}
	return "no directory"
}

// Install puts a staged skill where none is. Where the same one is there, the status is [pannier.StatusAlreadyInstalled];
// another one is a refusal. A dry run says what would come of it. After an error nothing has changed. st stays with the
// caller.
func (s *Store) Install(ctx context.Context, st *Staged, req pannier.InstallRequest, by pannier.Actor) (pannier.InstallResult, error) {
	return s.put(ctx, st, req, by, (*place).install)
}

// Update puts a staged skill in the place of the one of the same slug, which becomes the version before. Where the same one
// is there, the status is [pannier.StatusAlreadyUpToDate]. A directory that pannier has not installed is replaced only
// where req.Expected is its fingerprint, and is pannier's from then on. For the rest it is as [Store.Install].
func (s *Store) Update(ctx context.Context, st *Staged, req pannier.InstallRequest, by pannier.Actor) (pannier.InstallResult, error) {
	return s.put(ctx, st, req, by, (*place).update)
}

// putPlan says what comes of putting what is staged in the place of what there is.
type putPlan func(*place, *Staged, pannier.InstallRequest, current) (pannier.InstallStatus, error)

// put opens the root for a plan and makes the change that it comes to, if any.
func (s *Store) put(ctx context.Context, st *Staged, req pannier.InstallRequest, by pannier.Actor, plan putPlan) (pannier.InstallResult, error) {
	if err := st.fits(req); err != nil {
		return pannier.InstallResult{}, err
	}
	var result pannier.InstallResult
	err := s.within(ctx, st.root, req.DryRun, func(p *place) error {
		c, err := p.now(ctx, st.Skill.Slug)
		if err != nil {
			return err
		}
		status, err := plan(p, st, req, c)
		if result = st.result(c, status, req.DryRun); err != nil || req.DryRun || c.print == st.Fingerprint {
			return err
		}
		return p.replaceBy(ctx, st, req, by, c, &result)
	})
	if err != nil {
		return pannier.InstallResult{}, err
	}
	return result, nil
}

// within opens a root for one change, or to see only what would come of it.
func (s *Store) within(ctx context.Context, root pannier.Root, dry bool, do func(*place) error) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	defer s.end()
	if dry {
		return s.view(root, do)
	}
	p, err := s.enter(ctx, root)
	if err != nil {
		return err
	}
	defer p.leave()
	return explain(root, do(p))
}

// fits refuses a request that means another skill or root than was staged.
func (st *Staged) fits(req pannier.InstallRequest) error {
	if kind := cmp.Or(req.SourceKind, pannier.SourceWorkspace); kind != st.root.Kind {
		return refuse("install.root_kind", fmt.Sprintf("the skill was staged for a root of the kind %s, not %s", st.root.Kind, kind), "stage it again")
	}
	owner, slug := pannier.SplitQualified(req.Slug)
	if req.Slug != "" && (slug != st.Skill.Slug || owner != "" && owner != st.Skill.Owner) {
		return refuse("install.slug_mismatch", fmt.Sprintf("this is %s, and not %s", st.Skill.Qualified(), req.Slug), "name the skill that this is, or bring the other one")
	}
	return nil
}

func (p *place) install(st *Staged, _ pannier.InstallRequest, c current) (pannier.InstallStatus, error) {
	switch {
	case c.print == st.Fingerprint:
		return pannier.StatusAlreadyInstalled, nil
	case c.strange != "":
		return "", inTheWay("install.exists", p.root, st.Skill.Slug, c)
	case c.there():
		return "", isThere(p.root, st.Skill.Slug, c)
	case p.dir == nil:
		return pannier.StatusInstalled, nil
	}
	return pannier.StatusInstalled, blocked(scan.Destination(p.dir, st.Skill.Slug))
}

func (p *place) update(st *Staged, req pannier.InstallRequest, c current) (pannier.InstallStatus, error) {
	switch {
	case c.strange != "":
		return "", inTheWay("install.not_managed", p.root, st.Skill.Slug, c)
	case c.large:
		return "", tooLarge(p.root, st.Skill.Slug)
	case !c.there():
		return "", refuse("install.not_found", st.Skill.Slug+" is not installed, so it can not be updated", "install it")
	case c.entry != nil && c.entry.Owner != "" && st.Skill.Owner != "" && c.entry.Owner != st.Skill.Owner:
		return "", refuse("install.slug_mismatch", fmt.Sprintf("%s/%s is installed, and this is %s", c.entry.Owner, c.entry.Slug, st.Skill.Qualified()), "uninstall the other one first")
	case c.print == st.Fingerprint:
		return pannier.StatusAlreadyUpToDate, nil
	case c.entry == nil && req.Expected.IsZero():
		return "", notManaged(p.root, st.Skill.Slug, c)
	}
	return pannier.StatusUpdated, c.expect(req.Expected)
}

// expect refuses a change of a skill that has another fingerprint than whoever asks thinks; zero is any.
func (c current) expect(expected pannier.Digest) error {
	if expected.IsZero() || expected == c.print {
		return nil
	}
	hint := "look at the skill again, and decide by what it is now"
	if c.byHand() {
		hint = "it was changed by hand after it was installed; " + hint
	}
	is := c.print.String()
	if c.large {
		is = "none, because it is too large for one"
	}
	return refuse("install.fingerprint", fmt.Sprintf("the fingerprint is %s, and not %s", is, expected), hint)
}

// byHand reports whether an installed skill is not as it was installed.
func (c current) byHand() bool {
	return c.entry != nil && (c.large || !c.print.IsZero() && c.entry.Fingerprint != c.print)
}

// errStaged says that what was staged is not there, or not what was judged.
var errStaged = errors.New("what was staged is installed already, discarded or changed")

// replaceBy makes the change.
func (p *place) replaceBy(ctx context.Context, st *Staged, req pannier.InstallRequest, by pannier.Actor, c current, result *pannier.InstallResult) error {
	in := &intent{Version: 1, ID: st.area.id, Action: pannier.ActionInstall, Slug: st.Skill.Slug, New: st.Fingerprint, Old: c.print}
	if !c.print.IsZero() {
		in.Action = pannier.ActionUpdate
	}
	if staged, err := p.print(ctx, in.fresh()); err != nil || staged != in.New {
		return st.area.unlessGone(errors.Join(errStaged, err))
	}
	in.After = &pannier.LockEntry{
		Slug: st.Skill.Slug, Owner: st.Skill.Owner, Version: st.Skill.Version, Fingerprint: st.Fingerprint, Digest: st.Skill.Digest,
		Trust: st.store.trust, Origin: req.Origin, InstalledAt: time.Now().UTC(), By: by, Previous: c.previous(p.root, st.Skill.Slug),
		StartPolicy: c.startPolicy(), Accepted: req.Accept.Acceptances(nil, by, time.Now().UTC()),
	}
	e, err := p.run(ctx, in)
	e.tell(result)
	return err
}

// startPolicy reports whether what is installed has the start value of policy: an update keeps what the version before has.
func (c current) startPolicy() bool { return c.entry == nil || c.entry.StartPolicy }

// previous is what the lock file says of the version before, nil where there is none.
func (c current) previous(root pannier.Root, slug string) *pannier.LockEntry {
	if c.print.IsZero() {
		return nil
	}
	e := pannier.LockEntry{Slug: slug, Trust: root.Trust}
	if c.entry != nil {
		e = *c.entry
	}
	if e.Fingerprint != c.print {
		e.Digest = pannier.Digest{} // it was changed by hand
	}
	e.Fingerprint, e.Previous = c.print, nil
	return &e
}

// tell adds what became of config.yaml to a result.
func (e edited) tell(result *pannier.InstallResult) {
	result.Config = e.config
	if e.problem != nil {
		result.Problems = append(result.Problems, *e.problem)
	}
}

func (st *Staged) result(c current, status pannier.InstallStatus, dry bool) pannier.InstallResult {
	r := pannier.InstallResult{
		Status: status, DryRun: dry, Previous: c.print, Files: st.Files, Bytes: st.Bytes,
		Findings: st.Findings, Problems: append([]pannier.Problem{}, st.Problems...),
		Skill: pannier.InstalledSkill{
			Slug: st.Skill.Slug, Owner: st.Skill.Owner, Name: st.Skill.Name, SourceKind: st.root.Kind, Version: st.Skill.Version,
			Fingerprint: st.Fingerprint, TrustLevel: st.store.trust,
			Path: st.Skill.Path, InstallPath: filepath.Join(st.root.Path, st.Skill.Slug),
		},
	}
	if status == pannier.StatusUpdated && c.byHand() {
		r.Problems = append(r.Problems, pannier.Problem{
			Code: "install.changed_by_hand", Severity: pannier.SeverityWarning, Path: st.Skill.Path,
			Message: "what is replaced was changed by hand after it was installed", Hint: "a rollback brings it back as it was",
		})
	}
	return r
}
