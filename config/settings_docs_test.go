package config

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pannier"
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

// TestRootsInTheSettingsDocument compares the table of a root's keys with the defaults of roots below the workspace and elsewhere.
func TestRootsInTheSettingsDocument(t *testing.T) {
	text, err := os.ReadFile("../docs/SETTINGS.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string][2]string{}
	for line := range strings.Lines(string(text)) {
		if cells := strings.Split(line, "|"); len(cells) == 6 && !strings.HasPrefix(cells[1], "-") && cells[1] != " key " {
			documented[strings.TrimSpace(cells[1])] = [2]string{strings.TrimSpace(cells[2]), strings.TrimSpace(cells[3])}
		}
	}
	defaults := map[string][2]string{"path": {}}
	for i, root := range []pannier.Root{writtenRoot{path: "skills"}.in("/w"), writtenRoot{path: "/elsewhere"}.in("/w")} {
		for key, value := range map[string]string{
			"kind": string(root.Kind), "trust": string(root.Trust), "implicit": fmt.Sprint(root.Implicit), "link_targets": strings.Join(append(root.LinkTargets, "none")[:1], ""),
		} {
			cells := defaults[key]
			cells[i] = value
			defaults[key] = cells
		}
	}
	if diff := cmp.Diff(documented, defaults); diff != "" {
		t.Errorf("-docs/SETTINGS.md +defaults:\n%s", diff)
	}
}
