package push_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"pannier"
	"pannier/publish/card"
	"pannier/publish/push"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func cardOf(name string) card.Card {
	text := json.RawMessage(`{"name":"` + name + `"}`)
	return card.Card{JSON: text, Digest: pannier.DigestOf(text)}
}

// newPublisher returns a publisher whose waits are as long as they can be.
func newPublisher(t *testing.T, target push.Target, o push.Options) *push.Publisher {
	t.Helper()
	o.Endpoint, o.WorkspaceID = cmp.Or(o.Endpoint, "file:///target"), "w"
	o.Jitter = func(most time.Duration) time.Duration { return most }
	p, err := push.New(target, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// start runs p until stop is called, which waits for it.
func start(t *testing.T, p *push.Publisher) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run returned %v", err)
		}
	}
}

// pass lets a bubble's clock run for d.
func pass(d time.Duration) { <-time.After(d) }

func (d *directory) holds(t *testing.T, name string, pushes int32) {
	t.Helper()
	text, err := os.ReadFile(d.file())
	if err != nil || string(text) != string(cardOf(name).JSON) {
		t.Errorf("the file holds %s, %v; want %s", text, err, name)
	}
	if n := d.pushes.Load(); n != pushes {
		t.Errorf("%d pushes, want %d", n, pushes)
	}
}

func (d *directory) overwrite(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(d.file(), []byte(`{"name":"other"}`), 0o600); err != nil {
		t.Fatal(err)
	}
}

func codes(p *push.Publisher) string {
	var all []string
	for _, c := range p.Conditions() {
		all = append(all, c.Code)
	}
	return strings.Join(all, " ")
}

func TestNewestCardWins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &directory{path: t.TempDir()}
		p := newPublisher(t, d, push.Options{})
		p.Offer(cardOf("a"))
		p.Offer(cardOf("b"))
		stop := start(t, p)
		synctest.Wait()
		d.holds(t, "b", 1)
		p.Offer(cardOf("b"))
		synctest.Wait()
		d.holds(t, "b", 1)
		p.Offer(cardOf("c"))
		synctest.Wait()
		d.holds(t, "c", 2)
		if h := p.Health(); h.Acknowledged != cardOf("c").Digest || h.LastError != "" {
			t.Errorf("health %+v", h)
		}
		stop()
	})
}

// TestAnotherWriter has another process replace the card: it is put back, ever later, and health says so.
func TestAnotherWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &directory{path: t.TempDir()}
		follower := &following{directory: d, events: make(chan push.Event)}
		p := newPublisher(t, follower, push.Options{ReadBack: true, Follow: true})
		p.Offer(cardOf("a"))
		stop := start(t, p)
		synctest.Wait()
		d.holds(t, "a", 1)
		d.overwrite(t)
		pass(6 * time.Minute) // a check without an event
		d.holds(t, "a", 2)
		for n := range int32(4) {
			d.overwrite(t)
			follower.events <- push.Event{Kind: push.CardChanged}
			pass(time.Minute)
			d.holds(t, "a", 3+n)
		}
		if got := codes(p); got != "card_contested" {
			t.Errorf("conditions %q", got)
		}
		pass(10 * time.Minute)
		if got := codes(p); got != "" {
			t.Errorf("conditions %q after the other writer has stopped", got)
		}
		stop()
	})
}

// following is a directory that reports changes.
type following struct {
	*directory
	events chan push.Event
}

func (f *following) Follow(ctx context.Context, handle func(push.Event)) (push.Outcome, error) {
	handle(push.Event{Kind: push.Connected})
	for {
		select {
		case e := <-f.events:
			handle(e)
		case <-ctx.Done():
			return push.Outcome{}, ctx.Err()
		}
	}
}

// TestAnotherWriterDuringAChange has another process replace the card while a newer one is about to be offered: only that
// one is pushed. If none comes, the replaced one is pushed again after a while.
func TestAnotherWriterDuringAChange(t *testing.T) {
	for name, comes := range map[string]bool{"newer card": true, "none": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &directory{path: t.TempDir()}
				follower := &following{directory: d, events: make(chan push.Event)}
				var settling atomic.Bool
				p := newPublisher(t, follower, push.Options{ReadBack: true, Follow: true, Settling: func(pannier.Digest) bool { return settling.Load() }})
				p.Offer(cardOf("a"))
				stop := start(t, p)
				pass(time.Minute)
				settling.Store(true)
				d.overwrite(t)
				follower.events <- push.Event{Kind: push.CardChanged}
				pass(2 * time.Second)
				if n := d.pushes.Load(); n != 1 {
					t.Errorf("%d pushes while a change settles, want 1", n)
				}
				want := "a"
				if comes {
					want = "b"
					p.Offer(cardOf("b"))
				}
				pass(2 * time.Second)
				d.holds(t, want, 2)
				stop()
			})
		})
	}
}

