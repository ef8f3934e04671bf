package upload_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"pannier"
	"pannier/admin/upload"
	"pannier/internal/state"
)

func TestUpload(t *testing.T) {
	b, text := newBench(t), archive(200_000)
	up := b.start(t, text)
	if !regexp.MustCompile(`^upl_[a-z2-7]{21}$`).MatchString(up.ID) || up.Status != pannier.UploadReceiving || up.ExpiresAt.Sub(up.CreatedAt) != limits.TTL {
		t.Errorf("started %+v", up)
	}
	b.sent(t, up.ID, text, 0, 70_000)
	b.sent(t, up.ID, text, 70_000, 70_000) // an empty one
	b.stands(t, up.ID, pannier.UploadReceiving, 70_000)
	_, err := b.Finish(t.Context(), me, up.ID)
	refused(t, err, "upload.incomplete")
	_, _, _, err = b.Hold(t.Context(), me, up.ID)
	refused(t, err, "upload.status")
	b.sent(t, up.ID, text, 70_000, len(text))
	for range 2 { // an answer may be lost
		done, err := b.Finish(t.Context(), me, up.ID)
		if err != nil || done.Status != pannier.UploadReady || done.SHA256 != pannier.DigestOf(text) || done.Size != int64(len(text)) {
			t.Errorf("finished %+v, %v", done, err)
		}
	}
	_, err = b.send(up.ID, text, 0, 10)
	faulted(t, err, "upload.status", -1)
	file, held, done, err := b.Hold(t.Context(), me, up.ID)
	if err != nil || held.FileName != "documents.tar.gz" || held.Format != pannier.TarGz {
		t.Fatalf("%+v, %v", held, err)
	}
	if got, err := io.ReadAll(file); err != nil || !bytes.Equal(got, text) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if err := errors.Join(done(true), done(false)); err != nil {
		t.Error(err)
	}
	b.stands(t, up.ID, pannier.UploadConsumed, len(text))
	_, _, _, err = b.Hold(t.Context(), me, up.ID)
	refused(t, err, "upload.status")
	if n := b.payload(up.ID); n != -1 {
		t.Errorf("%d bytes stay", n)
	}
}

