package molecule_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pannier"
	"pannier/publish/molecule"
	"pannier/publish/molecule/dev"
)

// TestFleetBehindOneAddress runs 32 sidecars of one address, two of which are edited in turn every 1.3 s, and counts what they
// ask of the platform. The address may make 600 requests a minute, and the agents' heartbeats need their share.
func TestFleetBehindOneAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLive(t)
		var all []*publisher
		var stops []func()
		for i := range 32 {
			id := fmt.Sprintf("dddddddd-3c0e-4d0a-9d5f-%012d", i)
			if _, err := l.Seed(id, token); err != nil {
				t.Fatal(err)
			}
			p := newPublisher(t, options{
				WorkspaceID: id, Events: true, Peers: true, ReadBack: true, Token: func() (string, error) { return token, nil },
			})
			p.SetDial(func(ctx context.Context, _, _ string) (net.Conn, error) { return l.network().dial(ctx) })
			p.SetJitter(func(most time.Duration) time.Duration { return rand.N(most + 1) })
			all = append(all, offered(p, "first"))
			stops = append(stops, start(t, p))
		}
		pass(30 * time.Second)
		l.all()
		for edit := range 69 {
			all[edit%2].Offer(cardOf(fmt.Sprint("edit ", edit)))
			pass(1300 * time.Millisecond)
		}
		if n := l.all(); n*60/90 > 140 {
			t.Errorf("%d requests in 90 s", n)
		} else {
			t.Logf("%d requests in 90 s", n)
		}
		for _, p := range all {
			if got := len(p.Peers()); got != 32 { // the workspace of newLive is one too
				t.Errorf("%d peers", got)
			}
			for _, peer := range p.Peers() {
				if want := `{"name":"edit 67"}`; strings.HasSuffix(peer.ID, "000000000001") && !molecule.Holds(peer.Card, []byte(want)) {
					t.Errorf("a peer has the card %s, want %s", peer.Card, want)
				}
			}
		}
		for _, stop := range stops {
			stop()
		}
	})
}

// TestFleetThatStartsTogether starts 100 sidecars of one address beside a platform with the usual limit. Each has its
// card stored with two requests, and every heartbeat of the 100 agents of the address is answered.
func TestFleetThatStartsTogether(t *testing.T) {
	const sidecars = 100
	synctest.Test(t, func(t *testing.T) {
		l := newLiveOn(t, dev.New(dev.Options{RateLimit: dev.RateLimit}))
		var mu sync.Mutex
		before, acknowledged, all := map[string]int{}, map[string]bool{}, 0
		l.set(func(_ http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			id := r.Header.Get(molecule.WorkspaceHeader)
			all++
			if !acknowledged[id] {
				before[id]++
			}
		})
		var publishers []*publisher
		var stops []func()
		for i := range sidecars {
			id := fmt.Sprintf("dddddddd-3c0e-4d0a-9d5f-%012d", i)
			if _, err := l.Seed(id, token); err != nil {
				t.Fatal(err)
			}
			p := newPublisher(t, options{
				WorkspaceID: id, Events: true, Peers: true, ReadBack: true, Token: func() (string, error) { return token, nil },
				Emit: func(kind pannier.EventType, _ any) {
					mu.Lock()
					defer mu.Unlock()
					acknowledged[id] = acknowledged[id] || kind == pannier.EventCardPushed
				},
			})
			p.SetDial(func(ctx context.Context, _, _ string) (net.Conn, error) { return l.network().dial(ctx) })
			publishers, stops = append(publishers, offered(p, "first")), append(stops, start(t, p))
		}
		beats, refused := 0, 0
		for range 5 * 60 { // each agent every 30 s
			for i := range sidecars {
				if (i+beats)%30 != 0 {
					continue
				}
				r := httptest.NewRequest(http.MethodPost, molecule.PathHeartbeat, strings.NewReader(fmt.Sprintf(`{"workspace_id":"dddddddd-3c0e-4d0a-9d5f-%012d"}`, i)))
				r.Header.Set("Content-Type", "application/json")
				r.Header.Set("Authorization", "Bearer "+token)
				r.RemoteAddr = "pipe" // as that of the sidecars
				w := httptest.NewRecorder()
				if l.Platform.ServeHTTP(w, r); w.Code != http.StatusOK {
					refused++
				}
			}
			beats++
			pass(time.Second)
			mu.Lock()
			if beats == 59 {
				t.Logf("%d requests of sidecars in the first minute", all)
				if all > dev.RateLimit*2/3 {
					t.Errorf("%d requests of sidecars in the first minute", all)
				}
			}
			mu.Unlock()
		}
		if refused > 0 {
			t.Errorf("%d heartbeats refused", refused)
		}
		mu.Lock()
		defer mu.Unlock()
		for id, n := range before {
			if n > 2 || !acknowledged[id] {
				t.Errorf("%s: %d requests, acknowledged %t", id, n, acknowledged[id])
			}
		}
		for _, p := range publishers {
			if got := codes(p); got != "" || len(p.Peers()) != sidecars {
				t.Errorf("%d peers, conditions %q", len(p.Peers()), got)
			}
		}
		t.Logf("%d requests of sidecars in five minutes", all)
		for _, stop := range stops {
			stop()
		}
	})
}

