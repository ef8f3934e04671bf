package card_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"pannier"
	"pannier/publish/card"
)

// rich returns a snapshot of n skills that have something of everything.
func rich(n int) *pannier.Snapshot {
	s := &pannier.Snapshot{Workspace: pannier.Workspace{Name: "Ops", Description: strings.Repeat("Keeps. ", 40)}}
	for i := range n {
		e := skill(fmt.Sprintf("skill-%d", i), i)
		e.Description = strings.Repeat("Größe ", 40+i)
		e.Tags, e.Examples = []string{"tag", "<tag>"}, []string{"Do \"this\"", "and that"}
		s.Entries = append(s.Entries, e)
	}
	s.Entries[n/2].Tags, s.Entries[n/2].Examples = nil, nil
	return s
}

// shape tells what is left of a card: for each skill E, T and the length of its description, and that of the agent's.
func shape(t *testing.T, c card.Card) string {
	t.Helper()
	d := decode(t, c.JSON)
	var parts []string
	for _, s := range d.Skills {
		part := fmt.Sprint(utf8.RuneCountInString(*s.Description))
		if len(*s.Tags) > 0 {
			part = "T" + part
		}
		if len(*s.Examples) > 0 {
			part = "E" + part
		}
		parts = append(parts, part)
	}
	return strings.Join(append(parts, fmt.Sprint(utf8.RuneCountInString(*d.Description))), " ")
}

// TestTrimOrder walks through all limits, each of which takes away as little as it can.
func TestTrimOrder(t *testing.T) {
	s := rich(3)
	whole := build(t, s, card.Options{})
	var shapes []string
	last := whole
	for limit := len(whole.JSON); limit > 0; limit-- {
		c := build(t, s, card.Options{MaxBytes: limit})
		d := decode(t, c.JSON)
		if len(c.JSON) > limit && len(d.Skills) > 0 {
			t.Fatalf("%d bytes for a limit of %d", len(c.JSON), limit)
		}
		if len(last.JSON) <= limit && !bytes.Equal(c.JSON, last.JSON) {
			t.Fatalf("limit %d: %s, although %s fits", limit, c.JSON, last.JSON)
		}
		if got := shape(t, c); len(shapes) == 0 || got != shapes[len(shapes)-1] {
			shapes = append(shapes, got)
		}
		last = c
	}
	want := []string{
		"ET239 245 ET251 279",
		"ET239 245 T251 279",
		"T239 245 T251 279",
		"T239 245 251 279",
		"239 245 251 279",
		"239 245 200 279",
		"239 200 200 279",
		"200 200 200 279",
		"200 200 200 200",
		"200 200 80 200",
		"200 80 80 200",
		"80 80 80 200",
		"80 80 80 80",
		"80 80 80",
		"80 80",
		"80",
	}
	if diff := cmp.Diff(want, shapes); diff != "" {
		t.Errorf("shapes (-want +got):\n%s", diff)
	}
}

