package contents

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pannier"
	"pannier/internal/state"
	"pannier/internal/testbench/fixture"
)

// TestBackgroundScansRest counts time by the clock of the test: a tenth of one core is used, the newest skill comes first, and
// content that has a verdict is not scanned again.
func TestBackgroundScansRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := fixture.NewWorkspace(t)
		const skills = 100
		for n := range skills {
			fixture.WriteIn(t, w, fixture.SkillScript(fmt.Sprintf("s%03d", n), fmt.Sprint("Is number ", n)))
		}
		p := newBench(t, w, state.Memory())
		p.lookAt(t, "s000")
		p.round(t)
		var mu sync.Mutex
		var order []string
		work, working, most := time.Duration(0), 0, 0
		p.scans.scan = func(_ context.Context, s *pannier.Skill) (pannier.ScanReport, error) {
			working++
			most = max(most, working)
			time.Sleep(20 * time.Millisecond)
			working--
			work += 20 * time.Millisecond
			mu.Lock()
			order = append(order, s.Slug)
			mu.Unlock()
			return pannier.ScanReport{ScanVerdict: pannier.ScanVerdict{Decision: pannier.ScanAllow, Ruleset: p.Ruleset()}}, nil
		}
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		go p.RunScans(ctx)
		time.Sleep(time.Second)
		fixture.WriteIn(t, w, fixture.SkillScript("s042", "Is another one."))
		p.lookAt(t, "s042")
		p.round(t)
		mu.Lock()
		seen := len(order)
		mu.Unlock()
		time.Sleep(time.Minute)
		cancel()
		synctest.Wait()
		if len(order) < skills || most != 1 {
			t.Fatalf("%d scans, %d at a time", len(order), most)
		}
		if order[0] != "s099" || !slices.Contains(order[seen:seen+2], "s042") {
			t.Errorf("scanned in the order %q, with s042 new after %d", order, seen)
		}
		if len(order) > skills+1 {
			t.Errorf("%d scans of %d contents", len(order), skills+1)
		}
		if share := float64(work) / float64(time.Since(began)); share > 0.1 {
			t.Errorf("%.2f of one core", share)
		}
		if took := time.Duration(len(order)) * 200 * time.Millisecond; took > 25*time.Second {
			t.Errorf("%d scans take %s", len(order), took)
		}
	})
}

// TestOlderRulesAreScannedAgain: content whose verdict is of other rules is scanned once more, unless a client blocked it.
func TestOlderRulesAreScannedAgain(t *testing.T) {
	w := fixture.NewWorkspace(t)
	fixture.WriteIn(t, w, fixture.SkillScript("a", "Is one.")+fixture.SkillScript("b", "Is two.")+fixture.SkillScript("c", "Is three."))
	p := newBench(t, w, state.Memory())
	p.lookAt(t, "a")
	p.round(t)
	for _, v := range []struct {
		slug string
		pannier.ScanVerdict
	}{
		{"a", pannier.ScanVerdict{Decision: pannier.ScanAllow, Origin: pannier.ScanBackground, Ruleset: "older"}},
		{"b", pannier.ScanVerdict{Decision: pannier.ScanBlock, Findings: []pannier.Finding{{Rule: "scan.test", Blocking: true}}}},
		{"c", pannier.ScanVerdict{Decision: pannier.ScanAllow, Origin: pannier.ScanBackground, Ruleset: p.Ruleset()}},
	} {
		v.Fingerprint = p.Fingerprint(p.lookAt(t, v.slug).Skill)
		if _, err := p.o.Verdicts.Put(v.ScanVerdict); err != nil {
			t.Fatal(err)
		}
	}
	var slugs []string
	for _, waiting := range p.waitingScans(nil) {
		slugs = append(slugs, waiting.skill.Slug)
	}
	if !slices.Equal(slugs, []string{"a"}) {
		t.Errorf("scanned again: %q", slugs)
	}
}
