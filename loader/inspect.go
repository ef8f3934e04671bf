package loader

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"

	"pannier"
	"pannier/internal/fsx"
	"pannier/internal/yamldoc"
	"pannier/loader/installspec"
	"pannier/loader/profile"
)

// profileBytes is how much of a file a profile is shown.
const profileBytes = 8 << 10

// Inspect reads in the directory of a skill of a catalog what a load does not read: what every profile says of it, its
// tools, and the ways to install what it needs. It opens SKILL.md, the Python files that may hold tools, and the beginning
// of every other file, within bounds, and runs nothing. Skills that cannot be used have verdicts too. It returns an error
// that is [pannier.ErrChanged] where the disk has moved on from what the catalog says.
func (l *Loader) Inspect(ctx context.Context, s *pannier.Skill) (pannier.Inspection, error) {
	in, err := l.openInspector(ctx, s)
	if err != nil {
		return pannier.Inspection{}, fmt.Errorf("inspect %s: %w", s.Path, err)
	}
	defer in.dir.close()
	i := pannier.Inspection{
		Frontmatter: in.frontmatter(), Conformance: in.conformance(profile.Names()), Commands: append([]pannier.Command{}, s.Commands...), Install: in.install(),
	}
	declared := in.declared(s.File, i.Conformance[profile.NameOpenClaw].Issues)
	i.Tools = append(slices.DeleteFunc(declared, func(t pannier.Tool) bool { return t.Fault != "" }), in.toolFiles(true)...)
	in.reportResources(ctx, l)
	slices.SortStableFunc(in.problems, pannier.CompareProblems)
	i.Problems = in.problems
	if err := ctx.Err(); err != nil {
		return pannier.Inspection{}, fmt.Errorf("inspect %s: %w", s.Path, err)
	}
	return i, nil
}

// Audited is what [Loader.Audit] found out about a skill.
type Audited struct {
	Text        []byte // of SKILL.md; nil where there is none that was read
	Conformance map[string]pannier.Conformance
	Install     []pannier.InstallSpec
	Problems    []pannier.Problem // in no order
}

// Audit is [Loader.Inspect] for some profiles, without tools, and with the bytes of SKILL.md.
func (l *Loader) Audit(ctx context.Context, s *pannier.Skill, profiles []string) (Audited, error) {
	in, err := l.openInspector(ctx, s)
	if err != nil {
		return Audited{}, fmt.Errorf("audit %s: %w", s.Path, err)
	}
	defer in.dir.close()
	a := Audited{Text: in.text, Conformance: in.conformance(profiles), Install: in.install()}
	in.reportResources(ctx, l)
	a.Problems = in.problems
	return a, ctx.Err()
}

// inspector reads one skill directory once.
type inspector struct {
	contract
	canceled func() error // of the one call that it lives for
	place    fsx.Place
	dir      skillDir
	skill    *pannier.Skill
	text     []byte // of SKILL.md
	parts    parts
	// parsed says that the frontmatter could be read.
	parsed bool
	files  []pannier.File
	// resources says that the skill may have links.yaml or examples.
	resources bool
	read      int64 // bytes of Python
}

// openInspector opens the directory of a skill, reads SKILL.md and lists the files. The caller closes the directory.
func (l *Loader) openInspector(ctx context.Context, s *pannier.Skill) (*inspector, error) {
	in := &inspector{canceled: ctx.Err, skill: s, place: l.placeOf(s), contract: contract{path: s.FilePath(), problems: []pannier.Problem{}}}
	var err error
	if in.dir, err = l.openDir(s); err != nil {
		return nil, changedUnlessBusy(err)
	}
	if err := in.readSkill(ctx, l); err != nil {
		in.dir.close()
		return nil, err
	}
	return in, nil
}

