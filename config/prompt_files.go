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

	"pannier"
	"pannier/internal/beneath"
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
	known   map[string]*knownPrompt // by path; those of the last look
	watched []string
	entries []string
	read    func(path string) // for tests: told of each file that is read; nil is nobody
}

// knownPrompt is a file as it was last read.
type knownPrompt struct {
	mark     mark
	file     pannier.PromptFile
	problems []pannier.Problem
	linked   string // the directory below the workspace that a link in its path leads to; empty where none does
}

func (r *promptReader) forget() { r.known, r.watched, r.entries = nil, nil, nil }

// promptLook is one look at the files.
type promptLook struct {
	*promptReader
	time  time.Time
	root  *os.Root // opened when it is first needed
	err   error    // why it could not be
	next  map[string]*knownPrompt
	dirs  map[string]bool // below the workspace, as far as they are there
	bytes int64

	files    []pannier.PromptFile
	problems []pannier.Problem
}

// look reads what is listed and what the agent adds to it.
func (r *promptReader) look(listed []listedPrompt, at time.Time) *promptLook {
	l := &promptLook{promptReader: r, time: at, next: map[string]*knownPrompt{}, dirs: map[string]bool{}}
	all := withMemory(listed)
	for _, p := range all {
		l.take(p)
	}
	if l.root != nil {
		l.root.Close()
	}
	r.known, r.watched, r.entries = l.next, l.watch(), l.names(all)
	return l
}

// open returns the workspace as a root that nothing is opened outside of.
func (l *promptLook) open() (*os.Root, error) {
	if l.root == nil && l.err == nil {
		l.root, l.err = beneath.Open(l.dir)
	}
	return l.root, l.err
}

// take adds one file. Its stat, which opens nothing, may well be that of a file outside; whether it is, is found out
// before it is read, and a file that has been read is the same wherever the way to it leads now.
func (l *promptLook) take(p listedPrompt) {
	info, err := os.Stat(filepath.Join(l.dir, filepath.FromSlash(p.path)))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		l.addDirs(path.Dir(p.path), l.isDir)
		l.missing(p)
		return
	}
	var k *knownPrompt
	switch {
	case err != nil:
		k = refused(p.path, err)
	case info.Mode().IsRegular() && info.Size() <= maxPromptBytes && l.bytes+info.Size() > maxAllPromptBytes:
		k = refused(p.path, tooMuch())
	default:
		k = l.file(p.path, info)
	}
	l.files = append(l.files, k.file)
	l.problems = append(l.problems, k.problems...)
	if k.file.Digest.IsZero() {
		l.addDirs(path.Dir(p.path), l.isDir)
		return
	}
	l.bytes += info.Size()
	l.next[p.path] = k
	found := func(string) bool { return true } // for the file was
	l.addDirs(path.Dir(p.path), found)
	l.addDirs(k.linked, found)
}

func (l *promptLook) missing(p listedPrompt) {
	if p.field == "" {
		return
	}
	l.problems = append(l.problems, pannier.Problem{
		Code: codePromptMissing, Severity: pannier.SeverityWarning, Path: pannier.WorkspaceFile, Line: p.line, Column: p.column, Field: p.field,
		Message: shown(p.path) + " does not exist, and the system prompt goes without it",
		Hint:    "create it, or remove it from " + keyPrompts,
	})
}

// file returns a file as it is known, or reads it.
func (l *promptLook) file(name string, info fs.FileInfo) *knownPrompt {
	if k := l.known[name]; k != nil && k.mark.holds(markOf(info, l.time)) {
		return k
	}
	if l.read != nil {
		l.read(name)
	}
	text, opened, err := l.text(name)
	if err != nil {
		return refused(name, err)
	}
	k := &knownPrompt{mark: markOf(opened, l.time), linked: l.linked(name)}
	if r, ok := errors.AsType[*refusal](checkUTF8(text)); ok {
		k.problems = []pannier.Problem{promptProblem(name, pannier.SeverityWarning, r)}
	}
	k.file = pannier.PromptFile{Path: name, Text: plainText(text)}
	k.file.Digest = pannier.DigestOf([]byte(k.file.Text))
	return k
}

// text reads a file below the workspace, and returns the stat of what was opened.
func (l *promptLook) text(name string) ([]byte, fs.FileInfo, error) {
	root, err := l.open()
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
		r = &refusal{code: refusedOutside, message: "a link in the path leads out of the workspace, or is absolute", hint: "copy the file into the workspace, or make the link a relative one within it"}
	}
	k.problems = []pannier.Problem{promptProblem(name, pannier.SeverityError, r)}
	return k
}

func promptProblem(name string, s pannier.Severity, r *refusal) pannier.Problem {
	return pannier.Problem{Code: codePromptPrefix + r.code, Severity: s, Path: name, Line: r.line, Message: r.message, Hint: r.hint}
}

func tooMuch() error {
	return &refusal{code: "too_large", message: fmt.Sprintf("with this file the system prompt has more than %d bytes; it is left out", maxAllPromptBytes), hint: promptHint}
}

// addDirs notes a directory below the workspace, and those on the way to it, as far as they are there: each can be
// replaced by another.
func (l *promptLook) addDirs(dir string, there func(dir string) bool) {
	for i := range len(dir) + 1 {
		if i > 0 && i < len(dir) && dir[i] != '/' {
			continue
		}
		part := dir[:i]
		if part == "" || part == "." {
			continue
		}
		if !l.dirs[part] && !there(part) {
			return
		}
		l.dirs[part] = true
	}
}

func (l *promptLook) isDir(dir string) bool {
	root, err := l.open()
	if err != nil {
		return false
	}
	info, err := root.Stat(dir)
	return err == nil && info.IsDir()
}

// watch returns the directories that are there.
func (l *promptLook) watch() []string {
	all := make([]string, 0, len(l.dirs))
	for dir := range l.dirs {
		all = append(all, filepath.Join(l.dir, filepath.FromSlash(dir)))
	}
	slices.Sort(all)
	return all
}

// names returns the first parts of the paths that the files are found by.
func (l *promptLook) names(listed []listedPrompt) []string {
	all := make([]string, 0, len(listed)+len(l.dirs))
	for _, p := range listed {
		name, _, _ := strings.Cut(p.path, "/")
		all = append(all, name)
	}
	for dir := range l.dirs {
		name, _, _ := strings.Cut(dir, "/")
		all = append(all, name)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// linked returns the directory that a file lies in, where a link leads there. Those of volumes that swap a link (`..data`)
// are left out: the link itself is watched, and they go when it is swapped.
func (l *promptLook) linked(name string) string {
	base, err := filepath.EvalSymlinks(l.dir)
	if err != nil {
		return ""
	}
	file, err := filepath.EvalSymlinks(filepath.Join(base, filepath.FromSlash(name)))
	if err != nil {
		return ""
	}
	dir, err := filepath.Rel(base, filepath.Dir(file))
	if err != nil || strings.HasPrefix(dir, "..") {
		return ""
	}
	return filepath.ToSlash(dir)
}
