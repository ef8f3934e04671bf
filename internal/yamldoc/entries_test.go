package yamldoc_test

import (
	"testing"

	"pannier/internal/yamldoc"
)

// TestEnlistLeavesAllAlone: where the list stands for all skills, installing one neither changes the text nor fails.
func TestEnlistLeavesAllAlone(t *testing.T) {
	for _, text := range []string{"skills: all\n", "skills: '*'\n", "name: a\n"} {
		for name, edit := range map[string]func([]byte, string, string) ([]byte, error){"enlist": yamldoc.Enlist, "delist": yamldoc.Delist} {
			if got, err := edit([]byte(text), "skills", "pdf"); err != nil || string(got) != text {
				t.Errorf("%s in %q: %q, %v", name, text, got, err)
			}
		}
	}
}
