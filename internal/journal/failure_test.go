package journal_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"

	"pannier/internal/journal"
	"pannier/internal/testbench/faults"
)

// patient is a journal on a sick disk, with what it says.
type patient struct {
	*journal.Journal
	disk   *faults.Disk
	dir    string
	log    *bytes.Buffer
	errors func() float64
}

func newPatient(t *testing.T, maxBytes int64) *patient {
	t.Helper()
	p := &patient{disk: &faults.Disk{}, dir: t.TempDir(), log: &bytes.Buffer{}}
	registry := prometheus.NewRegistry()
	o := journal.Options{Dir: p.dir, MaxBytes: maxBytes, Registerer: registry, Logger: hclog.New(&hclog.LoggerOptions{Output: p.log})}
	var err error
	if p.Journal, err = journal.OpenWith(o, p.disk.Open); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	p.errors = func() float64 { return metric(t, registry, "pannier_journal_write_errors_total") }
	return p
}

// metric returns the value of a counter or gauge.
func metric(t *testing.T, g prometheus.Gatherer, name string) float64 {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			m := f.GetMetric()[0]
			return m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	t.Fatalf("no %s", name)
	return 0
}

// reopened opens the directory anew, as a process would that was killed meanwhile.
func (p *patient) reopened(t *testing.T) *journal.Journal {
	t.Helper()
	return open(t, journal.Options{Dir: faults.Copy(t, p.dir)})
}

func TestShortFailure(t *testing.T) {
	for name, fault := range map[string]func(*faults.Disk) []*atomic.Bool{
		"write":    func(s *faults.Disk) []*atomic.Bool { return []*atomic.Bool{&s.Write} },
		"truncate": func(s *faults.Disk) []*atomic.Bool { return []*atomic.Bool{&s.Write, &s.Truncate} },
		"create":   func(s *faults.Disk) []*atomic.Bool { return []*atomic.Bool{&s.Create, &s.Write, &s.Truncate} },
	} {
		t.Run(name, func(t *testing.T) {
			p := newPatient(t, 0)
			live := p.Follow(0)
			add(t, p.Journal, 5)
			for _, f := range fault(p.disk) {
				f.Store(true)
			}
			add(t, p.Journal, 205)
			reads(t, live, 1, 205)
			inRange(t, p.Journal, 1, 205)
			if p.errors() != 200 || strings.Count(p.log.String(), "[WARN]") != 1 {
				t.Errorf("%v errors, log:\n%s", p.errors(), p.log)
			}
			inRange(t, p.reopened(t), 0, 205)
			for _, f := range fault(p.disk) {
				f.Store(false)
			}
			add(t, p.Journal, 206)
			inRange(t, p.Journal, 1, 206)
			inRange(t, p.reopened(t), 1, 206)
			if p.errors() != 200 || strings.Count(p.log.String(), "[INFO]") != 1 {
				t.Errorf("%v errors, log:\n%s", p.errors(), p.log)
			}
			closes(t, p.Journal)
		})
	}
}

// A failure that lasts longer than memory loses events, and nobody may fail to notice.
func TestLongFailure(t *testing.T) {
	p := newPatient(t, 16<<10)
	add(t, p.Journal, 20)
	early := p.Follow(0)
	reads(t, early, 1, 1)
	p.disk.Write.Store(true)
	add(t, p.Journal, 300)
	first := p.First()
	if first < 280 {
		t.Errorf("the first is %d", first)
	}
	inRange(t, p.Journal, first, 300)
	inRange(t, p.reopened(t), 0, 300)
	p.disk.Write.Store(false)
	add(t, p.Journal, 301)
	inRange(t, p.Journal, p.First(), 301)
	j := p.reopened(t)
	if j.First() < first || j.First() > 301 {
		t.Errorf("on disk the first is %d", j.First())
	}
	inRange(t, j, j.First(), 301)
	closes(t, p.Journal)
}

func TestCloseWritesWhatWaits(t *testing.T) {
	p := newPatient(t, 0)
	p.disk.Write.Store(true)
	add(t, p.Journal, 3)
	p.disk.Write.Store(false)
	closes(t, p.Journal)
	inRange(t, open(t, journal.Options{Dir: p.dir}), 1, 3)

	p = newPatient(t, 0)
	p.disk.Write.Store(true)
	add(t, p.Journal, 3)
	if err := p.Close(); err == nil {
		t.Error("events that are not written are no error")
	}
	inRange(t, open(t, journal.Options{Dir: p.dir}), 0, 3)
}

