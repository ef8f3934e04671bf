package molecule

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync/atomic"

	"pannier"
	"pannier/internal/fsx"
)

// maxTokenBytes is far more than a token has; Molecule's platform makes tokens of 43 characters.
const maxTokenBytes = 4096

// formError says that the content of a file is not what was expected. It does not quote the content.
type formError string

func (e formError) Error() string { return string(e) }

// FileToken is a bearer token in a file. It may be used from any goroutine.
type FileToken struct {
	path string
	mode atomic.Uint32 // of the file that was read last; 0 before the first
}

// NewFileToken returns the token of a file, which need not exist.
func NewFileToken(path string) *FileToken { return &FileToken{path: path} }

// Read reads the token, each time again, since the platform replaces it whenever it restarts the agent. Blanks around
// it are dropped; an empty or missing file is an empty token and not an error. An error names the file and never quotes
// its content.
func (t *FileToken) Read() (string, error) {
	content, info, err := fsx.ReadRegular(t.path, 0, maxTokenBytes)
	t.mode.Store(0)
	if info != nil {
		t.mode.Store(uint32(info.Mode().Perm()))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return parseToken(t.path, content)
}

// Conditions reports a file that others than the owner and the group can read, or others than the owner can write, as
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

// ReadFile returns the content of a regular file of at most so many bytes. It does not wait for the writer of a FIFO.
func ReadFile(path string, most int64) ([]byte, error) {
	content, _, err := fsx.ReadRegular(path, 0, most)
	if err == nil && int64(len(content)) > most {
		err = formError(fmt.Sprintf("%s is larger than %d bytes", path, most))
	}
	return content, err
}

func parseToken(path string, content []byte) (string, error) {
	if len(content) > maxTokenBytes {
		return "", formError(fmt.Sprintf("%s is larger than %d bytes, which no token is", path, maxTokenBytes))
	}
	token := strings.TrimSpace(string(content))
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", formError(path + " is not one line of printable characters")
	}
	return token, nil
}