func TestTrimProblem(t *testing.T) {
	s := rich(9)
	whole := build(t, s, card.Options{})
	if whole.Problem != nil || whole.Trimmed != nil {
		t.Errorf("without a limit: %v, %v", whole.Problem, whole.Trimmed)
	}
	size := len(whole.JSON)
	if c := build(t, s, card.Options{MaxBytes: size}); c.Problem != nil || !bytes.Equal(c.JSON, whole.JSON) {
		t.Errorf("a card that just fits: %v", c.Problem)
	}
	for _, test := range []struct {
		limit int
		cuts  []string
		end   string
	}{
		{size - 1, []string{"left out the examples of 1 skill"}, ""},
		{size - 250, []string{"left out the examples of 8 skills", "left out the tags of 3 skills"}, ""},
		{700, []string{
			"left out the examples of 8 skills", "left out the tags of 8 skills",
			"cut the descriptions of 9 skills to 200 characters", "cut the agent's own description to 200 characters",
			"cut the descriptions of 9 skills to 80 characters", "cut the agent's own description to 80 characters",
			"left out the last 7 skills (skill-2, skill-3, skill-4, skill-5, skill-6, 2 more)",
		}, ""},
		{1, []string{
			"left out the examples of 8 skills", "left out the tags of 8 skills",
			"cut the descriptions of 9 skills to 200 characters", "cut the agent's own description to 200 characters",
			"cut the descriptions of 9 skills to 80 characters", "cut the agent's own description to 80 characters",
			"left out the last 9 skills (skill-0, skill-1, skill-2, skill-3, skill-4, 4 more)",
		}, "; it still has 204 bytes, and there is nothing left to cut"},
	} {
		c := build(t, s, card.Options{MaxBytes: test.limit})
		if diff := cmp.Diff(test.cuts, c.Trimmed); diff != "" {
			t.Errorf("limit %d (-want +got):\n%s", test.limit, diff)
		}
		want := &pannier.Problem{
			Code: "card.trimmed", Severity: pannier.SeverityWarning, Path: "config.yaml",
			Message: fmt.Sprintf("the agent card has %d bytes and may have %d: %s%s", size, test.limit, strings.Join(test.cuts, "; "), test.end),
			Hint:    "shorten the examples, tags and descriptions of the skills",
		}
		if diff := cmp.Diff(want, c.Problem); diff != "" {
			t.Errorf("limit %d, problem (-want +got):\n%s", test.limit, diff)
		}
		if c.Digest != pannier.DigestOf(c.JSON) {
			t.Error("the digest is not that of the trimmed card")
		}
	}
}

// TestTrimEmpty has nothing to cut.
func TestTrimEmpty(t *testing.T) {
	c := build(t, &pannier.Snapshot{}, card.Options{MaxBytes: 10})
	if len(c.Trimmed) != 0 || c.Problem == nil || !strings.Contains(c.Problem.Message, "nothing left to cut") {
		t.Errorf("%v, %v", c.Trimmed, c.Problem)
	}
	if c := build(t, &pannier.Snapshot{}, card.Options{MaxBytes: -1}); c.Problem != nil {
		t.Errorf("below zero: %v", c.Problem)
	}
}

func TestTrimLeavesTheSnapshotAlone(t *testing.T) {
	s := rich(3)
	build(t, s, card.Options{MaxBytes: 1})
	if diff := cmp.Diff(rich(3), s); diff != "" {
		t.Errorf("the snapshot changed (-want +got):\n%s", diff)
	}
}

func FuzzTrim(f *testing.F) {
	f.Add("name", "description", "tag", "example", uint8(3), uint16(500))
	f.Add("\x00", strings.Repeat("ä\u2028", 300), "<&>", "\xff", uint8(7), uint16(1000))
	f.Add(" x ", strings.Repeat("x", 201), "", "", uint8(1), uint16(1))
	f.Add("", strings.Repeat("y", 198)+" \t  zz", "a", "b", uint8(40), uint16(9000))
	f.Fuzz(func(t *testing.T, name, description, tag, example string, n uint8, limit uint16) {
		s := &pannier.Snapshot{Workspace: pannier.Workspace{Name: name, Description: description}}
		for i := range n {
			e := skill(fmt.Sprint("s", i), int(i))
			e.Name, e.Description, e.Tags, e.Examples = name, description, []string{tag}, []string{example, tag}
			s.Entries = append(s.Entries, e)
		}
		o := card.Options{MaxBytes: int(limit)}
		c, whole := build(t, s, o), build(t, s, card.Options{})
		d := decode(t, c.JSON)
		if limit > 0 && len(c.JSON) > int(limit) && len(d.Skills) > 0 {
			t.Errorf("%d bytes for a limit of %d: %s", len(c.JSON), limit, c.JSON)
		}
		fits := limit == 0 || len(whole.JSON) <= int(limit)
		if fits && !bytes.Equal(c.JSON, whole.JSON) || fits != (c.Problem == nil) {
			t.Errorf("%d bytes of %d for a limit of %d: %v", len(c.JSON), len(whole.JSON), limit, c.Problem)
		}
		if again := build(t, s, o); !bytes.Equal(again.JSON, c.JSON) || !cmp.Equal(again.Trimmed, c.Trimmed) {
			t.Errorf("not the same twice: %s, %s", c.JSON, again.JSON)
		}
	})
}
