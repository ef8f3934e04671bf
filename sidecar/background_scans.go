package sidecar

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"

	"pannier"
	"pannier/config"
	"pannier/loader/scan"
)

// restFactor is how many times as long as it worked the background scan rests: it uses a tenth of one core at most.
const restFactor = 9

// planFactor is how many times as long as it took to order what waits that order holds at least, though newer skills come.
const planFactor = 20

// scanAgain is how long a scan that failed is put off.
const scanAgain = time.Minute

// scanPolicy is what follows from verdicts and from the lack of one.
type scanPolicy struct {
	// enforce keeps a skill without a verdict from being used, and lets background scans block.
	enforce bool
	// ruleset names the rules that scans go by now, so that a change of them is noticed.
	ruleset string
}

func newScanPolicy(s config.Settings) scanPolicy {
	ruleset := fmt.Sprintf("%d %s", scan.Version, s.ScanInstallers)
	return scanPolicy{enforce: s.Scan == config.ScanEnforce, ruleset: ruleset}
}

// backgroundScans scans every skill whose fingerprint has no verdict: apart from the reload path, one at a time, the newest
// first, and resting in between. Its queue is the catalog, so each skill waits in it once.
type backgroundScans struct {
	fingerprints *fingerprints
	// scan scans a skill and keeps the verdict.
	scan func(context.Context, *pannier.Skill, pannier.Digest) error
	log  hclog.Logger
	// pending is the number of skills that wait.
	pending atomic.Int64
	// putOff has when a scan that failed is tried again, by the path of the skill. Only run uses it.
	putOff map[string]time.Time
	// waiting is the list of the last plan, for the next one to use its memory. Only run uses it.
	waiting []waitingScan
}

func newBackgroundScans(prints *fingerprints, scan func(context.Context, *pannier.Skill, pannier.Digest) error, reg prometheus.Registerer, log hclog.Logger) *backgroundScans {
	b := &backgroundScans{fingerprints: prints, scan: scan, log: log.Named("scans"), putOff: map[string]time.Time{}}
	reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "pannier_skill_scans_pending", Help: "Skills that wait for their background scan.",
	}, func() float64 { return float64(b.pending.Load()) }))
	return b
}

type waitingScan struct {
	skill  *pannier.Skill
	digest pannier.Digest
	since  uint64
	// stale says that there is a verdict of older rules.
	stale bool
}

// run scans whatever waits until ctx is done.
func (b *backgroundScans) run(ctx context.Context) {
	for ctx.Err() == nil {
		again := b.scanAll(ctx)
		timer := time.NewTimer(again)
		select {
		case <-ctx.Done():
		case <-b.fingerprints.scanDue:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// scanAll scans what waits, and begins anew with what comes meanwhile. It returns when to try again what failed.
func (b *backgroundScans) scanAll(ctx context.Context) time.Duration {
	for {
		maps.DeleteFunc(b.putOff, func(_ string, until time.Time) bool { return time.Now().After(until) })
		planned := time.Now()
		waiting := b.fingerprints.waitingScans(b.waiting[:0], b.putOff)
		took := time.Since(planned)
		b.pending.Store(int64(len(waiting)))
		if b.waiting = waiting; len(waiting) == 0 {
			b.waiting = nil
			b.fingerprints.updateRegistry()
			return scanAgain
		}
		for i, w := range waiting {
			left := len(waiting) - i - 1
			if !b.scanOne(ctx, w, left == 0) {
				return scanAgain
			}
			b.pending.Store(int64(left))
			if len(b.fingerprints.scanDue) > 0 && time.Since(planned) > planFactor*took {
				<-b.fingerprints.scanDue
				break
			}
		}
	}
}

// scanOne scans one skill, shows the verdict at once where it is the last one, and rests. It returns false once ctx is done.
func (b *backgroundScans) scanOne(ctx context.Context, w waitingScan, last bool) bool {
	began := time.Now()
	err := b.scan(ctx, w.skill, w.digest)
	switch {
	case ctx.Err() != nil:
		return false
	case errors.Is(err, pannier.ErrChanged):
		b.fingerprints.hints.add([]string{b.fingerprints.directoryOf(w.skill)})
		b.fingerprints.request() // it is scanned once its new fingerprint is known
	case err != nil:
		b.log.Warn("background scan failed", "path", w.skill.Path, "error", err)
		b.putOff[w.skill.Path] = time.Now().Add(scanAgain)
	default:
		b.fingerprints.verdictKept(w.digest)
	}
	if last || b.fingerprints.updateDue() {
		b.fingerprints.updateRegistry()
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

// waitingScans appends the skills whose fingerprint has no verdict, the newest first, then those with a verdict of older rules
// that does not block. What is put off is left out.
func (f *fingerprints) waitingScans(waiting []waitingScan, putOff map[string]time.Time) []waitingScan {
	snapshot := f.registry.Current()
	if snapshot == nil {
		return waiting
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range snapshot.Entries {
		s := snapshot.Entries[i].Skill
		d := f.directories[s.Path]
		if _, later := putOff[s.Path]; later || d == nil || d.digest.IsZero() || d.of != s.Sum || s.Deleting {
			continue
		}
		v, kept := f.verdicts.Summary(d.digest)
		if kept && (v.Ruleset == f.policy.ruleset || v.AlwaysBlocks()) {
			continue
		}
		waiting = append(waiting, waitingScan{s, d.digest, d.since, kept})
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