// TestPlatformThatRefusesEverything answers 429 to each request for a while. Meanwhile little is sent, and afterwards the
// card is pushed soon.
func TestPlatformThatRefusesEverything(t *testing.T) {
	for _, header := range [][]string{nil, {"Retry-After", "48"}, {"Retry-After", "0", "X-Ratelimit-Limit", "0", "X-Ratelimit-Remaining", "-1", "X-Ratelimit-Reset", "soon"}} {
		t.Run(fmt.Sprint(header), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLive(t)
				l.set(status(http.StatusTooManyRequests, "no", header...))
				p := on(t, l, options{Events: true, Peers: true, ReadBack: true})
				p.SetJitter(func(most time.Duration) time.Duration { return most / 2 })
				stop := start(t, offered(p, "a"))
				pass(time.Minute)
				if n := l.all() + l.count(wsCall); n > 25 {
					t.Errorf("%d requests in the first minute", n)
				}
				l.count(wsCall)
				pass(10 * time.Minute)
				if n := l.all(); n > 130 {
					t.Errorf("%d requests in ten minutes", n)
				}
				if got := codes(p); !strings.Contains(got, "platform_rate_limited warning") {
					t.Errorf("conditions %q", got)
				}
				if h := p.Health(); h.LastError == "" || !h.Acknowledged.IsZero() {
					t.Errorf("health %+v", h)
				}
				l.set(nil)
				pass(49 * time.Second)
				l.holds(t, `{"name":"a"}`)
				pass(4 * time.Minute)
				if got := codes(p); got != "" {
					t.Errorf("conditions %q afterwards", got)
				}
				stop()
			})
		})
	}
}

// TestCardWithoutURL reports a card without url for an hour, once the platform could be read.
func TestCardWithoutURL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLive(t)
		p := on(t, l, options{ReadBack: true})
		lacks := func() bool {
			_, lacks := p.LacksURL()
			return lacks
		}
		l.set(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		})
		stop := start(t, offered(p, "a"))
		pass(time.Minute)
		if l.holds(t, `{"name":"a"}`); lacks() {
			t.Error("reported although the platform could not be read")
		}
		l.set(nil)
		pass(6 * time.Minute)
		p.Offer(cardOf("b"))
		pass(time.Minute)
		if !lacks() {
			t.Error("not reported")
		}
		for range 3 { // an agent that registers without url
			pass(30 * time.Minute)
			p.Offer(cardOf("c"))
			pass(time.Minute)
			p.Offer(cardOf("d"))
		}
		if lacks() {
			t.Error("reported for more than an hour")
		}
		stop()
	})
}

// TestLittleIsLeft reports that the agents of the address will be refused soon, until the allowance is renewed.
func TestLittleIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLive(t)
		p := on(t, l, options{})
		l.set(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Ratelimit-Limit", "600")
			w.Header().Set("X-Ratelimit-Remaining", "59")
			w.Header().Set("X-Ratelimit-Reset", "40")
		})
		stop := start(t, offered(p, "a"))
		pass(39 * time.Second)
		if got := codes(p); got != "platform_rate_low warning" {
			t.Errorf("conditions %q", got)
		}
		pass(2 * time.Second)
		if got := codes(p); got != "" {
			t.Errorf("conditions %q after the allowance was renewed", got)
		}
		stop()
	})
}

