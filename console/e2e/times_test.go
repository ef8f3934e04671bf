package e2e_test

import (
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pannier"
	"pannier/internal/testbench/browser"
	"pannier/internal/testbench/fixture"
	"pannier/publish/client"
)

var times = flag.Bool("times", false, "measure the page with 1,000 and 10,000 skills, and print a table")

// timedRuns is how often each time is measured.
const timedRuns = 5

// stopwatch runs in each page before its own scripts. It has the time of the first painted row since the navigation, the time of day
// at which a row with an awaited text was painted, and how long the page was busy at most without a break.
const stopwatch = `
globalThis.watched = {painted: 0, awaited: "", shown: 0, longest: 0};
const afterPaint = (f) => requestAnimationFrame(() => {
	const channel = new MessageChannel();
	channel.port1.onmessage = f;
	channel.port2.postMessage(0);
});
let first, awaited;
new MutationObserver(() => {
	if (!first && document.querySelector(".skill-row")) first = true, afterPaint(() => watched.painted = performance.now());
	const text = watched.awaited;
	if (text && awaited !== text && document.querySelector(".skill-row[data-slug=skill-1]")?.textContent.includes(text))
		awaited = text, afterPaint(() => watched.shown = performance.timeOrigin + performance.now());
}).observe(document, {childList: true, subtree: true, characterData: true});
globalThis.watchBlocks = () => {
	const channel = new MessageChannel();
	let last = performance.now();
	channel.port1.onmessage = () => {
		const now = performance.now();
		watched.longest = Math.max(watched.longest, now - last);
		last = now;
		channel.port2.postMessage(0);
	};
	channel.port2.postMessage(0);
};`

// floorPage does what is measured, and nothing else.
const floorPage = `<!doctype html><div class="skill-row" data-slug="skill-1">skill-1</div><input type="search"><script>
	addEventListener("keydown", (e) => e.key === "/" && (e.preventDefault(), document.querySelector("input").focus()));
	new EventSource("/events").onmessage = (e) => document.querySelector("div").textContent = e.data;
</script>`

// timed is a page to measure.
type timed struct {
	link func(t *testing.T) string
	// loaded and typed are true in the page when everything is read, and when the last key has had its effect.
	loaded, typed string
	// change has the page show a text in its first row; changed returns when the event of it was made.
	change  func(t *testing.T, text string)
	changed func(t *testing.T) time.Time
}

// measure returns a first paint, the time from an event to its row, and the longest block while typing, in milliseconds.
func (m timed) measure(t *testing.T, b *browser.Browser, run int) [3]float64 {
	t.Helper()
	p := b.Open(t, m.link(t), stopwatch)
	p.Wait(t, "everything is shown", "watched.painted && "+m.loaded)
	text := fmt.Sprintf("Changed in run %d.", run)
	browser.Eval[any](t, p, "watched.awaited = "+browser.Quote(text))
	m.change(t, text)
	p.Wait(t, "the change is shown", "watched.shown")
	browser.Eval[any](t, p, "watchBlocks()")
	for _, key := range "/skill-9" {
		p.Type(t, string(key))
	}
	p.Wait(t, "the keys are applied", m.typed)
	got := browser.Eval[[]float64](t, p, "[watched.painted, watched.shown, watched.longest]")
	return [3]float64{got[0], got[1] - float64(m.changed(t).UnixMicro())/1000, got[2]}
}

// TestTimes measures what a person waits for, in Chromium through `pannier console`, beside a page that does nothing else. It
// prints the table of docs/PERFORMANCE.md, and asserts nothing about times: machines differ.
func TestTimes(t *testing.T) {
	if !*times {
		t.Skip("a measurement: -times runs it")
	}
	b := browser.Start(t)
	pages := []timed{floor(t), skillsPage(t, 1000), skillsPage(t, 10000)}
	results := make([][3][]float64, len(pages))
	began := load()
	for run := range timedRuns {
		for i, page := range pages {
			t.Run("", func(t *testing.T) {
				for k, ms := range page.measure(t, b, run) {
					results[i][k] = append(results[i][k], ms)
				}
			})
		}
	}
	var table strings.Builder
	for k, name := range []string{"first paint of skills", "event to changed row", "longest block while typing"} {
		fmt.Fprintf(&table, "| %s |", name)
		for i := range pages {
			all := results[i][k]
			slices.Sort(all)
			fmt.Fprintf(&table, " %.0f, %.0f ms |", all[0], all[len(all)/2])
		}
		table.WriteByte('\n')
	}
	t.Logf("best and median of %d; load %s to %s\n| | empty page | 1,000 | 10,000 |\n|---|---|---|---|\n%s", timedRuns, began, load(), &table)
}

// load returns the load of the machine in the last minute.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "?"
	}
	return strings.Fields(string(text))[0]
}

// floor serves the page that does nothing else.
func floor(t *testing.T) timed {
	t.Helper()
	events := make(chan string)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/events" {
			fmt.Fprint(w, floorPage)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for w.(http.Flusher).Flush(); ; w.(http.Flusher).Flush() {
			select {
			case text := <-events:
				fmt.Fprintf(w, "data: %s\n\n", text)
			case <-r.Context().Done():
				return
			}
		}
	}))
	t.Cleanup(server.Close)
	var made time.Time
	return timed{
		link: func(*testing.T) string { return server.URL }, loaded: "true", typed: `document.querySelector("input").value.endsWith("skill-9")`,
		change: func(_ *testing.T, text string) {
			made = time.Now()
			events <- text
		},
		changed: func(*testing.T) time.Time { return made },
	}
}

// skillsPage starts a sidecar with so many skills.
func skillsPage(t *testing.T, n int) timed {
	t.Helper()
	w := newWorld(t, "--scan", "off", "--platform-url", "off")
	w.write(t, fmt.Sprintf(`for i in $(seq %d); do echo skill-$i; done | (cd skills; xargs mkdir; for d in *; do printf -- '---\nname: %%s\ndescription: Does the work number %%s.\n---\nDo it.\n' $d $d > $d/SKILL.md; done)`, n))
	fixture.Eventually(t, "all skills are served", func() error {
		h, err := w.Health(t.Context())
		if err == nil && h.Skills["eligible"] != n {
			err = fmt.Errorf("%v", h.Skills)
		}
		return err
	})
	var began time.Time
	return timed{
		link: func(t *testing.T) string { return w.link(t) }, loaded: fmt.Sprintf(`document.querySelector(".list-status")?.innerText.startsWith("%d,000 skills")`, n/1000),
		typed: `!document.querySelector(".skill-row[data-slug=skill-1]")`,
		change: func(t *testing.T, text string) {
			began = time.Now()
			w.write(t, fixture.SkillScript("skill-1", text))
		},
		changed: func(t *testing.T) (at time.Time) {
			err := w.Events(t.Context(), client.EventQuery{Types: []string{"skill_catalog_updated"}}, func(e pannier.Event) error {
				if at.IsZero() && e.Time.After(began) {
					at = e.Time
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			return at
		},
	}
}
