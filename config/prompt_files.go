package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"pannier"
	"pannier/internal/fsx"
)

// The bounds of the system prompt, of one file and of all: a model reads far less.
const (
	maxPromptBytes    = 256 << 10
	maxAllPromptBytes = 1 << 20
)

// refusedOutside is the code of the refusal of a file that is not below the workspace.
const refusedOutside = "outside"

const promptHint = "shorten it: all of it would be part of every request to the model"

// promptReader reads the files of the system prompt, each only where it may have changed.
type promptReader struct {
	dir     string
	known   map[string]*knownPrompt // by path; those of the last scan
	watched []string
	entries []string
	read    func(path string) // for tests: called for each file that is read; optional
}

type knownPrompt struct {
	state    readState
	file     pannier.PromptFile
	problems []pannier.Problem
}

type promptLook struct {
	*promptReader
	time  time.Time
	root  *os.Root // opened when it is first needed
	err   error    // why it could not be
	next  map[string]*knownPrompt
	dirs  []string // below the workspace, to be watched
	ends  []string // files that are links, absolute
	bytes int64

	files    []pannier.PromptFile
	problems []pannier.Problem
}

// look reads what is listed and what the agent adds to it.
func (r *promptReader) look(listed []listedPrompt, at time.Time) *promptLook {
	l := &promptLook{promptReader: r, time: at, next: map[string]*knownPrompt{}}
	all := withMemory(listed)
	for _, p := range all {
		l.take(p)
	}
	if l.root != nil {
		l.root.Close()
	}
	r.known, r.watched, r.entries = l.next, sorted(l.ends, below(l.dir, l.dirs)), l.names(all)
	return l
}

// take adds one file. One that is outside is not looked at. A file that has been read is the same wherever the way to it leads
// now, within the workspace.
func (l *promptLook) take(p listedPrompt) {
	if links, out := escapesRoot(l.dir, p.path); out {
		for _, dir := range links {
			l.dirs = appendParents(l.dirs, dir)
		}
		l.add(refused(p.path, outside()))
		return
	}
	file := filepath.Join(l.dir, filepath.FromSlash(p.path))
	l.dirs, l.ends = appendParents(l.dirs, path.Dir(p.path)), append(l.ends, linked(file)...)
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		if p.field != "" {
			l.problems = append(l.problems, pannier.Problem{
				Code: codePromptMissing, Severity: pannier.SeverityWarning, Path: pannier.WorkspaceFile, Line: p.line, Column: p.column, Field: p.field,
				Message: shown(p.path) + " does not exist, and the system prompt goes without it",
				Hint:    "create it, or remove it from " + keyPrompts,
			})
		}
		return
	}
	l.found(p.path, info, err)
}

// found adds a file that is there, or of which that is not known.
func (l *promptLook) found(name string, info fs.FileInfo, err error) {
	switch {
	case err != nil:
		l.add(refused(name, err))
	case info.Mode().IsRegular() && info.Size() <= maxPromptBytes && l.bytes+info.Size() > maxAllPromptBytes:
		l.add(refused(name, &refusal{
			code:    "too_large",
			message: fmt.Sprintf("with this file the system prompt has more than %d bytes; it is left out", maxAllPromptBytes),
			hint:    promptHint,
		}))
	default:
		k := l.file(name, info)
		if l.add(k); !k.file.Digest.IsZero() {
			l.bytes += info.Size()
			l.next[name] = k
		}
	}
}

func (l *promptLook) add(k *knownPrompt) {
	l.files = append(l.files, k.file)
	l.problems = append(l.problems, k.problems...)
}

func (l *promptLook) file(name string, info fs.FileInfo) *knownPrompt {
	if k := l.known[name]; k != nil && k.state.holds(readStateOf(info, l.time)) {
		return k
	}
	if l.read != nil {
		l.read(name)
	}
	text, opened, err := l.text(name)
	if err != nil {
		return refused(name, err)
	}
	k := &knownPrompt{state: readStateOf(opened, l.time)}
	if r, ok := errors.AsType[*refusal](checkUTF8(text)); ok {
		k.problems = []pannier.Problem{promptProblem(name, pannier.SeverityWarning, r)}
	}
	k.file = pannier.PromptFile{Path: name, Text: plainText(text)}
	k.file.Digest = pannier.DigestOf([]byte(k.file.Text))
	return k
}

