package profile_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"pannier"
	"pannier/loader/profile"
)

// FuzzProfiles judges whatever frontmatter there is: the same twice, and compliant exactly where nothing is an error.
func FuzzProfiles(f *testing.F) {
	for _, seed := range []string{
		"name: a\ndescription: d\n", "name: ~\ndescription: null\n", "metadata: '{\"openclaw\": {\"os\": [1, {\"a\": null}]}}'\n",
		"metadata: {openclaw: {requires: {bins: x}}, é: 1.0, ? [a] : b}\n", "runtime: {tools: [{tool_slug: 1, kind: x, output_policy: {llm: {mode: [a]}}}]}\n",
		"allowed-tools: [a, [b], ~]\npaths: {a: b}\n", "dependencies: {env: 1, bins: [~]}\n", "compatibility: ''\nlicense: {spdx: [MIT]}\n",
		"slug: \"\\0\"\nname: \"e\\u0301\\u202e\"\n", "- a\n- [b]\n", "a: b: c\n", "? - [a]\n: {b}\n", "\ufeffname: a\n", "\"a\\n\": &x 1\n\"\": !!str\n", "{name: [], : }\n",
	} {
		f.Add(seed, "a", "# x\n*.md\n!a/**/b\n[\n")
	}
	f.Fuzz(func(t *testing.T, text, folder, ignore string) {
		s := filesOf(skillOf(folder, "---\n"+text+"\n---\n"), map[string]string{".clawhubignore": ignore, "SKILL.md": text, "a/b": ignore, "a/x/b.bin": text, folder: ignore})
		for _, name := range profile.Names() {
			problems := profile.Check(name, s)
			checkProblems(t, problems)
			if diff := cmp.Diff(problems, profile.Check(name, s)); diff != "" {
				t.Errorf("%s: first -, then +:\n%s", name, diff)
			}
			if compliant := codesOf(problems, pannier.SeverityError) == ""; compliant != profile.Report(s, name)[name].Compliant {
				t.Errorf("%s: compliant %v with %v", name, !compliant, problems)
			}
		}
	})
}
