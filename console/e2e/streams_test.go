package e2e_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"

	"pannier/internal/testbench/browser"
	"pannier/internal/testbench/fixture"
)

// counted forwards to a sidecar, and counts the event streams that are open.
type counted struct {
	*httptest.Server

	mu         sync.Mutex
	open, most int
	held       string // path of the requests that wait
	released   chan struct{}
}

// holdBack has the requests for a path wait, until the function that it returns is called.
func (c *counted) holdBack(path string) (release func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held, c.released = path, make(chan struct{})
	return sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.held = ""
		close(c.released)
	})
}

// pass waits where requests for a path are held back.
func (c *counted) pass(r *http.Request) {
	c.mu.Lock()
	held, released := c.held == r.URL.Path, c.released
	c.mu.Unlock()
	if held {
		select {
		case <-released:
		case <-r.Context().Done():
		}
	}
}

func newCounted(t *testing.T, to string) *counted {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host // the origin of the page stays its own
	}}
	c := &counted{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/events" && r.URL.Query().Get("follow") != "0" {
			c.add(1)
			defer c.add(-1)
		}
		c.pass(r)
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		c.CloseClientConnections()
		c.Close()
	})
	return c
}

func (c *counted) add(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open += n
	c.most = max(c.most, c.open)
}

func (c *counted) streams() (open, most int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open, c.most
}

// teamPage starts a sidecar that serves the page itself, behind a counting proxy, for a canvas too if there is one. It returns the token.
func teamPage(t *testing.T, origins ...string) (w *world, c *counted, token string) {
	t.Helper()
	dir := t.TempDir()
	program, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	fixture.WriteIn(t, dir, program+" token ann write --append tokens > ann")
	args := []string{"--api-listen", "127.0.0.1:0", "--api-tokens", dir + "/tokens", "--console"}
	for _, origin := range origins {
		args = append(args, "--api-allow-origins", origin)
	}
	w = newWorld(t, args...)
	return w, newCounted(t, "http://"+w.apiAddress(t)), readFile(t, dir+"/ann")
}

// TestManyTabs opens eight tabs and four pages with two frames each, more than the six connections that a browser opens to one
// address. All of them are live by one stream, and answer.
func TestManyTabs(t *testing.T) {
	b := browser.Start(t)
	var address, token string
	canvas := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<!doctype html><title>canvas</title><iframe src="%[1]s/console/embed/skills"></iframe><iframe src="%[1]s/console/embed/drop"></iframe><script>
			globalThis.live = new Set();
			addEventListener("message", (e) => {
				if (e.origin !== %[2]s) return;
				if (e.data?.type === "pannier.ready") e.source.postMessage({type: "pannier.token", token: %[3]s}, e.origin);
			});
		</script>`, address, browser.Quote(address), browser.Quote(token))
	}))
	defer canvas.Close()
	w, c, ann := teamPage(t, canvas.URL)
	address, token = c.URL, ann
	w.write(t, fixture.SkillScript("alpha", "Counts."))

	first := b.Open(t, c.URL+"/console/", `sessionStorage.setItem("pannier.token", `+browser.Quote(ann)+`)`)
	first.Wait(t, "the skill is there", rowSays("alpha", "alpha"))
	tabs := []*browser.Page{first}
	for len(tabs) < 8 {
		tab := first.OpenBeside(t, c.URL+"/console/") // with the session of the first
		tab.Wait(t, "the skill is there", rowSays("alpha", "alpha"))
		tabs = append(tabs, tab)
	}
	var pages []*browser.Page
	for range 4 {
		page := first.OpenBeside(t, canvas.URL)
		fixture.Eventually(t, "both frames are there", func() error {
			if n := len(page.Frames(t)); n != 2 {
				return fmt.Errorf("%d frames", n)
			}
			return nil
		})
		pages = append(pages, page)
	}
	w.write(t, fixture.SkillScript("beta", "Counts too."))
	for i, tab := range tabs {
		tab.Wait(t, fmt.Sprintf("the new skill is in tab %d", i+1), rowSays("beta", "beta"))
	}
	for i, page := range pages {
		page.WaitInFrame(t, fmt.Sprintf("the new skill is in page %d", i+1), "/console/embed/skills", rowSays("beta", "beta"))
		page.WaitInFrame(t, fmt.Sprintf("the drop zone is in page %d", i+1), "/console/embed/drop", `document.querySelector("button")`)
	}
	if open, most := c.streams(); open != 1 || most > 2 {
		t.Errorf("%d streams are open, at most %d were", open, most)
	}
	last := tabs[len(tabs)-1]
	last.Click(t, `.skill-row[data-slug=alpha] a, a.skill-row[data-slug=alpha]`)
	last.WaitText(t, "Do it.")
}

// TestStuck: a page whose requests get no answer says so, and goes on when they do.
func TestStuck(t *testing.T) {
	b := browser.Start(t)
	w, c, ann := teamPage(t)
	w.write(t, fixture.SkillScript("alpha", "Counts."))
	p := b.Open(t, c.URL+"/console/", `sessionStorage.setItem("pannier.token", `+browser.Quote(ann)+`)`)
	p.Wait(t, "the skill is there", rowSays("alpha", "alpha"))
	release := c.holdBack("/v1/card")
	defer release()
	p.Go(t, c.URL+"/console/#/card")
	p.WaitText(t, "A browser allows six connections")
	release()
	p.WaitText(t, "Last accepted")
	p.Wait(t, "the bar is gone", `!document.body.innerText.includes("A browser allows six connections")`)
}

// TestHiddenTab without a shared worker has a stream of its own, gives it up while it is hidden, and reads what it missed.
func TestHiddenTab(t *testing.T) {
	b := browser.Start(t)
	w, c, ann := teamPage(t)
	w.write(t, fixture.SkillScript("alpha", "Counts."))
	p := b.Open(t, c.URL+"/console/", `sessionStorage.setItem("pannier.token", `+browser.Quote(ann)+`); delete globalThis.SharedWorker;
		globalThis.show = (state) => { Object.defineProperty(document, "visibilityState", {value: state, configurable: true}); document.dispatchEvent(new Event("visibilitychange")); }`)
	p.Wait(t, "the skill is there", rowSays("alpha", "alpha"))
	streams := func(what string, n int) {
		t.Helper()
		fixture.Eventually(t, what, func() error {
			if open, _ := c.streams(); open != n {
				return fmt.Errorf("%d streams", open)
			}
			return nil
		})
	}
	streams("the tab has a stream", 1)
	browser.Eval[any](t, p, `show("hidden")`)
	streams("the hidden tab has none", 0)
	w.write(t, fixture.SkillScript("beta", "Counts too."))
	fixture.Eventually(t, "the sidecar has the new skill", func() error {
		_, err := w.Skill(t.Context(), "beta", "")
		return err
	})
	browser.Eval[any](t, p, `show("visible")`)
	p.Wait(t, "the new skill is there", rowSays("beta", "beta"))
	streams("the tab has a stream again", 1)
}
