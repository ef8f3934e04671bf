package loader_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"pannier"
	"pannier/loader"
)

// contents looks into the skill at root/a.
func contents(t *testing.T, root string) pannier.Contents {
	t.Helper()
	l := loader.New(loader.Options{Rules: rulesFor(root), Scripts: true})
	found, err := l.Contents(t.Context(), only(t, load(t, l, pannier.Batch{Full: true})))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestContentsOfToolsOnly describes a skill without instructions by its tools: "Pure tool skill: Just tools/ - A calculator, an API
// wrapper, a file processor. All three are valid" (Molecule, "Skill Types").
func TestContentsOfToolsOnly(t *testing.T) {
	root := tree(t)
	putFile(t, filepath.Join(root, "a/tools/calc.py"), `from langchain_core.tools import tool

@tool
def add(a: int, b: int) -> int:
    """Adds two numbers. Exactly.

    More.
    """
    return a + b

@tool
def sub(a: int, b: int) -> int:
    """Takes one
    from another <|im_end|>"""
    return a - b

@tool
def silent() -> None:
    pass
`)
	executable(t, filepath.Join(root, "a/scripts/run.sh"))
	executable(t, filepath.Join(root, "a/tools/other"))
	putFile(t, filepath.Join(root, "a/scripts/plain.sh"), "x")
	executable(t, filepath.Join(root, "a/scripts/.hidden"))
	found := contents(t, root)
	if want := "Adds two numbers. Takes one from another (|im_end|)."; found.Description != want {
		t.Errorf("described as %q, want %q", found.Description, want)
	}
	var got []string
	for _, tool := range found.Tools {
		got = append(got, fmt.Sprintf("%s %s %s", tool.Name, tool.Kind, tool.Path))
		if (tool.Parameters != nil) != (tool.Kind == pannier.RuntimePython) {
			t.Errorf("%s has the parameters %s", tool.Name, tool.Parameters)
		}
	}
	const want = "plain.sh script scripts/plain.sh, run.sh script scripts/run.sh, add python tools/calc.py, " +
		"sub python tools/calc.py, silent python tools/calc.py, other script tools/other"
	if strings.Join(got, ", ") != want || found.Digest.IsZero() {
		t.Errorf("got %s, digest %s", strings.Join(got, ", "), found.Digest)
	}
}

// TestContentsWithoutScripts finds no scripts where the settings offer none, except those of a skill with tools only.
func TestContentsWithoutScripts(t *testing.T) {
	root := tree(t)
	writeSkill(t, root, "a", plainSkill)
	executable(t, filepath.Join(root, "a/scripts/run.sh"))
	putFile(t, filepath.Join(root, "a/tools/calc.py"), "@tool\ndef add() -> int:\n    return 1\n")
	l := loader.New(loader.Options{Rules: rulesFor(root)})
	names := func() (names []string) {
		found, err := l.Contents(t.Context(), only(t, load(t, l, pannier.Batch{Full: true})))
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range found.Tools {
			names = append(names, tool.Name)
		}
		return names
	}
	if got := names(); fmt.Sprint(got) != "[add]" {
		t.Errorf("got %v", got)
	}
	if err := os.Remove(filepath.Join(root, "a", pannier.SkillFile)); err != nil {
		t.Fatal(err)
	}
	if got := names(); fmt.Sprint(got) != "[run.sh add]" {
		t.Errorf("without instructions: got %v", got)
	}
}

// TestFirstBodyLine: "description: First non-empty body line if missing" (Pioneer, frontmatter fields).
func TestFirstBodyLine(t *testing.T) {
	for _, tt := range []struct{ front, body, want string }{
		{"name: a", "\n\n#  Fill in   forms \nmore", "Fill in forms"},
		{"name: a", "###\n\u200b\n<|im_start|> text", "(|im_start|) text"},
		{"name: a", "\n\n", ""},
		{"name: a\ndescription: own", "body", ""},
		{"name: a\ndescription:", strings.Repeat("é", 2000), strings.Repeat("é", 1023) + "…"},
	} {
		root := tree(t)
		writeSkill(t, root, "a", "---\n"+tt.front+"\n---\n"+tt.body)
		if found := contents(t, root); found.Description != tt.want || !utf8.ValidString(found.Description) || found.Digest.IsZero() != (tt.want == "") {
			t.Errorf("%q: %+v, want %q", tt.front, found, tt.want)
		}
	}
}

// TestContentsWithinBounds lists so many tools, and follows no link out of the root.
func TestContentsWithinBounds(t *testing.T) {
	root := tree(t)
	writeSkill(t, root, "a", plainSkill)
	for i := range 140 {
		executable(t, filepath.Join(root, fmt.Sprintf("a/scripts/s%03d", i)))
	}
	if found := contents(t, root); len(found.Tools) != 128 {
		t.Errorf("%d tools", len(found.Tools))
	}
	if err := os.RemoveAll(filepath.Join(root, "a/scripts")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/usr/bin", filepath.Join(root, "a/scripts")); err != nil {
		t.Fatal(err)
	}
	if found := contents(t, root); len(found.Tools) != 0 {
		t.Errorf("tools outside the root: %d", len(found.Tools))
	}
}
