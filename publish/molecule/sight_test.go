package molecule_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// bootCard is what an agent registers when it starts.
const bootCard = `{"name":"boot","runtime":"langgraph","url":"http://agent.test"}`

// answering returns what makes an answer.
func answering(status int, body string, header ...string) func() (*http.Response, error) {
	return func() (*http.Response, error) { return respond(status, body, header...) }
}

// TestReadingThatComesBack: whatever the first answers were, later the card is read again, and what others have written
// beside it outlasts a push.
func TestReadingThatComesBack(t *testing.T) {
	odd := map[string]func() (*http.Response, error){
		"no backend": answering(404, "default backend - 404"),
		"a page":     answering(200, "<html>"),
		"nothing":    answering(200, ""),
		"login":      answering(302, "", "Location", "https://login.test/"),
		"400":        answering(400, "Bad Request"),
	}
	for name, answer := range odd {
		t.Run(name+", for pushes too", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMolecule(t).known(t)
				m.register(t, bootCard)
				m.set(func(r *http.Request) (*http.Response, error) {
					if r.Method == http.MethodGet {
						return answer()
					}
					return respond(404, "default backend - 404")
				})
				p := facing(t, m, options{ReadBack: true})
				start(t, p)
				p.Offer(cardOf("a"))
				pass(3 * time.Second)
				if got := codes(p); got != "" {
					t.Errorf("conditions %q while the push fails too", got)
				}
				m.set(asUsual)
				pass(time.Minute)
				m.expectCard(t, `{"name":"a","runtime":"langgraph","url":"http://agent.test"}`)
				if h := p.Health(); h.Acknowledged != h.Desired || codes(p) != "" {
					t.Errorf("health %+v, conditions %q", h, codes(p))
				}
			})
		})
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMolecule(t).known(t)
				m.set(onRead(answer))
				p := facing(t, m, options{ReadBack: true})
				start(t, p)
				p.Offer(cardOf("a"))
				pass(3 * time.Second)
				m.set(asUsual)
				pass(6 * time.Minute)
				m.register(t, bootCard)
				pass(6 * time.Minute) // which is seen, and answered
				m.expectCard(t, `{"name":"a","runtime":"langgraph","url":"http://agent.test"}`)
				m.set(func(r *http.Request) (*http.Response, error) {
					if r.Method == http.MethodPost {
						return respond(200, `{"status":"updated"}`) // and stores nothing
					}
					return nil, nil
				})
				p.Offer(cardOf("b"))
				pass(3 * time.Second)
				if h := p.Health(); !strings.Contains(h.LastError, "has not stored it") {
					t.Errorf("health %+v", h)
				}
			})
		})
	}
}

// TestReadingComesBackWithTheStream does not take five minutes.
func TestReadingComesBackWithTheStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLive(t)
		l.set(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				status(404, "default backend - 404")(w, r)
			}
		})
		p := on(t, l, options{Events: true, ReadBack: true})
		stop := start(t, offered(p, "a"))
		pass(10 * time.Second)
		if got := codes(p); !strings.Contains(got, "read_back_unavailable info") {
			t.Errorf("conditions %q", got)
		}
		l.set(nil)
		l.count(readCall)
		l.replace(t, bootCard)
		pass(5*time.Minute + 31*time.Second) // the stream is asked for again by then, and the card with it
		l.holds(t, `{"name":"a","runtime":"langgraph"}`)
		if got := codes(p); got != "" {
			t.Errorf("conditions %q", got)
		}
		stop()
	})
}

// TestOverwritingIsBelievedWhereNothingCanBeRead, as it is without read-back.
func TestOverwritingIsBelievedWhereNothingCanBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLive(t)
		l.set(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/workspaces/") {
				status(405, "")(w, r)
			}
		})
		p := on(t, l, options{Events: true, ReadBack: true})
		stop := start(t, offered(p, "a"))
		pass(2 * time.Minute)
		l.replace(t, bootCard)
		pass(time.Second)
		l.holds(t, `{"name":"a"}`)
		stop()
	})
}

// TestFirstPushWaitsForTheFirstRead: one failure that passes must not cost the agent its url.
func TestFirstPushWaitsForTheFirstRead(t *testing.T) {
	for name, answer := range map[string]func() (*http.Response, error){
		"503":           answering(503, "starting"),
		"429":           answering(429, `{"error":"rate limit"}`),
		"408":           answering(408, ""),
		"no connection": func() (*http.Response, error) { return nil, errBroken },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMolecule(t).known(t)
				m.register(t, bootCard)
				m.set(onRead(answer))
				p := facing(t, m, options{ReadBack: true})
				start(t, p)
				p.Offer(cardOf("a"))
				pass(10 * time.Second)
				if h := p.Health(); !strings.HasPrefix(h.LastError, "read card: ") || h.Hint == "" || strings.Contains(m.took(), "a") {
					t.Errorf("health %+v", h)
				}
				m.set(asUsual)
				p.Offer(cardOf("b"))
				synctest.Wait() // it is tried at once,
				if name == "429" {
					pass(10 * time.Second) // but only after the pause that follows each 429, whatever asked for it
				}
				m.expectCard(t, `{"name":"b","runtime":"langgraph","url":"http://agent.test"}`)
				if h := p.Health(); h.LastError != "" || strings.TrimPrefix(codes(p), "platform_rate_limited warning") != "" {
					t.Errorf("health %+v, conditions %q", h, codes(p))
				}
			})
		})
	}
}