// text reads a file below the workspace, and returns the stat of what was opened.
func (l *promptLook) text(name string) ([]byte, fs.FileInfo, error) {
	if l.root == nil && l.err == nil {
		l.root, l.err = fsx.OpenRoot(l.dir)
	}
	root, err := l.root, l.err
	if err != nil {
		return nil, nil, err
	}
	text, opened, err := source{
		stat: func() (fs.FileInfo, error) { return root.Stat(name) },
		open: func(flag int) (*os.File, error) { return root.OpenFile(name, flag, 0) },
		most: maxPromptBytes, hint: promptHint,
	}.read()
	if err != nil {
		return nil, nil, err
	}
	return text, opened, checkNUL(text)
}

var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// plainText returns a text as the agent reads it: lines end in LF, and nothing is blank at either end.
func plainText(text []byte) string {
	text = bytes.TrimPrefix(text, byteOrderMark)
	return strings.TrimSpace(lineEnds.Replace(strings.ToValidUTF8(string(text), "\ufffd")))
}

// refused is a file of which nothing is known but that it is there.
func refused(name string, err error) *knownPrompt {
	k := &knownPrompt{file: pannier.PromptFile{Path: name}}
	r := refusalOf(err)
	_, own := errors.AsType[*refusal](err)
	_, system := errors.AsType[syscall.Errno](err)
	if !own && !system { // os.Root itself refuses the way
		r = outside()
	}
	k.problems = []pannier.Problem{promptProblem(name, pannier.SeverityError, r)}
	return k
}

func outside() *refusal {
	return &refusal{code: refusedOutside, message: "a link in the path leads out of the workspace, or is absolute", hint: "copy the file into the workspace, or make the link a relative one within it"}
}

func promptProblem(name string, s pannier.Severity, r *refusal) pannier.Problem {
	return pannier.Problem{Code: codePromptPrefix + r.code, Severity: s, Path: name, Line: r.line, Message: r.message, Hint: r.hint}
}

// names returns the first parts of the paths that the files are found by.
func (l *promptLook) names(listed []listedPrompt) []string {
	all := make([]string, 0, len(listed)+len(l.dirs))
	for _, p := range listed {
		all = append(all, p.path)
	}
	all = append(all, l.dirs...)
	for i := range all {
		all[i], _, _ = strings.Cut(all[i], "/")
	}
	return sorted(all)
}

// errOutside ends a path that leads out of the workspace.
var errOutside = errors.New("outside of the workspace")

// linked returns what to watch of a file that is a link, besides the directory that holds it: its own path. The watcher goes
// the way of that as it does for a directory that is missing, link by link and to what is at the end, and of each directory on
// it only the entry counts that the way leads through. It is empty for anything but a link.
func linked(file string) []string {
	if _, err := os.Readlink(file); err != nil {
		return nil
	}
	return []string{file}
}

// escapesRoot follows a path below dir. If a symlink leads out of dir, or is absolute, which [os.Root] treats the same, it returns the
// directories below dir that contain the symlinks up to there. It stats nothing outside of dir: a disk that does not answer there
// must not block the scan.
func escapesRoot(dir, name string) (links []string, escapes bool) {
	_, _, err := fsx.FollowPath(".", name, fsx.LinkRules{
		Readlink: func(at, entry string) (string, error) {
			target, err := os.Readlink(filepath.Join(dir, filepath.FromSlash(at), entry))
			switch {
			case errors.Is(err, unix.EINVAL):
				return "", unix.EINVAL
			case err == nil:
				links = append(links, at)
			}
			return target, err
		},
		Parent: func(at string) (string, error) {
			if at == "." {
				return "", errOutside
			}
			return path.Dir(at), nil
		},
		Absolute: func() (string, error) { return "", errOutside },
	})
	if err != errOutside {
		return nil, false
	}
	return links, true
}

// appendParents appends a directory below the workspace and those on the way to it, whether they are there or not: each can
// be replaced by another, or come. One that no system call takes cannot.
func appendParents(dirs []string, dir string) []string {
	if len(dir) >= unix.PathMax {
		return dirs
	}
	for ; dir != "."; dir = path.Dir(dir) {
		dirs = append(dirs, dir)
	}
	return dirs
}

func below(workspace string, paths []string) []string {
	all := make([]string, 0, len(paths))
	for _, p := range paths {
		all = append(all, filepath.Join(workspace, filepath.FromSlash(p)))
	}
	return all
}

// sorted returns all of the lists in one, each once.
func sorted(lists ...[]string) []string {
	all := slices.Concat(lists...)
	slices.Sort(all)
	return slices.Compact(all)
}
