package contents_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pannier"
	"pannier/config"
	"pannier/contents"
	"pannier/internal/state"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func digest(n int) pannier.Digest { return pannier.DigestOf(fmt.Append(nil, n)) }

// blocksIn keeps blocks in the same store as the verdicts, so that one failing store fails both.
type blocksIn struct{ contents.Rows }

func (b blocksIn) Replace(section string, rows map[string]json.RawMessage) error {
	before, err := b.All(section)
	if err != nil {
		return err
	}
	for key := range before {
		err = errors.Join(err, b.Delete(section, key))
	}
	for key, raw := range rows {
		err = errors.Join(err, b.Put(section, key, raw))
	}
	return err
}

func open(t *testing.T, rows contents.Rows) *contents.Verdicts {
	t.Helper()
	s, err := contents.OpenVerdicts(rows, blocksIn{rows})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// rules returns those that block a fingerprint.
func rules(s *contents.Verdicts, n int) []string {
	v, _ := s.Summary(digest(n))
	return v.Blocking
}

func put(t *testing.T, s *contents.Verdicts, v pannier.ScanVerdict) pannier.ScanVerdict {
	t.Helper()
	v, err := s.Put(v)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func verdict(n int, rules ...string) pannier.ScanVerdict {
	v := pannier.ScanVerdict{Fingerprint: digest(n), At: noon.Add(time.Duration(n) * time.Second), Decision: pannier.ScanAllow, Origin: pannier.ScanExplicit}
	for _, rule := range rules {
		v.Decision = pannier.ScanBlock
		v.Findings = append(v.Findings, pannier.Finding{Rule: rule, Severity: pannier.SeverityError, Path: "bin/x", Message: "m", Hint: "h", Blocking: true})
	}
	return v
}

func TestVerdictsSurviveARestart(t *testing.T) {
	dir := t.TempDir()
	rows, err := state.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, rows)
	want := put(t, s, verdict(1, "scan.b", "scan.a"))
	put(t, s, verdict(2, "scan.old"))
	clean := put(t, s, verdict(2))
	if err := errors.Join(s.SetBlocked(map[string]pannier.Digest{"skills/x": digest(1)}), rows.Close()); err != nil {
		t.Fatal(err)
	}
	if rows, err = state.Open(dir); err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	s = open(t, rows)
	for _, v := range []pannier.ScanVerdict{want, clean} {
		got, found, err := s.Get(v.Fingerprint)
		if diff := cmp.Diff(v, got); diff != "" || !found || err != nil {
			t.Errorf("%t, %v, (-put +got):\n%s", found, err, diff)
		}
	}
	if got := rules(s, 1); !slices.Equal(got, []string{"scan.a", "scan.b"}) {
		t.Errorf("rules %q", got)
	}
	if len(rules(s, 2)) != 0 || len(rules(s, 3)) != 0 {
		t.Error("what was not found blocks")
	}
	if _, found, err := s.Get(digest(3)); found || err != nil {
		t.Errorf("a fingerprint without a verdict: %t, %v", found, err)
	}
	if diff := cmp.Diff(map[string]pannier.Digest{"skills/x": digest(1)}, s.Blocked()); diff != "" {
		t.Errorf("blocked (-want +got):\n%s", diff)
	}
}

func TestFindingsAreBounded(t *testing.T) {
	v := verdict(1)
	for n := range 40 {
		v.Findings = append(v.Findings, pannier.Finding{Rule: fmt.Sprint("tell.", n)}, pannier.Finding{Rule: "block.same", Line: n, Blocking: true})
	}
	v.Findings = append(v.Findings, pannier.Finding{Rule: "block.last", Blocking: true})
	got := put(t, open(t, state.Memory()), v)
	if len(got.Findings) != contents.MaxFindings || !got.Truncated || !slices.Equal(got.Blocking(), []string{"block.last", "block.same"}) {
		t.Errorf("%d findings that block %q", len(got.Findings), got.Blocking())
	}
	if got.Findings[0].Rule != "tell.0" || got.Findings[1].Rule != "block.same" || got.Findings[len(got.Findings)-1].Rule != "block.last" {
		t.Errorf("not in their order: %+v", got.Findings)
	}
	v = verdict(2)
	for n := range contents.MaxFindings + 10 {
		v.Findings = append(v.Findings, pannier.Finding{Rule: fmt.Sprint("block.", n), Blocking: true})
	}
	if got := put(t, open(t, state.Memory()), v); len(got.Blocking()) != contents.MaxFindings+10 {
		t.Errorf("%d rules block", len(got.Blocking()))
	}
}

// filled returns a store with the verdicts 1 to MaxVerdicts-1 of an earlier process.
func filled(t *testing.T, of func(n int) pannier.ScanVerdict) contents.Rows {
	t.Helper()
	rows := state.Memory()
	for n := 1; n < contents.MaxVerdicts; n++ {
		if err := rows.Put("scans", digest(n).String(), of(n)); err != nil {
			t.Fatal(err)
		}
	}
	return rows
}

func TestVerdictsAreBounded(t *testing.T) {
	rows := filled(t, func(n int) pannier.ScanVerdict { return verdict(n) })
	s := open(t, rows)
	put(t, s, verdict(0, "block.oldest"))
	put(t, s, verdict(5)) // takes no room
	put(t, s, verdict(contents.MaxVerdicts))
	for n, want := range map[int]bool{0: true, 1: false, 2: true, 5: true, contents.MaxVerdicts: true} {
		if _, found, err := s.Get(digest(n)); found != want || err != nil {
			t.Errorf("verdict %d is kept: %t, %v", n, found, err)
		}
	}
	kept, err := rows.All("scans")
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for range kept {
		count++
	}
	if count != contents.MaxVerdicts {
		t.Errorf("%d rows", count)
	}
}

// failing is a store whose disk is full.
type failing struct{ *state.Store }

func (failing) Put(string, string, any) error { return errors.New("disk full") }

func TestWhatIsNotKeptDoesNotCount(t *testing.T) {
	rows := state.Memory()
	put(t, open(t, rows), verdict(1, "scan.a"))
	s := open(t, failing{rows})
	if _, err := s.Put(verdict(1)); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("%v", err)
	}
	if err := s.SetBlocked(map[string]pannier.Digest{"a": digest(1)}); err == nil || len(s.Blocked()) != 0 {
		t.Errorf("%v, %v", err, s.Blocked())
	}
	if got := rules(s, 1); !slices.Equal(got, []string{"scan.a"}) {
		t.Errorf("rules %q", got)
	}
}

