package main

import (
	"bytes"
	"context"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pannier/internal/testbench/oracle"
)

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		os.Exit(play(context.Background(), role, os.Args[1:], os.Stdout))
	}
	os.Exit(m.Run())
}

func TestShortSoak(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	var out bytes.Buffer
	err := launch(t.Context(), []string{"-duration", "20s"}, &out)
	t.Logf("\n%s", &out)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "divergences 0") {
		t.Error("the soak has told nothing")
	}
}

// newWriter returns a writer on a workspace with some skills.
func newWriter(t *testing.T, seed uint64) *writer {
	t.Helper()
	w := &writer{names: 6, workspace: t.TempDir(), rng: rand.New(rand.NewPCG(seed, 0)), any: true}
	for range 12 {
		if err := create(w); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func TestEveryOperationCanBeDone(t *testing.T) {
	for _, op := range operations() {
		t.Run(op.name, func(t *testing.T) {
			var err error
			for seed := range uint64(50) {
				w := newWriter(t, seed)
				if err = op.do(w); err == nil {
					w.allowAll()
					_, err = oracle.Walk(oracle.Defaults(w.workspace))
				}
				if err == nil {
					return
				}
			}
			t.Errorf("never went through: %v", err)
		})
	}
}

func TestUntoldOperationsAreOnlyDoneWhenAskedFor(t *testing.T) {
	w := newWriter(t, 1)
	w.any = false
	for range 2000 {
		if op := w.choose(); op.untold {
			t.Fatalf("%s was chosen", op.name)
		}
	}
	w.any = true
	for range 2000 {
		if w.choose().untold {
			return
		}
	}
	t.Error("none was chosen though all were allowed")
}

func TestJudgeTellsMixedCards(t *testing.T) {
	skill := func(id, name, begins, ends, tag string) map[string]any {
		return map[string]any{"id": id, "name": name, "description": "begins " + begins + " and ends " + ends, "tags": []string{tag}}
	}
	same := func(id, name string) map[string]any { return skill(id, name, name, name, name) }
	for _, test := range []struct {
		name   string
		skills []map[string]any
		mixed  bool
	}{
		{"none", nil, false},
		{"whole", []map[string]any{same("a", "w0-1"), same("b", "w0-2")}, false},
		{"tools only", []map[string]any{{"id": "box", "name": "box", "description": "", "tags": []string{}}}, false},
		{"name of another", []map[string]any{skill("a", "w0-2", "w0-1", "w0-1", "w0-1")}, true},
		{"description cut", []map[string]any{skill("a", "w0-1", "w0-1", "w0-2", "w0-1")}, true},
		{"tag of another", []map[string]any{skill("a", "w0-1", "w0-1", "w0-1", "w0-2")}, true},
		{"one generation of a mount", []map[string]any{same("data-a0", "w0-1"), same("data-b0", "w0-1"), same("data-a1", "w1-7")}, false},
		{"two generations of a mount", []map[string]any{same("data-a0", "w0-1"), same("data-b0", "w0-2")}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			card, err := json.Marshal(map[string]any{"skills": test.skills})
			if err != nil {
				t.Fatal(err)
			}
			if err := new(states).judge(card); (err != nil) != test.mixed {
				t.Errorf("error %v, want one: %t", err, test.mixed)
			}
		})
	}
}

// TestJudgeKnowsTornGenerations writes one that lacks a skill because the root was moved away meanwhile.
func TestJudgeKnowsTornGenerations(t *testing.T) {
	w := newWriter(t, 1)
	card := json.RawMessage(`{"skills":[
		{"id":"data-a0","name":"w0-1","description":"begins w0-1 and ends w0-1","tags":["w0-1"]},
		{"id":"data-b0","name":"w0-2","description":"begins w0-2 and ends w0-2","tags":["w0-2"]}]}`)
	s := states{workspace: w.workspace}
	if err := w.noteTorn(newToken(0, 2), w.skills("none")); err != nil {
		t.Fatal(err)
	}
	if err := s.judge(card); err != nil {
		t.Error(err)
	}
	s.workspace += "-other"
	if err := s.judge(card); err == nil {
		t.Error("two whole generations may be mixed")
	}
}

// TestSwapsNoteTornGenerations has a mount made anew, so that its links come one after the other.
func TestSwapsNoteTornGenerations(t *testing.T) {
	w := newWriter(t, 1)
	s := states{workspace: w.workspace}
	for _, test := range []struct {
		name    string
		prepare func() error
		torn    bool
	}{
		{"new mount", func() error { return nil }, true},
		{"next generation", func() error { return nil }, false},
		{"link removed", func() error { return os.Remove(w.skills("mount0", "data-b0")) }, true},
		{"next generation", func() error { return nil }, false},
		{"root made anew", func() error { return os.Rename(w.skills(), w.skills()+"-away") }, true},
	} {
		if err := test.prepare(); err != nil {
			t.Fatal(err)
		}
		if err := dataSwap(w); err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		if got := s.torn(string(newToken(0, w.tokens))); got != test.torn {
			t.Errorf("%s: torn is %t, want %t", test.name, got, test.torn)
		}
	}
}

func TestJudgeTellsWhatWasGone(t *testing.T) {
	workspace := t.TempDir()
	if err := writeFile(filepath.Join(workspace, "SKILL.md"), newToken(0, 3).text(0)); err != nil {
		t.Fatal(err)
	}
	var s states
	if err := s.settle(workspace, []byte(`{"name":"w0-2"}`), map[int]int{0: 4}); err != nil {
		t.Fatal(err)
	}
	for name, gone := range map[string]bool{"w0-2": false, "w0-3": false, "w0-4": true, "w0-5": false, "w1-1": false} {
		err := s.possible(cardSkill{ID: "a", Name: name})
		if (err != nil) != gone {
			t.Errorf("%s: error %v, want one: %t", name, err, gone)
		}
	}
}

func TestCardOnItsWayIsWaitedFor(t *testing.T) {
	const series = `pannier_outbox_pending{platform="127.0.0.1:1"}`
	for name, waits := range map[string]bool{series: true, "pannier_outbox_errors_total": false} {
		if err := arrived(map[string]float64{name: 1}); (err != nil) != waits {
			t.Errorf("%s: error %v, want one: %t", name, err, waits)
		}
	}
	if err := arrived(map[string]float64{series: 0}); err != nil {
		t.Error(err)
	}
}

func TestGrowthIsTold(t *testing.T) {
	const mib = 1 << 20
	for _, test := range []struct {
		name        string
		first, last gauges
		want        string
	}{
		{"flat", gauges{40 * mib, 20, 25}, gauges{42 * mib, 22, 27}, ""},
		{"memory", gauges{40 * mib, 20, 25}, gauges{90 * mib, 20, 25}, "resident bytes"},
		{"files", gauges{40 * mib, 20, 25}, gauges{40 * mib, 40, 25}, "open files"},
		{"goroutines", gauges{40 * mib, 20, 25}, gauges{40 * mib, 20, 50}, "goroutines"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var all tally
			for i := range 40 {
				g := test.first
				if i >= 20 {
					g = test.last
				}
				all.gauges = append(all.gauges, g)
			}
			err := all.growth()
			if (err == nil) != (test.want == "") || err != nil && !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

func TestQuantiles(t *testing.T) {
	samples := []time.Duration{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	for q, want := range map[float64]time.Duration{0: 1, .5: 5, .9: 9, .99: 10, 1: 10} {
		if got := quantile(samples, q); got != want {
			t.Errorf("quantile %v is %v, want %v", q, got, want)
		}
	}
	if quantile(nil, .5) != 0 {
		t.Error("no samples have a quantile")
	}
}

func TestEveryMeasuredChangeShowsWhereItSays(t *testing.T) {
	root := filepath.Join(t.TempDir(), "skills")
	if err := prepare(root); err != nil {
		t.Fatal(err)
	}
	for _, kind := range kinds() {
		text := newToken(1, 1).text(0)
		if err := kind.do(root, 1, text); err != nil {
			t.Errorf("%s: %v", kind.name, err)
		}
		for _, name := range kind.skills(1) {
			if got, err := os.ReadFile(filepath.Join(root, name, "SKILL.md")); err != nil || string(got) != text {
				t.Errorf("%s: %s holds %.20q (%v)", kind.name, name, got, err)
			}
		}
	}
}
