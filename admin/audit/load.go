package audit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"slices"

	"pannier"
	"pannier/internal/fsx"
	"pannier/internal/seqlog"
)

// load reads the directory, repairs it, and returns the number of the next entry and the digest of the newest line. A
// missing directory is an empty log; the first file creates it.
func (d *disk) load() (next uint64, previous pannier.Digest, err error) {
	d.publish()
	if d.files, err = seqlog.Segments(d.dir, maxName); err != nil || len(d.files) == 0 {
		return 1, pannier.Digest{}, err
	}
	d.unnamed = true // the process before may have crashed after the creation
	if err := d.measure(); err != nil {
		return 0, pannier.Digest{}, err
	}
	d.publish()
	d.next, previous, err = d.tip()
	return d.next, previous, err
}

// Read returns the newest entries of a directory as [Log.Newest] does, and changes nothing. A missing directory is an empty
// log.
func Read(dir, slug string, limit int) ([]pannier.AuditEntry, error) {
	d := &disk{dir: dir}
	var err error
	if d.files, err = seqlog.Segments(dir, maxName); err == nil && len(d.files) > 0 {
		_, err = d.findEnd()
	}
	if err != nil {
		return nil, fmt.Errorf("read audit log: %w", err)
	}
	d.publish()
	return (&Log{disk: d}).Newest(slug, limit)
}

// findEnd finds the end of the last complete line of the newest file, and returns the number of bytes after it.
func (d *disk) findEnd() (torn int64, err error) {
	f, info, err := fsx.OpenRegular(d.newestPath(), 0)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if d.end, err = wholeEnd(f, info.Size()); err != nil {
		return 0, fmt.Errorf("read %s: %w", f.Name(), err)
	}
	return info.Size() - d.end, nil
}

// measure finds the end of the last complete line of the newest file, and removes what follows.
func (d *disk) measure() error {
	torn, err := d.findEnd()
	if err != nil {
		return err
	}
	if d.torn = torn > 0; d.torn {
		d.log.Warn("the last line of the audit log is torn by a crash; removing it", "file", d.newestPath(), "bytes", torn)
		if err := errors.Join(d.reopen(), d.truncateTorn()); err != nil {
			d.log.Warn("repairing the audit log failed; the next entry retries", "file", d.newestPath(), "error", err)
		}
	}
	return nil
}

// wholeEnd returns the end of the last complete line. After a power cut a line can begin with zeros, which JSON never
// contains.
func wholeEnd(r io.ReaderAt, size int64) (int64, error) {
	parts := newBackward(r, size)
	if _, err := parts.next(); err != nil {
		return 0, err
	}
	end := parts.begin
	if end < size {
		return end, nil
	}
	last, err := parts.next()
	if errors.Is(err, io.EOF) {
		return end, nil
	}
	if err == nil && bytes.IndexByte(last, 0) >= 0 {
		end = parts.begin
	}
	return end, err
}

// tip returns the number of the next entry and the digest of the newest line. Invalid lines are counted: they were entries
// before they were changed. So are lines with a number that is too large for the file.
func (d *disk) tip() (next uint64, previous pannier.Digest, err error) {
	passed, newest := uint64(0), d.files[len(d.files)-1]
	for line, err := range d.lines() {
		if err != nil {
			return 0, pannier.Digest{}, err
		}
		if passed++; passed == 1 {
			previous = pannier.DigestOf(line)
		}
		if e, err := decode(line); err == nil && e.Seq <= newest+uint64(d.end) {
			return max(newest, e.Seq+passed), previous, nil
		}
	}
	return newest + passed, previous, nil
}

func (d *disk) lines() iter.Seq2[[]byte, error] {
	kept := d.kept.Load()
	return func(yield func([]byte, error) bool) {
		for i, name := range slices.Backward(kept.files) {
			upTo := kept.end
			if i < len(kept.files)-1 {
				upTo = -1
			}
			if !eachLine(d.path(name), upTo, yield) {
				return
			}
		}
	}
}

// eachLine yields the lines of a file below end, newest first; a negative end is the end of the file. A missing file was the
// oldest and is rotated away.
func eachLine(path string, end int64, yield func([]byte, error) bool) bool {
	f, info, err := fsx.OpenRegular(path, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	if err != nil {
		return yield(nil, err) && false
	}
	defer f.Close()
	if end < 0 {
		end = info.Size()
	}
	parts := newBackward(f, end)
	for first := true; ; first = false {
		line, err := parts.next()
		if errors.Is(err, io.EOF) {
			return true
		}
		if first && err == nil && len(line) == 0 {
			continue // after the last line feed
		}
		if !yield(line, err) || err != nil {
			return false
		}
	}
}
