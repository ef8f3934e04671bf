// Package scan looks through the directory of one skill for what would do harm: links that lead out of it, programs,
// secrets, commands that hand the machine to somebody else, and characters that a reader does not see.
//
// It is asked when a skill is installed and when somebody wants to know, never while skills are reloaded.
//
// # What it opens
//
// Every file of the skill, hidden ones included, each through an [os.Root], and regular files only, without blocking. No
// link is followed, and nothing is run or imported. Files, directories, bytes and depth have bounds, and whoever calls
// bounds the time by a context. What lies past a bound is a finding that blocks: nobody has looked at it.
//
// # What it finds
//
// [Rules] is the whole list. A finding blocks where the file has no business in a skill (a program, a device, a link that
// leads out), where it gives a secret away, and where a text holds a command that destroys a home directory, opens a shell
// to the network, runs what an unknown host answers, or sends a credential to a host that it is not for. Everything else
// is a warning or an information, because skills do it in good faith: an API is asked with a token, a document names
// ~/.aws/credentials, an emoji is joined of several.
//
// A message never repeats a secret. It names the kind and the line.
//
// # What it is not
//
// A proof. It knows forms, not intent: a text about attacks that quotes one is told from an attack by a person only, and
// a command that is put together at run time is not seen at all.
package scan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"pannier"
	"pannier/internal/fsx"
)

// The decisions of a [Report].
const (
	Allow = "allow"
	Warn  = "warn"
	Block = "block"
)

// Options bound a scan. A bound that is zero is the usual one.
type Options struct {
	// MaxEntries bounds files, links and directories together, usually 4,096; MaxDepth the directories below the skill's
	// own, usually 16.
	MaxEntries, MaxDepth int
	// MaxFileBytes bounds what is read of one file, usually 8 MiB; MaxBytes of all, usually 64 MiB.
	MaxFileBytes, MaxBytes int64
	// RootPath is where the root lies, for links that say so from the beginning; where it is empty, such links lead out.
	RootPath string
	// Builtin says that the skill comes with the product. The commands in its texts are then told, and block nothing.
	Builtin bool
	// BlockInstallers makes scan.command.known_installer block. By default it is a warning.
	BlockInstallers bool
}

func (o Options) withDefaults() Options {
	o.MaxEntries, o.MaxDepth = cmp.Or(o.MaxEntries, 4096), cmp.Or(o.MaxDepth, 16)
	o.MaxFileBytes, o.MaxBytes = cmp.Or(o.MaxFileBytes, 8<<20), cmp.Or(o.MaxBytes, 64<<20)
	return o
}

// Report is what a scan has to say of one skill directory.
type Report struct {
	// Findings are sorted by path, line and rule. Their paths are below the skill directory, "." is the directory itself.
	Findings []pannier.Finding `json:"findings"`
	// Decision is [Block] where a finding blocks, [Warn] where one is more than an information, else [Allow].
	Decision string `json:"decision"`
	// Files is the number of regular files that were read, Bytes how much was read of them.
	Files int   `json:"files"`
	Bytes int64 `json:"bytes"`
	// Truncated says that not everything was looked at, or not every finding told. A finding says which.
	Truncated bool `json:"truncated"`
}

// Directory scans a skill directory. root is what its links may not leave: the root that the skill was found in, or the
// skill directory itself, which dir "." means. dir is below the root, with slashes.
//
// What is wrong with the directory is a finding. An error means that ctx was done before the end; the report then tells
// what was found until then, and that this is not all. Any number of scans may run at a time.
func Directory(ctx context.Context, root *os.Root, dir string, o Options) (Report, error) {
	kept := spare.Get().(*buffers)
	w := &walker{root: root, options: o.withDefaults(), findings: newFindings(o), buf: kept.read, budget: budget{work: maxWork, fold: kept.fold}}
	defer func() {
		if cap(w.buf) <= maxSpare && cap(w.budget.fold) <= maxSpare {
			kept.read, kept.fold = w.buf, w.budget.fold
			spare.Put(kept)
		}
	}()
	err := w.scan(ctx, dir)
	if err != nil {
		w.truncated = true
		w.findings.add("scan.bound.time", ".", 0, "")
	}
	return w.report(), err
}