func TestFailingSync(t *testing.T) {
	p := newPatient(t, 16<<10)
	p.disk.Sync.Store(true)
	add(t, p.Journal, 60)
	inRange(t, p.Journal, 1, 60)
	if err := p.Close(); !errors.Is(err, syscall.EIO) {
		t.Errorf("closing: %v", err)
	}
	if p.errors() == 0 {
		t.Error("no error")
	}
	inRange(t, open(t, journal.Options{Dir: p.dir}), 1, 60)
}

// TestSyncThatDoesNotEnd has events kept and read over many segments while no sync ends.
func TestSyncThatDoesNotEnd(t *testing.T) {
	p := newPatient(t, 16<<10)
	synced := make(chan struct{})
	p.disk.BeforeSync = func() { <-synced }
	r := p.Follow(0)
	for last := uint64(20); last <= 400; last += 20 {
		add(t, p.Journal, last)
		reads(t, r, last-19, last)
	}
	j := p.reopened(t)
	inRange(t, j, j.First(), 400)
	close(synced)
	closes(t, p.Journal)
}

// TestSkip gives up what is kept: a reader on either side of the gap learns of it, also after a restart.
func TestSkip(t *testing.T) {
	each(t, func(t *testing.T, j *journal.Journal) {
		add(t, j, 5)
		behind, waiting := j.Follow(2), j.Follow(5)
		j.Skip()
		tooOld(t, behind, 0)
		tooOld(t, waiting, 0)
		now := j.Follow(j.Last())
		add(t, j, 9)
		reads(t, now, 7, 9)
		inRange(t, j, 7, 9)
	})
	dir := t.TempDir()
	j := open(t, journal.Options{Dir: dir})
	add(t, j, 5)
	j.Skip()
	add(t, j, 8)
	closes(t, j)
	inRange(t, open(t, journal.Options{Dir: dir}), 7, 8)
}

// TestPipeInPlaceOfASegment replaces a segment that is open by a FIFO, which nothing may wait for.
func TestPipeInPlaceOfASegment(t *testing.T) {
	dir, paths := many(t, 60)
	j := open(t, journal.Options{Dir: dir, MaxBytes: 16 << 10})
	if err := errors.Join(os.Remove(paths[1]), syscall.Mkfifo(paths[1], 0o600)); err != nil {
		t.Fatal(err)
	}
	r := j.Follow(0)
	reads(t, r, 1, faults.Number(t, paths[1])-1)
	tooOld(t, r, faults.Number(t, paths[2]))
	closes(t, j)
	if err := syscall.Mkfifo(paths[1], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := journal.Open(journal.Options{Dir: dir}); err == nil {
		t.Error("a FIFO as a segment is no error")
	}
}

func TestDiskFull(t *testing.T) {
	top := faults.Mount(t)
	dir := filepath.Join(top, "journal")
	registry := prometheus.NewRegistry()
	j := open(t, journal.Options{Dir: dir, Registerer: registry})
	add(t, j, 5)
	free := faults.Fill(t, top)
	live := j.Follow(5)
	add(t, j, 305)
	reads(t, live, 6, 305)
	if metric(t, registry, "pannier_journal_write_errors_total") == 0 {
		t.Error("the disk is not full")
	}
	inRange(t, j, 1, 305)
	free()
	add(t, j, 306)
	closes(t, j)
	j = open(t, journal.Options{Dir: dir})
	inRange(t, j, 1, 306)
	closes(t, j)
}

func TestFullFromTheStart(t *testing.T) {
	top := faults.Mount(t)
	dir := filepath.Join(top, "journal")
	faults.Fill(t, top)
	j := open(t, journal.Options{Dir: dir})
	add(t, j, 10)
	inRange(t, j, 1, 10)
	if err := j.Close(); err == nil {
		t.Error("events that are not written are no error")
	}
	j = open(t, journal.Options{Dir: dir})
	inRange(t, j, 0, 10)
	_ = j.Close()
}

func TestReadOnly(t *testing.T) {
	dir := faults.Mount(t)
	j := open(t, journal.Options{Dir: dir})
	add(t, j, 5)
	closes(t, j)
	faults.Remount(t, dir, syscall.MS_RDONLY)
	j = open(t, journal.Options{Dir: dir})
	inRange(t, j, 1, 5)
	add(t, j, 8)
	inRange(t, j, 1, 8)
	if err := j.Close(); err == nil || !strings.Contains(err.Error(), "after 5") {
		t.Errorf("closing: %v", err)
	}
	j = open(t, journal.Options{Dir: dir})
	inRange(t, j, 1, 5) // not even a name could be written
	tooOld(t, j.Follow(8), 1)
	add(t, j, 6)
	faults.Remount(t, dir, 0)
	add(t, j, 7)
	closes(t, j)
	j = open(t, journal.Options{Dir: dir})
	inRange(t, j, 1, 7)
	closes(t, j)
}
