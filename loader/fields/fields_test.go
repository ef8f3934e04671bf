package fields

import (
	"flag"
	"os"
	"strings"
	"testing"

	"pannier"
)

var update = flag.Bool("update", false, "write the table of fields in docs/SKILLS.md")

// TestDocument compares the table of docs/SKILLS.md with the table of fields.
func TestDocument(t *testing.T) {
	const file, head = "../../docs/SKILLS.md", "| field | shape | meaning |\n|---|---|---|\n"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, after, ok := strings.Cut(string(text), head)
	rows, rest, ends := strings.Cut(after, "\n\n")
	if !ok || !ends {
		t.Fatalf("%s has no table of fields", file)
	}
	var want []string
	for _, f := range Table {
		if f.Name != "" {
			want = append(want, "| `"+f.Name+"` | "+shape(f)+" | "+f.Meaning+" |")
		}
	}
	table := strings.Join(want, "\n")
	if *update {
		if err := os.WriteFile(file, []byte(before+head+table+"\n\n"+rest), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if rows != table {
		t.Errorf("the table of fields in %s differs from the code; run go test ./loader/fields -update\ngot\n%s\nwant\n%s", file, rows, table)
	}
}

func shape(f Field) string {
	switch {
	case f.Shape != "":
		return f.Shape
	case f.Flag != nil:
		return "boolean"
	case f.List != nil:
		return "list"
	}
	return "text"
}

// TestTable holds the rules that its users rely on.
func TestTable(t *testing.T) {
	names := map[string]bool{}
	for _, f := range Table {
		stored := 0
		for _, is := range []bool{f.Text != nil, f.List != nil, f.Flag != nil} {
			if is {
				stored++
			}
		}
		if stored > 1 || stored == 0 && !f.Custom {
			t.Errorf("%s %s is stored in %d places", f.Name, f.OpenClaw, stored)
		}
		if f.OpenClaw != "" && f.Text == nil {
			t.Errorf("%s below metadata is not a text", f.OpenClaw)
		}
		if f.Name != "" && (names[f.Name] || f.Meaning == "" || shape(f) == "text" && f.Text == nil && f.Shape == "") {
			t.Errorf("%s is there twice or not described", f.Name)
		}
		names[f.Name] = true
	}
	for name := range otherProse {
		if names[name] {
			t.Errorf("%s is a field of the table and among the others", name)
		}
	}
}

// TestNoFieldSharesStorage compares where the fields of one skill are held.
func TestNoFieldSharesStorage(t *testing.T) {
	var s pannier.Skill
	texts, lists, flags := map[*string]bool{}, map[*[]string]bool{}, map[*bool]bool{}
	for _, f := range Table {
		switch {
		case f.Text != nil:
			if texts[f.Text(&s)] {
				t.Errorf("%s %s shares its text with another field", f.Name, f.OpenClaw)
			}
			texts[f.Text(&s)] = true
		case f.List != nil:
			if lists[f.List(&s)] {
				t.Errorf("%s shares its list with another field", f.Name)
			}
			lists[f.List(&s)] = true
		case f.Flag != nil:
			if flags[f.Flag(&s)] {
				t.Errorf("%s shares its flag with another field", f.Name)
			}
			flags[f.Flag(&s)] = true
		}
	}
}
