package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"
	"unicode/utf8"

	"pannier/internal/fsx"
)

// maxFileBytes bounds a file of settings: far more than anybody writes by hand.
const maxFileBytes = 1 << 20

// maxReads is how often a file is read that is being written meanwhile.
const maxReads = 3

// refusal is why a file that exists was not read.
type refusal struct {
	code          string // the last part of the code of a problem
	line          int
	message, hint string
}

// Error implements error.
func (r *refusal) Error() string { return r.message }

// refusalOf returns the refusal that err is, or makes one of an error of the system.
func refusalOf(err error) *refusal {
	if r, ok := errors.AsType[*refusal](err); ok {
		return r
	}
	return &refusal{code: "unreadable", message: "the file cannot be read: " + fsx.Cause(err).Error(), hint: "check its owner and permissions, and the mount it lies on"}
}

type source struct {
	stat func() (fs.FileInfo, error)
	open func(flag int) (*os.File, error)
	most int64  // bytes
	hint string // what to do about more
}

// readFile returns the text of a regular file of settings, checked to be UTF-8, without its byte order mark, and the stat
// of the file that was read.
func readFile(path string) ([]byte, fs.FileInfo, error) {
	text, info, err := source{
		stat: func() (fs.FileInfo, error) { return os.Stat(path) },
		open: func(flag int) (*os.File, error) { return os.OpenFile(path, flag, 0) },
		most: maxFileBytes, hint: "move what is not configuration into files of its own",
	}.read()
	if err != nil {
		return nil, nil, err
	}
	if err := errors.Join(checkNUL(text), checkUTF8(text)); err != nil {
		return nil, nil, err
	}
	return bytes.TrimPrefix(text, byteOrderMark), info, nil
}

func (s source) read() (text []byte, info fs.FileInfo, err error) {
	text, err = readStill(func() (text []byte, still bool, err error) {
		text, info, still, err = s.readOnce()
		return text, still, err
	})
	return text, info, err
}

// readStill reads until the file stood still meanwhile, but not forever: half of a text can look like a whole one.
func readStill(read func() (text []byte, still bool, err error)) ([]byte, error) {
	for range maxReads {
		if text, still, err := read(); still || err != nil {
			return text, err
		}
	}
	return nil, &refusal{code: "changing", message: fmt.Sprintf("the file changed during each of %d reads", maxReads), hint: "write it aside and rename it into place"}
}

// readOnce reads a file, with its stat from before, and reports whether it stood still meanwhile.
func (s source) readOnce() (text []byte, before fs.FileInfo, still bool, err error) {
	f, before, err := s.openRegular()
	if err != nil {
		return nil, nil, false, err
	}
	defer f.Close()
	text, err = io.ReadAll(io.LimitReader(f, s.most+1))
	if err != nil {
		return nil, nil, false, err
	}
	if int64(len(text)) > s.most { // not every file system tells the size before
		return nil, nil, false, s.tooLarge()
	}
	after, err := f.Stat()
	if err != nil {
		return nil, nil, false, err
	}
	return text, before, before.Size() == after.Size() && before.ModTime().Equal(after.ModTime()), nil
}

// openRegular opens a regular file, and never waits for a writer: what is not regular is refused before it is opened,
// and what takes its place in between does not block.
func (s source) openRegular() (*os.File, fs.FileInfo, error) {
	if err := s.checkRegular(s.stat()); err != nil {
		return nil, nil, err
	}
	f, err := s.open(os.O_RDONLY | syscall.O_NONBLOCK)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err := s.checkRegular(info, err); err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

func (s source) checkRegular(info fs.FileInfo, err error) error {
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return &refusal{code: "not_regular", message: "this is a directory, not a file", hint: "put a file in its place; a bind mount of a missing file makes a directory"}
	case !info.Mode().IsRegular():
		return &refusal{code: "not_regular", message: "this is not a regular file", hint: "put a regular file in its place"}
	case info.Size() > s.most:
		return s.tooLarge()
	}
	return nil
}

func (s source) tooLarge() error {
	return &refusal{code: "too_large", message: fmt.Sprintf("the file has more than %d bytes", s.most), hint: s.hint}
}

func checkNUL(text []byte) error {
	if at := bytes.IndexByte(text, 0); at >= 0 {
		return &refusal{code: "encoding", line: lineAt(text, at), message: "the file holds a NUL byte", hint: "save it as plain text in UTF-8"}
	}
	return nil
}

func checkUTF8(text []byte) error {
	for at, size := 0, 0; at < len(text); at += size {
		var r rune
		if r, size = utf8.DecodeRune(text[at:]); r == utf8.RuneError && size == 1 {
			return &refusal{
				code: "encoding", line: lineAt(text, at), message: "the file is not valid UTF-8",
				hint: "save it as plain text in UTF-8",
			}
		}
	}
	return nil
}

func lineAt(text []byte, at int) int { return bytes.Count(text[:at], []byte("\n")) + 1 }

// byteOrderMark is what some editors of Windows put before a text in UTF-8.
var byteOrderMark = []byte("\ufeff")

// readState is the state of a file when it was read. The zero value is of no file.
type readState struct {
	stamp fsx.Stamp
	at    time.Time
}

// readStateOf returns the state of a file whose stat was taken at that time, before it is read.
func readStateOf(info fs.FileInfo, at time.Time) readState { return readState{fsx.StampOf(info), at} }

// holds reports whether a file certainly did not change since it was in this state; now is what a later stat shows.
func (s readState) holds(now readState) bool {
	return s.stamp == now.stamp && !s.stamp.WithinRacyWindow(s.at) && now.at.Sub(s.at) < fsx.ContentInterval
}
