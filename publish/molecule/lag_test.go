package molecule_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"
)

// lagging answers reads with what the platform held before the newest push, for so long after it.
func lagging(m *moleculeServer, lag time.Duration) func(*http.Request) (*http.Response, error) {
	var pushed time.Time
	before := json.RawMessage("null")
	return func(r *http.Request) (*http.Response, error) {
		switch {
		case r.Method == http.MethodPost:
			if card, _ := m.Card(workspaceID); card != nil {
				before = card
			}
			pushed = time.Now()
		case time.Since(pushed) < lag:
			return respond(200, `{"agent_card":`+string(before)+`}`)
		}
		return nil, nil
	}
}

// TestReadsThatLag behind what was pushed, as those of a replica or a cache do: by a little they cost nothing but a second
// read, and by more no second push.
func TestReadsThatLag(t *testing.T) {
	for _, test := range []struct {
		lag        time.Duration
		calls      string
		events     []string
		lastsFails bool
	}{
		{time.Second, "GET a GET GET | GET b GET GET", []string{pushed("a"), pushed("b")}, false},
		{10 * time.Second, "GET a GET GET GET | GET b GET GET GET", []string{rejected("a"), pushed("a"), rejected("b"), pushed("b")}, true},
	} {
		t.Run(test.lag.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, e, logs := newMolecule(t).known(t), newEvents(), &buffer{}
				m.set(lagging(m, test.lag))
				p := facing(t, m, options{
					ReadBack: true, Emit: e.emit, Logger: hclog.New(&hclog.LoggerOptions{Output: logs, Level: hclog.Info}),
				})
				start(t, p)
				p.Offer(cardOf("a"))
				pass(5 * time.Second)
				if failing := p.Health().LastError != ""; failing != test.lastsFails {
					t.Errorf("health %+v", p.Health())
				}
				pass(time.Minute)
				calls := m.took()
				p.Offer(cardOf("b"))
				pass(time.Minute)
				if got := calls + " | " + m.took(); got != test.calls {
					t.Errorf("calls %q, want %q", got, test.calls)
				}
				if diff := cmp.Diff(test.events, e.drain()); diff != "" {
					t.Errorf("events (-want +got):\n%s", diff)
				}
				if h := p.Health(); h.LastError != "" || h.Acknowledged != h.Desired || !test.lastsFails && logs.String() != "" {
					t.Errorf("health %+v, log:\n%s", h, logs)
				}
			})
		})
	}
}

// TestRestartWhileThePlatformFails does not push a card again that is stored.
func TestRestartWhileThePlatformFails(t *testing.T) {
	o := options{ReadBack: true, Outbox: t.TempDir()}
	synctest.Test(t, func(t *testing.T) {
		m := newMolecule(t).known(t)
		p := facing(t, m, o)
		stop := start(t, offered(p, "a"))
		synctest.Wait()
		stop()
		m.took()
		m.set(func(*http.Request) (*http.Response, error) { return respond(503, "") })
		p = facing(t, m, o)
		start(t, offered(p, "a"))
		pass(4 * time.Second)
		m.set(asUsual)
		m.took()
		pass(time.Minute)
		if got := m.took(); got != "GET" {
			t.Errorf("calls %q, want one read", got)
		}
		if h := p.Health(); h.LastError != "" || h.Acknowledged != h.Desired {
			t.Errorf("health %+v", h)
		}
	})
}

// TestCardThatGoesBackIsPushed although the platform shows it: the push of another one may only be late.
func TestCardThatGoesBackIsPushed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMolecule(t).known(t)
		p := facing(t, m, options{ReadBack: true})
		start(t, offered(p, "a"))
		pass(10 * time.Second)
		m.set(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodPost {
				return respond(504, "", "Retry-After", "10")
			}
			return nil, nil
		})
		p.Offer(cardOf("b"))
		pass(time.Second)
		m.set(asUsual)
		p.Offer(cardOf("a"))
		pass(10 * time.Second)
		if got := m.took(); got != "GET a GET GET b GET a GET" {
			t.Errorf("calls %q, want a after b", got)
		}
	})
}