// TestFirstPushDoesNotWaitForEver, and what it may have cost is told for an hour.
func TestFirstPushDoesNotWaitForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMolecule(t).known(t)
		m.register(t, bootCard)
		m.set(onRead(answering(503, "")))
		p := facing(t, m, options{ReadBack: true})
		start(t, p)
		p.Offer(cardOf("a"))
		pass(time.Minute)
		m.expectCard(t, `{"name":"a"}`)
		if got := codes(p); got != "read_back_unavailable info" {
			t.Errorf("conditions %q", got)
		}
		m.set(asUsual)
		pass(6 * time.Minute)
		if got := codes(p); got != "card_pushed_unread info" {
			t.Errorf("conditions %q", got)
		}
		pass(time.Hour)
		if got := codes(p); got != "" {
			t.Errorf("conditions %q", got)
		}
	})
}

// TestReadsThatThePlatformWantsLater are made later.
func TestReadsThatThePlatformWantsLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMolecule(t).known(t)
		p := facing(t, m, options{ReadBack: true})
		start(t, p)
		p.Offer(cardOf("a"))
		pass(10 * time.Second)
		m.took()
		m.set(onRead(answering(429, "", "Retry-After", "48")))
		for i := range 8 {
			p.Offer(cardOf(fmt.Sprint("c", i)))
			pass(6 * time.Second)
		}
		if got := m.took(); got != "GET c0 c1 c2 c3 c4 c5 c6 c7" {
			t.Errorf("calls %q, want one read in 48 s", got)
		}
		p.Offer(cardOf("d"))
		synctest.Wait()
		if got := m.took(); got != "GET d" {
			t.Errorf("calls %q", got)
		}
		m.set(onRead(answering(429, "", "Retry-After", "300")))
		pass(49 * time.Second)
		p.Offer(cardOf("e"))
		pass(10 * time.Minute)
		if got := m.took(); got != "GET e GET" {
			t.Errorf("calls %q", got)
		}
	})
}

// TestRefusedCardIsTriedWhereSomethingHappens at the platform, but not more than about every 30 s.
func TestRefusedCardIsTriedWhereSomethingHappens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLive(t)
		frames := feed(t, l)
		p := on(t, l, options{Events: true, ReadBack: true})
		stop := start(t, offered(p, "a"))
		pass(10 * time.Second)
		stream := l.instead
		l.set(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				status(400, `{"error":"no"}`)(w, r)
				return
			}
			stream(w, r)
		})
		l.count(pushCall)
		p.Offer(cardOf("b"))
		pass(time.Minute)
		if n := l.count(pushCall); n != 1 || !p.Health().Blocked {
			t.Errorf("%d pushes, health %+v", n, p.Health())
		}
		for range 60 {
			frames <- updated(workspaceID, bootCard)
			pass(time.Second)
		}
		if n := l.count(pushCall); n < 1 || n > 3 {
			t.Errorf("%d pushes in a minute of events", n)
		}
		l.set(stream)
		frames <- updated(workspaceID, bootCard)
		pass(time.Minute)
		l.holds(t, `{"name":"b"}`)
		stop()
	})
}

// TestLargeDescriptionOfAWorkspace: what is large in it beside the card is read past.
func TestLargeDescriptionOfAWorkspace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMolecule(t).known(t)
		vast := strings.Repeat("x", 8<<20)
		m.set(onRead(func() (*http.Response, error) {
			card, _ := m.Card(workspaceID)
			if card == nil {
				card = json.RawMessage("null")
			}
			return respond(200, `{"log":"`+vast+`","agent_card":`+string(card)+`,"status":"online","more":["`+vast+`"]}`)
		}))
		p := facing(t, m, options{ReadBack: true})
		start(t, p)
		p.Offer(cardOf("a"))
		synctest.Wait()
		if h := p.Health(); h.LastError != "" || h.Acknowledged != h.Desired || codes(p) != "" {
			t.Errorf("health %+v, conditions %q", h, codes(p))
		}
	})
}

// TestCardAsAText is a card, where it is read back and where the stream tells of it.
func TestCardAsAText(t *testing.T) {
	text := func(card string) string {
		quoted, err := json.Marshal(card)
		if err != nil {
			t.Fatal(err)
		}
		return string(quoted)
	}
	synctest.Test(t, func(t *testing.T) {
		m := newMolecule(t).known(t)
		m.register(t, bootCard)
		m.set(onRead(func() (*http.Response, error) {
			card, _ := m.Card(workspaceID)
			return respond(200, `{"agent_card":`+text(string(card))+`}`)
		}))
		p := facing(t, m, options{ReadBack: true})
		start(t, p)
		p.Offer(cardOf("a"))
		synctest.Wait()
		m.expectCard(t, `{"name":"a","runtime":"langgraph","url":"http://agent.test"}`)
		if h := p.Health(); h.LastError != "" || h.Acknowledged != h.Desired {
			t.Errorf("health %+v", h)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		l := newLive(t)
		frames := feed(t, l)
		p := on(t, l, options{Events: true})
		stop := start(t, offered(p, "a"))
		pass(2 * time.Minute)
		frames <- updated(workspaceID, text(`{"name":"a"}`))
		pass(time.Second)
		if n := l.count(pushCall); n != 1 {
			t.Errorf("%d pushes", n)
		}
		stop()
	})
}

// TestAnotherCardIsShown names the key that differs, and nothing of what another writer has put there.
func TestAnotherCardIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMolecule(t).known(t)
		m.set(onRead(answering(200, `{"agent_card":{"name":{"`+token+`":1}}}`)))
		p := facing(t, m, options{ReadBack: true})
		start(t, p)
		p.Offer(cardOf("a"))
		pass(3 * time.Second)
		if h := p.Health(); !strings.HasSuffix(h.LastError, "it shows another one, which differs in name") {
			t.Errorf("health %+v", h)
		}
	})
}