// all returns how many requests were made since it was last called, without event streams.
func (l *live) all() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, call := range l.seen {
		if call != wsCall {
			n++
		}
	}
	l.seen = nil
	return n
}

// TestRefusedConnectionIsTriedSoonAgain has the platform away for a time, and expects the card within 2.3 s of its return.
func TestRefusedConnectionIsTriedSoonAgain(t *testing.T) {
	for _, away := range []time.Duration{5 * time.Second, 25 * time.Second, 10 * time.Minute} {
		t.Run(away.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLive(t)
				p := on(t, l, options{Events: true, ReadBack: true})
				stop := start(t, offered(p, "a"))
				pass(10 * time.Second)
				l.down()
				p.Offer(cardOf("b"))
				pass(away)
				l.up(t)
				pass(2300 * time.Millisecond)
				l.holds(t, `{"name":"b"}`)
				stop()
			})
		})
	}
}

// TestRateLimitIsTold obeys Retry-After with all that can wait, and tells health for as long as it lasts.
func TestRateLimitIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLive(t)
		p := on(t, l, options{Peers: true, ReadBack: true})
		stop := start(t, offered(p, "a"))
		ask(p) // so that they are not read for the first time while the platform refuses
		pass(time.Minute)
		l.all()
		l.set(status(429, `{"error":"rate limit exceeded","retry_after":40}`, "Retry-After", "40"))
		p.Offer(cardOf("b"))
		pass(39 * time.Second)
		if n := l.all(); n > 2 { // the read before the push, and the push itself
			t.Errorf("%d requests before the time of Retry-After", n)
		}
		if got := codes(p); got != "platform_rate_limited warning" {
			t.Errorf("conditions %q", got)
		}
		l.set(nil)
		pass(time.Minute)
		l.holds(t, `{"name":"b"}`)
		pass(time.Minute)
		if got := codes(p); got != "" {
			t.Errorf("conditions %q afterwards", got)
		}
		stop()
	})
}

// TestAllowanceIsLeftToTheAgents rests with reading peers once less than half of the address's allowance is left.
func TestAllowanceIsLeftToTheAgents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLive(t)
		p := on(t, l, options{Events: true, Peers: true})
		stop := start(t, offered(p, "a"))
		ask(p)
		pass(time.Minute)
		l.set(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Ratelimit-Limit", "600")
			w.Header().Set("X-Ratelimit-Remaining", "299")
			w.Header().Set("X-Ratelimit-Reset", fmt.Sprint(time.Now().Add(30*time.Second).Unix()))
		})
		p.Offer(cardOf("b"))
		synctest.Wait()
		l.count(peersCall)
		l.join(t, peerA, `{"name":"Alpha"}`)
		pass(29 * time.Second)
		if n := l.count(peersCall); n != 0 || ids(p.Peers()) != "" {
			t.Errorf("peers read %d times", n)
		}
		l.set(nil)
		pass(2*time.Second + time.Minute) // the other sidecars rest until then too
		if ids(p.Peers()) != peerA {
			t.Errorf("peers %q", ids(p.Peers()))
		}
		stop()
	})
}

// TestRemovedWorkspace: the platform keeps the card of a workspace that was removed, so the card alone says nothing.
func TestRemovedWorkspace(t *testing.T) {
	for _, events := range []bool{true, false} {
		t.Run(fmt.Sprintf("events %t", events), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLive(t)
				p := on(t, l, options{Events: events, ReadBack: true})
				stop := start(t, offered(p, "a"))
				pass(30 * time.Second)
				l.Remove(workspaceID)
				if events {
					pass(3 * time.Second)
				} else {
					pass(6 * time.Minute)
				}
				if got := codes(p); got != "workspace_removed warning" {
					t.Errorf("conditions %q", got)
				}
				l.count(pushCall)
				p.Offer(cardOf("b"))
				pass(time.Hour)
				if n := l.count(pushCall); n > 3 || codes(p) != "workspace_removed warning" {
					t.Errorf("%d pushes in an hour, conditions %q", n, codes(p))
				}
				l.set(func(w http.ResponseWriter, r *http.Request) { // restored
					if r.URL.Path == "/workspaces/"+workspaceID {
						card, _ := l.Card(workspaceID)
						w.WriteHeader(http.StatusOK)
						fmt.Fprintf(w, `{"status":"online","agent_card":%s}`, card)
					}
				})
				pass(6 * time.Minute)
				if got := codes(p); got != "" {
					t.Errorf("conditions %q once it is back", got)
				}
				stop()
			})
		})
	}
}