// TestAgentThatStartsWhereReadsLag is seen, although the first look still shows our card.
func TestAgentThatStartsWhereReadsLag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLive(t)
		p := on(t, l, options{Events: true, ReadBack: true})
		stop := start(t, offered(p, "a"))
		pass(10 * time.Second)
		lags := time.Now().Add(time.Second)
		l.set(func(w http.ResponseWriter, r *http.Request) {
			if r.Method+" "+r.URL.Path == "GET /workspaces/"+workspaceID && time.Now().Before(lags) {
				status(200, `{"agent_card":{"name":"a"}}`)(w, r)
			}
		})
		l.restart(t, bootCard)
		pass(5 * time.Second)
		l.holds(t, `{"name":"a","url":"http://agent.test"}`)
		stop()
	})
}

// TestAgentThatStartsTwice keeps its second url, although the card changes right behind it and what was registered was read
// a moment before.
func TestAgentThatStartsTwice(t *testing.T) {
	for _, again := range []func(*live, *testing.T, string){(*live).restart, (*live).replace} {
		for _, name := range []string{"boot", "a"} { // with a card of its own, or with ours as it has read it
			synctest.Test(t, func(t *testing.T) {
				l := newLive(t)
				l.restart(t, `{"name":"boot","url":"http://agent:1"}`)
				p := on(t, l, options{Events: true, ReadBack: true})
				stop := start(t, offered(p, "a"))
				pass(10 * time.Second)
				l.restart(t, `{"name":"boot","url":"http://agent:2"}`)
				pass(700 * time.Millisecond)
				l.holds(t, `{"name":"a","url":"http://agent:2"}`)
				again(l, t, `{"name":"`+name+`","url":"http://agent:3"}`)
				pass(50 * time.Millisecond)
				p.Offer(cardOf("b"))
				pass(time.Minute)
				l.holds(t, `{"name":"b","url":"http://agent:3"}`)
				stop()
			})
		}
	}
}

// TestAgentThatStartsDuringTheRead registers while the read before a push is on its way back with what was there before.
func TestAgentThatStartsDuringTheRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLive(t)
		l.restart(t, `{"name":"boot","url":"http://agent:1"}`)
		p := on(t, l, options{Events: true, ReadBack: true})
		stop := start(t, offered(p, "a"))
		pass(time.Minute)
		var late sync.Once
		l.set(func(w http.ResponseWriter, r *http.Request) {
			if r.Method+" "+r.URL.Path == readCall {
				late.Do(func() {
					pass(500 * time.Millisecond)
					status(200, `{"agent_card":{"name":"a","url":"http://agent:1"}}`)(w, r)
				})
			}
		})
		p.Offer(cardOf("b"))
		pass(100 * time.Millisecond)
		l.restart(t, `{"name":"boot","url":"http://agent:2"}`)
		pass(time.Minute)
		l.holds(t, `{"name":"b","url":"http://agent:2"}`)
		stop()
	})
}

// TestEventsBetweenPushes cost each push one read before it, however many there are.
func TestEventsBetweenPushes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLive(t)
		frames := feed(t, l)
		p := on(t, l, options{Events: true, ReadBack: true})
		stop := start(t, offered(p, "a"))
		pass(10 * time.Second)
		l.count(readCall)
		l.count(pushCall)
		for i := range 60 {
			for range 10 {
				frames <- updated(workspaceID, bootCard)
				pass(100 * time.Millisecond)
			}
			p.Offer(cardOf(fmt.Sprint("c", i)))
		}
		pass(time.Second)
		// One before each push, one after it, and the looks for the events, one in 2 s.
		if reads, pushes := l.count(readCall), l.count(pushCall); pushes != 60 || reads > 2*60+31 {
			t.Errorf("%d reads, %d pushes", reads, pushes)
		}
		stop()
	})
}
