package scan_test

import (
	"bytes"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"pannier/internal/testbench/fixture"
	"pannier/loader/scan"
)

// repeated returns a text over and over, up to a length.
func repeated(text string, n int) []byte { return bytes.Repeat([]byte(text), n/len(text)+1)[:n] }

// prose is ordinary text with some commands in it.
const prose = "Ask the API with `curl`, and read the answer; \"jq\" and a $TOKEN are needed (see docs/API.md).\n\n```bash\ncurl -s \"https://api.acme.test/v1/items\" | jq -r '.[].name'\necho done > out.txt\n```\n"

// leastTime runs work until it takes at most enough, at most five times, and returns the least processor time: what else
// the machine does makes it longer, never shorter.
func leastTime(tb testing.TB, enough time.Duration, work func()) time.Duration {
	tb.Helper()
	least := time.Duration(math.MaxInt64)
	for i := 0; i < 5 && least > enough; i++ {
		start := fixture.ProcessTime(tb)
		work()
		least = min(least, fixture.ProcessTime(tb)-start)
	}
	return least
}

// maxSlowdown is how many times as long as ordinary text of the same length a hostile one may take. The aim is 10; the
// rest is for what else the machine and the collector of garbage do.
const maxSlowdown = 40

// TestHostileWork searches texts of 256 KiB that repeat the keys of each rule, taken from the tables of rules, and each
// hostile text. The work has a bound, and a text that meets it is blocked.
func TestHostileWork(t *testing.T) {
	const size = 256 << 10
	hostile := scan.Keys()
	for _, key := range scan.Keys() {
		for _, more := range []string{" x ", "$(a ~/.ssh/id_rsa "} {
			hostile = append(hostile, key+more)
		}
	}
	for i, f := range texts(t, "testdata/hostile.txtar") {
		if i%4 == 0 {
			hostile = append(hostile, string(f.Data))
		}
	}
	start := fixture.ProcessTime(t)
	for range 8 {
		scan.Work("a.md", repeated(prose, size))
	}
	ordinary := (fixture.ProcessTime(t) - start) / 8
	if used, most, all := scan.Work("a.md", repeated(prose, size)); !all {
		t.Errorf("ordinary text takes more than %d units, at most %d, all %v", used, most, all)
	}
	var slowest time.Duration
	for i, key := range hostile {
		text := repeated(key, size)
		var used, most int
		var all bool
		took := leastTime(t, maxSlowdown*ordinary, func() { used, most, all = scan.Work("a.sh", text) })
		slowest = max(slowest, took)
		if used > most {
			t.Errorf("%q: %d units of work, at most %d", key, used, most)
		}
		if took > maxSlowdown*ordinary {
			t.Errorf("%q: takes %v, ordinary text %v", key, took, ordinary)
		}
		if !all && i%10 == 0 && !slices.Contains(codesOf(scan.Text("a.sh", text)), "scan.bound.places") {
			t.Errorf("%q: not all was searched, and no finding tells", key)
		}
	}
	t.Logf("ordinary text of %d bytes takes %v, the slowest of %d hostile ones %v", size, ordinary, len(hostile), slowest)
}

// TestOrdinaryWork keeps well below the bounds with the ordinary texts, as they are and many of them together.
func TestOrdinaryWork(t *testing.T) {
	for _, f := range texts(t, "testdata/benign.txtar") {
		if used, most, all := scan.Work(path.Base(f.Name), f.Data); !all || used > most/4 {
			t.Errorf("%s: %d units of %d", f.Name, used, most)
		}
	}
}

// TestWorkOfAll bounds the work of all files of a skill together, and of both readings of a file.
func TestWorkOfAll(t *testing.T) {
	root, dir := skillIn(t)
	many := files{}
	for i := range 100 {
		many[fmt.Sprintf("a%03d.sh", i)] = "#!\n" + string(repeated("rm x ", 64<<10))
	}
	write(t, dir, many)
	report := scanOf(t, root, scan.Options{})
	if got := codesOf(report.Findings); !slices.Equal(got, []string{"scan.bound.places"}) || len(report.Findings) != 100 {
		t.Errorf("%d findings of %v", len(report.Findings), got)
	}
	used, most, all := scan.Work("a", []byte("\xff\xfe"+strings.Repeat("r\x00m\x00 \x00", 64<<10)))
	if used > most || !all {
		t.Errorf("%d units of %d, all %v", used, most, all)
	}
}

// TestPackedWork counts what is decompressed and is no file of the archive.
func TestPackedWork(t *testing.T) {
	empty := gz(t, tarOfDirectories(t, 10_000))
	many := files{}
	for i := range 12 {
		many[fmt.Sprintf("%02d.bin", i)] = empty
	}
	root, dir := skillIn(t)
	write(t, dir, many)
	report := scanOf(t, root, scan.Options{})
	bounded := 0
	for _, f := range report.Findings {
		if f.Rule == "scan.file.archive" {
			bounded++
		}
	}
	if bounded == 0 {
		t.Errorf("120,000 entries were read: %+v", report.Findings)
	}
}
