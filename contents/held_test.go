package contents_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pannier"
	"pannier/contents"
	"pannier/internal/state"
)

func skillOf(path string) *pannier.Skill {
	return &pannier.Skill{Path: path, Digest: digest(1), MetaDigest: digest(2)}
}

// unprinted is a verdict without a fingerprint.
func unprinted(n int, rules ...string) pannier.ScanVerdict {
	v := verdict(n, rules...)
	v.Fingerprint = pannier.Digest{}
	return v
}

func TestWhatIsHeldSurvivesARestart(t *testing.T) {
	dir, odd := t.TempDir(), "skills/\xff\x00"
	rows, err := state.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, rows)
	want := unprinted(3, "scan.b", "scan.a")
	err = errors.Join(
		s.Hold(skillOf(odd), unprinted(1, "scan.old")), s.Hold(skillOf(odd), want), s.Hold(skillOf("skills/y"), want),
		s.Release("skills/y"), s.Release("skills/none"), rows.Close(),
	)
	if err != nil {
		t.Fatal(err)
	}
	if rows, err = state.Open(dir); err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	s = open(t, rows)
	h, held := s.PathVerdicts()[odd]
	if !held || len(s.PathVerdicts()) != 1 || h.Digest != digest(1) || h.MetaDigest != digest(2) || !slices.Equal(h.Rules, []string{"scan.a", "scan.b"}) {
		t.Errorf("held %+v", s.PathVerdicts())
	}
	v, found, err := s.VerdictAt(odd)
	if diff := cmp.Diff(want, v); diff != "" || !found || err != nil {
		t.Errorf("%t, %v, (-want +got):\n%s", found, err, diff)
	}
	if _, found, err := s.VerdictAt("skills/y"); found || err != nil {
		t.Errorf("what was released: %t, %v", found, err)
	}
}

func TestHeldIsBounded(t *testing.T) {
	rows := state.Memory()
	for n := range contents.MaxPathVerdicts {
		path := fmt.Append(nil, "skills/", n)
		if err := rows.Put("scan_held", pannier.DigestOf(path).String(), map[string]any{"path": path, "at": noon.Add(time.Duration(n) * time.Second), "rules": []string{"scan.a"}}); err != nil {
			t.Fatal(err)
		}
	}
	s := open(t, rows)
	if err := s.Hold(skillOf("skills/new"), unprinted(contents.MaxPathVerdicts, "scan.a")); err != nil {
		t.Fatal(err)
	}
	_, oldest := s.PathVerdicts()["skills/0"]
	if _, second := s.PathVerdicts()["skills/1"]; oldest || !second || len(s.PathVerdicts()) != contents.MaxPathVerdicts {
		t.Errorf("%d are held, the oldest %t", len(s.PathVerdicts()), oldest)
	}
}

func TestWhatCanNotBeHeld(t *testing.T) {
	rows := state.Memory()
	if err := open(t, rows).Hold(skillOf("skills/x"), unprinted(1, "scan.a")); err != nil {
		t.Fatal(err)
	}
	s := open(t, failing{rows})
	if err := s.Hold(skillOf("skills/x"), unprinted(2, "scan.b")); err == nil || !slices.Equal(s.PathVerdicts()["skills/x"].Rules, []string{"scan.a"}) {
		t.Errorf("%v, %+v", err, s.PathVerdicts())
	}
}
