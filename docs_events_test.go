package pannier_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestEventsDocument compares the table of event types in docs/EVENTS.md with the types in event.go.
func TestEventsDocument(t *testing.T) {
	source, err := os.ReadFile("event.go")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("docs/EVENTS.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "\n## Event types\n")
	table, _, _ = strings.Cut(table, "\n## ")
	documented := firstGroups(regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\|"), table)
	types := firstGroups(regexp.MustCompile(`EventType = "([a-z_]+)"`), string(source))
	if diff := cmp.Diff(documented, types); diff != "" || len(types) < 10 {
		t.Errorf("-docs/EVENTS.md +event.go:\n%s", diff)
	}
}

// firstGroups returns what the first group of an expression matches in a text, sorted.
func firstGroups(expression *regexp.Regexp, text string) (groups []string) {
	for _, m := range expression.FindAllStringSubmatch(text, -1) {
		groups = append(groups, m[1])
	}
	slices.Sort(groups)
	return groups
}
