// Package fingerprint computes what tells one content of a skill directory from another: `sha256:` over its files.
//
// It is asked when a skill is installed or scanned, and in the background, never while skills are reloaded.
//
// # The format
//
// A fingerprint is the SHA-256 of one line for each file, ordered by path in bytes. A line is
//
//	path NUL mark NUL content LF
//
// where path is below the skill directory, with slashes, as the bytes that the file system has; mark and content are
//
//	x  a regular file that is executable for anyone     64 lower-case hexadecimal digits of the SHA-256 of its bytes
//	-  any other regular file                       the same
//	l  a link                                       the same, of the text of the link
//	?  a FIFO, a socket, a device                   nothing
//
// A path holds no NUL, so no two trees have the same lines. Hidden files count. The directory `.pannier` right in the
// skill directory does not, because it is pannier's own, nor do directories as such, owners, times and the other bits
// of a mode. Of a skill with regular files only, a shell computes it so:
//
//	find . -path ./.pannier -prune -o -type f \( -perm /111 -printf '%P\tx\n' -o -printf '%P\t-\n' \) | LC_ALL=C sort |
//	  while IFS="$(printf '\t')" read -r path mark; do
//	    printf '%s\0%s\0%s\n' "$path" "$mark" "$(sha256sum < "$path" | cut -d ' ' -f 1)"
//	  done | sha256sum
//
// A link is never followed: what lies outside of the skill is not part of it. Files, depth and bytes have bounds, and
// the caller bounds the time by a context. A file that changes while it is read is read again; one that keeps changing
// is an error that is [pannier.ErrChanged]. What cannot be read is an error, because a part of a skill has no
// fingerprint.
package fingerprint

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"pannier"
	"pannier/internal/fsx"
	"pannier/loader/scripts"
)

// ErrTooLarge says that a skill directory is past a bound, and so has no fingerprint.
var ErrTooLarge = errors.New("too large for a fingerprint")

// Options bound the work. A bound that is zero is the usual one.
type Options struct {
	// MaxEntries bounds files, links and directories together, usually 20,000; MaxDepth the directories below the
	// skill's own, usually 32.
	MaxEntries, MaxDepth int
	// MaxBytes bounds the bytes of all files together, usually 512 MiB.
	MaxBytes int64
	// Known is what was known after the last time, nil where there was none.
	Known *Known
	// Manifest asks for the files one by one.
	Manifest bool
	// Pace is called before each file with the cost of looking at it, and behind each piece that is read, with its
	// bytes. It may wait, and its error ends the work. Nil does not wait.
	Pace func(ctx context.Context, cost int64) error

	now    func() time.Time  // the clock, where it is another than the usual one
	opened func(path string) // is called once a file is open, in tests
}

// statCost is the cost of looking at a file that is not read, in bytes that could be read meanwhile.
const statCost = 4 << 10

func (o Options) withDefaults() Options {
	o.MaxEntries, o.MaxDepth, o.MaxBytes = cmp.Or(o.MaxEntries, 20_000), cmp.Or(o.MaxDepth, 32), cmp.Or(o.MaxBytes, 512<<20)
	if o.Pace == nil {
		o.Pace = func(ctx context.Context, _ int64) error { return ctx.Err() }
	}
	if o.now == nil {
		o.now = time.Now
	}
	if o.opened == nil {
		o.opened = func(string) {}
	}
	return o
}

// Print is what was found of one skill directory.
type Print struct {
	// Digest is the fingerprint.
	Digest pannier.Digest
	// Files is the number of lines, Bytes the size of all regular files, Read how much of that was read now.
	Files       int
	Bytes, Read int64
	// Dirs are the directories below the skill's own that were listed, with slashes.
	Dirs []string
	// Parts are those of the skill that a prompt or a turn shows beside SKILL.md.
	Parts Parts
	// Manifest has the regular files whose paths are UTF-8, also by the paths that links within the skill lead to,
	// ordered by path in bytes. It is nil unless the options ask for it.
	Manifest []pannier.ToolFile
	// Known is for the next time. It is never changed.
	Known *Known
}

// Of computes the fingerprint of the directory dir below a root, with slashes; "." is the root itself. Where it fails,
// the Print still brings along what it came to know. Any number of calls may run at a time.
func Of(ctx context.Context, root *os.Root, dir string, o Options) (Print, error) {
	w := &walker{o: o.withDefaults(), known: o.Known}
	w.look = w.o.now()
	top, err := fsx.OpenRootIn(root, dir) // follows a link on the way to it within the root, as discovery does
	if err != nil {
		err = fsx.Cause(err)
	} else {
		err = w.walk(ctx, top, "", 0)
		top.Close()
	}
	known := w.learned
	if err != nil && w.known != nil { // not everything was read: what was known before may still hold
		known = slices.Concat(known, w.known.files)
	}
	slices.SortStableFunc(known, func(a, b knownFile) int { return cmp.Compare(a.mark, b.mark) })
	known = slices.CompactFunc(known, func(a, b knownFile) bool { return a.mark == b.mark })
	p := Print{Files: len(w.lines), Bytes: w.bytes, Read: w.read, Dirs: w.dirs, Known: &Known{known[:min(len(known), 2*w.o.MaxEntries)]}}
	if err != nil {
		return p, fmt.Errorf("fingerprint of %s: %w", dir, err)
	}
	p.Digest, p.Parts = digest(w.lines), partsOf(w.lines)
	if o.Manifest {
		p.Manifest = manifestOf(w.lines)
	}
	return p, nil
}

// Parts tell which parts a skill has beside SKILL.md.
type Parts struct {
	// Resources is set where there is a links.yaml or a file in examples/, Tools where there is a file in tools/ or
	// scripts/, or one elsewhere that is executable or has the extension of a script.
	Resources, Tools bool
	// LinkedOut is the name of a SKILL.md that is a link, and leads to no file of the skill.
	LinkedOut string
}

func partsOf(lines []line) (p Parts) {
	for i := range lines {
		dir, _, below := strings.Cut(lines[i].path, "/")
		resource := dir == pannier.LinksFile || dir == "examples"
		p.Resources = p.Resources || resource
		p.Tools = p.Tools || below && !resource && pannier.IsPartDir(dir) || isProgram(&lines[i])
		if l := &lines[i]; p.LinkedOut == "" && l.mark == markLink && pannier.IsSkillFile(l.path) &&
			!slices.ContainsFunc(manifestOf(lines), func(f pannier.ToolFile) bool { return f.Path == l.path }) {
			p.LinkedOut = l.path
		}
	}
	return p
}

func isProgram(l *line) bool {
	return l.mark == markExecutable && !pannier.IsSkillFile(l.path) || scripts.HasExtension(l.path)
}

type line struct {
	path    string
	mark    byte
	content pannier.Digest
	size    int64  // of a regular file; not part of the fingerprint
	target  string // text of a link
}

// The marks of a line.
const (
	markExecutable = 'x'
	markPlain      = '-'
	markLink       = 'l'
	markOther      = '?'
)

func digest(lines []line) pannier.Digest {
	slices.SortFunc(lines, func(a, b line) int { return strings.Compare(a.path, b.path) })
	h := sha256.New()
	var b []byte
	for _, l := range lines {
		b = append(append(b[:0], l.path...), 0, l.mark, 0)
		if l.mark != markOther {
			b = hex.AppendEncode(b, l.content[:])
		}
		h.Write(append(b, '\n'))
	}
	return pannier.Digest(h.Sum(nil))
}
