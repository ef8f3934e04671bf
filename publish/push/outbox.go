package push

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"

	"pannier"
	"pannier/internal/fsx"
	"pannier/internal/latest"
)

const (
	recordVersion = 1
	// maxRecordBytes is far more than a record has. A larger file is damaged.
	maxRecordBytes = 64 << 20
)

type record struct {
	Version     int    `json:"version"`
	Platform    string `json:"platform"` // the endpoint
	WorkspaceID string `json:"workspace_id"`
	// Pending says that the target is not known to hold the card.
	Pending         bool           `json:"pending"`
	Digest          pannier.Digest `json:"digest"`
	SnapshotVersion uint64         `json:"snapshot_version"`
	// Acknowledged is the card that the target last stored.
	Acknowledged   pannier.Digest `json:"acknowledged,omitzero"`
	AcknowledgedAt time.Time      `json:"acknowledged_at,omitzero"`
	// Card is kept byte for byte, since Digest is that of its bytes.
	Card json.RawMessage `json:"card"`
}

// outbox writes the record of one publisher to a file, in the background. It does nothing if dir is empty. A slow or
// full disk delays no push.
type outbox struct {
	dir                   string
	endpoint, workspaceID string
	before                func(step string) error
	log                   hclog.Logger
	errors                prometheus.Counter
	writer                *latest.Writer[record]

	// The fields that follow belong to New, then to the goroutine of writer.

	saved   record // the content of the file, if known is set
	known   bool
	failing bool // the newest access failed, and that has been logged
}

func newOutbox(o Options, log hclog.Logger, m *metrics) *outbox {
	b := &outbox{
		dir: o.Outbox, endpoint: o.Endpoint, workspaceID: o.WorkspaceID, before: o.BeforeOutbox, log: log, errors: m.outboxErrors,
	}
	if b.before == nil {
		b.before = func(string) error { return nil }
	}
	b.writer = latest.NewWriter(b.write)
	return b
}

// OutboxPath returns the file of a publisher in the directory of an outbox, without its extension. It is named by a
// hash, since neither an endpoint nor a workspace id has to be a file name.
func OutboxPath(dir, endpoint, workspaceID string) string {
	sum := pannier.DigestOf([]byte(endpoint + "\x00" + workspaceID))
	return filepath.Join(dir, hex.EncodeToString(sum[:16]))
}

func (b *outbox) path() string { return OutboxPath(b.dir, b.endpoint, b.workspaceID) + ".json" }

// load reads the record of the file into saved, and returns false if there is none.
func (b *outbox) load() (found bool, err error) {
	if b.dir == "" {
		return false, nil
	}
	text, _, err := fsx.ReadRegular(b.path(), 0, maxRecordBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if b.saved, err = b.parse(text); err != nil {
		return false, fmt.Errorf("%s: %w", b.path(), err)
	}
	b.known = true
	return true, nil
}

func (b *outbox) parse(text []byte) (r record, err error) {
	if err := json.Unmarshal(text, &r); err != nil {
		return r, err
	}
	switch {
	case r.Version != recordVersion:
		return r, fmt.Errorf("version %d is not %d", r.Version, recordVersion)
	case r.Platform != b.endpoint || r.WorkspaceID != b.workspaceID:
		return r, errors.New("it belongs to another platform or workspace")
	case len(r.Card) == 0 || r.Digest != pannier.DigestOf(r.Card):
		return r, errors.New("the card is not the one that was written")
	case !r.Pending && r.Acknowledged != r.Digest:
		return r, errors.New("the card is neither pending nor acknowledged")
	}
	return r, nil
}

// write is called by the writer. If the record cannot be written, the card is only in memory from then on.
func (b *outbox) write(r record) {
	err := b.save(r)
	if err == nil && b.failing && b.known {
		b.failing = false
		b.log.Info("outbox written again")
	}
	if err != nil {
		b.report(err, "outbox not writable, cards are kept in memory only")
	}
}

func (b *outbox) report(err error, message string) {
	b.errors.Inc()
	if !b.failing {
		b.failing = true
		hint := "free space on the disk, or make the state directory writable for the user that pannier runs as"
		for _, occupied := range []error{fsx.ErrNotRegular, syscall.EISDIR, syscall.ENOTDIR, syscall.ENOTEMPTY, syscall.EEXIST, syscall.ELOOP, syscall.ENXIO} {
			if errors.Is(err, occupied) {
				hint = "something else lies in the place that the error names, where the outbox keeps its record: remove it"
			}
		}
		b.log.Warn(message, "error", err, "hint", hint)
	}
}

// save replaces the file. If that fails, the old file is removed, since it is not true any more and its blocks may be
// what a full disk lacks, and the write is tried once more.
func (b *outbox) save(r record) error {
	s := &b.saved
	same := r.Digest == s.Digest && r.SnapshotVersion == s.SnapshotVersion &&
		r.Pending == s.Pending && r.Acknowledged == s.Acknowledged && r.AcknowledgedAt.Equal(s.AcknowledgedAt)
	if b.dir == "" || b.known && same {
		return nil
	}
	b.known = false
	var err error
	for range 2 {
		if err = b.replace(r); err == nil {
			b.saved, b.known = r, true
			return nil
		}
		if os.Remove(b.path()) != nil {
			break
		}
	}
	return err
}

func (b *outbox) replace(r record) error {
	r.Version, r.Platform, r.WorkspaceID = recordVersion, b.endpoint, b.workspaceID
	if r.Digest != b.saved.Digest && !json.Valid(r.Card) {
		return errors.New("the card is not valid JSON")
	}
	// The card, which is the last member, is not encoded again: that would take longer than all else, and could change its
	// bytes.
	card := r.Card
	r.Card = nil
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	text = slices.Concat(bytes.TrimSuffix(text, []byte("null}")), card, []byte("}\n"))
	if err := b.before("create"); err != nil {
		return err
	}
	return WriteOutbox(b.path(), text, func(s fsx.Step) error { return b.before(string(s)) })
}

// WriteOutbox replaces a file of an outbox atomically, and creates the directory. before is called with each step; nil
// does nothing.
func WriteOutbox(path string, text []byte, before func(fsx.Step) error) error {
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil && !errors.Is(err, fs.ErrExist) { // its parent existed, and may have been moved away
		return err
	}
	return fsx.WriteFile(path, text, fsx.WriteOptions{Temporary: path + ".tmp", Before: before})
}

// restore sets the slot from the outbox. stale says that a later card may have been pushed.
func (p *Publisher) restore(stale bool) {
	found, err := p.outbox.load()
	if err != nil {
		p.outbox.report(err, "outbox not readable, what it holds is ignored")
	}
	if !found {
		return
	}
	r := p.outbox.saved
	p.state.slot.restore(r)
	p.loop.unconfirmed = !r.Pending && p.reader != nil
	if stale && p.reader == nil {
		p.state.slot.forgetHeld()
	}
	p.metrics.setPending(p.state.slot.pending())
}

func (p *Publisher) saveRecord() {
	p.state.mu.Lock()
	r := p.state.slot.record()
	p.state.mu.Unlock()
	if !r.Digest.IsZero() {
		p.outbox.writer.Put(r)
	}
}

// Flush returns when the outbox holds the newest state, or with the error of ctx.
func (p *Publisher) Flush(ctx context.Context) error { return p.outbox.writer.Wait(ctx) }