func TestRowsThatMakeNoSense(t *testing.T) {
	for name, row := range map[string]struct {
		bucket, key string
		value       any
	}{
		"no rules":                {"scan_rules", digest(1).String(), "text"},
		"an empty list of rules":  {"scan_rules", digest(1).String(), map[string]any{"rules": []string{}}},
		"rules of no fingerprint": {"scan_rules", "x", map[string]any{"rules": []string{"r"}}},
		"no blocked directory":    {"scan_blocked", digest(1).String(), []int{1}},
		"blocked elsewhere":       {"scan_blocked", digest(1).String(), map[string]any{"path": []byte("skills/x")}},
		"nothing that is held":    {"scan_held", digest(1).String(), "text"},
		"held of another path":    {"scan_held", digest(1).String(), map[string]any{"path": []byte("skills/x")}},
	} {
		rows := state.Memory()
		if err := rows.Put(row.bucket, row.key, row.value); err != nil {
			t.Fatal(err)
		}
		if _, err := contents.OpenVerdicts(rows, blocksIn{rows}); err == nil {
			t.Errorf("%s: opened", name)
		}
	}
}

// TestWhatBlocksSurvivesTheDatabase loses the database: everything that blocks still blocks, and its verdict names the rules.
func TestWhatBlocksSurvivesTheDatabase(t *testing.T) {
	blocks := state.Memory()
	before, err := contents.OpenVerdicts(state.Memory(), blocksIn{blocks})
	if err != nil {
		t.Fatal(err)
	}
	put(t, before, verdict(1, "scan.a"))
	put(t, before, verdict(2, "scan.old"))
	put(t, before, verdict(2))
	err = errors.Join(before.SetBlocked(map[string]pannier.Digest{"skills/\xff": digest(1)}), before.Hold(skillOf("skills/y"), unprinted(3, "scan.b")))
	if err != nil {
		t.Fatal(err)
	}
	for name, rows := range map[string]contents.Rows{"an empty one": state.Memory(), "rows that make no sense": nonsense(t)} {
		s, err := contents.OpenVerdicts(rows, blocksIn{blocks})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(rules(s, 1), []string{"scan.a"}) || len(rules(s, 2)) > 0 || s.Blocked()["skills/\xff"] != digest(1) {
			t.Errorf("%s: rules %q and %q, blocked %v", name, rules(s, 1), rules(s, 2), s.Blocked())
		}
		v, found, err := s.Get(digest(1))
		if !found || err != nil || v.Decision != pannier.ScanBlock || !slices.Equal(v.Blocking(), []string{"scan.a"}) {
			t.Errorf("%s: %+v, %t, %v", name, v, found, err)
		}
		v, found, err = s.VerdictAt("skills/y")
		if !found || err != nil || !slices.Equal(v.Blocking(), []string{"scan.b"}) {
			t.Errorf("%s: held %+v, %t, %v", name, v, found, err)
		}
	}
}