// TestRetrySendsTheNewestCard has a push fail. The retry is of the card that waits to be offered, at the time of the
// retry; it is not sent again when it is offered.
func TestRetrySendsTheNewestCard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var newest atomic.Pointer[card.Card]
		var sent []string
		begun := time.Now()
		p := newPublisher(t, pusher(func(c card.Card) (push.Outcome, error) {
			if sent = append(sent, string(c.JSON)+time.Since(begun).String()); len(sent) <= 2 {
				return push.Outcome{Plan: push.Retry}, errors.New("no")
			}
			return push.Outcome{}, nil
		}), push.Options{Newest: func() card.Card { return *newest.Load() }})
		newest.Store(&card.Card{}) // withheld
		p.Offer(cardOf("a"))
		stop := start(t, p)
		pass(150 * time.Millisecond)
		waits := cardOf("b")
		newest.Store(&waits)
		pass(time.Second)
		p.Offer(waits)
		pass(time.Minute)
		stop()
		want := []string{`{"name":"a"}0s`, `{"name":"a"}100ms`, `{"name":"b"}300ms`}
		if !slices.Equal(sent, want) {
			t.Errorf("sent %q, want %q", sent, want)
		}
	})
}

func TestTargetThatIsMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parent := t.TempDir()
		d := &directory{path: parent + "/later"}
		p := newPublisher(t, d, push.Options{ReadBack: true})
		p.Offer(cardOf("a"))
		stop := start(t, p)
		pass(time.Minute)
		if h := p.Health(); h.Hint != "create the directory" || h.Since.IsZero() || h.Desired == h.Acknowledged {
			t.Errorf("health %+v", h)
		}
		if err := os.Mkdir(d.path, 0o700); err != nil {
			t.Fatal(err)
		}
		pass(time.Minute)
		if h := p.Health(); h.LastError != "" || h.Acknowledged != h.Desired {
			t.Errorf("health %+v", h)
		}
		if err := os.RemoveAll(d.path); err != nil {
			t.Fatal(err)
		}
		pass(6 * time.Minute)
		if got := codes(p); got != "workspace_removed" {
			t.Errorf("conditions %q", got)
		}
		stop()
	})
}

// TestRestart has a second publisher follow a first one on one outbox.
func TestRestart(t *testing.T) {
	for _, test := range []struct {
		name      string
		stored    bool // before the restart
		overwrite bool
		offered   string
		want      string
		pushes    int32 // after the restart
	}{
		{"stored", true, false, "", "a", 0},
		{"stored, the same again", true, false, "a", "a", 0},
		{"stored, a newer one", true, false, "b", "b", 1},
		{"stored, replaced meanwhile", true, true, "", "a", 1},
		{"pending", false, false, "", "a", 1},
		{"pending, a newer one", false, false, "b", "b", 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, o := &directory{path: t.TempDir() + "/d"}, push.Options{Outbox: t.TempDir(), ReadBack: true}
				makeDirectory := func() {
					if err := os.MkdirAll(d.path, 0o700); err != nil {
						t.Fatal(err)
					}
				}
				if test.stored {
					makeDirectory()
				}
				first := newPublisher(t, d, o)
				first.Offer(cardOf("a"))
				stop := start(t, first)
				synctest.Wait()
				stop()
				makeDirectory()
				if test.overwrite {
					d.overwrite(t)
				}
				d.pushes.Store(0)
				second := newPublisher(t, d, o)
				if test.offered != "" {
					second.Offer(cardOf(test.offered))
				}
				stop = start(t, second)
				synctest.Wait()
				stop()
				d.holds(t, test.want, test.pushes)
			})
		})
	}
}

// pusher is a target that can do nothing but push.
type pusher func(c card.Card) (push.Outcome, error)

func (f pusher) Push(_ context.Context, c card.Card) (push.Outcome, error) { return f(c) }

// TestPlans has a target fail in each way.
func TestPlans(t *testing.T) {
	for _, test := range []struct {
		name string
		o    push.Outcome
		want time.Duration // until the second attempt
	}{
		{"retry", push.Outcome{Plan: push.Retry}, 100 * time.Millisecond},
		{"retry when it says", push.Outcome{Plan: push.Retry, After: time.Minute}, time.Minute},
		{"token", push.Outcome{Plan: push.RetryWithToken}, 0},
		{"slow", push.Outcome{Plan: push.RetrySlowly}, slowLongest},
		{"stop", push.Outcome{Plan: push.AwaitChange}, refusedLongest},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var times []time.Time
				p := newPublisher(t, pusher(func(card.Card) (push.Outcome, error) {
					if times = append(times, time.Now()); len(times) == 1 {
						return test.o, errors.New("no")
					}
					return push.Outcome{}, nil
				}), push.Options{ReadBack: true, Follow: true, Peers: true})
				p.Offer(cardOf("a"))
				stop := start(t, p)
				pass(time.Hour)
				stop()
				if len(times) != 2 || times[1].Sub(times[0]) != test.want {
					t.Errorf("attempts at %v, want two, %v apart", times, test.want)
				}
			})
		})
	}
}

const (
	slowLongest    = 36 * time.Second
	refusedLongest = 16*time.Minute + 30*time.Second
)

// liar accepts cards and stores none.
type liar struct{ *directory }

func (liar) Push(context.Context, card.Card) (push.Outcome, error) { return push.Outcome{}, nil }

func TestSuccessWithoutEffect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rejected []pannier.CardPush
		p := newPublisher(t, liar{&directory{path: t.TempDir()}}, push.Options{ReadBack: true, Emit: func(kind pannier.EventType, data any) {
			if kind == pannier.EventCardRejected {
				rejected = append(rejected, data.(pannier.CardPush))
			}
		}})
		p.Offer(cardOf("a"))
		stop := start(t, p)
		pass(5 * time.Minute)
		stop()
		if h := p.Health(); !strings.Contains(h.LastError, "not stored it: the file has another content") || len(rejected) != 1 {
			t.Errorf("health %+v, events %+v", h, rejected)
		}
	})
}
