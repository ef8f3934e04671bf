package audit_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"

	"pannier"
	"pannier/admin/audit"
	"pannier/internal/testbench/faults"
)

// dirVariable makes the test binary a process that appends to the log there, and says what it has appended.
const dirVariable = "PANNIER_AUDIT_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(dirVariable); dir != "" {
		appendForever(dir)
	}
	goleak.VerifyTestMain(m)
}

func appendForever(dir string) {
	l, err := audit.Open(audit.Options{Dir: dir, MaxBytes: 8 << 10})
	for err == nil {
		var e pannier.AuditEntry
		if e, err = l.Append(entry(0)); err == nil {
			fmt.Println(e.Seq)
		}
	}
	os.Exit(1)
}

// entry returns an entry about one of three skills.
func entry(n int) pannier.AuditEntry {
	uid := uint32(1000)
	return pannier.AuditEntry{
		Phase: pannier.AuditIntent, Action: pannier.ActionSetPolicy, Actor: pannier.Actor{Kind: "socket", UID: &uid},
		Slug: fmt.Sprint("skill-", n%3), Detail: map[string]any{"n": n, "<&>": "\x00\n"},
	}
}

func open(t testing.TB, o audit.Options) *audit.Log {
	t.Helper()
	if o.Logger == nil {
		o.Logger = hclog.New(&hclog.LoggerOptions{Output: t.Output()})
	}
	l, err := audit.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// add appends entries with the numbers from first to last.
func add(t testing.TB, l *audit.Log, first, last uint64) {
	t.Helper()
	for seq := first; seq <= last; seq++ {
		if e, err := l.Append(entry(int(seq))); err != nil || e.Seq != seq {
			t.Fatalf("appended %d, %v, want %d", e.Seq, err, seq)
		}
	}
}

// fails fails the test where an entry is not refused for cause.
func fails(t testing.TB, l *audit.Log, cause error) {
	t.Helper()
	if e, err := l.Append(entry(0)); !errors.Is(err, pannier.ErrNotAudited) || !errors.Is(err, cause) {
		t.Fatalf("got %d, %v, want %v", e.Seq, err, cause)
	}
}

// seqs returns the numbers of the newest entries.
func seqs(t testing.TB, l *audit.Log, slug string, limit int) []uint64 {
	t.Helper()
	entries, err := l.Newest(slug, 0, limit)
	if err != nil {
		t.Fatal(err)
	}
	var got []uint64
	for _, e := range entries {
		got = append(got, e.Seq)
	}
	return got
}

// has fails the test where the log does not have just the entries from first to last.
func has(t testing.TB, l *audit.Log, first, last uint64) {
	t.Helper()
	var want []uint64
	for seq := last; seq >= first; seq-- {
		want = append(want, seq)
	}
	if got := seqs(t, l, "", 1<<20); !slices.Equal(got, want) {
		t.Fatalf("the log has %d, want %d to %d", got, first, last)
	}
}

// verified fails the test where the chain of a directory has not so many entries.
func verified(t testing.TB, dir string, want int) {
	t.Helper()
	if got, err := audit.Verify(dir, nil); err != nil || got.Entries != want {
		t.Fatalf("verified %+v, %v, want %d", got, err, want)
	}
}

func closes(t testing.TB, l *audit.Log) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// many returns a directory with a log of several files from the first entry to last.
func many(t testing.TB, last uint64) (dir string, paths []string) {
	t.Helper()
	dir = t.TempDir()
	l := open(t, audit.Options{Dir: dir, MaxBytes: 2 << 10})
	add(t, l, 1, last)
	closes(t, l)
	return dir, faults.Segments(t, dir)
}

func detail(t testing.TB, e pannier.AuditEntry) string {
	t.Helper()
	raw, ok := e.Detail.(json.RawMessage)
	if !ok {
		t.Fatalf("the detail is a %T", e.Detail)
	}
	return string(raw)
}

func fileOf(name uint64) string { return fmt.Sprintf("%020d.jsonl", name) }
