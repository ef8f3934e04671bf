package molecule

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"

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
	path    string
	checked bool
	mode    atomic.Uint32                   // of the file that was read last; 0 before the first
	refused atomic.Pointer[pannier.Refusal] // of the last file; nil if it may be used
}

// NewFileToken returns the token of a file, which need not exist. checked is for a file that an ordinary user can replace: it is
// read only if it belongs to the owner of its directory, to root or to this user, and is not a symlink. A hard link to another
// file must have the owner of the directory.
func NewFileToken(path string, checked bool) *FileToken {
	return &FileToken{path: path, checked: checked}
}

// Read reads the token, each time again, since the platform replaces it whenever it restarts the agent. Blanks around
// it are dropped; an empty or missing file is an empty token and not an error. An error names the file and never quotes
// its content.
func (t *FileToken) Read() (string, error) {
	read := func() ([]byte, fs.FileInfo, error) { return fsx.ReadRegular(t.path, 0, maxTokenBytes) }
	if t.checked {
		read = t.readChecked
	}
	content, info, err := read()
	refused, _ := errors.AsType[*pannier.Refusal](err)
	t.refused.Store(refused)
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
	if len(content) > maxTokenBytes {
		return "", formError(fmt.Sprintf("%s is larger than %d bytes, which no token is", t.path, maxTokenBytes))
	}
	token := strings.TrimSpace(string(content))
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", formError(t.path + " is not one line of printable characters")
	}
	return token, nil
}

// readChecked reads a file that an ordinary user can replace.
func (t *FileToken) readChecked() ([]byte, fs.FileInfo, error) {
	dir, err := fsx.OpenOwned("", filepath.Dir(t.path))
	if foreign, ok := errors.AsType[*fsx.OwnerError](err); ok {
		return nil, nil, t.refuse(foreign.Message, foreign.Hint)
	}
	if err != nil {
		return nil, nil, err
	}
	defer dir.Close()
	content, info, err := fsx.ReadEntryIn(dir, filepath.Base(t.path), maxTokenBytes)
	if errors.Is(err, fsx.ErrNotRegular) {
		return nil, nil, t.refuse("it is not a regular file", "put the token itself there, or name another file with platform.token_file")
	}
	top, err2 := dir.Stat(".")
	if err = errors.Join(err, err2); err != nil {
		return nil, nil, err
	}
	is, ok := info.Sys().(*syscall.Stat_t)
	in, ok2 := top.Sys().(*syscall.Stat_t)
	switch {
	case !ok || !ok2 || is.Uid == in.Uid:
		return content, info, nil
	case is.Uid != 0 && int(is.Uid) != os.Geteuid():
		return nil, nil, t.refuse(fmt.Sprintf("it belongs to user %d, and its directory to user %d", is.Uid, in.Uid),
			fmt.Sprintf("give it to user %d (chown), or name another file with platform.token_file", in.Uid))
	case is.Nlink > 1:
		return nil, nil, t.refuse(fmt.Sprintf("it is a hard link to a file of user %d, and its directory belongs to user %d", is.Uid, in.Uid),
			fmt.Sprintf("write the token to a new file of user %d, or name another file with platform.token_file", in.Uid))
	}
	return content, info, nil
}

func (t *FileToken) refuse(message, hint string) error {
	return &pannier.Refusal{Code: "platform_token_refused", Message: "the token file " + t.path + " is not used: " + message, Hint: hint}
}

// Conditions reports a file that is not used, and one that others than the owner and the group can read, or others than the owner can write, as
// it was when it was read last. It does no I/O.
func (t *FileToken) Conditions() []pannier.Condition {
	if r := t.refused.Load(); r != nil {
		return []pannier.Condition{{Code: "platform_token_refused", Severity: pannier.SeverityError, Subject: t.path, Message: r.Message, Hint: r.Hint}}
	}
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