// TestStartRefuses what can not come to anything.
func TestStartRefuses(t *testing.T) {
	b := newBench(t)
	good := announced(archive(10))
	for name, tt := range map[string]struct {
		change func(*pannier.UploadStart)
		code   string
	}{
		"a format":        {func(u *pannier.UploadStart) { u.Format = "rar" }, "upload.format"},
		"no bytes":        {func(u *pannier.UploadStart) { u.Size = 0 }, "upload.size_limit"},
		"less than none":  {func(u *pannier.UploadStart) { u.Size = -1 }, "upload.size_limit"},
		"too many":        {func(u *pannier.UploadStart) { u.Size = limits.MaxCompressed + 1 }, "upload.size_limit"},
		"too many files":  {func(u *pannier.UploadStart) { u.UnpackedHint = limits.MaxUnpacked + 1 }, "upload.size_limit"},
		"a negative hint": {func(u *pannier.UploadStart) { u.UnpackedHint = -1 }, "upload.size_limit"},
		"no digest":       {func(u *pannier.UploadStart) { u.SHA256 = pannier.Digest{} }, "upload.digest"},
	} {
		up := good
		tt.change(&up)
		_, err := b.Start(t.Context(), me, up)
		t.Run(name, func(t *testing.T) { refused(t, err, tt.code) })
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Start(gone, me, good); !errors.Is(err, context.Canceled) {
		t.Errorf("nobody waits: %v", err)
	}
	if files, err := os.ReadDir(b.dir); err != nil || len(files) != 0 {
		t.Errorf("%v, %v", files, err)
	}
}

func TestFileNames(t *testing.T) {
	b := newBench(t)
	for name, want := range map[string]string{
		"documents.tar.gz": "documents.tar.gz", "../../etc/passwd": ".._.._etc_passwd", "a\x1b[31m\u202eb": "a__31m_b",
		"": "skill.tar.gz", " .. ": "skill.tar.gz", strings.Repeat("x", 1000): strings.Repeat("x", 128),
	} {
		start := announced(archive(1))
		start.FileName = name
		up, err := b.Start(t.Context(), me, start)
		if err != nil || up.FileName != want {
			t.Errorf("%q is %q, %v", name, up.FileName, err)
		}
	}
}

// TestQuotas count what is announced.
func TestQuotas(t *testing.T) {
	b := newBench(t)
	large := announced(archive(1 << 20))
	var ids []string
	for range 4 {
		up, err := b.Start(t.Context(), me, large)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, up.ID)
	}
	_, err := b.Start(t.Context(), me, announced([]byte("x")))
	refused(t, err, "upload.quota")
	for _, owner := range []string{you, you, you, "uid:2"} {
		if _, err := b.Start(t.Context(), owner, large); err != nil {
			t.Fatal(err)
		}
	}
	_, err = b.Start(t.Context(), "uid:2", announced([]byte("x")))
	refused(t, err, "upload.quota") // of all
	if _, err := b.Abort(t.Context(), me, ids[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Start(t.Context(), me, large); err != nil {
		t.Errorf("after an end: %v", err)
	}
}

func TestSessionsAreBounded(t *testing.T) {
	b := newBench(t)
	for range upload.MaxSessions {
		b.start(t, []byte("x"))
	}
	_, err := b.Start(t.Context(), me, announced([]byte("x")))
	refused(t, err, "upload.quota")
	if _, err := b.Start(t.Context(), you, announced([]byte("x"))); err != nil {
		t.Errorf("another owner: %v", err)
	}
	b.clock.turn(limits.TTL) // those of the first have expired, and make room
	b.start(t, []byte("x"))
}

// TestOthers: for whoever it does not belong to, an upload does not exist.
func TestOthers(t *testing.T) {
	b, text := newBench(t), archive(100)
	up := b.ready(t, text)
	for _, id := range []string{up.ID, "upl_000000000000000000000", "../x", ""} {
		_, finish := b.Finish(t.Context(), you, id)
		_, abort := b.Abort(t.Context(), you, id)
		_, status := b.Status(t.Context(), you, id)
		_, _, _, take := b.Hold(t.Context(), you, id)
		for _, err := range []error{finish, abort, status, take} {
			refused(t, err, "upload.not_found")
		}
		_, err := b.Append(t.Context(), you, pannier.UploadChunk{UploadID: id, Len: 1}, strings.NewReader("x"))
		faulted(t, err, "upload.not_found", -1)
	}
	b.stands(t, up.ID, pannier.UploadReady, 100)
}

func TestAbort(t *testing.T) {
	b, text := newBench(t), archive(100)
	up := b.start(t, text)
	b.sent(t, up.ID, text, 0, 50)
	for range 2 {
		if got, err := b.Abort(t.Context(), me, up.ID); err != nil || got.Status != pannier.UploadAborted {
			t.Errorf("%+v, %v", got, err)
		}
	}
	_, err := b.send(up.ID, text, 50, 100)
	faulted(t, err, "upload.status", -1)
	_, err = b.Finish(t.Context(), me, up.ID)
	refused(t, err, "upload.status")
	if n := b.payload(up.ID); n != -1 {
		t.Errorf("%d bytes stay", n)
	}
	up = b.ready(t, text)
	if got, err := b.Abort(t.Context(), me, up.ID); err != nil || got.Status != pannier.UploadAborted {
		t.Errorf("a ready one: %+v, %v", got, err)
	}
}

func TestWrongDigest(t *testing.T) {
	b, text := newBench(t), archive(100)
	start := announced(text)
	start.SHA256[0]++
	up, err := b.Start(t.Context(), me, start)
	if err != nil {
		t.Fatal(err)
	}
	b.sent(t, up.ID, text, 0, 100)
	_, err = b.Finish(t.Context(), me, up.ID)
	refused(t, err, "upload.digest_mismatch")
	b.stands(t, up.ID, pannier.UploadAborted, 100)
	if n := b.payload(up.ID); n != -1 {
		t.Errorf("%d bytes stay", n)
	}
}

func TestExpiry(t *testing.T) {
	b, text := newBench(t), archive(100)
	up := b.start(t, text)
	b.clock.turn(limits.TTL - time.Second)
	b.sent(t, up.ID, text, 0, 50) // moves it on
	b.clock.turn(limits.TTL - time.Second)
	b.sent(t, up.ID, text, 0, 50) // and so does a repeated one
	b.clock.turn(limits.TTL)
	b.stands(t, up.ID, pannier.UploadExpired, 50)
	_, err := b.send(up.ID, text, 50, 100)
	faulted(t, err, "upload.expired", -1)
	_, err = b.Finish(t.Context(), me, up.ID)
	refused(t, err, "upload.expired")
	_, err = b.Abort(t.Context(), me, up.ID)
	refused(t, err, "upload.expired")
	_, _, _, err = b.Hold(t.Context(), me, up.ID)
	refused(t, err, "upload.expired")
	b.start(t, text)
	if n := b.payload(up.ID); n != -1 {
		t.Errorf("%d bytes stay", n)
	}
	b.clock.turn(upload.KeepEnded)
	b.start(t, text)
	_, err = b.Status(t.Context(), me, up.ID)
	refused(t, err, "upload.not_found")
}

// TestRun ends what has expired although nobody asks.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		s, err := upload.Open(upload.Options{Dir: dir, Values: state.Memory(), Limits: limits})
		if err != nil {
			t.Fatal(err)
		}
		up, err := s.Start(t.Context(), me, announced([]byte("x")))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), limits.TTL+time.Minute)
		defer cancel()
		if err := s.Run(ctx); err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(filepath.Join(dir, up.ID)); !os.IsNotExist(err) {
			t.Errorf("its payload: %v", err)
		}
	})
}

