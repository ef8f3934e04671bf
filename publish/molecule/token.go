package molecule

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync/atomic"
	"syscall"

	"pannier"
)

// maxTokenBytes is far more than a token has; Molecule's platform makes tokens of 43 characters.
const maxTokenBytes = 4096

// What a token file can be besides unreadable.
var (
	errNotRegular = errors.New("not a regular file")
	errNotToken   = errors.New("no token")
)

// formError is a file that is not what it should be; kind is one of the above.
type formError struct {
	text string
	kind error
}

func (e *formError) Error() string { return e.text }

func (e *formError) Unwrap() error { return e.kind }

// TokenFile returns a function that reads a bearer token from a file, anew each time, since the platform replaces the
// token whenever it restarts the agent. Blanks around the token are dropped; a file that is empty or missing is no token
// and no error. An error names the file and never quotes what is in it.
func TokenFile(path string) func() (string, error) { return NewFileToken(path).Read }

// FileToken is a bearer token in a file; see [TokenFile]. It may be used from any goroutine.
type FileToken struct {
	path string
	mode atomic.Uint32 // of the file that was read last; 0 before the first
}

// NewFileToken returns the token of a file, which need not exist.
func NewFileToken(path string) *FileToken { return &FileToken{path: path} }

// Read returns the token as it is now.
func (t *FileToken) Read() (string, error) {
	content, mode, err := readRegularMode(t.path, maxTokenBytes)
	t.mode.Store(uint32(mode.Perm()))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return parseToken(t.path, content)
}

// Conditions says that others than the owner and the group can read the file, or others than the owner can write to it, as
// it was when it was read last. It does no I/O.
func (t *FileToken) Conditions() []pannier.Condition {
	mode, severity := t.mode.Load(), pannier.SeverityInfo
	switch {
	case mode&0o022 != 0:
		severity = pannier.SeverityWarning // a file with another token makes the pushes of another workspace
	case mode&0o005 == 0:
		return nil
	}
	return []pannier.Condition{{
		Code: "platform_token_exposed", Severity: severity, Subject: t.path,
		Message: fmt.Sprintf("others than its owner and its group can read the token file, or others than its owner can write to it: its mode is %04o", mode),
		Hint:    "chmod 600 it, or 640",
	}}
}

// ReadFile returns the content of a regular file of at most so many bytes. It waits for no named pipe.
func ReadFile(path string, most int64) ([]byte, error) {
	content, err := readRegular(path, most)
	if err == nil && int64(len(content)) > most {
		err = &formError{fmt.Sprintf("%s is larger than %d bytes", path, most), errNotToken}
	}
	return content, err
}

// readRegular returns the content of a file, or its first most+1 bytes where it has more. Anything but a regular file is
// an error.
func readRegular(path string, most int64) ([]byte, error) {
	content, _, err := readRegularMode(path, most)
	return content, err
}

// readRegularMode is [readRegular], and returns the mode of the file too.
func readRegularMode(path string, most int64) ([]byte, fs.FileMode, error) {
	// Without O_NONBLOCK a named pipe in its place would stop all pushes for ever.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return nil, 0, &formError{path + " is not a regular file", errNotRegular}
	}
	content, err := io.ReadAll(io.LimitReader(f, most+1))
	return content, info.Mode(), err
}

func parseToken(path string, content []byte) (string, error) {
	if len(content) > maxTokenBytes {
		return "", &formError{fmt.Sprintf("%s is larger than %d bytes, which no token is", path, maxTokenBytes), errNotToken}
	}
	token := strings.TrimSpace(string(content))
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", &formError{path + " is not one line of printable characters", errNotToken}
	}
	return token, nil
}
