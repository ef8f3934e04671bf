package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"unicode/utf8"
)

// maxFileBytes bounds a file that is read: far more than anybody writes by hand.
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
	cause := err
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		cause = failed.Err // its path is told already
	}
	return &refusal{code: "unreadable", message: "the file can not be read: " + cause.Error(), hint: "check its owner and permissions, and the mount it lies on"}
}

// readFile returns the text of a regular file, checked to be UTF-8, without its byte order mark.
func readFile(path string) ([]byte, error) {
	text, err := readStill(func() ([]byte, bool, error) { return readOnce(path) })
	if err != nil {
		return nil, err
	}
	return checkEncoding(text)
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

// readOnce reads a file and reports whether it stood still meanwhile.
func readOnce(path string) (text []byte, still bool, err error) {
	f, before, err := openRegular(path)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	text, err = io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return nil, false, err
	}
	if len(text) > maxFileBytes { // not every file system tells the size before
		return nil, false, tooLarge()
	}
	after, err := f.Stat()
	if err != nil {
		return nil, false, err
	}
	return text, before.Size() == after.Size() && before.ModTime().Equal(after.ModTime()), nil
}

// openRegular opens a regular file, and never waits for a writer: what is not regular is refused before it is opened,
// and what takes its place in between does not block.
func openRegular(path string) (*os.File, fs.FileInfo, error) {
	if err := checkRegular(os.Stat(path)); err != nil {
		return nil, nil, err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err := checkRegular(info, err); err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

func checkRegular(info fs.FileInfo, err error) error {
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return &refusal{code: "not_regular", message: "this is a directory, not a file", hint: "put a file in its place; a bind mount of a missing file makes a directory"}
	case !info.Mode().IsRegular():
		return &refusal{code: "not_regular", message: "this is not a regular file", hint: "put a regular file in its place"}
	case info.Size() > maxFileBytes:
		return tooLarge()
	}
	return nil
}

func tooLarge() error {
	return &refusal{code: "too_large", message: fmt.Sprintf("the file has more than %d bytes", maxFileBytes), hint: "move what is not configuration into files of its own"}
}

func checkEncoding(text []byte) ([]byte, error) {
	if at := bytes.IndexByte(text, 0); at >= 0 {
		return nil, &refusal{code: "encoding", line: lineAt(text, at), message: "the file holds a NUL byte", hint: "save it as plain text in UTF-8"}
	}
	if at := invalidAt(text); at < len(text) {
		return nil, &refusal{code: "encoding", line: lineAt(text, at), message: "the file is not valid UTF-8", hint: "save it as plain text in UTF-8"}
	}
	return bytes.TrimPrefix(text, byteOrderMark), nil
}

// invalidAt returns the offset of the first byte that is not UTF-8.
func invalidAt(text []byte) int {
	at := 0
	for at < len(text) {
		r, size := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		at += size
	}
	return at
}

func lineAt(text []byte, at int) int { return bytes.Count(text[:at], []byte("\n")) + 1 }

// byteOrderMark is what some editors of Windows put before a text in UTF-8.
var byteOrderMark = []byte("\ufeff")
