package policyfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"pannier/internal/fsx"
)

// File holds the rows, and writes them where it has a directory. It is for any number of callers, and the only writer
// of its files. Readers never wait for the disk.
type File struct {
	auditSeq func() (seq uint64, known bool)
	// begun is called once a first generation, or one after damage, is on disk; nil calls nothing.
	begun    func()
	sections atomic.Pointer[Sections]
	failed   atomic.Pointer[error]
	newest   atomic.Pointer[Mark]

	mu         sync.Mutex // held while the files are written
	root       *os.Root   // nil keeps the rows in memory
	generation uint64
	seq        uint64 // of the newest audit entry when the generation was written
	// intact says that the current file is the newest generation, so that it may become the previous one.
	intact bool
	// suspended keeps changes in memory, until Resume.
	suspended bool
}

// New returns a file with the rows of a generation. Changes are kept in memory until [File.Attach].
func New(g Generation) *File {
	f := &File{generation: g.Number, seq: g.AuditSeq, suspended: true}
	sections := maps.Clone(g.Sections)
	f.sections.Store(&sections)
	f.newest.Store(&Mark{g.Number, g.AuditSeq})
	return f
}

// Newest returns the mark of the newest generation. It never waits for the disk.
func (f *File) Newest() Mark { return *f.newest.Load() }

// Attach names the directory that changes are written to, empty for none, where the rows came from, and a function that
// returns the number of the newest audit entry, or false where no entry can be added. begun is called once the first
// generation of this process is on disk where there was no intact one, before the change that it was written for.
// Nothing is written yet. It must be called before the file is shared.
func (f *File) Attach(dir string, from Source, auditSeq func() (seq uint64, known bool), begun func()) error {
	f.auditSeq, f.intact, f.begun = auditSeq, from == Current, begun
	if dir == "" {
		return nil
	}
	var err error
	f.root, err = os.OpenRoot(dir)
	return err
}

// Resume has changes written from now on. With save, the rows are written at once, as a new generation.
func (f *File) Resume(save bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if save {
		if err := f.commit(*f.sections.Load()); err != nil {
			return err
		}
	}
	f.suspended = false
	return nil
}

// OnDisk reports whether the current file holds the newest generation.
func (f *File) OnDisk() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.root != nil && f.intact
}

// Same reports whether the rows are those of other sections.
func (f *File) Same(other Sections) bool {
	sections := *f.sections.Load()
	same := func(a, b Sections) bool {
		for name, rows := range a {
			if !maps.EqualFunc(rows, b[name], func(x, y json.RawMessage) bool { return bytes.Equal(x, y) }) {
				return false
			}
		}
		return true
	}
	return same(sections, other) && same(other, sections)
}

// Failed returns why the last write failed, and nil after one that did not.
func (f *File) Failed() error {
	if err := f.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// Get decodes a row into value, a pointer, and reports whether there is one.
func (f *File) Get(section, key string, value any) (found bool, err error) {
	raw, ok := (*f.sections.Load())[section][key]
	if !ok {
		return false, nil
	}
	return true, json.Unmarshal(raw, value)
}

// All returns the rows of a section, ordered by key.
func (f *File) All(section string) (iter.Seq2[string, json.RawMessage], error) {
	rows := (*f.sections.Load())[section]
	return func(yield func(string, json.RawMessage) bool) {
		for _, key := range slices.Sorted(maps.Keys(rows)) {
			if !yield(key, rows[key]) {
				return
			}
		}
	}, nil
}

// Put keeps a row, in the place of one with the same key. It has reached the disk when Put returns. Where Put fails,
// the rows stay as they were.
func (f *File) Put(section, key string, value any) error {
	raw, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("put %s/%s: %w", section, key, err)
	}
	return f.change(section, 1, func(rows Rows) Rows {
		rows[key] = raw
		return rows
	})
}

// Delete removes a row. A row that is not there is no error.
func (f *File) Delete(section, key string) error {
	if _, ok := (*f.sections.Load())[section][key]; !ok {
		return nil
	}
	return f.change(section, 1, func(rows Rows) Rows {
		delete(rows, key)
		return rows
	})
}

// Replace changes all rows of a section. It is for changes that no audit entry tells of, so both files hold it.
func (f *File) Replace(section string, rows Rows) error {
	return f.change(section, 2, func(Rows) Rows { return rows })
}

func (f *File) change(section string, times int, apply func(Rows) Rows) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := *f.sections.Load()
	rows := maps.Clone(before[section])
	if rows == nil {
		rows = Rows{}
	}
	after := maps.Clone(before)
	if after == nil {
		after = Sections{}
	}
	after[section] = apply(rows)
	if err := f.write(before, after, times); err != nil {
		return fmt.Errorf("write %s: %w", Name, err)
	}
	f.sections.Store(&after)
	return nil
}

// write writes rows. What was there before comes first where no generation is on disk: from then on a missing file
// shows.
func (f *File) write(before, after Sections, times int) error {
	if f.suspended {
		return nil
	}
	if !f.intact {
		if err := f.commit(before); err != nil {
			return err
		}
	}
	for range times {
		if err := f.commit(after); err != nil {
			return err
		}
	}
	return nil
}

// commit writes one generation, and remembers how that went.
func (f *File) commit(s Sections) error {
	if f.root == nil {
		return nil
	}
	first := !f.intact
	if err := f.replace(s); err != nil {
		f.failed.Store(&err)
		return err
	}
	f.failed.Store(nil)
	if first && f.begun != nil {
		f.begun()
	}
	return nil
}

func (f *File) replace(s Sections) error {
	seq, known := f.auditSeq()
	if !known {
		seq = f.seq
	}
	text, err := encode(Generation{Number: f.generation + 1, AuditSeq: seq, Sections: s})
	if err != nil {
		return err
	}
	_ = f.root.RemoveAll(temporaryName) // of a process that was killed, or put there
	err = fsx.WriteFileIn(f.root, Name, text, fsx.WriteOptions{
		Temporary: temporaryName,
		Before: func(step fsx.Step) error {
			switch step {
			case fsx.StepRename:
				return f.keepPrevious()
			case fsx.StepSyncDir:
				f.generation, f.seq, f.intact = f.generation+1, seq, true
			}
			return nil
		},
	})
	if err != nil {
		return err
	}
	f.newest.Store(&Mark{f.generation, f.seq})
	return nil
}

// keepPrevious keeps the current file as the previous one, or moves it aside where it is damaged. A link leaves no
// moment without a current file; not every file system has links.
func (f *File) keepPrevious() error {
	if !f.intact {
		err := f.moveAside(Name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	if info, err := f.root.Lstat(previousName); err == nil && info.IsDir() {
		if err := f.moveAside(previousName); err != nil {
			return err
		}
	}
	linked := previousName + ".tmp"
	_ = f.root.RemoveAll(linked)
	if f.root.Link(Name, linked) == nil {
		return f.root.Rename(linked, previousName)
	}
	err := f.root.Rename(Name, previousName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it was removed under the process; the next generation is about to be there
	}
	return err
}

// moveAside renames a file that is not ours to a name that is free.
func (f *File) moveAside(name string) error {
	for now := time.Now().Unix(); ; now++ {
		aside := fmt.Sprintf("%s%s%d", name, damagedSuffix, now)
		if _, err := f.root.Lstat(aside); errors.Is(err, fs.ErrNotExist) {
			return f.root.Rename(name, aside)
		} else if err != nil {
			return err
		}
	}
}

// Close lets go of the directory. Later changes fail.
func (f *File) Close() error {
	if f.root == nil {
		return nil
	}
	return f.root.Close()
}
