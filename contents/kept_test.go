package contents

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"pannier"
	"pannier/internal/state"
)

// TestKept keeps what was found in skills at paths of any bytes, within its bound.
func TestKept(t *testing.T) {
	rows := state.Memory()
	c := NewKept(rows, hclog.NewNullLogger())
	if got := c.Read(); len(got) > 0 {
		t.Errorf("an empty store has %v", got)
	}
	one := pannier.Contents{Description: "d", Tools: []pannier.Tool{{Name: "t", Kind: pannier.RuntimePython}}, Digest: pannier.Digest{1}, Of: pannier.Digest{2}}
	c.Put(map[string]pannier.Contents{"skills/\xff": one})
	if err := c.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := NewKept(rows, hclog.NewNullLogger()).Read()["skills/\xff"]
	if got.Description != "d" || len(got.Tools) != 1 || got.Tools[0].Name != "t" || got.Digest != one.Digest || got.Of != one.Of {
		t.Errorf("read %+v", got)
	}

	many, large := map[string]pannier.Contents{}, pannier.Contents{Description: strings.Repeat("x", 1<<20), Digest: pannier.Digest{1}}
	for i := range 20 {
		many[fmt.Sprintf("skills/s%02d", i)] = large
	}
	c.write(many)
	if got := c.Read(); len(got) != 7 || got["skills/s00"].Digest.IsZero() {
		t.Errorf("%d of 20 skills are kept, want 7 of 1 MiB each", len(got))
	}
	if err := rows.Put(bucketKept, keyKept, "damaged"); err != nil {
		t.Fatal(err)
	}
	if got := c.Read(); len(got) > 0 {
		t.Errorf("a damaged row gives %v", got)
	}
}
