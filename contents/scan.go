package contents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pannier"
	"pannier/internal/plain"
	"pannier/loader"
	"pannier/loader/scan"
)

const (
	// restFactor is how many times as long as it worked the background scan rests: it uses a tenth of one core at most.
	restFactor = 9
	// planFactor is how many times as long as it took to order what waits that order holds at least, though newer
	// skills come.
	planFactor = 20
	// scanAgain is how long a scan that failed is put off.
	scanAgain = time.Minute
	// scanTimeout bounds one scan.
	scanTimeout = 45 * time.Second
)

// scans is the state of the goroutine that scans every skill whose fingerprint has no verdict: one at a time, the
// newest first, and resting in between. Its queue is the catalog, so each skill waits in it once.
type scans struct {
	scan    func(context.Context, *pannier.Skill) (pannier.ScanReport, error)
	due     chan struct{} // has one where there may be a fingerprint without a verdict
	pending atomic.Int64  // the number of skills that wait
	ruleset string        // names the rules, so that a change of them is noticed

	putOff  map[string]time.Time // when a scan that failed is tried again, by path
	waiting []waitingScan        // of the last plan, for the next one to use its memory
}

type waitingScan struct {
	skill  *pannier.Skill
	digest pannier.Digest
	since  uint64
	// stale says that there is a verdict of older rules.
	stale bool
}

// startScans sets up scans and their metrics.
func (t *Tracker) startScans() {
	t.scans.scan, t.scans.due, t.scans.putOff = t.Scan, make(chan struct{}, 1), map[string]time.Time{}
	t.scans.ruleset = fmt.Sprintf("%d warn", scan.Version)
	kept := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "pannier_skill_scans_total",
		Help: "Security scans whose verdict was kept, by what they were made for and by their decision.",
	}, []string{"origin", "decision"})
	for _, origin := range []pannier.ScanOrigin{pannier.ScanBackground, pannier.ScanInstall, pannier.ScanExplicit} {
		for _, decision := range []pannier.ScanDecision{pannier.ScanAllow, pannier.ScanWarn, pannier.ScanBlock} {
			kept.WithLabelValues(string(origin), string(decision))
		}
	}
	t.o.Verdicts.onKept = func(v pannier.ScanVerdict) { kept.WithLabelValues(string(v.Origin), string(v.Decision)).Inc() }
	t.o.Registerer.MustRegister(kept, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "pannier_skill_scans_pending", Help: "Skills that wait for their background scan.",
	}, func() float64 { return float64(t.scans.pending.Load()) }))
}

// Ruleset names the rules that scans go by.
func (t *Tracker) Ruleset() string { return t.scans.ruleset }

// ScanOptions returns those of the scan of a skill.
func (t *Tracker) ScanOptions(kind pannier.SourceKind) scan.Options {
	return scan.Options{Builtin: kind == pannier.SourceBundled}
}

// Scan scans a skill directory as it is now.
func (t *Tracker) Scan(ctx context.Context, s *pannier.Skill) (pannier.ScanReport, error) {
	at := loader.PlaceOf(t.o.Rules.Roots[s.RootIndex])
	found, err := scan.Path(ctx, at, s.PathBelowRoot, t.ScanOptions(s.SourceKind))
	return pannier.ScanReport{
		ScanVerdict: pannier.ScanVerdict{
			Ruleset: t.scans.ruleset, Decision: pannier.ScanDecision(found.Decision), Findings: found.Findings,
			Truncated: found.Truncated,
		},
		Files: found.Files, Bytes: found.Bytes,
	}, err
}

// IsRule reports whether the scanner has a rule.
func IsRule(name string) bool {
	return slices.ContainsFunc(scan.Rules(), func(r scan.Rule) bool { return r.Code == name })
}

