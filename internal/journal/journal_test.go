package journal_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"pannier"
	"pannier/internal/journal"
	"pannier/internal/testbench/faults"
)

// each runs a test on a journal on disk and on one in memory.
func each(t *testing.T, test func(*testing.T, *journal.Journal)) {
	t.Run("disk", func(t *testing.T) { test(t, open(t, journal.Options{Dir: filepath.Join(t.TempDir(), "a")})) })
	t.Run("memory", func(t *testing.T) { test(t, open(t, journal.Options{})) })
}

func TestAppendAndFollow(t *testing.T) {
	each(t, func(t *testing.T, j *journal.Journal) {
		inRange(t, j, 0, 0)
		r := j.Follow(0)
		waits(t, r)
		add(t, j, 1)
		reads(t, r, 1, 1)
		waits(t, r)
		add(t, j, 100)
		reads(t, r, 2, 100)
		inRange(t, j, 1, 100)
		reads(t, j.Follow(42), 43, 100)
		waits(t, j.Follow(100))
		for _, after := range []uint64{101, math.MaxUint64} {
			tooOld(t, j.Follow(after), 1)
		}
	})
}

// What Append returns is what readers get, from memory and from disk.
func TestEventAsStored(t *testing.T) {
	dir := t.TempDir()
	j := open(t, journal.Options{Dir: dir})
	zone := time.FixedZone("z", 3600)
	for _, e := range []pannier.Event{
		{Time: time.Now().In(zone), Type: "a\xffb", WorkspaceID: "<w>", SnapshotVersion: math.MaxUint64, Data: map[string]any{"k": "<&>\u2028"}},
		{Seq: 99, Data: json.RawMessage(" {\"b\": 1, \"a\": 1.50} ")},
		{},
	} {
		stored, err := j.Append(e)
		if err != nil {
			t.Fatal(err)
		}
		if !stored.Time.Equal(e.Time) || stored.SnapshotVersion != e.SnapshotVersion || stored.Seq != j.Last() {
			t.Errorf("%+v is stored as %+v", e, stored)
		}
		live, err := j.Follow(stored.Seq - 1).Next(t.Context())
		closes(t, j)
		j = open(t, journal.Options{Dir: dir})
		later, err2 := j.Follow(stored.Seq - 1).Next(t.Context())
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(stored, live) + cmp.Diff(stored, later); diff != "" || stored.Time != later.Time {
			t.Errorf("stored and read (-want +got):\n%s", diff)
		}
	}
}

func TestAppendErrors(t *testing.T) {
	each(t, func(t *testing.T, j *journal.Journal) {
		add(t, j, 1)
		for name, e := range map[string]pannier.Event{
			"function": {Data: func() {}}, "number": {Data: math.NaN()}, "text": {Data: json.RawMessage("{")},
			"year": {Time: time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)}, "depth": {Data: json.RawMessage(strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000))},
		} {
			if got, err := j.Append(e); err == nil {
				t.Errorf("%s: stored as %+v", name, got)
			}
		}
		if _, err := j.Append(pannier.Event{Data: strings.Repeat("x", journal.MaxLine)}); !errors.Is(err, journal.ErrTooLarge) {
			t.Errorf("a large event: %v", err)
		}
		large, last := strings.Repeat("x", journal.MaxLine-300), j.Last()
		if _, err := j.Append(pannier.Event{Data: large}); err != nil {
			t.Fatal(err)
		}
		if e, err := j.Follow(last).Next(t.Context()); err != nil || len(e.Data.(json.RawMessage)) != len(large)+2 {
			t.Errorf("an event that is nearly too large: %v", err)
		}
		add(t, j, j.Last()+2)
	})
}

func TestClose(t *testing.T) {
	each(t, func(t *testing.T, j *journal.Journal) {
		add(t, j, 2)
		r, waiting := j.Follow(0), j.Follow(2)
		reads(t, r, 1, 1)
		var readers sync.WaitGroup
		readers.Go(func() {
			if _, err := waiting.Next(context.Background()); !errors.Is(err, journal.ErrClosed) {
				t.Errorf("a waiting reader: %v", err)
			}
		})
		closes(t, j)
		closes(t, j)
		readers.Wait()
		_, next := r.Next(t.Context())
		_, fresh := j.Follow(0).Next(t.Context())
		_, appending := j.Append(event(3))
		for _, err := range []error{next, fresh, appending} {
			if !errors.Is(err, journal.ErrClosed) {
				t.Error(err)
			}
		}
		if j.First() != 1 || j.Last() != 2 {
			t.Errorf("%d to %d", j.First(), j.Last())
		}
	})
}

func TestRotation(t *testing.T) {
	const maxBytes = 16 << 10
	dir := t.TempDir()
	registry := prometheus.NewRegistry()
	j := open(t, journal.Options{Dir: dir, MaxBytes: maxBytes, Registerer: registry})
	slow, late := j.Follow(0), j.Follow(0)
	add(t, j, 1)
	reads(t, slow, 1, 1)
	for n := uint64(2); n <= 600; n++ {
		add(t, j, n)
		sum := 0
		for _, path := range faults.Segments(t, dir) {
			size := len(faults.Read(t, path))
			if sum += size; size > maxBytes/8 {
				t.Fatalf("%s has %d bytes", path, size)
			}
		}
		if sum > maxBytes {
			t.Fatalf("the segments have %d bytes", sum)
		}
		if n%50 == 0 && metric(t, registry, "pannier_journal_bytes") != float64(sum) {
			t.Fatalf("the metric is not %d", sum)
		}
	}
	first := j.First()
	if first < 450 || first > 550 || len(faults.Segments(t, dir)) < 6 {
		t.Errorf("the first is %d in %d segments", first, len(faults.Segments(t, dir)))
	}
	inRange(t, j, first, 600)
	tooOld(t, slow, first)
	tooOld(t, late, first)
	closes(t, j)
	j = open(t, journal.Options{Dir: dir, MaxBytes: maxBytes})
	inRange(t, j, first, 600)
	add(t, j, 601)
	closes(t, j)
	j = open(t, journal.Options{Dir: dir, MaxBytes: maxBytes / 4})
	if j.First() <= first {
		t.Errorf("with a smaller bound the first is %d", j.First())
	}
	inRange(t, j, j.First(), 601)
}

