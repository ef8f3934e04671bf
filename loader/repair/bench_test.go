package repair_test

import (
	"testing"

	"pannier/internal/yamldoc"
	"pannier/loader/repair"
)

const benchText = `name: query-release
description: "Query REST APIs and render release notes. Use when the user asks to query time series. Not for invoices; prefer the dedicated skill there."
version: 1.4.2
license: MIT
allowed-tools: Read, Grep, Bash(git:*)
metadata: {"openclaw": {"emoji": "x", "requires": {"bins": ["jq", "gh"], "env": ["GH_TOKEN"]}, "primaryEnv": "GH_TOKEN"}}
`

// BenchmarkParse shows that a text that is YAML costs what the strict reading costs, and what a repair costs.
func BenchmarkParse(b *testing.B) {
	broken := "summary: It: queries\n" + benchText
	b.Run("strict", func(b *testing.B) {
		bench(b, benchText, func(text []byte) error { _, _, err := yamldoc.Parse(text); return err })
	})
	b.Run("nothing to repair", func(b *testing.B) {
		bench(b, benchText, func(text []byte) error { _, err := repair.Parse(text); return err })
	})
	b.Run("repaired", func(b *testing.B) {
		bench(b, broken, func(text []byte) error { _, err := repair.Parse(text); return err })
	})
}

// TestNothingToRepairCostsNothing counts what the benchmark measures.
func TestNothingToRepairCostsNothing(t *testing.T) {
	text := []byte(benchText)
	strict := testing.AllocsPerRun(100, func() { _, _, _ = yamldoc.Parse(text) })
	lenient := testing.AllocsPerRun(100, func() { _, _ = repair.Parse(text) })
	if lenient > strict {
		t.Errorf("%v allocations, strictly %v", lenient, strict)
	}
}

func bench(b *testing.B, text string, parse func([]byte) error) {
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if err := parse([]byte(text)); err != nil {
			b.Fatal(err)
		}
	}
}
