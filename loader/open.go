package loader

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// openFile is a file below a root that is open for reading. It goes by its descriptor, because a regular file has no use
// for the poller that an [os.File] asks first.
type openFile struct {
	fd   int
	file *os.File // owns the descriptor, where os.Root has opened it
}

// open opens a file below the root without ever waiting for a writer of a FIFO.
//
// The kernel keeps it below the root in one step (openat2(2), RESOLVE_BENEATH), which costs a third of what [os.Root]
// needs to do the same component by component. Whatever the kernel refuses, or does not know, is left to os.Root, so that
// one set of rules decides and gives the error.
func (r *reader) open(rel string) (openFile, error) {
	how := unix.OpenHow{
		Flags:   unix.O_RDONLY | unix.O_NONBLOCK | unix.O_CLOEXEC | unix.O_NOCTTY,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS,
	}
	fd, err := unix.Openat2(r.scan.fd, rel, &how)
	f := openFile{fd: fd}
	if err != nil {
		file, err := r.scan.openFile(rel)
		if err != nil {
			return openFile{}, err
		}
		f = openFile{fd: int(file.Fd()), file: file}
	}
	if opened := r.scan.tree.opened; opened != nil {
		opened(rel)
	}
	return f, nil
}

// openFile opens a file below the root, or one in a target that a link leads to.
func (s *scan) openFile(rel string) (*os.File, error) {
	file, err := s.root.OpenFile(rel, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if s.mayLeadOut(err) {
		return s.place.File(rel)
	}
	return file, err
}

// Read implements [io.Reader].
func (f openFile) Read(b []byte) (int, error) {
	for {
		n, err := unix.Read(f.fd, b)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return 0, err
		case n == 0 && len(b) > 0:
			return 0, io.EOF
		}
		return n, nil
	}
}

func (f openFile) stat() (fileStat, error) { return statOpen(f.fd) }

// close gives the descriptor back.
func (f openFile) close() {
	if f.file != nil {
		f.file.Close()
		return
	}
	unix.Close(f.fd)
}
