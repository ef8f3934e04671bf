package seqlog

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestSegments(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	if numbers, err := Segments(dir, 9); numbers != nil || err != nil {
		t.Errorf("missing directory: %v, %v", numbers, err)
	}
	err := os.Mkdir(dir, 0o700)
	for _, name := range []string{
		SegmentPath("", 4217), SegmentPath("", 1), SegmentPath("", 0), SegmentPath("", 5000), "1.jsonl",
		"00000000000000000002.json", "0000000000000000000x.jsonl", "000000000000000000003.jsonl", "99999999999999999999.jsonl",
	} {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	if numbers, err := Segments(dir, 4999); !slices.Equal(numbers, []uint64{1, 4217}) || err != nil {
		t.Errorf("%v, %v", numbers, err)
	}
	if path := SegmentPath("/d", 4217); path != "/d/00000000000000004217.jsonl" {
		t.Error(path)
	}
	if _, err := Segments(SegmentPath(dir, 1), 9); err == nil {
		t.Error("a file has segments")
	}
}
