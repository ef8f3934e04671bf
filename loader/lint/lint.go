// Package lint audits skills for their authors: every skill that config.yaml lists, in its order, then every other one, each with
// the reader's problems, the verdicts of the profiles and, on request, the findings of the security scan. It reads the disk
// once, through the loader and beneath the roots, and asks no sidecar. It fixes a file only if the author's intent is certain, and
// only if the file is still as it was when it was read.
package lint

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"pannier"
	"pannier/internal/fsx"
	"pannier/loader"
)

// Options say what is audited, and by which rules.
type Options struct {
	// Rules say where skills are looked for. Workspace is the config.yaml that selects them; its zero value selects all.
	Rules     pannier.DiscoveryRules
	Workspace pannier.Workspace
	// Only, where it is not empty, is the one folder right below the first root that is audited; paths are then shown as
	// they are below that folder. Nothing else is gone into, whatever Rules say.
	Only string
	// ToolsOnly says that the folder of Only has tools and no SKILL.md.
	ToolsOnly bool
	// Configured says that what is audited lies in a workspace with a config.yaml, where Workspace is not that.
	Configured bool
	// Profile is one of [Profiles].
	Profile string
	// Scan adds the findings of the security scan.
	Scan bool
	// Strict lets warnings fail a skill too. All lets skills count that config.yaml does not list.
	Strict, All bool
}

// Status is the verdict on one skill.
type Status string

// The verdicts.
const (
	Pass Status = "PASS"
	Fail Status = "FAIL"
)

// Report is the result of an audit.
type Report struct {
	Profile string `json:"profile"`
	// Skills are those that config.yaml lists, in its order, then the others by path.
	Skills []Skill `json:"skills"`
	// Problems are those of config.yaml and of the roots themselves. An error among them means that it could not be found
	// out which skills there are, or which are configured.
	Problems []pannier.Problem `json:"problems,omitempty"`
	Summary  Summary           `json:"summary"`
}

// Skill is what was found out about one skill.
type Skill struct {
	Slug string `json:"slug"`
	// Path is its directory, relative to the workspace where it lies in it.
	Path string `json:"path"`
	// Listed says that config.yaml selects it: it is in the list there, or config.yaml has no list.
	Listed bool   `json:"listed"`
	Status Status `json:"status"`
	// Problems are in the order of [pannier.CompareProblems], never nil. What two rules say in the same words of the same
	// place stands here once, as the graver of them has it.
	Problems []pannier.Problem `json:"problems"`
	// Install are the ways that the skill names to install what it needs, refused ones too. Nothing runs them.
	Install []pannier.InstallSpec `json:"install,omitempty"`

	read *pannier.Skill // nil where there is none
}

// Summary counts the skills that count, and the problems of them, of config.yaml and of the roots.
type Summary struct {
	Checked  int `json:"checked"`
	Failed   int `json:"failed"`
	Errors   int `json:"errors"`
	Warnings int `json:"warnings"`
}

// Audit looks at the skills once and judges them. It fails where ctx is done or o names no profile; whatever is wrong
// with the disk is a problem in the report.
func Audit(ctx context.Context, o Options) (Report, error) {
	a, err := newAuditor(o)
	if err != nil {
		return Report{}, err
	}
	r := Report{Profile: o.Profile, Problems: append([]pannier.Problem{}, o.Workspace.Problems...)}
	var (
		catalog pannier.Catalog
		found   []skillFiles
	)
	group, searching := errgroup.WithContext(ctx)
	if o.Only == "" {
		group.Go(func() (err error) {
			found, err = a.findSkillFiles(searching)
			return err
		})
	}
	group.Go(func() (err error) {
		if catalog, err = a.loader.Load(searching, pannier.Batch{Full: true, Trigger: pannier.TriggerManual}); err != nil {
			return err
		}
		r.Skills = a.choose(catalog.Skills)
		a.reportShared(r.Skills)
		return a.auditAll(searching, r.Skills)
	})
	if err := group.Wait(); err != nil {
		return Report{}, err
	}
	if o.Only == "" {
		r.Problems = slices.Concat(r.Problems, catalog.Problems, a.reportUnmade(found, catalog))
	}
	r.sum(o)
	return r, nil
}

// auditor is one audit.
type auditor struct {
	Options
	profiles []string // by the names that the package profile has for them
	loader   *loader.Loader
	places   []fsx.Place // the roots
	// nameless says that the folder is not the author's.
	nameless bool
}

