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

// file is an open log file.
type file interface {
	io.WriterAt
	io.Closer
	Stat() (fs.FileInfo, error)
	Truncate(size int64) error
	Sync() error
}

// disk stores the lines in a directory. Only lines may be called concurrently with other methods.
type disk struct {
	dir      string
	maxBytes int64
	maxFiles int
	create   func(path string) (file, error)
	log      hclog.Logger

	// files has the number of the first entry of each file, ascending. The last file is written to.
	files []uint64
	// active is the last file, nil before it is opened.
	active file
	// end is where the last complete line of the active file ends.
	end int64
	// next is the number of the entry that continues the active file.
	next uint64
	// torn says that there may be bytes after end.
	torn bool
	// unnamed says that the name of the active file may not be on disk.
	unnamed bool
	// kept is what readers see: the files and the end after the newest complete line.
	kept atomic.Pointer[extent]
}

// extent is the part of the log that is on disk. It is immutable.
type extent struct {
	files []uint64
	end   int64
}

// publish shows the present state to readers.
func (d *disk) publish() { d.kept.Store(&extent{slices.Clone(d.files), d.end}) }

func (d *disk) path(name uint64) string { return seqlog.SegmentPath(d.dir, name) }

// write stores a line completely or not at all: it reverts it if writing or syncing fails. After a failed sync it is unknown what is on disk.
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
		return errors.Join(err, d.truncateTorn())
	}
	d.end += int64(len(line))
	d.next = seq + 1
	return nil
}

// damage returns what another process did to the files since the last line, empty if nothing. It looks for removed files and for bytes that were appended or cut off. The chain shows changed lines.
func (d *disk) damage() string {
	if errors.Join(d.reopen(), d.truncateTorn()) != nil {
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

// confirm stores the newest line, of length bytes, as the head, and shows it to readers. It writes the head before it removes the oldest files: after a crash in between, removed files would look like
// damage. If it fails, the line is reverted, because the old head is in place.
func (d *disk) confirm(newest Point, length int64, broken string) error {
	surplus := max(0, len(d.files)-d.maxFiles)
	if err := writeHead(d.dir+headSuffix, head{First: d.files[surplus], Point: newest, Broken: broken}); err != nil {
		d.end, d.next, d.torn = d.end-length, newest.Seq, true
		return errors.Join(err, d.truncateTorn())
	}
	if surplus > 0 {
		if err := fsx.SyncDir(filepath.Dir(d.dir)); err == nil { // the head must survive a power cut first
			d.prune()
		}
	}
	d.publish()
	return nil
}

// prepare leaves an active file that ends with a complete line and has space for more bytes.
func (d *disk) prepare(seq uint64, more int64) error {
	if err := errors.Join(d.reopen(), d.truncateTorn()); err != nil {
		return err
	}
	if full := d.end > 0 && d.end+more > d.maxBytes; full || seq != d.next || !d.intact() {
		if err := d.begin(seq); err != nil {
			return err
		}
	}
	return d.syncName()
}

// reopen opens the newest file, if there is one.
func (d *disk) reopen() error {
	if d.active != nil || len(d.files) == 0 {
		return nil
	}
	f, err := os.OpenFile(d.newestPath(), os.O_WRONLY|unix.O_NONBLOCK, 0) // does not wait for the writer of a FIFO
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

// truncateTorn removes what follows the last complete line.
func (d *disk) truncateTorn() error {
	if !d.torn || d.active == nil {
		return nil
	}
	if err := d.active.Truncate(d.end); err != nil {
		return fmt.Errorf("truncate a torn line: %w", err)
	}
	d.torn = false
	return nil
}

// intact reports whether the active file is as this process left it. A changed file is not written to: lines in a removed
// file would be lost, and lines after foreign bytes would hide them.
func (d *disk) intact() bool {
	if d.active == nil {
		return false
	}
	ours, err := d.active.Stat()
	named, err2 := os.Lstat(d.newestPath())
	return errors.Join(err, err2) == nil && os.SameFile(ours, named) && ours.Size() == d.end
}

// begin creates the file whose first entry is seq. The file before is synced already.
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
	d.active, d.end, d.next, d.torn, d.unnamed = f, 0, seq, false, true
	return nil
}

// syncName syncs the name of the active file.
func (d *disk) syncName() error {
	if !d.unnamed {
		return nil
	}
	if err := errors.Join(fsx.SyncDir(d.dir), fsx.SyncDir(filepath.Dir(d.dir))); err != nil {
		return err
	}
	d.unnamed = false
	return nil
}

// prune removes the oldest files. The next entry retries.
func (d *disk) prune() {
	for len(d.files) > d.maxFiles {
		if err := os.Remove(d.path(d.files[0])); err != nil && !errors.Is(err, fs.ErrNotExist) {
			d.log.Warn("removing an old file of the audit log failed", "file", d.path(d.files[0]), "error", err)
			return
		}
		d.files = slices.Delete(d.files, 0, 1)
	}
}

// createFile fails if the file exists: it may be evidence.
func createFile(path string) (file, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}
