package policyfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"golang.org/x/sys/unix"
	"pannier"

	"pannier/internal/fsx"
)

// The files of a state directory.
const (
	// Name is the file with the newest generation.
	Name          = "policy.json"
	previousName  = Name + ".previous"
	temporaryName = Name + ".tmp"
	damagedSuffix = ".damaged-"
)

// MaxBytes bounds a file. A change that would exceed it fails.
const MaxBytes = 32 << 20

const formatVersion = 1

// Rows are the values of one section, by key. They are never changed.
type Rows = map[string]json.RawMessage

// Sections are all rows, by section. They are never changed.
type Sections map[string]Rows

// Generation is the content of one file.
type Generation struct {
	// Number counts the generations from 1; 0 means that none was written.
	Number uint64
	// AuditSeq is the number of an audit entry. The rows contain the effects of all outcomes up to it.
	AuditSeq uint64
	Sections Sections
}

// Mark names a generation, so that an older file in its place is noticed.
type Mark struct {
	Number   uint64 `json:"generation"`
	AuditSeq uint64 `json:"audit_seq"`
}

// onDisk is a generation as it is written. Digest covers everything else.
type onDisk struct {
	Format     int             `json:"format"`
	Generation uint64          `json:"generation"`
	AuditSeq   uint64          `json:"audit_seq"`
	Digest     pannier.Digest  `json:"digest"`
	Data       json.RawMessage `json:"data"`
}

func (d onDisk) sum() pannier.Digest {
	return pannier.DigestOf(fmt.Appendf(nil, "%d\n%d\n%d\n%s", d.Format, d.Generation, d.AuditSeq, d.Data))
}

// Source says where a generation comes from.
type Source int

// The sources.
const (
	// Absent: there is neither file.
	Absent Source = iota
	// Current: the newest file is intact.
	Current
	// Previous: only the previous file is intact.
	Previous
	// Unreadable: there is a file, and none is intact.
	Unreadable
)

// Load reads the newest intact generation of a directory. The error says what is wrong with a file that is not intact,
// also where the other one is.
func Load(dir string) (Generation, Source, error) {
	g, err := read(dir, Name)
	if err == nil {
		return g, Current, nil
	}
	before, err2 := read(dir, previousName)
	switch {
	case err2 == nil:
		return before, Previous, err
	case errors.Is(err, fs.ErrNotExist) && errors.Is(err2, fs.ErrNotExist):
		return Generation{}, Absent, nil
	}
	return Generation{}, Unreadable, errors.Join(err, err2)
}

// read reads one file. It does not wait for a FIFO or follow a symlink.
func read(dir, name string) (Generation, error) {
	path := dir + "/" + name
	text, _, err := fsx.ReadRegular(path, unix.O_NOFOLLOW, MaxBytes)
	if err != nil {
		return Generation{}, err
	}
	if len(text) > MaxBytes {
		return Generation{}, fmt.Errorf("%s has more than %d bytes", path, MaxBytes)
	}
	g, err := decode(text)
	if err != nil {
		return Generation{}, fmt.Errorf("%s: %w", path, err)
	}
	return g, nil
}

func decode(text []byte) (Generation, error) {
	var d onDisk
	if err := json.Unmarshal(text, &d); err != nil {
		return Generation{}, err
	}
	switch {
	case d.Format != formatVersion:
		return Generation{}, fmt.Errorf("format %d is not %d", d.Format, formatVersion)
	case d.Digest != d.sum() || d.Generation == 0:
		return Generation{}, errors.New("the content does not match its digest")
	}
	g := Generation{Number: d.Generation, AuditSeq: d.AuditSeq}
	if err := json.Unmarshal(d.Data, &g.Sections); err != nil {
		return Generation{}, err
	}
	return g, nil
}

func encode(g Generation) ([]byte, error) {
	data, err := json.Marshal(g.Sections)
	if err != nil {
		return nil, err
	}
	d := onDisk{Format: formatVersion, Generation: g.Number, AuditSeq: g.AuditSeq, Data: data}
	d.Digest = d.sum()
	text, err := json.Marshal(d)
	if err == nil && len(text) > MaxBytes {
		err = fmt.Errorf("%s would have %d bytes, at most %d are allowed", Name, len(text), MaxBytes)
	}
	return append(text, '\n'), err
}