// TestTaken: what is being installed is nobody else's, and does not expire.
func TestTaken(t *testing.T) {
	b, text := newBench(t), archive(100)
	up := b.ready(t, text)
	file, _, done, err := b.Hold(t.Context(), me, up.ID)
	if err != nil {
		t.Fatal(err)
	}
	_, _, _, err = b.Hold(t.Context(), me, up.ID)
	refused(t, err, "upload.status")
	_, err = b.Abort(t.Context(), me, up.ID)
	refused(t, err, "upload.status")
	b.clock.turn(2 * limits.TTL)
	b.stands(t, up.ID, pannier.UploadReady, 100)
	b.start(t, text) // looks for what has expired
	if err := done(false); err != nil {
		t.Error(err)
	}
	if _, err := file.Stat(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("the archive is still open: %v", err)
	}
	b.clock.turn(limits.TTL - time.Second)
	_, _, done, err = b.Hold(t.Context(), me, up.ID)
	if err != nil {
		t.Fatalf("a failed installation used it up: %v", err)
	}
	if err := done(true); err != nil {
		t.Error(err)
	}
}

// TestPayloadIsGone: what can not be opened stays ready, for whoever mends it.
func TestPayloadIsGone(t *testing.T) {
	b, text := newBench(t), archive(100)
	up := b.ready(t, text)
	if err := os.Remove(filepath.Join(b.dir, up.ID)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, _, _, err := b.Hold(t.Context(), me, up.ID); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("got %v", err)
		}
	}
	b.reopen(t)
	b.stands(t, up.ID, pannier.UploadReceiving, 0)
	b.sent(t, up.ID, text, 0, 100)
}

func TestMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	s, err := upload.Open(upload.Options{Dir: t.TempDir(), Values: state.Memory(), Limits: limits, Registerer: registry})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		up, err := s.Start(t.Context(), me, announced([]byte("x")))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Abort(t.Context(), me, up.ID)
	}
	if diff := cmp.Diff(map[pannier.UploadStatus]int{"receiving": 2, "ready": 0, "consumed": 0, "aborted": 0, "expired": 0}, s.Counts()); diff != "" {
		t.Error(diff)
	}
	if err := testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP pannier_uploads Uploads that are known, by status.
# TYPE pannier_uploads gauge
pannier_uploads{status="aborted"} 0
pannier_uploads{status="consumed"} 0
pannier_uploads{status="expired"} 0
pannier_uploads{status="ready"} 0
pannier_uploads{status="receiving"} 2
`)); err != nil {
		t.Error(err)
	}
}
