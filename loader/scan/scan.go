// Package scan searches the directory of a skill for harmful content: symlinks that lead out of it, programs, secrets,
// dangerous commands, and invisible characters.
//
// It runs when a skill is installed, on request and in the background, never during a reload.
//
// # Files
//
// Every file of the skill is opened, including hidden ones, through an [os.Root], without blocking, and only if it is
// regular. Symlinks are not followed; nothing is executed or imported. Files, directories, bytes and depth are bounded, and
// the caller bounds the time by a context. Content beyond a bound is a blocking finding, because it was not scanned.
//
// # Findings
//
// [Rules] is the list. A finding blocks if the file does not belong in a skill (a program, a device, a symlink that leads
// out), if it exposes a secret, or if a text contains a command that destroys a home directory, opens a shell to the
// network, runs the response of an unknown host, or sends a credential to a foreign host. Everything else is a warning or an
// information, because benign skills do it too: they call an API with a token, mention ~/.aws/credentials, or join emoji.
//
// A message never contains a secret, only its kind and line.
//
// The scan recognizes forms, not intent.
package scan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"pannier"
	"pannier/internal/fsx"
)

// The decisions of a [Report].
const (
	Allow = "allow"
	Warn  = "warn"
	Block = "block"
)

// Options bound a scan. A zero bound is the default.
type Options struct {
	// MaxEntries bounds files, symlinks and directories together, by default 4,096; MaxDepth the depth of directories, by
	// default 16.
	MaxEntries, MaxDepth int
	// MaxFileBytes bounds what is read of a file, by default 8 MiB; MaxBytes what is read of all files, by default 64 MiB.
	MaxFileBytes, MaxBytes int64
	// RootPath is the path of the root, for absolute symlinks into it; if it is empty, absolute symlinks lead out.
	RootPath string
	// Builtin says that the skill is a part of the product. Commands in its texts do not block then.
	Builtin bool
}

func (o Options) withDefaults() Options {
	o.MaxEntries, o.MaxDepth = cmp.Or(o.MaxEntries, 4096), cmp.Or(o.MaxDepth, 16)
	o.MaxFileBytes, o.MaxBytes = cmp.Or(o.MaxFileBytes, 8<<20), cmp.Or(o.MaxBytes, 64<<20)
	return o
}

// Report is the result of a scan.
type Report struct {
	// Findings are sorted by path, line and rule. Paths are below the skill directory, which is ".".
	Findings []pannier.Finding `json:"findings"`
	// Decision is [Block] if a finding blocks, [Warn] if one is more than an information, else [Allow].
	Decision string `json:"decision"`
	// Files is the number of regular files that were read, Bytes their size as far as it was read.
	Files int   `json:"files"`
	Bytes int64 `json:"bytes"`
	// Truncated says that not everything was scanned, or not every finding listed. A finding has the reason.
	Truncated bool `json:"truncated"`
}

// Directory scans a skill directory, a path with slashes below root. Symlinks must not lead out of root: the root of the
// skill, or the skill directory itself if dir is ".".
//
// Problems of the directory are findings. An error means that ctx was done; the report then has the findings so far.
// Directory is safe for concurrent use.
func Directory(ctx context.Context, root *os.Root, dir string, o Options) (Report, error) {
	w := &walker{root: root, options: o.withDefaults(), findings: newFindings(o), work: maxWork}
	err := w.scan(ctx, dir)
	if err != nil {
		w.truncated = true
		w.findings.add("scan.bound.time", ".", 0, "")
	}
	r := Report{Findings: w.findings.sorted(), Files: w.files, Bytes: w.bytes, Truncated: w.truncated || w.findings.left > 0}
	r.Decision = decide(r.Findings)
	return r, err
}

// Path is [Directory] below a root that it opens. If dir leads into a target of the root, symlinks must not lead out of that
// target. A root that cannot be opened is a finding.
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

// maxFindings bounds the blocking findings and the others of a report, maxLines the blocking ones of a rule in a file. Others are
// listed once in a file.
const (
	maxFindings = 1000
	maxLines    = 10
)

type findings struct {
	options         Options
	blocking, other []pannier.Finding
	left            int // the number of unlisted findings
}

func newFindings(o Options) *findings { return &findings{options: o} }

// add adds a finding. detail is appended to the message and must not contain a secret.
func (f *findings) add(code, path string, line int, detail string) {
	rule := rules[code]
	finding := rule.finding(path, line, detail)
	if f.options.Builtin && strings.HasPrefix(code, "scan.command.") {
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

func (f *findings) addHits(path string, hits []hit) {
	byCode := map[string][]hit{}
	var codes []string
	for _, h := range hits {
		list := byCode[h.code]
		if len(list) == 0 {
			codes = append(codes, h.code)
		} else if list[len(list)-1].line == h.line {
			continue
		}
		byCode[h.code] = append(list, h)
	}
	for _, code := range codes {
		list, listed := byCode[code], 1
		if rules[code].Blocking {
			listed = maxLines
		}
		listed = min(listed, len(list))
		if rest := len(list) - listed; rest > 0 {
			last := &list[listed-1]
			last.detail = strings.TrimPrefix(last.detail+", "+furtherLines(rest), ", ")
		}
		for _, h := range list[:listed] {
			f.add(code, path, h.line, h.detail)
		}
	}
}

func furtherLines(lines int) string {
	if lines == 1 {
		return "and on one further line"
	}
	return fmt.Sprintf("and on %d further lines", lines)
}

// sorted returns the findings by path, line and rule, never nil.
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

// cause returns the text of an error without the path, which the finding has.
func cause(err error) string {
	if pathError, ok := errors.AsType[*os.PathError](err); ok {
		return pathError.Err.Error()
	}
	return err.Error()
}
