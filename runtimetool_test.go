package pannier_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pannier"
)

// vendorNames are the patterns of two vendors for the names of tools.
var vendorNames = []*regexp.Regexp{regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`), regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$`)}

// TestModelName gives each name one that APIs of models take, and no two the same.
func TestModelName(t *testing.T) {
	long := strings.Repeat("a", 60)
	names := []string{
		"skill.a.b", "skill.csv-sum.total", "skill.a-b.c", "skill.a.b-c", "skill.9.9", "skill.a_b.c", "skill.a.b_c", "skill.a__b.c", "skill.a.b__c", "skill.a.b.c", "skill.é.b", "skill.a.", "skill.a. b",
		"skill." + long + ".x", "skill." + long + ".y", "skill." + long + "b.x", "skill.a." + long + "1", "skill.a." + long + "2", "skill.a." + strings.Repeat("a", 52), "skill." + strings.Repeat("é", 40) + ".x",
	}
	seen := map[string]string{}
	for _, name := range names {
		got := pannier.ModelName(name)
		for _, pattern := range vendorNames {
			if !pattern.MatchString(got) {
				t.Errorf("%s: %q does not match %s", name, got, pattern)
			}
		}
		if other := seen[got]; other != "" || got != pannier.ModelName(name) || !pannier.NamesSkillTool(got) {
			t.Errorf("%s: %q, which is that of %q", name, got, other)
		}
		seen[got] = name
	}
	for name, want := range map[string]string{"skill.csv-sum.total": "skill__csv-sum__total", "skill.a." + strings.Repeat("a", 54): "skill__a__" + strings.Repeat("a", 54)} {
		if got := pannier.ModelName(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestRuntimeToolKinds compares the list of kinds with the constants.
func TestRuntimeToolKinds(t *testing.T) {
	source, err := os.ReadFile("runtimetool.go")
	if err != nil {
		t.Fatal(err)
	}
	var declared []pannier.RuntimeToolKind
	for _, m := range regexp.MustCompile(`RuntimeToolKind = "(\w+)"`).FindAllSubmatch(source, -1) {
		declared = append(declared, pannier.RuntimeToolKind(m[1]))
	}
	if got := pannier.RuntimeToolKinds(); !slices.Equal(got, declared) {
		t.Errorf("RuntimeToolKinds is %q, the constants are %q", got, declared)
	}
}