// TestAgentThatRestarts registers the card it knows each time, which is no second sidecar.
func TestAgentThatRestarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLive(t)
		p := on(t, l, options{Events: true, ReadBack: true})
		stop := start(t, offered(p, "a"))
		pass(10 * time.Second)
		for i := range 8 {
			l.restart(t, fmt.Sprintf(`{"name":"boot %d"}`, i))
			pass(20 * time.Second)
			l.holds(t, `{"name":"a"}`)
			if got := codes(p); got != "" {
				t.Fatalf("conditions %q after %d restarts", got, i+1)
			}
		}
		for i := range 5 {
			l.replace(t, fmt.Sprintf(`{"name":"rival %d"}`, i))
			pass(20 * time.Second)
		}
		if got := codes(p); got != "card_contested warning" {
			t.Errorf("conditions %q with a rival", got)
		}
		stop()
	})
}

// TestRateOfTheDevelopmentPlatform counts 600 requests a minute for each address.
func TestRateOfTheDevelopmentPlatform(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		devPlatform := dev.New(dev.Options{RateLimit: dev.RateLimit})
		defer devPlatform.Close()
		ask := func(address string) *httptest.ResponseRecorder {
			r := httptest.NewRequest(http.MethodGet, "/health", nil)
			r.RemoteAddr = address
			w := httptest.NewRecorder()
			devPlatform.ServeHTTP(w, r)
			return w
		}
		for i := range 600 {
			if w := ask("10.0.0.1:" + fmt.Sprint(1000+i)); w.Code != http.StatusOK {
				t.Fatalf("request %d: %d", i, w.Code)
			}
		}
		pass(20 * time.Second)
		if w := ask("10.0.0.1:1"); w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "40" || !strings.Contains(w.Body.String(), "rate limit exceeded") {
			t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
		}
		if w := ask("10.0.0.2:1"); w.Code != http.StatusOK || w.Header().Get("X-Ratelimit-Remaining") != "599" {
			t.Errorf("another address: %d %v", w.Code, w.Header())
		}
		pass(40 * time.Second)
		if w := ask("10.0.0.1:1"); w.Code != http.StatusOK {
			t.Errorf("after the minute: %d", w.Code)
		}
	})
}

// TestPromotionThatIsRefused is kept, over a restart too, and sent again until the platform takes it.
func TestPromotionThatIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, dir := newLive(t), t.TempDir()
		o := options{Outbox: dir}
		p := on(t, l, o)
		stop := start(t, offered(p, "a"))
		pass(time.Second)
		l.set(status(http.StatusForbidden, `{"error":"not now"}`))
		kept, err := p.Promote(t.Context(), promotion)
		if !kept || err == nil || codes(p) != "promotion_pending warning" {
			t.Fatalf("kept %t, %v, conditions %q", kept, err, codes(p))
		}
		if kept, err := p.Promote(t.Context(), promotion); !kept || err == nil { // the same packet waits once
			t.Errorf("kept %t, %v", kept, err)
		}
		pass(10 * time.Minute)
		l.mu.Lock()
		tries := strings.Count(strings.Join(l.seen, "\n"), "/activity")
		l.mu.Unlock()
		if tries < 4 || tries > 10 || codes(p) != "promotion_pending warning" {
			t.Errorf("%d tries in ten minutes, conditions %q", tries, codes(p))
		}
		stop()

		p = on(t, l, o)
		stop = start(t, offered(p, "a"))
		if codes(p) != "promotion_pending warning" {
			t.Errorf("conditions %q after the restart", codes(p))
		}
		l.set(nil)
		pass(time.Minute)
		if codes(p) != "" {
			t.Errorf("conditions %q once it was taken", codes(p))
		}
		stop()
		if left, _ := filepath.Glob(filepath.Join(dir, "*promotion*")); len(left) > 0 {
			t.Errorf("left %q", left)
		}
	})
}
