package profile_test

import (
	"testing"

	"pannier/loader/profile"
)

// BenchmarkCheck judges a skill that is as most are.
func BenchmarkCheck(b *testing.B) {
	s := skillOf("pdf-tools", front("name: pdf-tools", "description: Fills in forms. Use it when a user hands over a form.",
		"license: MIT", "allowed-tools: Read Bash(git:*)", "metadata:", "  author: Ann", "  openclaw:", "    requires:", "      bins:", "        - qpdf"))
	for _, name := range profile.Names() {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				profile.Check(name, s)
			}
		})
	}
}
