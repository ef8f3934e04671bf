package molecule_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pannier/publish/molecule"
)

// gate is a platform that takes one token at a time, as Molecule's does, and notes those that it never gave.
type gate struct {
	mu       sync.Mutex
	live     string
	given    map[string]bool
	strange  []string
	refused  int
	accepted int
}

// rotate ends the token and returns the next one.
func (g *gate) rotate() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.live = fmt.Sprintf("token-%039d", len(g.given))
	g.given[g.live] = true
	return g.live
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	sent, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	switch {
	case !ok || !g.given[sent]:
		g.strange = append(g.strange, r.Header.Get("Authorization"))
		w.WriteHeader(http.StatusUnauthorized)
	case sent != g.live:
		g.refused++
		w.WriteHeader(http.StatusUnauthorized)
	default:
		g.accepted++
		_, _ = w.Write([]byte(`{"status":"updated"}`))
	}
}

// TestTokenThatIsReplacedAllTheTime: no push has an empty token or half of one, and none is left refused once there is peace.
func TestTokenThatIsReplacedAllTheTime(t *testing.T) {
	g := &gate{given: map[string]bool{}}
	s := httptest.NewServer(g)
	t.Cleanup(s.Close)
	file := filepath.Join(t.TempDir(), ".auth_token")
	replace := func() {
		if err := errors.Join(os.WriteFile(file+".tmp", []byte(g.rotate()+"\n"), 0o600), os.Rename(file+".tmp", file)); err != nil {
			t.Error(err)
		}
	}
	replace()
	p := newPublisher(t, options{URL: s.URL, Token: molecule.NewFileToken(file, false).Read})
	stop := start(t, p)
	tick, card := time.NewTicker(10*time.Millisecond), time.NewTicker(time.Millisecond)
	defer tick.Stop()
	defer card.Stop()
	for rotations, cards := 0, 0; rotations < 100; {
		select {
		case <-tick.C:
			replace()
			rotations++
		case <-card.C:
			cards++
			p.Offer(cardOf(fmt.Sprint(cards)))
		}
	}
	p.Offer(cardOf("last"))
	late := time.After(30 * time.Second)
	for {
		if h := p.Health(); h.Acknowledged == cardOf("last").Digest && h.LastError == "" {
			break
		}
		select {
		case <-card.C:
		case <-late:
			t.Fatalf("the last card is not there: %+v", p.Health())
		}
	}
	stop()
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.strange) > 0 || g.accepted < 10 {
		t.Errorf("%d pushes were taken, %d came too late with their token, and the platform never gave %q", g.accepted, g.refused, g.strange)
	}
}

// TestTokenThatComesLate is used as soon as it is there: the platform ends a token before it writes the next one.
func TestTokenThatComesLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		token := func() (string, error) {
			if time.Since(begun) < 5*time.Second {
				return "old\n", nil
			}
			return "new\n", nil
		}
		p, w := wired(t, options{Token: token}, func(_ int, r *http.Request) (*http.Response, error) {
			if r.Header.Get("Authorization") != "Bearer new" {
				return respond(401, `{"error":"invalid workspace auth token"}`)
			}
			return respond(200, `{}`)
		})
		start(t, p)
		p.Offer(cardOf("a"))
		pass(4 * time.Second)
		if got := w.cards(); got != "a a" {
			t.Errorf("tried %q while the token is the same", got)
		}
		pass(2 * time.Second)
		if h := p.Health(); h.LastError != "" || h.Acknowledged != cardOf("a").Digest || w.cards() != "a a a" {
			t.Errorf("%q, health %+v", w.cards(), h)
		}
	})
}