// Path scans a skill directory as [Directory] does, below a root that it opens itself. What its links may not leave is that
// root, or, where dir leads into a target of the root's links, that target. A root that can not be opened is a finding.
func Path(ctx context.Context, root fsx.Place, dir string, o Options) (Report, error) {
	place, err := root.Find(dir)
	if err != nil {
		found, code := newFindings(o), "scan.path.root_missing"
		if fsx.EscapesRoot(err) {
			code = "scan.path.containment"
		}
		found.add(code, ".", 0, cause(err))
		return Report{Findings: found.sorted(), Decision: Block}, ctx.Err()
	}
	defer place.Root.Close()
	o.RootPath = place.Path
	return Directory(ctx, place.Root, place.Rel, o)
}

func (w *walker) report() Report {
	r := Report{Findings: w.findings.sorted(), Files: w.files, Bytes: w.bytes, Truncated: w.truncated || w.findings.left > 0}
	r.Decision = decide(r.Findings)
	return r
}

func decide(findings []pannier.Finding) string {
	decision := Allow
	for _, f := range findings {
		switch {
		case f.Blocking:
			return Block
		case f.Severity != pannier.SeverityInfo:
			decision = Warn
		}
	}
	return decision
}

// maxFindings bounds the findings that block, and the others, of one report; maxLines those of one rule in one file.
// One that does not block is told once in a file.
const (
	maxFindings = 1000
	maxLines    = 10
)

// findings collects what is found, within those bounds.
type findings struct {
	options         Options
	blocking, other []pannier.Finding
	left            int // how many are not told
}

func newFindings(o Options) *findings { return &findings{options: o} }

// add adds a finding. detail, where there is one, goes to the end of the message, and is never a secret.
func (f *findings) add(code, path string, line int, detail string) {
	rule := rules[code]
	if f.options.BlockInstallers && code == knownInstaller {
		rule.Severity, rule.Blocking = pannier.SeverityError, true
	}
	finding := rule.finding(path, line, detail)
	if f.options.Builtin && isCommand(code) {
		finding.Blocking = false
	}
	list := &f.other
	if finding.Blocking {
		list = &f.blocking
	}
	if len(*list) == maxFindings {
		f.left++
		return
	}
	*list = append(*list, finding)
}

// addHits adds what was found in the text of a file. hits are in the order of their lines.
func (f *findings) addHits(path string, hits []hit) {
	lines := map[string][]int{}
	details := map[string][]string{}
	var codes []string
	for _, h := range hits {
		seen := lines[h.code]
		if len(seen) == 0 {
			codes = append(codes, h.code)
		} else if seen[len(seen)-1] == h.line {
			continue
		}
		lines[h.code], details[h.code] = append(seen, h.line), append(details[h.code], h.detail)
	}
	for _, code := range codes {
		told := 1
		if rules[code].Blocking || code == knownInstaller && f.options.BlockInstallers {
			told = maxLines
		}
		told = min(told, len(lines[code]))
		for i, line := range lines[code][:told] {
			detail := details[code][i]
			if rest := len(lines[code]) - told; rest > 0 && i == told-1 {
				detail = join(detail, further(rest))
			}
			f.add(code, path, line, detail)
		}
	}
}

func further(lines int) string {
	if lines == 1 {
		return "and on one further line"
	}
	return fmt.Sprintf("and on %d further lines", lines)
}

func join(detail, more string) string {
	if detail == "" {
		return more
	}
	return detail + ", " + more
}

// sorted returns all findings by path, line and rule, never nil.
func (f *findings) sorted() []pannier.Finding {
	all := slices.Concat([]pannier.Finding{}, f.blocking, f.other)
	if f.left > 0 {
		all = append(all, rules["scan.bound.findings"].finding(".", 0, fmt.Sprintf("%d more", f.left)))
	}
	slices.SortStableFunc(all, func(a, b pannier.Finding) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Rule, b.Rule))
	})
	return all
}

// cause returns what the system says, without the path, which stands in the finding.
func cause(err error) string {
	if pathError, ok := errors.AsType[*os.PathError](err); ok {
		return pathError.Err.Error()
	}
	return err.Error()
}
