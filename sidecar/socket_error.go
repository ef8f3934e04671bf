package sidecar

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"pannier/config"
	"pannier/publish/api"
)

// socketError says why the socket could not be opened, and what to do.
func socketError(err error, s config.Settings) error {
	e := &Error{Message: err.Error()}
	lock := s.Socket + ".lock"
	switch {
	case errors.Is(err, api.ErrInUse):
		e.Hint = "another sidecar may run for a workspace already; give this one a socket of its own with --socket"
	case errors.Is(err, os.ErrPermission) && failedAt(err, lock) && exists(lock):
		e.Hint = fmt.Sprintf("a sidecar of another user made %s; where none runs any more, remove it, or choose another path with --socket", lock)
	case errors.Is(err, os.ErrPermission):
		e.Hint = fmt.Sprintf("make %s writable for this user, or choose another path with --socket", s.Socket)
	case errors.Is(err, syscall.EROFS):
		e.Hint = "the file system can only be read; mount one there that can be written, such as an emptyDir, or choose another path with --socket"
	case errors.Is(err, syscall.ENOTDIR):
		e.Hint = "a part of the path is a file, not a directory; choose another path with --socket"
	case otherFile(s.Socket):
		e.Hint = fmt.Sprintf("remove %s if it is not needed, or choose another path with --socket", s.Socket)
	}
	return e
}

// failedAt reports whether err is about that path.
func failedAt(err error, path string) bool {
	failed, ok := errors.AsType[*fs.PathError](err)
	return ok && failed.Path == path
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// otherFile reports whether something else than a socket is at path.
func otherFile(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().Type() != fs.ModeSocket
}