func nonsense(t *testing.T) contents.Rows {
	rows := state.Memory()
	if err := errors.Join(rows.Put("scans", digest(1).String(), "text"), rows.Put("scans", digest(2).String(), verdict(3))); err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestManyAtATime(t *testing.T) {
	s := open(t, state.Memory())
	var callers sync.WaitGroup
	for n := range 8 {
		callers.Go(func() {
			for k := range 50 {
				if _, err := s.Put(verdict(k, fmt.Sprint("rule.", n))); err != nil {
					t.Error(err)
				}
				rules(s, k)
				if _, found, err := s.Get(digest(k)); !found || err != nil {
					t.Errorf("%t, %v", found, err)
				}
				if err := s.SetBlocked(map[string]pannier.Digest{"a": digest(k)}); err != nil {
					t.Error(err)
				}
				s.Blocked()
			}
		})
	}
	callers.Wait()
}

// TestBackgroundDoesNotUnblock: a background scan replaces its own verdicts, and none that a client asked for and that blocks.
func TestBackgroundDoesNotUnblock(t *testing.T) {
	s := open(t, state.Memory())
	background := func(n int, rules ...string) pannier.ScanVerdict {
		v := verdict(n, rules...)
		v.Origin = pannier.ScanBackground
		return v
	}
	for n, first := range []pannier.ScanVerdict{verdict(0, "scan.a"), verdict(1), background(2, "scan.a")} {
		put(t, s, first)
		put(t, s, background(n, "scan.b"))
	}
	for n, want := range []struct {
		origin pannier.ScanOrigin
		rule   string
	}{{pannier.ScanExplicit, "scan.a"}, {pannier.ScanBackground, "scan.b"}, {pannier.ScanBackground, "scan.b"}} {
		v, found := s.Summary(digest(n))
		if !found || v.Origin != want.origin || !slices.Equal(v.Blocking, []string{want.rule}) {
			t.Errorf("verdict %d is %+v, want %+v", n, v, want)
		}
	}
}

// TestVerdictsForEachSkill: by default there is room for the verdicts of all skills of three roots.
func TestVerdictsForEachSkill(t *testing.T) {
	s, err := config.Load(nil, []string{"HOME=" + t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if contents.MaxVerdicts < 3*s.MaxDirs {
		t.Errorf("%d verdicts for roots of %d directories", contents.MaxVerdicts, s.MaxDirs)
	}
}

// TestBlockingVerdictsAreKeptLongest: a skill that changes all the time pushes no verdict out that a client asked for.
func TestBlockingVerdictsAreKeptLongest(t *testing.T) {
	background := func(n int) pannier.ScanVerdict {
		v := verdict(n, "scan.b")
		v.Origin = pannier.ScanBackground
		return v
	}
	s := open(t, filled(t, background))
	put(t, s, verdict(0, "scan.a"))
	for n := range 2 {
		put(t, s, background(contents.MaxVerdicts+n))
	}
	if v, found := s.Summary(digest(0)); !found || !v.AlwaysBlocks() {
		t.Errorf("the verdict of a client is gone: %+v", v)
	}
}