// readSkill reads SKILL.md and lists the files.
func (in *inspector) readSkill(ctx context.Context, l *Loader) error {
	if !in.skill.FileDigest.IsZero() {
		file, err := in.open(in.skill.File)
		if err != nil {
			return changedUnlessBusy(err)
		}
		if in.text, err = l.readText(file); err != nil {
			return err
		}
		if pannier.DigestOf(in.text) != in.skill.FileDigest {
			return pannier.ErrChanged
		}
		in.parse(in.text, l.rules.MaxFrontmatterBytes)
	}
	serves := l.servedOf(in.skill)
	w := lister{rules: l.rules, serves: serves, skill: in.skill, place: in.place, dir: in.dir}
	if err := w.listAll(ctx); err != nil {
		return changedUnlessBusy(err)
	}
	if in.files, in.resources = w.files, w.resources || w.truncated; w.truncated {
		in.report("skill.files.truncated", "", 0, "there are more files than were read", "keep what is not part of the skill out of its directory")
	}
	if !in.skill.ToolsOnly && !in.skill.Broken && !pannier.IsMCPName(in.skill.Name) {
		in.report(pannier.CodeMCPName, in.skill.File, 0, "MCP hosts do not list the skill: its name is not made of lower-case ASCII letters, digits and single hyphens, 64 at most",
			"rename it, or have hosts use the tool activate_skill")
	}
	in.reportLimits(slices.DeleteFunc(slices.Clone(w.files), func(f pannier.File) bool { return !serves(f.Path) }), w.truncated)
	return nil
}

// open opens a file of the skill.
func (in *inspector) open(name string) (openFile, error) {
	if fd, err := fsx.OpenAt(in.dir.fd, name); err == nil {
		return openFile{fd: fd}, nil
	}
	file, err := in.place.File(path.Join(in.skill.PathBelowRoot, name))
	if err != nil {
		return openFile{}, err
	}
	return openFile{fd: int(file.Fd()), file: file}, nil
}

// reportResources reports what is wrong with links.yaml and examples.
func (in *inspector) reportResources(ctx context.Context, l *Loader) {
	if !in.resources {
		return
	}
	if found, err := l.resourcesIn(ctx, in.dir.root, in.skill); err == nil {
		in.problems = append(in.problems, found.Problems...)
	}
}

// parse reads the frontmatter, where the skill was made of it.
func (in *inspector) parse(text []byte, limit int64) {
	in.parts, _, _ = cut(text, true, limit)
	in.parts.whole = true
	if in.skill.Broken || in.skill.LastGood || in.parts.line == 0 {
		return
	}
	if p, r, err := in.parts.parse(); err == nil {
		in.parts, in.front, in.offset, in.parsed = p, r.Value, max(0, p.line-1), true
	}
}

// frontmatter returns what [Loader.Read] returns of the same bytes.
func (in *inspector) frontmatter() json.RawMessage {
	if !in.parsed || in.skill.Deleting {
		return nil
	}
	return in.front.JSON()
}

func (in *inspector) conformance(profiles []string) map[string]pannier.Conformance {
	s := profileInput(in.skill, in.front, in.parts)
	s.Files, s.ReadFile = in.files, in.beginning
	return profile.Report(s, profiles...)
}

// beginning returns the first bytes of a file.
func (in *inspector) beginning(file string) ([]byte, error) { return in.readFile(file, profileBytes) }

// install returns the install specs of every dialect, and those that stand at the top as Aleph has them.
func (in *inspector) install() []pannier.InstallSpec {
	specs := []pannier.InstallSpec{}
	add := func(v yamldoc.Value, field string) {
		found, problems := installspec.Read(v, field)
		specs = append(specs, found...)
		for _, p := range problems {
			p.Path = in.path
			if p.Line > 0 {
				p.Line, p.Column = in.at(p.Line, p.Column)
			}
			in.problems = append(in.problems, p)
		}
	}
	silent := contract{front: in.front} // loading has reported what is wrong before
	silent.dialects(func(v yamldoc.Value, field string) {
		in.within = silent.within
		add(v.Get("install"), field+".install")
		in.within = nil
	})
	add(in.front.Get("install"), "install")
	return specs
}
