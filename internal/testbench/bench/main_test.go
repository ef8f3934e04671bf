package main

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestBench(t *testing.T) {
	var out strings.Builder
	binary := filepath.Join(t.TempDir(), "pannier")
	if err := build(t.Context(), binary); err != nil {
		t.Fatal(err)
	}
	args := "-skills 5 -rounds 1 -samples 1 -rows start,rescan,list,size -before " + binary + " -binary " + binary
	if err := run(t.Context(), strings.Fields(args), &out); err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%s", &out)
	for _, row := range []string{"floor read", "start", "rescan", "list", "size"} {
		_, rest, found := strings.Cut(out.String(), "\n| "+row+" |")
		line, _, _ := strings.Cut(rest, "\n")
		if cells := strings.Split(line, " | "); !found || len(cells) < 10 || cells[3] == "" || cells[9] == "" {
			t.Errorf("row %s has no median or no ratio: %q", row, line)
		}
	}
}
