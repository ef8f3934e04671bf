package sidecar

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/pflag"

	"pannier"
	"pannier/admin/scans"
	"pannier/config"
	"pannier/internal/policyfile"
	"pannier/internal/state"
	"pannier/internal/testbench/fixture"
	"pannier/registry"
)

// engineWithFingerprints is an engine with fingerprints, without the rest of a sidecar.
type engineWithFingerprints struct {
	*engine
	*fingerprints
	dir string
}

func newEngineWithFingerprints(t *testing.T, dir string, store *state.Store) *engineWithFingerprints {
	t.Helper()
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	config.AddFlags(flags)
	if err := flags.Set("workspace", dir); err != nil {
		t.Fatal(err)
	}
	settings, err := config.Load(flags, []string{"HOME=" + t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	settings.DeleteGrace = 0 // removed skills are dropped at once
	h := newEngine(settings, nil, registry.Options{})
	verdicts, err := scans.Open(store, blocksOf(store))
	if err != nil {
		t.Fatal(err)
	}
	p := &engineWithFingerprints{engine: h, fingerprints: newFingerprints(h.rules, h.registry, verdicts, newScanPolicy(settings), hclog.NewNullLogger()), dir: dir}
	h.registry.Prepare(func(in *registry.Inputs) {
		in.Judges = []func() registry.Judge{func() registry.Judge { return *p.judge.Load() }}
	})
	return p
}

// blocks are the policy files that belong to a store.
var blocks sync.Map

func blocksOf(store *state.Store) *policyfile.File {
	file, _ := blocks.LoadOrStore(store, policyfile.New(policyfile.Generation{}))
	return file.(*policyfile.File)
}

// lookAt looks at everything and returns the skill at skills/slug.
func (p *engineWithFingerprints) lookAt(t *testing.T, slug string) *pannier.Entry {
	t.Helper()
	s, _, err := p.reload(t.Context(), pannier.Batch{Full: true, Trigger: pannier.TriggerManual})
	if err != nil {
		t.Fatal(err)
	}
	e, ok := s.LookupPath(slug, "skills/"+slug)
	if !ok {
		t.Fatalf("no skill %s", slug)
	}
	return e
}

// round goes through all skills once.
func (p *engineWithFingerprints) round(t *testing.T) time.Duration {
	t.Helper()
	p.hints.addAll()
	next, _ := p.computeDue(t.Context(), nil)
	return next
}

// block keeps a verdict that blocks what a skill is now.
func (p *engineWithFingerprints) block(t *testing.T, e *pannier.Entry) {
	t.Helper()
	digest, err := p.now(t.Context(), e.Skill)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.verdicts.Put(pannier.ScanVerdict{Fingerprint: digest, Decision: pannier.ScanBlock, Findings: []pannier.Finding{{Rule: "scan.test", Blocking: true}}}); err != nil {
		t.Fatal(err)
	}
	s := p.apply(e.Skill, digest)
	if now, ok := s.LookupPath(e.Slug, e.Path); !ok || now.State != pannier.StateIneligible {
		t.Fatalf("it is %s", now.State)
	}
}

func TestWhatBlockedIsPresumed(t *testing.T) {
	w, store := fixture.NewWorkspace(t), state.Memory()
	fixture.WriteIn(t, w, fixture.SkillScript("tool", "Has a program.")+fixture.SkillScript("other", "Has none."))
	p := newEngineWithFingerprints(t, w, store)
	p.block(t, p.lookAt(t, "tool"))

	for _, tt := range []struct {
		name, script string
		read         pannier.State
	}{
		{"the same", "", pannier.StateIneligible},
		{"unreadable file", "truncate -s 1T skills/tool/big", pannier.StateIneligible},
		{"something else", "rm skills/tool/big; printf x > skills/tool/x", pannier.StateEligible},
		{"something else again", "", pannier.StateEligible},
		{"what it was", "rm skills/tool/x", pannier.StateIneligible},
	} {
		fixture.WriteIn(t, w, tt.script)
		p = newEngineWithFingerprints(t, w, store) // a restart
		first := p.lookAt(t, "tool").State
		p.round(t)
		if got := p.lookAt(t, "tool"); got.State != tt.read || p.lookAt(t, "other").State != pannier.StateEligible {
			t.Errorf("%s: %s at first, %s once it is read, want %s", tt.name, first, got.State, tt.read)
		}
	}
}

func TestFingerprintIsThatOfTheSnapshot(t *testing.T) {
	w := fixture.NewWorkspace(t)
	fixture.WriteIn(t, w, fixture.SkillScript("pdf", "Reads it.")+"mkdir -p skills/a; cp -r skills/pdf skills/a/pdf")
	p := newEngineWithFingerprints(t, w, state.Memory())
	e := p.lookAt(t, "pdf")
	if got := p.of(e.Skill); !got.IsZero() {
		t.Errorf("before anybody has read it: %s", got)
	}
	if next := p.round(t); next != fingerprintEvery {
		t.Errorf("the next round comes after %s", next)
	}
	generation := p.generation()
	if p.of(e.Skill).IsZero() || len(p.directories) != 1 { // the other is shadowed
		t.Errorf("fingerprint %s of %d", p.of(e.Skill), len(p.directories))
	}
	p.round(t)
	if p.generation() != generation {
		t.Error("nothing changed, and it is another generation")
	}
	fixture.WriteIn(t, w, fixture.SkillScript("pdf", "Reads it anew."))
	if e = p.lookAt(t, "pdf"); !p.of(e.Skill).IsZero() {
		t.Error("the fingerprint is older than the skill")
	}
	if p.round(t); p.of(e.Skill).IsZero() || p.generation() == generation {
		t.Error("the skill that changed has no fingerprint")
	}
	fixture.WriteIn(t, w, "rm -r skills/pdf skills/a/pdf")
	if _, _, err := p.reload(t.Context(), pannier.Batch{Full: true}); err != nil {
		t.Fatal(err)
	}
	if p.round(t); !p.of(e.Skill).IsZero() || len(p.directories) != 0 {
		t.Errorf("a skill that is gone has the fingerprint %s", p.of(e.Skill))
	}
}

// TestNewsComesFirst interrupts each round, and still every skill has its turn.
func TestNewsComesFirst(t *testing.T) {
	w := fixture.NewWorkspace(t)
	for _, name := range []string{"a", "b", "c"} {
		fixture.WriteIn(t, w, fixture.SkillScript(name, "Is one."))
	}
	p := newEngineWithFingerprints(t, w, state.Memory())
	p.lookAt(t, "a")
	var read []string
	round := func() {
		p.request()
		before := p.tickets.Load()
		if next := p.round(t); next != 0 {
			t.Errorf("the next round comes after %s", next)
		}
		for path, d := range p.directories {
			if d.ticket > before {
				read = append(read, filepath.Base(path))
			}
		}
	}
	round()
	round()
	fixture.WriteIn(t, w, fixture.SkillScript("a", "Is another one."))
	p.lookAt(t, "a")
	for range 4 {
		round()
	}
	if want := []string{"a", "b", "a", "c", "b", "a"}; !slices.Equal(read, want) {
		t.Errorf("read in the order %q, want %q", read, want)
	}
}

// TestOneChangeReadsOneSkill counts the computations that follow on a change: of the skill that changed, and of the one in a directory
// that was touched, not of all.
func TestOneChangeReadsOneSkill(t *testing.T) {
	w := fixture.NewWorkspace(t)
	for i := range 100 {
		fixture.WriteIn(t, w, fixture.SkillScript(fmt.Sprintf("s%02d", i), "Is one."))
	}
	p := newEngineWithFingerprints(t, w, state.Memory())
	p.lookAt(t, "s00")
	p.round(t)
	computed := func(change func()) uint64 {
		before := p.tickets.Load()
		change()
		if next, done := p.computeDue(t.Context(), nil); !done || next <= fingerprintAgain || next > fingerprintEvery {
			t.Errorf("the next round comes after %s", next)
		}
		return p.tickets.Load() - before
	}
	if n := computed(func() {
		fixture.WriteIn(t, w, fixture.SkillScript("s07", "Is another one."))
		p.lookAt(t, "s07")
	}); n != 1 {
		t.Errorf("%d skills were read for an edited one", n)
	}
	was := p.of(p.lookAt(t, "s08").Skill)
	if n := computed(func() {
		fixture.WriteIn(t, w, "mkdir skills/s08/scripts; echo x > skills/s08/scripts/run")
		p.hints.add([]string{filepath.Join(w, "skills/s08/scripts")})
	}); n != 1 || p.of(p.lookAt(t, "s08").Skill) == was {
		t.Errorf("%d skills were read for a file in one", n)
	}
	if n := computed(func() {}); n != 0 {
		t.Errorf("%d skills were read without a change", n)
	}
	fixture.WriteIn(t, w, "truncate -s 1T skills/s09/big")
	p.hints.add([]string{filepath.Join(w, "skills/s09")})
	p.computeDue(t.Context(), nil)
	if n := computed(func() { fixture.WriteIn(t, w, "rm skills/s09/big") }); n != 1 || p.of(p.lookAt(t, "s09").Skill).IsZero() {
		t.Errorf("%d skills were read where one could not be read before", n)
	}
}

// TestOlderDoesNotOvertake: a computation that began earlier ends later.
func TestOlderDoesNotOvertake(t *testing.T) {
	w := fixture.NewWorkspace(t)
	fixture.WriteIn(t, w, fixture.SkillScript("pdf", "Reads it."))
	p := newEngineWithFingerprints(t, w, state.Memory())
	e := p.lookAt(t, "pdf")
	older := p.tickets.Add(1)
	print, err := p.read(t.Context(), e.Skill, nil)
	if err != nil {
		t.Fatal(err)
	}
	fixture.WriteIn(t, w, "printf x > skills/pdf/x")
	newer, err := p.now(t.Context(), e.Skill)
	if err != nil {
		t.Fatal(err)
	}
	p.record(e.Skill, older, print, nil)
	if p.updateRegistry(); p.of(e.Skill) != newer || print.Digest == newer {
		t.Errorf("shown %s, want %s", p.of(e.Skill), newer)
	}
	// A caller that stops waiting changes nothing for others.
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.now(gone, e.Skill); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if p.updateRegistry(); p.of(e.Skill) != newer {
		t.Errorf("shown %s, want %s", p.of(e.Skill), newer)
	}
}

// TestRemovedSkillIsNoWarning computes the fingerprint of a skill that was removed since the last scan.
func TestRemovedSkillIsNoWarning(t *testing.T) {
	w := fixture.NewWorkspace(t)
	fixture.WriteIn(t, w, fixture.SkillScript("pdf", "Reads it.")+"mkdir skills/pdf/docs; printf x > skills/pdf/docs/x")
	p := newEngineWithFingerprints(t, w, state.Memory())
	var log strings.Builder
	p.log = hclog.New(&hclog.LoggerOptions{Output: &log, Level: hclog.Debug})
	e := p.lookAt(t, "pdf")
	fixture.WriteIn(t, w, "rm -r skills/pdf")
	if _, err := p.now(t.Context(), e.Skill); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if text := log.String(); !strings.Contains(text, "[DEBUG] a skill has no fingerprint") || strings.Contains(text, "[WARN]") {
		t.Error(text)
	}
}

// TestFingerprintsAtATime lets everybody at them, while files change.
func TestFingerprintsAtATime(t *testing.T) {
	w := fixture.NewWorkspace(t)
	fixture.WriteIn(t, w, fixture.SkillScript("a", "Is one.")+fixture.SkillScript("b", "Is two."))
	p := newEngineWithFingerprints(t, w, state.Memory())
	e := p.lookAt(t, "a")
	p.block(t, e)
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() { p.run(ctx) })
	for n := range 3 {
		all.Go(func() {
			for k := range 40 {
				name := filepath.Join(w, "skills", "b", fmt.Sprint("f", n))
				if err := os.WriteFile(name, fmt.Append(nil, k), 0o600); err != nil {
					t.Error(err)
				}
				if digest, err := p.now(t.Context(), e.Skill); err != nil || p.apply(e.Skill, digest) == nil {
					t.Error(err)
				}
				p.request()
				p.of(e.Skill)
				p.generation()
			}
		})
	}
	all.Go(func() {
		for range 20 {
			if _, _, err := p.reload(t.Context(), pannier.Batch{Full: true}); err != nil {
				t.Error(err)
			}
		}
	})
	fixture.Eventually(t, "the other skill is read", func() error {
		if p.of(p.engine.registry.Current().Entries[1].Skill).IsZero() {
			return errors.New("not yet")
		}
		return nil
	})
	cancel()
	all.Wait()
	if got := p.lookAt(t, "a"); got.State != pannier.StateIneligible {
		t.Errorf("what is blocked is %s", got.State)
	}
}

func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		p := &pace{rate: 1000}
		for range 100 {
			if err := p.wait(t.Context(), 50); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); took != 5*time.Second {
			t.Errorf("5,000 at 1,000 a second took %s", took)
		}
		<-time.After(time.Hour) // what is not spent is not saved
		began = time.Now()
		for range 1000 {
			if err := p.wait(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); took < 980*time.Millisecond || took > time.Second {
			t.Errorf("1,000 took %s", took)
		}
		gone, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := p.wait(gone, 1_000_000); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
	})
}
