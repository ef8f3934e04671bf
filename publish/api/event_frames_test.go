package api_test

import (
	"fmt"
	"strings"
	"testing"

	"pannier"
	"pannier/publish/api"
)

// TestFramesAreEncodedOnce for callers that are at the same event, and apart for one that is far behind, within bounds.
func TestFramesAreEncodedOnce(t *testing.T) {
	var f api.Frames
	frame := func(seq uint64, data any) *byte {
		t.Helper()
		text, err := f.Of(pannier.Event{Seq: seq, Type: pannier.EventSkillLoaded, Data: data})
		if err != nil || !strings.HasPrefix(string(text), fmt.Sprintf("id: %d\nevent: skill_loaded\ndata: {\"seq\":%d,", seq, seq)) || !strings.HasSuffix(string(text), "}\n\n") {
			t.Fatalf("%.100s %v", text, err)
		}
		return &text[0]
	}
	for seq := range uint64(100) {
		first := frame(seq+1, "a")
		if frame(seq+1, "a") != first {
			t.Fatalf("event %d is encoded twice", seq+1)
		}
	}
	if n, _ := f.Kept(); n != 64 {
		t.Errorf("%d events are kept", n)
	}
	newest := frame(100, "a")
	if old := frame(1, "a"); old == frame(1, "a") || frame(100, "a") != newest {
		t.Error("an event from long before takes the place of a newer one")
	}
	for seq := range uint64(8) {
		frame(101+seq, strings.Repeat("x", 300<<10))
	}
	if n, bytes := f.Kept(); n != 3 || bytes > 1<<20 {
		t.Errorf("%d events of %d bytes are kept", n, bytes)
	}
	frame(200, strings.Repeat("x", 3<<20))
	if n, _ := f.Kept(); n != 1 {
		t.Errorf("%d events are kept beside one that is over the bound", n)
	}
	if _, err := f.Of(pannier.Event{Seq: 201, Data: func() {}}); err == nil {
		t.Error("what has no JSON is encoded")
	}
}
