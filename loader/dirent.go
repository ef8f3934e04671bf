package loader

import (
	"bytes"
	"encoding/binary"
	"os"
	"path"

	"golang.org/x/sys/unix"

	"pannier/internal/fsx"
)

// dirent is one entry of a directory. Its inode tells a directory that was replaced by another one of the same name,
// which [os.File.ReadDir] does not.
type dirent struct {
	name string
	ino  uint64
	kind uint8 // one of unix.DT_*
}

// The layout of linux_dirent64 (getdents64(2)).
const (
	direntReclen = 16
	direntType   = 18
	direntName   = 19
)

// readDirents returns the entries of an open directory, called name, in the kernel's order, without "." and "..".
func readDirents(dir int, name string, buf []byte) ([]dirent, error) {
	var entries []dirent
	for {
		n, err := getdents(dir, buf)
		if err != nil {
			return nil, &os.PathError{Op: "getdents", Path: name, Err: err}
		}
		if n <= 0 {
			return entries, nil
		}
		entries = appendDirents(entries, buf[:n])
	}
}

// getdents reads the next entries of an open directory, and returns zero behind the last.
func getdents(dir int, buf []byte) (n int, err error) {
	for {
		if n, err = unix.Getdents(dir, buf); err != unix.EINTR {
			return n, err
		}
	}
}

func appendDirents(entries []dirent, b []byte) []dirent {
	for len(b) >= direntName {
		length := int(binary.NativeEndian.Uint16(b[direntReclen:]))
		if length < direntName || length > len(b) {
			return entries
		}
		name, _, _ := bytes.Cut(b[direntName:length], []byte{0})
		if s := string(name); s != "." && s != ".." {
			entries = append(entries, dirent{name: s, ino: binary.NativeEndian.Uint64(b), kind: b[direntType]})
		}
		b = b[length:]
	}
	return entries
}

// resolveKind returns the kind of an entry of a directory below an open root, and asks for it where the file system did not
// tell it.
func resolveKind(root int, rel string, e dirent) uint8 {
	if e.kind != unix.DT_UNKNOWN {
		return e.kind
	}
	st, err := fsx.LstatAt(root, path.Join(rel, e.name))
	switch {
	case err != nil:
		return unix.DT_UNKNOWN
	case st.IsDir():
		return unix.DT_DIR
	case st.IsSymlink():
		return unix.DT_LNK
	}
	return unix.DT_REG
}
