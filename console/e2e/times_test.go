package e2e_test

import (
	"flag"
	"fmt"
	"testing"

	"pannier/internal/testbench/browser"
	"pannier/internal/testbench/fixture"
)

var times = flag.Bool("times", false, "measure the page with 1,000 and 10,000 skills, and print the times")

// TestTimes measures what a person waits for, in Chromium through `pannier console`. It asserts nothing about times: machines differ.
func TestTimes(t *testing.T) {
	if !*times {
		t.Skip("a measurement: -times runs it")
	}
	for _, n := range []int{1000, 10000} {
		w := newWorld(t, "--scan", "off", "--platform-url", "off")
		w.write(t, fmt.Sprintf(`for i in $(seq %d); do echo skill-$i; done | (cd skills; xargs mkdir; for d in *; do printf -- '---\nname: %%s\ndescription: Does the work number %%s.\n---\nDo it.\n' $d $d > $d/SKILL.md; done)`, n))
		fixture.Eventually(t, "all skills are served", func() error {
			h, err := w.Health(t.Context())
			if err == nil && h.Skills["eligible"] != n {
				err = fmt.Errorf("%v", h.Skills)
			}
			return err
		})
		for range 3 {
			b := browser.Start(t)
			p := w.open(t, b)
			p.Wait(t, "rows are shown", `document.querySelectorAll(".skill-row").length > 5`)
			paint := browser.Eval[float64](t, p, `performance.getEntriesByName("first-contentful-paint")[0].startTime`)
			list := browser.Eval[float64](t, p, `Math.min(...performance.getEntriesByType("resource").filter((e) => e.name.includes("/v1/skills?")).map((e) => e.responseEnd))`)
			p.WaitText(t, fmt.Sprintf("%d,000", n/1000))
			browser.Eval[bool](t, p, `(window.blocked = [], new PerformanceObserver((l) => blocked.push(...l.getEntries().map((e) => e.duration))).observe({type: "longtask"}), true)`)
			p.Type(t, "/")
			for _, key := range "skill-9" {
				p.Type(t, string(key))
			}
			p.Wait(t, "the search is applied", `!document.querySelector(".skill-row[data-slug=skill-1]")`)
			longest := browser.Eval[float64](t, p, `Math.max(0, ...blocked)`)
			t.Logf("%d skills: first paint %.0f ms, first list read %.0f ms, longest task while typing %.0f ms (0: none over 50)", n, paint, list, longest)
		}
	}
}
