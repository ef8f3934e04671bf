package journal_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"

	"pannier"
	"pannier/internal/journal"
)

// dirVariable makes the test binary a process that appends to the journal there, and says what it has appended.
const dirVariable = "PANNIER_JOURNAL_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(dirVariable); dir != "" {
		appendForever(dir)
	}
	goleak.VerifyTestMain(m)
}

func appendForever(dir string) {
	j, err := journal.Open(journal.Options{Dir: dir, MaxBytes: 1 << 20})
	for err == nil {
		var e pannier.Event
		if e, err = j.Append(event(int(j.Last()) + 1)); err == nil {
			fmt.Println(e.Seq)
		}
	}
	os.Exit(1)
}

// event returns an event that says its number, so that the right one can be told.
func event(n int) pannier.Event {
	return pannier.Event{
		Time: time.Date(2026, 1, 2, 3, 4, 5, n, time.UTC), Type: pannier.EventCardPushed, WorkspaceID: "w", SnapshotVersion: 7,
		Data: pannier.CardPush{Platform: "p", Error: fmt.Sprint(n)},
	}
}

func open(t testing.TB, o journal.Options) *journal.Journal {
	t.Helper()
	if o.Logger == nil {
		o.Logger = hclog.New(&hclog.LoggerOptions{Output: t.Output()})
	}
	j, err := journal.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	return j
}

// add appends events until the newest is last.
func add(t testing.TB, j *journal.Journal, last uint64) {
	t.Helper()
	for j.Last() < last {
		want := j.Last() + 1
		if e, err := j.Append(event(int(want))); err != nil || e.Seq != want {
			t.Fatalf("appended %d, %v, want %d", e.Seq, err, want)
		}
	}
}

// inRange fails the test where the journal does not keep first to last, or does not give each of them.
func inRange(t testing.TB, j *journal.Journal, first, last uint64) {
	t.Helper()
	if j.First() != first || j.Last() != last {
		t.Fatalf("the journal has %d to %d, want %d to %d", j.First(), j.Last(), first, last)
	}
	if first > 0 {
		reads(t, j.Follow(first-1), first, last)
	}
	if first > 1 {
		tooOld(t, j.Follow(first-2), first)
	}
}

// reads fails the test where the next events of r are not first to last.
func reads(t testing.TB, r *journal.Reader, first, last uint64) {
	t.Helper()
	for seq := first; seq <= last; seq++ {
		e, err := r.Next(t.Context())
		if err != nil {
			t.Fatalf("event %d: %v", seq, err)
		}
		want, _ := json.Marshal(event(int(seq)).Data)
		if data, ok := e.Data.(json.RawMessage); !ok || e.Seq != seq || !bytes.Equal(data, want) {
			t.Fatalf("event %d: got %d with %s", seq, e.Seq, data)
		}
	}
}

func tooOld(t testing.TB, r *journal.Reader, first uint64) {
	t.Helper()
	for range 2 {
		_, err := r.Next(t.Context())
		old, ok := errors.AsType[*journal.TooOldError](err)
		if !ok || !errors.Is(err, journal.ErrTooOld) || old.First != first {
			t.Fatalf("got %v, want that %d is the first", err, first)
		}
	}
}

// waits fails the test where r has an event.
func waits(t testing.TB, r *journal.Reader) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(time.Millisecond, cancel)
	if e, err := r.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %d, %v", e.Seq, err)
	}
}

func closes(t testing.TB, j *journal.Journal) {
	t.Helper()
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}
