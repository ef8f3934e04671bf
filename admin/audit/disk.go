package audit

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"

	"pannier/internal/fsx"

	"pannier/internal/seqlog"
)

// file is what the disk writes to.
type file interface {
	io.WriterAt
	io.Closer
	Stat() (fs.FileInfo, error)
	Truncate(size int64) error
	Sync() error
}

// disk is the files of a directory.
type disk struct {
	dir      string
	maxBytes int64
	maxFiles int
	create   func(path string) (file, error)
	log      hclog.Logger

	// files are named by the number of their first entry, ascending. The last is the one that is written to.
	files []uint64
	// active is that file, nil before it is opened.
	active file
	// end is where its last whole line ends.
	end int64
	// next is the number of the entry that continues that file.
	next uint64
	// torn says that something can lie behind end.
	torn bool
	// unnamed says that its name has not reached the disk for certain.
	unnamed bool
	// kept is what readers see: files and end after the newest whole line.
	kept atomic.Pointer[extent]
}

// extent is what of a log is on disk. It is never changed.
type extent struct {
	files []uint64
	end   int64
}

// publish lets readers see what is kept now.
func (d *disk) publish() { d.kept.Store(&extent{slices.Clone(d.files), d.end}) }

func (d *disk) path(name uint64) string { return seqlog.SegmentPath(d.dir, name) }

// write takes back what it wrote where it fails. That also goes for a sync that fails, since nobody knows then what has
// reached the disk.
func (d *disk) write(seq uint64, line []byte) error {
	if err := d.prepare(seq, int64(len(line))); err != nil {
		return err
	}
	_, err := d.active.WriteAt(line, d.end)
	if err == nil {
		err = d.active.Sync()
	}
	if err != nil {
		d.torn = true
		return errors.Join(err, d.mend())
	}
	d.end += int64(len(line))
	d.next = seq + 1
	return nil
}

// damage looks for files that were removed, and for bytes that were added or cut off. Changes of lines are for the chain to
// show.
func (d *disk) damage() string {
	if errors.Join(d.reopen(), d.mend()) != nil {
		return "" // the write fails for the same reason
	}
	for i, name := range d.files {
		info, err := os.Lstat(d.path(name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return fmt.Sprintf("the file of entry %d was removed while the log was open", name)
		case err == nil && i == len(d.files)-1 && info.Size() != d.end:
			return fmt.Sprintf("the file of entry %d was cut or written to while the log was open", name)
		}
	}
	return ""
}

// confirm writes the head before it removes the oldest files, or else a crash between the two would look as if they had
// been taken away. Where that fails the head is the one before, so the line is taken back.
func (d *disk) confirm(newest Point, length int64, broken string) error {
	surplus := max(0, len(d.files)-d.maxFiles)
	if err := writeHead(d.dir+headSuffix, head{First: d.files[surplus], Point: newest, Broken: broken}); err != nil {
		d.end, d.next, d.torn = d.end-length, newest.Seq, true
		return errors.Join(err, d.mend())
	}
	if surplus > 0 {
		if err := fsx.SyncDir(filepath.Dir(d.dir)); err == nil { // a power cut must not bring back a head from before
			d.prune()
		}
	}
	d.publish()
	return nil
}

// prepare leaves an active file that ends with a whole line and takes more bytes.
func (d *disk) prepare(seq uint64, more int64) error {
	if err := errors.Join(d.reopen(), d.mend()); err != nil {
		return err
	}
	if full := d.end > 0 && d.end+more > d.maxBytes; full || seq != d.next || !d.intact() {
		if err := d.begin(seq); err != nil {
			return err
		}
	}
	return d.name()
}

// reopen opens the newest file, unless there is none.
func (d *disk) reopen() error {
	if d.active != nil || len(d.files) == 0 {
		return nil
	}
	f, err := os.OpenFile(d.newestPath(), os.O_WRONLY|unix.O_NONBLOCK, 0) // a FIFO in its place must not wait
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	d.active = f
	return nil
}

func (d *disk) newestPath() string { return d.path(d.files[len(d.files)-1]) }

// mend cuts off what lies behind the last whole line.
func (d *disk) mend() error {
	if !d.torn || d.active == nil {
		return nil
	}
	if err := d.active.Truncate(d.end); err != nil {
		return fmt.Errorf("cut off half a line: %w", err)
	}
	d.torn = false
	return nil
}

// intact reports whether the active file is as it was left. One that somebody else had a hand in is not written to: a
// line in a file that has no name would be lost, and one behind foreign bytes would hide them.
func (d *disk) intact() bool {
	if d.active == nil {
		return false
	}
	ours, err := d.active.Stat()
	named, err2 := os.Lstat(d.newestPath())
	return errors.Join(err, err2) == nil && os.SameFile(ours, named) && ours.Size() == d.end
}

// begin creates the file whose first entry is seq. What is in the one before has been synced with each line.
func (d *disk) begin(seq uint64) error {
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		return err
	}
	f, err := d.create(d.path(seq))
	if err != nil {
		return err
	}
	if d.active != nil {
		_ = d.active.Close()
	}
	d.files = slices.DeleteFunc(d.files, func(name uint64) bool {
		_, err := os.Lstat(d.path(name))
		return name == seq || errors.Is(err, fs.ErrNotExist)
	})
	d.files = append(d.files, seq)
	d.active, d.end, d.torn, d.unnamed = f, 0, false, true
	return nil
}

// name makes the name of the active file as lasting as what is in it.
func (d *disk) name() error {
	if !d.unnamed {
		return nil
	}
	if err := errors.Join(fsx.SyncDir(d.dir), fsx.SyncDir(filepath.Dir(d.dir))); err != nil {
		return err
	}
	d.unnamed = false
	return nil
}

// prune removes the oldest files. One that cannot be removed is tried again with the next entry.
func (d *disk) prune() {
	for len(d.files) > d.maxFiles {
		if err := os.Remove(d.path(d.files[0])); err != nil && !errors.Is(err, fs.ErrNotExist) {
			d.log.Warn("an old file of the audit log can not be removed", "file", d.path(d.files[0]), "error", err)
			return
		}
		d.files = slices.Delete(d.files, 0, 1)
	}
}

func (d *disk) close() error {
	if d.active == nil {
		return nil
	}
	return d.active.Close()
}

// createFile never opens a file that is there: what is in it may be somebody's evidence.
func createFile(path string) (file, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}
