package config

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSettingsDocument compares the tables of docs/SETTINGS.md with the settings and their defaults. Defaults that help describes in
// words are described in the page too, in words of its own.
func TestSettingsDocument(t *testing.T) {
	text, err := os.ReadFile("../docs/SETTINGS.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if cells := strings.Split(line, "|"); len(cells) == 5 && strings.HasPrefix(cells[1], " `") {
			documented[strings.Trim(cells[1], " `")] = strings.Trim(cells[2], " `")
		}
	}
	settings := map[string]string{}
	for _, s := range append(table, configFile) {
		if settings[s.key] = s.fallback; s.told != "" && documented[s.key] != "" {
			settings[s.key] = documented[s.key]
		}
	}
	if diff := cmp.Diff(documented, settings); diff != "" {
		t.Errorf("-docs/SETTINGS.md +settings:\n%s", diff)
	}
}
