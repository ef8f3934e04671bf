package journal

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"pannier"
)

// stuckJournal is a journal whose disk does not answer until it is let go.
type stuckJournal struct {
	*Journal
	answers chan struct{}
}

func (j stuckJournal) Append(e pannier.Event) (pannier.Event, error) {
	<-j.answers
	return j.Journal.Append(e)
}

func newStuckLog(t *testing.T) (*Queue, stuckJournal) {
	t.Helper()
	kept, err := Open(Options{})
	if err != nil {
		t.Fatal(err)
	}
	j := stuckJournal{kept, make(chan struct{})}
	return NewQueue(hclog.NewNullLogger(), "w", func() *pannier.Snapshot { return nil }, j), j
}

// TestEventsWhileTheDiskHangs emits events that the disk does not take: emit does not wait, readers are given the whole
// catalog once a second at most, and all events in order when the disk answers.
func TestEventsWhileTheDiskHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, j := newStuckLog(t)
		begun, reader := time.Now(), j.Follow(0)
		l.Emit(pannier.EventCatalogUpdated, 1)
		l.Emit(pannier.EventSkillWarning, 2)
		if took := time.Since(begun); took > 0 {
			t.Errorf("emit waited for %s", took)
		}
		if _, err := reader.Next(t.Context()); !errors.Is(err, pannier.ErrTooOld) || time.Since(begun) > 2*stallAfter {
			t.Errorf("the reader got %v after %s", err, time.Since(begun))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		reader = j.Follow(j.Last())
		if _, err := reader.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("nothing has changed, and the reader got %v", err)
		}
		l.Emit(pannier.EventCatalogUpdated, 3)
		if _, err := reader.Next(t.Context()); !errors.Is(err, pannier.ErrTooOld) {
			t.Errorf("the reader got %v", err)
		}
		if begun = time.Now(); l.Last() != 0 || time.Since(begun) > lastTimeout {
			t.Errorf("the newest number took %s", time.Since(begun))
		}
		reader = j.Follow(0)
		close(j.answers)
		for want := uint64(1); want <= 3; want++ {
			if e, err := reader.Next(t.Context()); err != nil || e.Seq != want || string(e.Data.(json.RawMessage)) != string('0'+rune(want)) {
				t.Errorf("event %d is %+v, %v", want, e, err)
			}
		}
		l.Wait(t.Context())
		time.Sleep(2 * stallAfter) // nothing is left that looks after the disk
	})
}

// TestOfferedEventsLeaveRoom offers more than may wait: a quarter of the queue is taken, the rest is refused without a
// gap, and emitted events still find room.
func TestOfferedEventsLeaveRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, j := newStuckLog(t)
		taken := 0
		for range maxEventsQueued {
			if l.Offer(pannier.EventTurnResolved, "x") {
				taken++
			}
		}
		if most := maxEventsQueued/offeredShare + 1; taken < most-1 || taken > most { // one may be written already
			t.Errorf("took %d events, want %d", taken, most)
		}
		if l.Offer(pannier.EventTurnResolved, make(chan int)) {
			t.Error("took an event that has no JSON")
		}
		l.Emit(pannier.EventSkillWarning, "y")
		close(j.answers)
		l.Wait(t.Context())
		if j.First() != 1 || j.Last() != uint64(taken+1) {
			t.Errorf("the journal has %d to %d, want 1 to %d", j.First(), j.Last(), taken+1)
		}
		if !l.Offer(pannier.EventTurnResolved, strings.Repeat("x", maxEventBytesQueued/offeredShare)) {
			t.Error("an empty queue refuses an event")
		}
		l.Wait(t.Context())
		time.Sleep(2 * stallAfter)
	})
}

// TestEventsThatFindNoRoom emits more than may wait: what is dropped is a gap, and the queue takes events again behind
// it.
func TestEventsThatFindNoRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, j := newStuckLog(t)
		reader := j.Follow(0)
		for range maxEventsQueued + 10 {
			l.Emit(pannier.EventSkillWarning, "x")
		}
		l.Emit(pannier.EventSkillWarning, strings.Repeat("x", maxEventBytesQueued))
		close(j.answers)
		l.Wait(t.Context())
		last := j.Last()
		if last < maxEventsQueued || last > maxEventsQueued+2 || j.First() != 0 {
			t.Errorf("the journal has %d to %d", j.First(), last)
		}
		if _, err := reader.Next(t.Context()); !errors.Is(err, pannier.ErrTooOld) {
			t.Errorf("a reader from before got %v", err)
		}
		l.Emit(pannier.EventSkillWarning, "y")
		l.Wait(t.Context())
		if e, err := j.Follow(last).Next(t.Context()); err != nil || e.Seq != last+1 {
			t.Errorf("the next event is %+v, %v", e, err)
		}
		time.Sleep(2 * stallAfter)
	})
}
