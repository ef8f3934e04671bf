package platform

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
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
func TokenFile(path string) func() (string, error) {
	return func() (string, error) { return readToken(path) }
}

func readToken(path string) (string, error) {
	content, err := readRegular(path, maxTokenBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return parseToken(path, content)
}

// readRegular returns the content of a file, or its first most+1 bytes where it has more. Anything but a regular file is
// an error.
func readRegular(path string, most int64) ([]byte, error) {
	// Without O_NONBLOCK a named pipe in its place would stop all pushes for ever.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, &formError{path + " is not a regular file", errNotRegular}
	}
	return io.ReadAll(io.LimitReader(f, most+1))
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
