package tools

import (
	"fmt"
	"testing"

	"pannier"
)

// TestSchemasAreBounded keeps compiled schemas of called tools alone, and few of them.
func TestSchemasAreBounded(t *testing.T) {
	var s schemas
	tool := func(i int) *pannier.RuntimeTool {
		return &pannier.RuntimeTool{Parameters: fmt.Appendf(nil, `{"type":"object","properties":{"p%d":{"type":"string"}}}`, i)}
	}
	for i := range 3 * maxFaults / 2 {
		if err := s.fault(tool(i)); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.called) != 0 || len(s.faults) > maxFaults {
		t.Errorf("%d compiled schemas and %d faults are kept for lists", len(s.called), len(s.faults))
	}
	for i := range 100 {
		if made, err := s.of(tool(i)); made == nil || err != nil {
			t.Fatal(err)
		}
	}
	if len(s.called) > maxCalledSchemas {
		t.Errorf("%d compiled schemas are kept", len(s.called))
	}
	bad := &pannier.RuntimeTool{Parameters: []byte(`{"type":"nothing"}`)}
	if _, err := s.of(bad); err == nil || s.fault(bad) == nil {
		t.Error("a faulty schema is no fault")
	}
}