func newAuditor(o Options) (*auditor, error) {
	profiles, ok := profilesOf(o.Profile)
	if !ok {
		return nil, fmt.Errorf("unknown profile %q: expected one of %s", o.Profile, strings.Join(Profiles(), ", "))
	}
	if o.Only != "" {
		o.Rules.Roots = o.Rules.Roots[:1]
		o.Rules.Skip, o.Rules.MaxDepth, o.Rules.MaxDirs = nil, 1, math.MaxInt32
		if o.ToolsOnly {
			o.Rules.MaxDepth = 2
		}
	}
	a := &auditor{Options: o, profiles: profiles, loader: loader.New(loader.Options{Rules: o.Rules})}
	for _, r := range o.Rules.Roots {
		a.places = append(a.places, loader.PlaceOf(r))
	}
	return a, nil
}

func (a *auditor) auditAll(ctx context.Context, skills []Skill) error {
	var (
		next    atomic.Int64
		workers sync.WaitGroup
	)
	for range min(runtime.GOMAXPROCS(0), len(skills)) {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(skills)) && ctx.Err() == nil; i = next.Add(1) - 1 {
				a.auditSkill(ctx, &skills[i])
			}
		})
	}
	workers.Wait()
	return ctx.Err()
}

func (a *auditor) auditSkill(ctx context.Context, s *Skill) {
	if s.read != nil {
		problems, install := a.check(ctx, s.read)
		s.Problems, s.Install = append(s.Problems, problems...), install
	}
	s.Problems = merge(s.Problems)
	if a.Only != "" {
		for i := range s.Problems {
			p := &s.Problems[i]
			if rest, ok := strings.CutPrefix(p.Path, s.Path+"/"); ok {
				p.Path = rest
			} else if p.Path == s.Path {
				p.Path = "."
			}
		}
		s.Path = "."
	}
	s.Status = Pass
	for _, p := range s.Problems {
		if p.Severity == pannier.SeverityError || a.Strict && p.Severity == pannier.SeverityWarning {
			s.Status = Fail
		}
	}
}

// counts reports whether a skill counts for the verdict on all.
func (o Options) counts(s *Skill) bool { return s.Listed || o.All }

func (r *Report) sum(o Options) {
	r.Summary.add(r.Problems)
	for i := range r.Skills {
		s := &r.Skills[i]
		if !o.counts(s) {
			continue
		}
		r.Summary.Checked++
		if s.Status == Fail {
			r.Summary.Failed++
		}
		r.Summary.add(s.Problems)
	}
}

func (s *Summary) add(problems []pannier.Problem) {
	for _, p := range problems {
		switch p.Severity {
		case pannier.SeverityError:
			s.Errors++
		case pannier.SeverityWarning:
			s.Warnings++
		}
	}
}

// stdinFolder is the folder of a text that is piped in.
const stdinFolder = "pannier-stdin"

// Text audits one SKILL.md that lies in no directory, such as one that is piped in. called is what stands for its path.
// Of the options only those count that say by which rules it is judged.
func Text(ctx context.Context, text []byte, called string, o Options) (Report, error) {
	dir, err := os.MkdirTemp("", "pannier-audit-")
	if err != nil {
		return Report{}, fmt.Errorf("make a directory for the text: %w", err)
	}
	defer os.RemoveAll(dir)
	if err := os.Mkdir(path.Join(dir, stdinFolder), 0o700); err != nil {
		return Report{}, fmt.Errorf("make a directory for the text: %w", err)
	}
	if err := os.WriteFile(path.Join(dir, stdinFolder, pannier.SkillFile), text, 0o600); err != nil {
		return Report{}, fmt.Errorf("keep the text: %w", err)
	}
	o.Workspace, o.Only = pannier.Workspace{}, stdinFolder
	o.Rules.Workspace, o.Rules.Roots = dir, []pannier.Root{{Path: dir}}
	a, err := newAuditor(o)
	if err != nil {
		return Report{}, err
	}
	a.nameless = true
	return a.text(ctx, called)
}

func (a *auditor) text(ctx context.Context, called string) (Report, error) {
	catalog, err := a.loader.Load(ctx, pannier.Batch{Full: true, Trigger: pannier.TriggerManual})
	if err != nil {
		return Report{}, err
	}
	r := Report{Profile: a.Profile, Skills: a.choose(catalog.Skills)}
	if err := a.auditAll(ctx, r.Skills); err != nil {
		return Report{}, err
	}
	for i := range r.Skills {
		s := &r.Skills[i]
		s.Path = called
		if s.Slug == stdinFolder { // the text gives no slug
			s.Slug = cmp.Or(pannier.Slugify(strings.TrimPrefix(s.read.Name, stdinFolder)), "stdin")
		}
		for i := range s.Problems {
			s.Problems[i].Path = called
		}
	}
	r.sum(a.Options)
	return r, nil
}
