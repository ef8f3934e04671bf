package config_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"pannier/config"
)

func readKeys(t *testing.T, text string) []string {
	t.Helper()
	dir := t.TempDir()
	writeConfig(t, dir, text)
	return config.NewWorkspaceReader(dir, 0).Read().Keys
}

func TestKeysThatHoldSomething(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"nothing", "", nil},
		{"what is something", "a: 1\nb: text\nc: true\nd: [x]\ne: {f: {g: y}}\nh: '0'\ni: -1.5\n", []string{"a", "b", "c", "d", "e", "e.f", "e.f.g", "h", "i"}},
		{"what is nothing", "a:\nb: ''\nc: false\nd: []\ne: {}\nf: 0\ng: 0.0\nh: ~\ni: off\nj: No\n", nil},
		{"a mapping of nothing is something", "a: {b: null}\n", []string{"a"}},
		{"a dot in a key", "a.b: 1\nc: {d.e: 1, f: 2}\n", []string{"c", "c.f"}},
		{"deep", "a: {b: {c: {d: {e: {f: {g: {h: {i: 1}}}}}}}}\n", []string{"a", "a.b", "a.b.c", "a.b.c.d", "a.b.c.d.e", "a.b.c.d.e.f", "a.b.c.d.e.f.g", "a.b.c.d.e.f.g.h"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, readKeys(t, tt.text)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
