package e2e_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pannier/internal/testbench/browser"
	"pannier/internal/testbench/fixture"
)

// TestManyAtOnce selects what a filter leaves of 10,000 skills, switches it off and takes that back. The page answers meanwhile, changes
// each skill once, and does not read the list again for each of them.
func TestManyAtOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("it writes 10,000 skills")
	}
	const all, few = 10000, 111
	b := browser.Start(t)
	w := newWorld(t, "--scan", "off", "--platform-url", "off")
	w.write(t, `for i in $(seq 10000); do echo skill-$i; done | (cd skills; xargs mkdir; for d in *; do printf -- '---\nname: %s\ndescription: Does the work number %s.\n---\nDo it.\n' $d $d > $d/SKILL.md; done)`)
	usable := func(want int) {
		t.Helper()
		fixture.Eventually(t, fmt.Sprintf("the sidecar has %d usable skills", want), func() error {
			h, err := w.Health(t.Context())
			if err == nil && h.Skills["eligible"] != want {
				err = fmt.Errorf("%v", h.Skills)
			}
			return err
		})
	}
	usable(all)
	p := w.open(t, b)
	p.WaitText(t, "10,000")
	p.Go(t, at(t, p, "#/skills?q=skill-99"))
	p.Wait(t, "the filter leaves some", fmt.Sprintf(`document.querySelector(".columns-row input")?.ariaLabel.includes("%d")`, few))
	p.Click(t, ".columns-row input")
	p.WaitText(t, fmt.Sprintf("%d selected", few))
	asked := func() (lists, changes int) {
		for _, address := range p.Requests() {
			if strings.Contains(address, "/v1/skills?include=policy") {
				lists++
			}
			if strings.Contains(address, "/v1/policy/") {
				changes++
			}
		}
		return lists, changes
	}
	for _, step := range []struct {
		text string
		off  int
	}{{"Switch off", few}, {"Undo", 0}} {
		listsBefore, changesBefore := asked()
		began := time.Now()
		p.ClickText(t, step.text)
		p.Type(t, "?")
		p.Wait(t, "the page answers meanwhile", `document.querySelector("dialog[open]")`)
		p.Type(t, "\x1b")
		p.Wait(t, "the list shows the result", fmt.Sprintf(`document.querySelector(".chip[data-state=off] .count")?.innerText === "%d"`, step.off))
		lists, changes := asked()
		if changes -= changesBefore; changes != few {
			t.Errorf("%s: %d skills were changed by %d requests", step.text, few, changes)
		}
		// The whole list has 11 pages; while it works, the page reads every two seconds.
		if lists -= listsBefore; lists > 13+int(time.Since(began).Seconds()) {
			t.Errorf("%s: %d requests for lists in %v", step.text, lists, time.Since(began))
		}
		usable(all - step.off)
	}
}
