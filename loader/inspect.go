package loader

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	i := pannier.Inspection{
		Frontmatter: in.frontmatter(), Conformance: in.conformance(), Commands: append([]pannier.Command{}, s.Commands...), Install: in.install(),
	}
	declared := in.declared(s.File, i.Conformance[profile.NameOpenClaw].Issues)
	i.Tools = append(slices.DeleteFunc(declared, func(t pannier.Tool) bool { return t.Fault != "" }), in.toolFiles()...)
	if found, err := l.Resources(ctx, s); err == nil {
		in.problems = append(in.problems, found.Problems...)
	}
	slices.SortStableFunc(in.problems, pannier.CompareProblems)
	i.Problems = in.problems
	if err := ctx.Err(); err != nil {
		return pannier.Inspection{}, fmt.Errorf("inspect %s: %w", s.Path, err)
	}
	return i, nil
}

// inspector reads one skill directory once.
type inspector struct {
	contract
	ctx   context.Context // of the one call that it lives for; a callback is handed none
	place fsx.Place
	skill *pannier.Skill
	parts parts
	// parsed says that the frontmatter could be read.
	parsed bool
	files  []pannier.File
	read   int64 // bytes of Python
}

func (l *Loader) openInspector(ctx context.Context, s *pannier.Skill) (*inspector, error) {
	in := &inspector{ctx: ctx, skill: s, place: l.placeOf(s), contract: contract{path: s.FilePath(), problems: []pannier.Problem{}}}
	if !s.FileDigest.IsZero() {
		text, err := l.readWhole(s)
		if err != nil {
			return nil, err
		}
		if pannier.DigestOf(text) != s.FileDigest {
			return nil, pannier.ErrChanged
		}
		in.parse(text, l.rules.MaxFrontmatterBytes)
	}
	files, truncated, err := l.allFiles(ctx, s)
	if err != nil {
		return nil, changedUnlessBusy(err)
	}
	if in.files = files; truncated {
		in.report("skill.files.truncated", "", 0, "there are more files than were read", "keep what is not part of the skill out of its directory")
	}
	in.reportName()
	in.reportLimits(slices.DeleteFunc(slices.Clone(files), func(f pannier.File) bool { return !l.rules.Serves(f.Path) }), truncated)
	return in, nil
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

// report adds a problem of a file below the skill directory, "" for the directory itself.
func (in *inspector) report(code, file string, line int, message, hint string) {
	in.problems = append(in.problems, pannier.Problem{
		Code: code, Severity: pannier.SeverityWarning, Path: path.Join(in.skill.Path, file), Line: line, Message: message, Hint: hint,
	})
}

func (in *inspector) conformance() map[string]pannier.Conformance {
	s := profileInput(in.skill, in.front, in.parts)
	s.Files, s.ReadFile = in.files, in.beginning
	return profile.Report(s, profile.Names()...)
}

// beginning returns the first bytes of a file.
func (in *inspector) beginning(file string) ([]byte, error) { return in.readFile(file, profileBytes) }

// readFile returns at most limit bytes of a file below the skill directory.
func (in *inspector) readFile(file string, limit int64) ([]byte, error) {
	if err := in.ctx.Err(); err != nil {
		return nil, err
	}
	f, err := in.place.File(path.Join(in.skill.PathBelowRoot, file))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := fsx.Fstat(int(f.Fd()))
	if err != nil || !st.IsRegular() {
		return nil, errors.New("it is " + st.KindName())
	}
	text := make([]byte, min(st.Size, limit))
	n, err := io.ReadFull(f, text)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil // it has become shorter
	}
	return text[:n], err
}

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
