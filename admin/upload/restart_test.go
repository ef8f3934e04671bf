package upload_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"pannier"
	"pannier/admin/upload"
	"pannier/internal/state"
)

func TestRestart(t *testing.T) {
	b, text := newBench(t), archive(1000)
	partly, ready, aborted := b.start(t, text), b.ready(t, text), b.start(t, text)
	b.sent(t, partly.ID, text, 0, 400)
	if _, err := b.Abort(t.Context(), me, aborted.ID); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"upl_aaaaaaaaaaaaaaaaaaaaa", aborted.ID, "somebody's"} {
		if err := os.WriteFile(filepath.Join(b.dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for id, value := range map[string]any{"upl_bbbbbbbbbbbbbbbbbbbbb": 7, "../../x": map[string]any{"upload": map[string]string{"upload_id": "../../x"}}} {
		if err := b.values.Put("uploads", id, value); err != nil {
			t.Fatal(err)
		}
	}
	b.reopen(t)
	b.stands(t, partly.ID, pannier.UploadReceiving, 400)
	b.stands(t, ready.ID, pannier.UploadReady, 1000)
	b.stands(t, aborted.ID, pannier.UploadAborted, 0)
	_, err := b.Status(t.Context(), you, partly.ID)
	refused(t, err, "upload.not_found")
	names := map[string]bool{}
	files, err := os.ReadDir(b.dir)
	for _, f := range files {
		names[f.Name()] = true
	}
	if err != nil || len(names) != 3 || !names[partly.ID] || !names[ready.ID] || !names["somebody's"] {
		t.Errorf("files %v, %v", names, err)
	}
	b.sent(t, partly.ID, text, 400, 1000)
	if up, err := b.Finish(t.Context(), me, partly.ID); err != nil || up.Status != pannier.UploadReady {
		t.Errorf("%+v, %v", up, err)
	}
}

// TestExpiresOverARestart: it waits from when it was last written.
func TestExpiresOverARestart(t *testing.T) {
	b, text := newBench(t), archive(1000)
	early, late := b.start(t, text), b.start(t, text)
	b.clock.turn(limits.TTL / 2)
	b.sent(t, late.ID, text, 0, 400)
	at := b.clock.read()
	if err := os.Chtimes(filepath.Join(b.dir, late.ID), at, at); err != nil {
		t.Fatal(err)
	}
	b.clock.turn(limits.TTL * 3 / 4)
	b.reopen(t)
	b.stands(t, early.ID, pannier.UploadExpired, 0)
	b.stands(t, late.ID, pannier.UploadReceiving, 400)
	if b.payload(early.ID) != -1 || b.payload(late.ID) != 400 {
		t.Errorf("payloads of %d and %d bytes", b.payload(early.ID), b.payload(late.ID))
	}
}

// The test binary receives into the directory of the first variable instead of testing. The others name an upload to go
// on with, and the byte that it hangs before.
const (
	receiverVariable = "PANNIER_TEST_UPLOAD_DIR"
	idVariable       = "PANNIER_TEST_UPLOAD_ID"
	hangVariable     = "PANNIER_TEST_UPLOAD_HANG"
)

// killed is the archive that is sent to a process that is killed.
func killed() []byte { return archive(1 << 20) }

// openAt opens the store of a directory with a state on disk.
func openAt(dir string) (*upload.Store, *state.Store, error) {
	values, err := state.Open(dir)
	if err != nil {
		return nil, nil, err
	}
	s, err := upload.Open(upload.Options{Dir: filepath.Join(dir, "uploads"), Values: values, Limits: limits})
	return s, values, err
}

// receive starts an upload, or takes up the one of the process before, sends itself chunks of any length, and says how
// far it has come, until it is killed.
func receive(dir string) int {
	err := receiveInto(dir)
	fmt.Println(describe(err))
	return 1
}

func receiveInto(dir string) error {
	s, _, err := openAt(dir)
	if err != nil {
		return err
	}
	text, id := killed(), os.Getenv(idVariable)
	hang, _ := strconv.Atoi(os.Getenv(hangVariable))
	if id == "" {
		up, err := s.Start(context.Background(), me, announced(text))
		if err != nil {
			return err
		}
		id = up.ID
	}
	fmt.Println(id)
	up, err := s.Status(context.Background(), me, id)
	for at := int(up.Received); at < len(text) && err == nil; {
		to := min(at+1+rand.IntN(20_000), len(text))
		var ack pannier.UploadAck
		ack, err = s.Append(context.Background(), me, pannier.UploadChunk{UploadID: id, Offset: int64(at), Len: int64(to - at)}, hangingReader(text, at, to, hang))
		at = int(ack.Next)
		fmt.Println(at)
	}
	return err
}

// hangingReader reads a part of an archive. At the byte that it hangs before it says so, and waits to be killed.
func hangingReader(text []byte, at, to, hang int) io.Reader {
	if hang < at || hang >= to {
		return bytes.NewReader(text[at:to])
	}
	return io.MultiReader(bytes.NewReader(text[at:hang]), readerFunc(func([]byte) (int, error) {
		fmt.Println("hangs")
		syscall.Pause()
		return 0, io.ErrUnexpectedEOF
	}))
}

// TestKill: whatever was acknowledged is there after the process was killed, and next_offset tells the truth, also in
// the midst of a chunk.
func TestKill(t *testing.T) {
	dir, text, id, here := t.TempDir(), killed(), "", 0
	for range 8 {
		hang := here + rand.IntN((len(text)-here)/3)
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), receiverVariable+"="+dir, idVariable+"="+id, hangVariable+"="+strconv.Itoa(hang))
		cmd.Stderr = t.Output()
		out, err := cmd.StdoutPipe()
		if err := errors.Join(err, cmd.Start()); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		lines.Scan()
		id = lines.Text()
		acknowledged := here
		for lines.Scan() && lines.Text() != "hangs" {
			if acknowledged, err = strconv.Atoi(lines.Text()); err != nil {
				t.Fatal(lines.Text())
			}
		}
		if err := errors.Join(cmd.Process.Kill(), ignore(cmd.Wait())); err != nil {
			t.Fatal(err)
		}
		if here = received(t, dir, id, text); here < acknowledged || here != hang {
			t.Fatalf("%d bytes are here, %d came, and %d were acknowledged", here, hang, acknowledged)
		}
	}
	b, values := reopenAt(t, dir)
	defer values.Close()
	for at := here; at < len(text); at += 100_000 {
		b.sent(t, id, text, at, min(at+100_000, len(text)))
	}
	if up, err := b.Finish(t.Context(), me, id); err != nil || up.Status != pannier.UploadReady {
		t.Errorf("%+v, %s", up, describe(err))
	}
}

func ignore(error) error { return nil }

func reopenAt(t *testing.T, dir string) (*bench, *state.Store) {
	t.Helper()
	s, values, err := openAt(dir)
	if err != nil {
		t.Fatal(err)
	}
	return &bench{Store: s, dir: filepath.Join(dir, "uploads"), values: values}, values
}

// received returns how much of an archive a process that was killed left behind.
func received(t *testing.T, dir, id string, text []byte) int {
	t.Helper()
	b, values := reopenAt(t, dir)
	defer values.Close()
	up, err := b.Status(t.Context(), me, id)
	if err != nil || up.Status != pannier.UploadReceiving {
		t.Fatalf("%+v, %v", up, err)
	}
	here, err := os.ReadFile(filepath.Join(dir, "uploads", id))
	if err != nil || string(here) != string(text[:up.Received]) {
		t.Fatalf("what is here is not the first %d bytes: %v", up.Received, err)
	}
	return int(up.Received)
}
