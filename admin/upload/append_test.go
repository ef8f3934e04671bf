package upload_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"pannier"
)

// TestChunkFaults say where the upload goes on, and leave nothing behind.
func TestChunkFaults(t *testing.T) {
	text := archive(1000)
	wrong := bytes.Clone(text)
	wrong[300]++
	for _, tt := range []struct {
		name  string
		chunk pannier.UploadChunk // behind the 400 bytes that are here
		bytes []byte
		code  string
	}{
		{"a gap", pannier.UploadChunk{Offset: 500, Len: 100}, text[500:600], "upload.chunk_offset"},
		{"it overlaps", pannier.UploadChunk{Offset: 300, Len: 200}, text[300:500], "upload.chunk_offset"},
		{"less than none", pannier.UploadChunk{Offset: -1, Len: 1}, text[:1], "upload.chunk_offset"},
		{"a negative length", pannier.UploadChunk{Offset: 400, Len: -1}, nil, "upload.chunk_offset"},
		{"too long a chunk", pannier.UploadChunk{Offset: 400, Len: limits.MaxChunk + 1}, nil, "upload.chunk_size"},
		{"beyond the end", pannier.UploadChunk{Offset: 400, Len: 601}, nil, "upload.size_limit"},
		{"far beyond the end", pannier.UploadChunk{Offset: 1<<63 - 1, Len: 1}, nil, "upload.size_limit"},
		{"more than its header says", pannier.UploadChunk{Offset: 400, Len: 100}, text[400:501], "upload.chunk_length"},
		{"less than its header says", pannier.UploadChunk{Offset: 400, Len: 100}, text[400:499], "upload.chunk_length"},
		{"nothing", pannier.UploadChunk{Offset: 400, Len: 100}, nil, "upload.chunk_length"},
		{"another digest", pannier.UploadChunk{Offset: 400, Len: 100, SHA256: pannier.Digest{1}}, text[400:500], "upload.chunk_digest"},
		{"repeated with other bytes", pannier.UploadChunk{Offset: 200, Len: 200}, wrong[200:400], "upload.chunk_differs"},
		{"repeated with another digest", pannier.UploadChunk{Offset: 200, Len: 200, SHA256: pannier.Digest{1}}, text[200:400], "upload.chunk_digest"},
		{"repeated with less", pannier.UploadChunk{Offset: 200, Len: 200}, text[200:300], "upload.chunk_length"},
		{"repeated with more", pannier.UploadChunk{Offset: 200, Len: 100}, text[200:400], "upload.chunk_length"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			up := b.start(t, text)
			b.sent(t, up.ID, text, 0, 400)
			tt.chunk.UploadID = up.ID
			_, err := b.Append(t.Context(), me, tt.chunk, bytes.NewReader(tt.bytes))
			faulted(t, err, tt.code, 400)
			if n := b.payload(up.ID); n != 400 {
				t.Errorf("%d bytes are on disk", n)
			}
			b.sent(t, up.ID, text, 400, 1000)
			if _, err := b.Finish(t.Context(), me, up.ID); err != nil {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}

// TestRepeatedChunks are acknowledged again: an acknowledgement may be lost.
func TestRepeatedChunks(t *testing.T) {
	b, text := newBench(t), archive(200_000)
	up := b.start(t, text)
	b.sent(t, up.ID, text, 0, 100_000)
	for _, at := range [][2]int{{0, 100_000}, {0, 40_000}, {60_000, 100_000}, {500, 500}} {
		ack, err := b.send(up.ID, text, at[0], at[1])
		want := pannier.UploadAck{UploadID: up.ID, Offset: int64(at[0]), Len: int64(at[1] - at[0]), Received: 100_000, Next: 100_000}
		if err != nil || ack != want {
			t.Errorf("%v: %+v, %v", at, ack, err)
		}
	}
}

// brokenReader fails after some bytes, as a connection that dies.
func brokenReader(text []byte) io.Reader {
	return io.MultiReader(bytes.NewReader(text), readerFunc(func([]byte) (int, error) { return 0, errors.New("the connection is gone") }))
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

func TestConnectionDies(t *testing.T) {
	b, text := newBench(t), archive(200_000)
	up := b.start(t, text)
	b.sent(t, up.ID, text, 0, 100_000)
	_, err := b.Append(t.Context(), me, pannier.UploadChunk{UploadID: up.ID, Offset: 100_000, Len: 100_000}, brokenReader(text[100_000:150_000]))
	faulted(t, err, "upload.chunk_length", 100_000)
	if n := b.payload(up.ID); n != 100_000 {
		t.Errorf("%d bytes are on disk", n)
	}
	b.sent(t, up.ID, text, 100_000, 200_000)
	if _, err := b.Finish(t.Context(), me, up.ID); err != nil {
		t.Error(err)
	}
}

// TestOvertaken: an old connection that hangs holds nobody up, and what comes of it at last does no harm.
func TestOvertaken(t *testing.T) {
	for _, end := range []string{"another chunk", "abort"} {
		t.Run(end, func(t *testing.T) {
			b, text := newBench(t), archive(100_000)
			up := b.start(t, text)
			hangs, goOn := make(chan struct{}), make(chan struct{})
			parts := [][]byte{make([]byte, 10_000), make([]byte, 10_000)}
			old := readerFunc(func(into []byte) (int, error) {
				if len(parts) == 1 { // the first is on disk
					close(hangs)
					<-goOn
				}
				n := copy(into, parts[0])
				parts = parts[1:]
				return n, nil
			})
			result := make(chan error, 1)
			go func() {
				_, err := b.Append(t.Context(), me, pannier.UploadChunk{UploadID: up.ID, Len: 100_000}, old)
				result <- err
			}()
			<-hangs
			want, next := "upload.chunk_overtaken", int64(60_000)
			if end == "abort" {
				want, next = "upload.status", -1
				if _, err := b.Abort(t.Context(), me, up.ID); err != nil {
					t.Fatal(err)
				}
			} else {
				b.sent(t, up.ID, text, 0, 60_000)
			}
			close(goOn)
			faulted(t, <-result, want, next)
			if end == "abort" {
				b.stands(t, up.ID, pannier.UploadAborted, 0)
				return
			}
			b.sent(t, up.ID, text, 60_000, 100_000)
			if _, err := b.Finish(t.Context(), me, up.ID); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestOvertakenWhileItIsSynced: the same chunk begins once more, behind a cut, while the first is on its way to the
// disk.
func TestOvertakenWhileItIsSynced(t *testing.T) {
	b, text := newBench(t), archive(100_000)
	up := b.start(t, text)
	again := make(chan error, 1)
	var once sync.Once
	b.BeforeSync(func() {
		once.Do(func() {
			b.clock.turn(time.Minute)
			before, _ := b.Status(t.Context(), me, up.ID)
			go func() {
				_, err := b.Append(t.Context(), me, pannier.UploadChunk{UploadID: up.ID, Len: 60_000}, bytes.NewReader(text[:60_000]))
				again <- err
			}()
			for { // until it has begun, which moves the end of the session
				if now, _ := b.Status(t.Context(), me, up.ID); now.ExpiresAt.After(before.ExpiresAt) || t.Context().Err() != nil {
					return
				}
				runtime.Gosched()
			}
		})
	})
	_, err := b.Append(t.Context(), me, pannier.UploadChunk{UploadID: up.ID, Len: 60_000}, bytes.NewReader(text[:60_000]))
	faulted(t, err, "upload.chunk_overtaken", 0)
	if err := <-again; err != nil {
		t.Fatal(err)
	}
	b.sent(t, up.ID, text, 60_000, 100_000)
	if _, err := b.Finish(t.Context(), me, up.ID); err != nil {
		t.Error(err)
	}
}

// TestManyAtOnce come in side by side, each by itself.
func TestManyAtOnce(t *testing.T) {
	b := newBench(t)
	var senders sync.WaitGroup
	for i := range 64 {
		senders.Go(func() {
			text := append(fmt.Append(nil, i), archive(40_000)...)
			up, err := b.Start(t.Context(), me, announced(text))
			for at := 0; at < len(text) && err == nil; at += 10_000 {
				_, err = b.send(up.ID, text, at, min(at+10_000, len(text)))
			}
			if err == nil {
				_, err = b.Finish(t.Context(), me, up.ID)
			}
			if err != nil {
				t.Errorf("upload %d: %s", i, describe(err))
			}
		})
	}
	senders.Wait()
	if n := b.Counts()[pannier.UploadReady]; n != 64 {
		t.Errorf("%d are ready", n)
	}
}

// TestNoRoom: a disk that is full is nobody's fault, and the upload goes on where it was once there is room.
func TestNoRoom(t *testing.T) {
	b, text := newBench(t), archive(200_000)
	up := b.start(t, text)
	b.sent(t, up.ID, text, 0, 50_000)
	room := limitFiles(t, 120_000)
	_, err := b.send(up.ID, text, 50_000, 200_000)
	room()
	if _, ok := errors.AsType[*pannier.UploadFault](err); !errors.Is(err, syscall.EFBIG) || ok || !strings.Contains(err.Error(), up.ID) {
		t.Errorf("got %v", err)
	}
	if n := b.payload(up.ID); n != 50_000 {
		t.Errorf("%d bytes are on disk", n)
	}
	b.stands(t, up.ID, pannier.UploadReceiving, 50_000)
	b.sent(t, up.ID, text, 50_000, 200_000)
	if _, err := b.Finish(t.Context(), me, up.ID); err != nil {
		t.Error(err)
	}
}

// limitFiles has no file of this process grow beyond so many bytes, which is the nearest to a full disk that needs no
// permission, until room is called.
func limitFiles(t *testing.T, size uint64) (room func()) {
	t.Helper()
	signal.Ignore(syscall.SIGXFSZ)
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	set := func(cur uint64) {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: cur, Max: before.Max}); err != nil {
			t.Fatal(err)
		}
	}
	set(size)
	return func() {
		set(before.Cur)
		signal.Reset(syscall.SIGXFSZ)
	}
}

// TestPayloadIsReplaced: nothing is written through a link.
func TestPayloadIsReplaced(t *testing.T) {
	b, text := newBench(t), archive(100)
	up := b.start(t, text)
	path, other := filepath.Join(b.dir, up.ID), filepath.Join(t.TempDir(), "other")
	if err := errors.Join(os.Remove(path), os.WriteFile(other, nil, 0o600), os.Symlink(other, path)); err != nil {
		t.Fatal(err)
	}
	if _, err := b.send(up.ID, text, 0, 100); !errors.Is(err, syscall.ELOOP) {
		t.Errorf("got %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	b.sent(t, up.ID, text, 0, 100)
}