func TestMemoryIsBounded(t *testing.T) {
	j := open(t, journal.Options{MaxBytes: 4096})
	r := j.Follow(0)
	add(t, j, 1000)
	if j.First() < 900 {
		t.Errorf("the first is %d", j.First())
	}
	inRange(t, j, j.First(), 1000)
	tooOld(t, r, j.First())
}

// A reader that changes between memory and disk must not lose its place.
func TestFallingBehind(t *testing.T) {
	j := open(t, journal.Options{Dir: t.TempDir(), MaxBytes: 64 << 10})
	r := j.Follow(0)
	last, read := uint64(0), uint64(0)
	for lag := range uint64(60) {
		last += lag
		add(t, j, last)
		reads(t, r, read+1, last-lag/3)
		read = last - lag/3
	}
	reads(t, r, read+1, last)
	waits(t, r)
}

func TestManyReadersAndWriters(t *testing.T) {
	for _, o := range []journal.Options{{}, {Dir: t.TempDir(), MaxBytes: 4 << 20}, {Dir: t.TempDir(), MaxBytes: 256 << 10}} {
		const writers, each = 4, 150
		j := open(t, o)
		var all sync.WaitGroup
		for range writers {
			all.Go(func() {
				var last uint64
				for range each {
					e, err := j.Append(event(0))
					if err != nil || e.Seq <= last {
						t.Errorf("appended %d after %d: %v", e.Seq, last, err)
					}
					last = e.Seq
				}
			})
		}
		for range 8 {
			all.Go(func() {
				r := j.Follow(0)
				for want := uint64(1); want <= writers*each; want++ {
					if e, err := r.Next(t.Context()); err != nil || e.Seq != want {
						t.Errorf("got %d, %v, want %d", e.Seq, err, want)
						return
					}
				}
			})
		}
		all.Wait()
		if j.First() != 1 || j.Last() != writers*each {
			t.Errorf("%d to %d", j.First(), j.Last())
		}
	}
}

// Readers race with the removal of what they read.
func TestReadersAndRemoval(t *testing.T) {
	j := open(t, journal.Options{Dir: t.TempDir(), MaxBytes: 8 << 10})
	ctx, cancel := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			r, want := j.Follow(0), uint64(1)
			for {
				e, err := r.Next(ctx)
				switch old, ok := errors.AsType[*journal.TooOldError](err); {
				case ok:
					r, want = j.Follow(old.First-1), old.First
				case errors.Is(err, context.Canceled):
					return
				case err != nil || e.Seq != want:
					t.Errorf("got %d, %v, want %d", e.Seq, err, want)
					return
				default:
					want++
				}
			}
		})
	}
	add(t, j, 2000)
	cancel()
	readers.Wait()
	if j.First() > 1980 {
		t.Errorf("readers made the journal give up up to %d", j.First())
	}
}

func TestMetrics(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	o := journal.Options{Dir: t.TempDir(), Registerer: registry}
	j := open(t, o)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range families {
		got = append(got, f.GetName())
	}
	want := []string{"pannier_journal_bytes", "pannier_journal_events_total", "pannier_journal_gaps_total", "pannier_journal_write_errors_total"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
	if problems, err := promlint.NewWithMetricFamilies(families).Lint(); err != nil || len(problems) > 0 {
		t.Errorf("lint: %v, %v", problems, err)
	}
	add(t, j, 3)
	size := len(faults.Read(t, faults.Segments(t, o.Dir)[0]))
	for name, want := range map[string]int{want[0]: size, want[1]: 3, want[2]: 0, want[3]: 0} {
		if got := metric(t, registry, name); got != float64(want) {
			t.Errorf("%s is %v, want %d", name, got, want)
		}
	}
	closes(t, j)
	if _, err := journal.Open(o); err == nil {
		t.Error("metrics that are registered already are no error")
	}
}

func BenchmarkAppend(b *testing.B) {
	for name, dir := range map[string]string{"disk": b.TempDir(), "memory": ""} {
		b.Run(name, func(b *testing.B) {
			j, err := journal.Open(journal.Options{Dir: dir})
			if err != nil {
				b.Fatal(err)
			}
			defer j.Close()
			b.ReportAllocs()
			for b.Loop() {
				if _, err := j.Append(event(1)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkNext(b *testing.B) {
	j, err := journal.Open(journal.Options{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	defer j.Close()
	add(b, j, 20_000)
	for name, after := range map[string]uint64{"disk": 0, "memory": 19_000} {
		b.Run(name, func(b *testing.B) {
			end := min(after+8_000, 20_000)
			r, at := j.Follow(after), after
			b.ReportAllocs()
			for b.Loop() {
				if at++; at > end {
					r, at = j.Follow(after), after+1
				}
				if _, err := r.Next(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestOpenErrors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	faults.Write(t, file, nil)
	if _, err := journal.Open(journal.Options{Dir: file}); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("a file as the directory: %v", err)
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "00000000000000000001.jsonl"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := journal.Open(journal.Options{Dir: dir}); err == nil {
		t.Error("a directory as a segment is no error")
	}
}
