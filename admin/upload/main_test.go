package upload_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pannier"
	"pannier/admin/upload"
	"pannier/internal/state"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(receiverVariable); dir != "" {
		os.Exit(receive(dir))
	}
	goleak.VerifyTestMain(m)
}

// me and you are owners.
const me, you = "uid:1000", "token:you"

// clock is one that tests turn.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) read() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) turn(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(by)
}

// limits are small, so that tests reach them.
var limits = pannier.UploadLimits{
	RecommendedChunk: 64 << 10, MaxChunk: 256 << 10, MaxCompressed: 1 << 20, MaxUnpacked: 4 << 20,
	MaxPending: 8 << 20, MaxPendingOfClient: 4 << 20, TTL: 5 * time.Minute,
}

// bench is a store and what it stands on.
type bench struct {
	*upload.Store
	dir    string
	values *state.Store
	clock  *clock
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{dir: filepath.Join(t.TempDir(), "uploads"), values: state.Memory(), clock: &clock{now: time.Now()}}
	b.reopen(t)
	return b
}

// reopen takes up the sessions as the next process would.
func (b *bench) reopen(t *testing.T) {
	t.Helper()
	s, err := upload.Open(upload.Options{Dir: b.dir, Values: b.values, Limits: limits, Now: b.clock.read})
	if err != nil {
		t.Fatal(err)
	}
	b.Store = s
}

// archive returns bytes that no two parts of are the same.
func archive(size int) []byte {
	source, text := rand.NewChaCha8([32]byte{1}), make([]byte, size)
	io.ReadFull(source, text)
	return text
}

func announced(text []byte) pannier.UploadStart {
	return pannier.UploadStart{FileName: "documents.tar.gz", Format: pannier.TarGz, Size: int64(len(text)), UnpackedHint: 10, SHA256: pannier.DigestOf(text)}
}

func (b *bench) start(t *testing.T, text []byte) pannier.Upload {
	t.Helper()
	up, err := b.Start(t.Context(), me, announced(text))
	if err != nil {
		t.Fatal(err)
	}
	return up
}

// send appends a part of an archive.
func (b *bench) send(id string, text []byte, from, to int) (pannier.UploadAck, error) {
	c := pannier.UploadChunk{UploadID: id, Offset: int64(from), Len: int64(to - from), SHA256: pannier.DigestOf(text[from:to])}
	return b.Append(context.Background(), me, c, bytes.NewReader(text[from:to]))
}

func (b *bench) sent(t *testing.T, id string, text []byte, from, to int) {
	t.Helper()
	ack, err := b.send(id, text, from, to)
	want := pannier.UploadAck{UploadID: id, Offset: int64(from), Len: int64(to - from), Received: int64(to), Next: int64(to)}
	if err != nil || ack != want {
		t.Fatalf("%+v, %v, want %+v", ack, err, want)
	}
}

// ready starts, sends and finishes.
func (b *bench) ready(t *testing.T, text []byte) pannier.Upload {
	t.Helper()
	up := b.start(t, text)
	b.sent(t, up.ID, text, 0, len(text))
	up, err := b.Finish(t.Context(), me, up.ID)
	if err != nil || up.Status != pannier.UploadReady {
		t.Fatalf("%+v, %v", up, err)
	}
	return up
}

func (b *bench) stands(t *testing.T, id string, status pannier.UploadStatus, received int) pannier.Upload {
	t.Helper()
	up, err := b.Status(t.Context(), me, id)
	if err != nil || up.Status != status || up.Received != int64(received) {
		t.Fatalf("%+v, %v, want %s with %d bytes", up, err, status, received)
	}
	return up
}

// payload returns how long the file of an upload is, -1 where there is none.
func (b *bench) payload(id string) int64 {
	info, err := os.Lstat(filepath.Join(b.dir, id))
	if err != nil {
		return -1
	}
	return info.Size()
}

// refused fails unless an error is a refusal with that code.
func refused(t *testing.T, err error, code string) {
	t.Helper()
	r, ok := errors.AsType[*pannier.Refusal](err)
	if !ok || r.Code != code || r.Message == "" || r.Hint == "" {
		t.Errorf("%v is no %s", describe(err), code)
	}
}

// faulted fails unless an error is a fault with that code, and says where the upload goes on.
func faulted(t *testing.T, err error, code string, next int64) {
	t.Helper()
	f, ok := errors.AsType[*pannier.UploadFault](err)
	if !ok || f.Code != code || f.Next != next || f.Message == "" || f.Hint == "" {
		t.Errorf("%v is no %s that goes on at %d", describe(err), code, next)
	}
}

func describe(err error) string {
	switch e := err.(type) {
	case *pannier.Refusal:
		return e.Code + ": " + e.Message
	case *pannier.UploadFault:
		return fmt.Sprintf("%s: %s (next %d)", e.Code, e.Message, e.Next)
	}
	return fmt.Sprint(err)
}
