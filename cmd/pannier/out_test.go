package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestTableIsAligned(t *testing.T) {
	var out bytes.Buffer
	s := streams{out: &out}
	rows := [][]string{{"SLUG", "VERSION", "ABOUT"}, {"a", "日本", "x"}, {"e\u0301t", "", "x"}, {"a\tb\x1b[31m", "1.0", "x"}}
	need(t, s.table(rows))
	want := "SLUG     VERSION  ABOUT\n" +
		"a        日本     x\n" +
		"e\u0301t" + strings.Repeat(" ", 16) + "x\n" +
		"a b[31m  1.0      x\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

// Colour says nothing that the words do not, and takes no room.
func TestColour(t *testing.T) {
	paint := palette{on: true}
	for plain, coloured := range map[string]string{
		"eligible": paint.state("eligible"), "eligible (last good)": paint.state("eligible (last good)"), "shadowed": paint.state("shadowed"),
		"error": paint.severity("error"), "info": paint.severity("info"), "ok": paint.verdict("ok"), "failing": paint.verdict("failing"),
	} {
		bare := coloured
		for _, code := range []string{red, green, yellow, bold, faint, "0"} {
			bare = strings.ReplaceAll(bare, "\x1b["+code+"m", "")
		}
		if bare != plain {
			t.Errorf("%q is %q", plain, coloured)
		}
	}
	if got := (palette{}).state("eligible"); got != "eligible" {
		t.Errorf("without colour: %q", got)
	}
	var out bytes.Buffer
	s := streams{out: &out, paint: paint}
	need(t, s.paintedTable([][]string{{"a", "b"}, {"aaa", "b"}}, func(_, _ int, cell string) string { return paint.bad(cell) }))
	if want := "\x1b[31ma\x1b[0m    \x1b[31mb\x1b[0m\n\x1b[31maaa\x1b[0m  \x1b[31mb\x1b[0m\n"; out.String() != want {
		t.Errorf("got %q", out.String())
	}
}

// TestFitWidth cuts the last column alone, by the cells that it takes, and nothing without a terminal.
func TestFitWidth(t *testing.T) {
	table := func() [][]string {
		return [][]string{{"SLUG", "ABOUT"}, {"pdf-forms", "Fills in the fields of a form, and says which are left."}, {"x", strings.Repeat("日本", 12)}}
	}
	for width, want := range map[int][2]string{
		0:   {table()[1][1], table()[2][1]},
		100: {table()[1][1], table()[2][1]},
		40:  {"Fills in the fields of a for…", strings.Repeat("日本", 7) + "…"},
		5:   {"Fills in the fields…", strings.Repeat("日本", 4) + "日…"},
	} {
		rows := table()
		if fitWidth(rows, width); rows[1][1] != want[0] || rows[2][1] != want[1] || rows[1][0] != "pdf-forms" {
			t.Errorf("width %d: %q", width, rows)
		}
	}
	if width := columns(&bytes.Buffer{}); width != 0 {
		t.Errorf("a buffer has %d cells", width)
	}
}
