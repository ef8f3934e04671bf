package loader

import (
	"io"
	"os"

	"golang.org/x/sys/unix"

	"pannier/internal/fsx"
)

// openFile is a file below a root that is open for reading. It goes by its descriptor, because a regular file has no use
// for the poller that an [os.File] asks first.
type openFile struct {
	fd    int
	file  *os.File // owns the descriptor, where os.Root has opened it
	below string   // its path below the skill directory, where a check has found it
}

// open opens a file below the root. It does not wait for the writer of a FIFO.
func (r *reader) open(rel string) (openFile, error) {
	fd, err := fsx.OpenAt(r.scan.fd, rel)
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
func (s *treeScan) openFile(rel string) (*os.File, error) {
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

func (f openFile) stat() (fsx.Stamp, error) { return fsx.Fstat(f.fd) }

// close gives the descriptor back.
func (f openFile) close() {
	if f.file != nil {
		f.file.Close()
		return
	}
	unix.Close(f.fd)
}
