package molecule

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"pannier"
	"pannier/internal/fsx"
	"pannier/publish/card"
)

const (
	recordVersion = 1
	// maxRecordBytes is far more than a record has.
	maxRecordBytes = 64 << 20
)

// record is what an outbox remembers: the newest card, and how far the platform is with it.
type record struct {
	card card.Card
	// pending says that the platform is not known to hold the card.
	pending bool
	// acknowledged is the card that the platform last took, at the time at.
	acknowledged pannier.Digest
	at           time.Time
}

func (r record) same(other record) bool {
	return r.card.Digest == other.card.Digest && r.card.SnapshotVersion == other.card.SnapshotVersion &&
		r.pending == other.pending && r.acknowledged == other.acknowledged && r.at.Equal(other.at)
}

// recordFile is a record as it lies on the disk.
type recordFile struct {
	Version         int            `json:"version"`
	Platform        string         `json:"platform"`
	WorkspaceID     string         `json:"workspace_id"`
	Pending         bool           `json:"pending"`
	Digest          pannier.Digest `json:"digest"`
	SnapshotVersion uint64         `json:"snapshot_version"`
	Acknowledged    pannier.Digest `json:"acknowledged,omitzero"`
	AcknowledgedAt  time.Time      `json:"acknowledged_at,omitzero"`
	// Card stands as it came: its digest is that of these bytes.
	Card json.RawMessage `json:"card"`
}

// outbox is the file that the record of one platform lies in, or nothing at all where dir is empty. It has one owner and
// no lock.
type outbox struct {
	dir         string
	platform    string
	workspaceID string
	// step is called before each step of a write with its name, for the tests: an error ends the write with it.
	step func(name string) error

	// saved is what the file holds, as far as known says so.
	saved record
	known bool
}

// path names the file by a hash, because neither the platform's URL nor a workspace id has to be a file name.
func (b *outbox) path() string {
	sum := pannier.DigestOf([]byte(b.platform + "\x00" + b.workspaceID))
	return filepath.Join(b.dir, hex.EncodeToString(sum[:16])+".json")
}

// load returns what the file holds, and false where there is none.
func (b *outbox) load() (record, bool, error) {
	if b.dir == "" {
		return record{}, false, nil
	}
	text, _, err := fsx.ReadRegular(b.path(), 0, maxRecordBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return record{}, false, nil
	}
	if err != nil {
		return record{}, false, err
	}
	r, err := b.parse(text)
	if err != nil {
		return record{}, false, fmt.Errorf("%s: %w", b.path(), err)
	}
	b.saved, b.known = r, true
	return r, true, nil
}

// parse believes nothing that does not fit together.
func (b *outbox) parse(text []byte) (record, error) {
	var f recordFile
	if err := json.Unmarshal(text, &f); err != nil {
		return record{}, err
	}
	switch {
	case f.Version != recordVersion:
		return record{}, fmt.Errorf("version %d is not %d", f.Version, recordVersion)
	case f.Platform != b.platform || f.WorkspaceID != b.workspaceID:
		return record{}, errors.New("it belongs to another platform or workspace")
	case len(f.Card) == 0 || f.Digest != pannier.DigestOf(f.Card):
		return record{}, errors.New("the card is not the one that was written")
	case !f.Pending && f.Acknowledged != f.Digest:
		return record{}, errors.New("the card is neither pending nor acknowledged")
	}
	return record{
		card:    card.Card{JSON: f.Card, Digest: f.Digest, SnapshotVersion: f.SnapshotVersion},
		pending: f.Pending, acknowledged: f.Acknowledged, at: f.AcknowledgedAt,
	}, nil
}

// keep brings the file up to date. Where that fails the file is removed, if it can be: what it says is no longer true, and
// on a disk that is full its room may be what was missing, so it is tried once more.
func (b *outbox) keep(r record) error {
	if b.dir == "" || b.known && b.saved.same(r) {
		return nil
	}
	b.known = false
	text, err := b.encode(r)
	if err != nil {
		_ = os.Remove(b.path())
		return err
	}
	for range 2 {
		if err = b.replace(text); err == nil {
			b.saved, b.known = r, true
			return nil
		}
		if os.Remove(b.path()) != nil {
			break
		}
	}
	return err
}

func (b *outbox) encode(r record) ([]byte, error) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false) // it would change the card
	err := enc.Encode(recordFile{
		Version: recordVersion, Platform: b.platform, WorkspaceID: b.workspaceID, Pending: r.pending,
		Digest: r.card.Digest, SnapshotVersion: r.card.SnapshotVersion,
		Acknowledged: r.acknowledged, AcknowledgedAt: r.at, Card: r.card.JSON,
	})
	return text.Bytes(), err
}

// replace puts text in the place of the record.
func (b *outbox) replace(text []byte) error { return b.write(b.path(), text) }

// write replaces a file atomically.
func (b *outbox) write(path string, text []byte) error {
	if err := b.step("create"); err != nil {
		return err
	}
	if err := os.Mkdir(b.dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) { // its parent existed, and may have been moved away
		return err
	}
	before := func(s fsx.Step) error { return b.step(string(s)) }
	return fsx.WriteFile(path, text, fsx.WriteOptions{Temporary: path + ".tmp", Before: before})
}
