package logpipe_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"pannier/internal/logpipe"
)

const patience = 30 * time.Second

// told is the line of n lines that were dropped.
func told(n uint64) []byte { return fmt.Appendf(nil, "%d were dropped\n", n) }

func TestLinesKeepTheirOrder(t *testing.T) {
	var out bytes.Buffer
	w := logpipe.New(logpipe.Options{To: &out, MaxBytes: 1 << 20, Told: told})
	var want strings.Builder
	line := make([]byte, 0, 16) // the same bytes again and again, as a logger has them
	for i := range 1000 {
		line = fmt.Appendf(line[:0], "line %d\n", i)
		want.Write(line)
		if n, err := w.Write(line); n != len(line) || err != nil {
			t.Fatalf("%d, %v", n, err)
		}
	}
	if !w.Close(patience) || out.String() != want.String() || w.Dropped() != 0 {
		t.Errorf("%d dropped, wrote\n%s", w.Dropped(), &out)
	}
}

// TestPipeThatNobodyReads is written to without waiting; what is missing is told where it is missing once somebody
// reads.
func TestPipeThatNobodyReads(t *testing.T) {
	r, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	w := logpipe.New(logpipe.Options{To: to, MaxBytes: 10_000, Told: told})
	long := strings.Repeat("x", 995)
	for i := range 1000 { // far more than pipe and buffer hold
		fmt.Fprintf(w, "%03d %s\n", i, long)
	}
	dropped := w.Dropped()
	if dropped == 0 || w.Close(0) {
		t.Fatalf("%d dropped", dropped)
	}
	read := make(chan string)
	go func() {
		text, _ := io.ReadAll(r)
		read <- string(text)
	}()
	if !w.Close(patience) {
		t.Fatal("what waits is not written although somebody reads")
	}
	to.Close()
	next, missing := 0, 0
	for line := range strings.Lines(<-read) {
		var n int
		if _, err := fmt.Sscanf(line, "%d were dropped", &n); err == nil {
			next, missing = next+n, missing+n
			continue
		}
		if line != fmt.Sprintf("%03d %s\n", next, long) {
			t.Fatalf("%.10q stands where the line %d does", line, next)
		}
		next++
	}
	if next != 1000 || missing != int(dropped) {
		t.Errorf("the log tells of %d lines, %d of them dropped; %d were", next, missing, dropped)
	}
}

// gate is a writer that waits until it is opened.
type gate struct {
	open chan struct{}
	mu   sync.Mutex
	text strings.Builder
}

func (g *gate) Write(p []byte) (int, error) {
	<-g.open
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.text.Write(p)
}

func (g *gate) String() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.text.String()
}

func TestDroppedLinesAreTold(t *testing.T) {
	g := &gate{open: make(chan struct{})}
	w := logpipe.New(logpipe.Options{To: g, MaxBytes: 8, Told: told})
	io.WriteString(w, "a line that is longer than all of the buffer\n")
	for w.Dropped() < 3 { // the first few fill the buffer
		io.WriteString(w, "b\n")
	}
	before := w.Dropped()
	close(g.open)
	deadline := time.After(patience)
	for !strings.HasSuffix(g.String(), fmt.Sprintf("\n%d were dropped\n", before)) {
		select {
		case <-deadline:
			t.Fatalf("wrote %q", g)
		case <-time.After(time.Millisecond):
		}
	}
	io.WriteString(w, "c\n") // it goes on
	if !w.Close(patience) || !strings.HasSuffix(g.String(), " were dropped\nc\n") || strings.Count(g.String(), "dropped") != 1 {
		t.Errorf("wrote %q", g)
	}
	io.WriteString(w, "too late\n")
	if w.Dropped() != before+1 || strings.Contains(g.String(), "late") {
		t.Errorf("%d dropped, wrote %q", w.Dropped(), g)
	}
}

// full is a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestLinesThatCanNotBeWrittenAreCounted(t *testing.T) {
	w := logpipe.New(logpipe.Options{To: full{}, MaxBytes: 1 << 20, Told: told})
	for range 3 {
		io.WriteString(w, "line\n")
	}
	if !w.Close(patience) || w.Dropped() != 3 {
		t.Errorf("%d dropped", w.Dropped())
	}
}
