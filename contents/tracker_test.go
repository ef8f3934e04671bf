package contents

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

	"pannier/loader/fingerprint"

	"github.com/hashicorp/go-hclog"

	"pannier"
	"pannier/internal/state"
	"pannier/internal/testbench/fixture"
)

func TestWhatBlockedIsPresumed(t *testing.T) {
	w, store := fixture.NewWorkspace(t), state.Memory()
	fixture.WriteIn(t, w, fixture.SkillScript("tool", "Has a program.")+fixture.SkillScript("other", "Has none."))
	p := newBench(t, w, store)
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
		p = newBench(t, w, store) // a restart
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
	p := newBench(t, w, state.Memory())
	e := p.lookAt(t, "pdf")
	if got := p.Fingerprint(e.Skill); !got.IsZero() {
		t.Errorf("before anybody has read it: %s", got)
	}
	if next := p.round(t); next != readEvery {
		t.Errorf("the next round comes after %s", next)
	}
	generation := p.Version()
	if p.Fingerprint(e.Skill).IsZero() || len(p.known()) != 1 { // the other is shadowed
		t.Errorf("fingerprint %s of %d", p.Fingerprint(e.Skill), len(p.known()))
	}
	p.round(t)
	if p.Version() != generation {
		t.Error("nothing changed, and it is another generation")
	}
	fixture.WriteIn(t, w, fixture.SkillScript("pdf", "Reads it anew."))
	if e = p.lookAt(t, "pdf"); !p.Fingerprint(e.Skill).IsZero() {
		t.Error("the fingerprint is older than the skill")
	}
	if p.round(t); p.Fingerprint(e.Skill).IsZero() || p.Version() == generation {
		t.Error("the skill that changed has no fingerprint")
	}
	fixture.WriteIn(t, w, "rm -r skills/pdf skills/a/pdf")
	p.load(t)
	if p.round(t); !p.Fingerprint(e.Skill).IsZero() || len(p.known()) != 0 {
		t.Errorf("a skill that is gone has the fingerprint %s", p.Fingerprint(e.Skill))
	}
}

// TestNewsComesFirst interrupts each round, and still every skill has its turn.
func TestNewsComesFirst(t *testing.T) {
	w := fixture.NewWorkspace(t)
	for _, name := range []string{"a", "b", "c"} {
		fixture.WriteIn(t, w, fixture.SkillScript(name, "Is one."))
	}
	p := newBench(t, w, state.Memory())
	p.lookAt(t, "a")
	var read []string
	round := func() {
		p.Request()
		before := p.tickets.Load()
		if next := p.round(t); next != 0 {
			t.Errorf("the next round comes after %s", next)
		}
		for path, d := range p.known() {
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
	p := newBench(t, w, state.Memory())
	p.lookAt(t, "s00")
	p.round(t)
	computed := func(change func()) uint64 {
		before := p.tickets.Load()
		change()
		if next, done := p.readDue(t.Context(), nil); !done || next <= readAgain || next > readEvery {
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
	was := p.Fingerprint(p.lookAt(t, "s08").Skill)
	if n := computed(func() {
		fixture.WriteIn(t, w, "mkdir skills/s08/scripts; echo x > skills/s08/scripts/run")
		p.Hint([]string{filepath.Join(w, "skills/s08/scripts")})
	}); n != 1 || p.Fingerprint(p.lookAt(t, "s08").Skill) == was {
		t.Errorf("%d skills were read for a file in one", n)
	}
	if n := computed(func() {}); n != 0 {
		t.Errorf("%d skills were read without a change", n)
	}
	fixture.WriteIn(t, w, "truncate -s 1T skills/s09/big")
	p.Hint([]string{filepath.Join(w, "skills/s09")})
	p.readDue(t.Context(), nil)
	if n := computed(func() { fixture.WriteIn(t, w, "rm skills/s09/big") }); n != 1 || p.Fingerprint(p.lookAt(t, "s09").Skill).IsZero() {
		t.Errorf("%d skills were read where one could not be read before", n)
	}
}

// TestOlderDoesNotOvertake: a computation that began earlier ends later.
func TestOlderDoesNotOvertake(t *testing.T) {
	w := fixture.NewWorkspace(t)
	fixture.WriteIn(t, w, fixture.SkillScript("pdf", "Reads it."))
	p := newBench(t, w, state.Memory())
	e := p.lookAt(t, "pdf")
	older := p.tickets.Add(1)
	print, err := p.print(t.Context(), e.Skill, fingerprint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	fixture.WriteIn(t, w, "printf x > skills/pdf/x")
	newer, err := p.Compute(t.Context(), e.Skill)
	if err != nil {
		t.Fatal(err)
	}
	p.record(e.Skill, older, print, nil)
	if p.publish(); p.Fingerprint(e.Skill) != newer || print.Digest == newer {
		t.Errorf("shown %s, want %s", p.Fingerprint(e.Skill), newer)
	}
	// A caller that stops waiting changes nothing for others.
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Compute(gone, e.Skill); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if p.publish(); p.Fingerprint(e.Skill) != newer {
		t.Errorf("shown %s, want %s", p.Fingerprint(e.Skill), newer)
	}
}

// TestRemovedSkillIsNoWarning computes the fingerprint of a skill that was removed since the last scan.
func TestRemovedSkillIsNoWarning(t *testing.T) {
	w := fixture.NewWorkspace(t)
	fixture.WriteIn(t, w, fixture.SkillScript("pdf", "Reads it.")+"mkdir skills/pdf/docs; printf x > skills/pdf/docs/x")
	p := newBench(t, w, state.Memory())
	var log strings.Builder
	p.log = hclog.New(&hclog.LoggerOptions{Output: &log, Level: hclog.Debug})
	e := p.lookAt(t, "pdf")
	fixture.WriteIn(t, w, "rm -r skills/pdf")
	if _, err := p.Compute(t.Context(), e.Skill); !errors.Is(err, fs.ErrNotExist) {
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
	p := newBench(t, w, state.Memory())
	e := p.lookAt(t, "a")
	p.block(t, e)
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() { p.Run(ctx) })
	for n := range 3 {
		all.Go(func() {
			for k := range 40 {
				name := filepath.Join(w, "skills", "b", fmt.Sprint("f", n))
				if err := os.WriteFile(name, fmt.Append(nil, k), 0o600); err != nil {
					t.Error(err)
				}
				if digest, err := p.Compute(t.Context(), e.Skill); err != nil || p.Apply(e.Skill, digest) == nil {
					t.Error(err)
				}
				p.Request()
				p.Fingerprint(e.Skill)
				p.Version()
			}
		})
	}
	all.Go(func() {
		for range 20 {
			p.load(t)
		}
	})
	fixture.Eventually(t, "the other skill is read", func() error {
		if p.Fingerprint(p.o.Registry.Current().Entries[1].Skill).IsZero() {
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