// RunScans scans whatever waits until ctx is done.
func (t *Tracker) RunScans(ctx context.Context) {
	for ctx.Err() == nil {
		t.scanAll(ctx)
		timer := time.NewTimer(scanAgain) // for what failed
		select {
		case <-ctx.Done():
		case <-t.scans.due:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// scanAll scans what waits, and begins anew with what comes meanwhile.
func (t *Tracker) scanAll(ctx context.Context) {
	for {
		planned := time.Now()
		maps.DeleteFunc(t.scans.putOff, func(_ string, until time.Time) bool { return planned.After(until) })
		waiting := t.waitingScans(t.scans.waiting[:0])
		took := time.Since(planned)
		t.scans.pending.Store(int64(len(waiting)))
		if t.scans.waiting = waiting; len(waiting) == 0 {
			t.scans.waiting = nil
			t.publish()
			return
		}
		for i, w := range waiting {
			left := len(waiting) - i - 1
			if !t.scanOne(ctx, w, left == 0) {
				return
			}
			t.scans.pending.Store(int64(left))
			if len(t.scans.due) > 0 && time.Since(planned) > planFactor*took {
				<-t.scans.due
				break
			}
		}
	}
}

// scanOne scans one skill, shows the verdict at once where it is the last one, and rests. It returns false once ctx is
// done.
func (t *Tracker) scanOne(ctx context.Context, w waitingScan, last bool) bool {
	began := time.Now()
	err := t.scanUnchanged(ctx, w.skill, w.digest)
	switch {
	case ctx.Err() != nil:
		return false
	case errors.Is(err, pannier.ErrChanged):
		t.Hint([]string{t.Directory(w.skill)})
		t.Request() // it is scanned once its new fingerprint is known
	case err != nil:
		t.o.Logger.Named("scans").Warn("background scan failed", "path", w.skill.Path, "error", err)
		t.scans.putOff[w.skill.Path] = time.Now().Add(scanAgain)
	default:
		t.mu.Lock()
		t.judgeAgainLocked(w.digest)
		t.mu.Unlock()
	}
	if last || t.publishDue() {
		t.publish()
	}
	timer := time.NewTimer(restFactor * time.Since(began))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// scanUnchanged scans a skill directory and stores the verdict by its fingerprint. It is not audited, because no client
// asked for it. [pannier.ErrChanged] says that the fingerprint changed; no verdict is stored then. The verdict of a
// scan that times out is stored with the finding that says so.
func (t *Tracker) scanUnchanged(ctx context.Context, s *pannier.Skill, digest pannier.Digest) error {
	bounded, cancel := context.WithTimeout(ctx, scanTimeout)
	defer cancel()
	report, err := t.scans.scan(bounded, s)
	if err != nil && (ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded)) {
		return err
	}
	after, err := t.Compute(ctx, s)
	if err == nil && after != digest {
		err = pannier.ErrChanged
	}
	if err != nil {
		return err
	}
	v := report.ScanVerdict
	v.Fingerprint, v.At, v.Origin = digest, time.Now().UTC().Round(0), pannier.ScanBackground
	if v, err = t.o.Verdicts.Put(v); err != nil {
		return err
	}
	t.o.Emit(pannier.EventSkillScanned, pannier.SkillScanned{
		Slug: s.Slug, Path: s.Path, Fingerprint: v.Fingerprint, Decision: v.Decision, Origin: v.Origin,
		Findings: len(report.Findings), // the stored verdict may have fewer
	})
	return nil
}

// waitingScans appends the skills whose fingerprint has no verdict, the newest first, then those with a verdict of
// older rules that does not block. What is put off is left out.
func (t *Tracker) waitingScans(waiting []waitingScan) []waitingScan {
	snapshot := t.o.Registry.Current()
	if snapshot == nil {
		return waiting
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range snapshot.Entries {
		s, c := e.Skill, t.getLocked(e.Path)
		if _, later := t.scans.putOff[s.Path]; later || c == nil || c.Fingerprint.IsZero() || c.Of != s.Sum || s.Deleting {
			continue
		}
		v, kept := t.o.Verdicts.Summary(c.Fingerprint)
		if !kept || v.Ruleset != t.scans.ruleset && !v.AlwaysBlocks() {
			waiting = append(waiting, waitingScan{s, c.Fingerprint, c.since, kept})
		}
	}
	slices.SortStableFunc(waiting, func(a, b waitingScan) int {
		if a.stale == b.stale {
			return cmp.Compare(b.since, a.since)
		}
		if a.stale {
			return 1
		}
		return -1
	})
	return waiting
}

// Conditions returns what health says of scans.
func (t *Tracker) Conditions(s *pannier.Snapshot) (conditions []pannier.Condition) {
	var found, unscanned []string
	trouble := ""
	for _, e := range s.Entries {
		if e.State != pannier.StateEligible && e.State != pannier.StateIneligible {
			continue
		}
		if v := t.Summary(e.Skill); v != nil && v.Origin == pannier.ScanBackground && len(v.Blocking) > 0 && !t.o.Enforce {
			found = append(found, e.Slug)
		}
		if why := t.Known(e.Skill).Trouble; why != "" {
			unscanned, trouble = append(unscanned, e.Slug), cmp.Or(trouble, why)
		}
	}
	if len(found) > 0 {
		have := fmt.Sprintf("%d skills have blocking findings", len(found))
		if len(found) == 1 {
			have = "1 skill has a blocking finding"
		}
		conditions = append(conditions, pannier.Condition{
			Code: "scan_findings", Severity: pannier.SeverityWarning, Subject: plain.Shorten(strings.Join(found, ", "), 200),
			Message: have + " in the background scan, which the settings only report",
			Hint: "run `pannier show` for each to see the findings; " +
				"`pannier scan SLUG` blocks it, `scan: enforce` blocks all such skills",
		})
	}
	if len(unscanned) > 0 {
		conditions = append(conditions, pannier.Condition{
			Code: "skills_unscanned", Severity: pannier.SeverityWarning,
			Subject: plain.Shorten(strings.Join(unscanned, ", "), 200),
			Message: fmt.Sprintf("%d of %d skills have no fingerprint, so the background scan skips them: %s",
				len(unscanned), len(s.Entries), trouble),
			Hint: "make every file of the skill readable, and remove large data from it",
		})
	}
	return conditions
}
