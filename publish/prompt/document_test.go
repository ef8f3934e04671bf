package prompt

import (
	"flag"
	"os"
	"strings"
	"testing"
)

// TestDocument compares the table of docs/PROMPTS.md with the list of formats.
func TestDocument(t *testing.T) {
	const file, head = "../../docs/PROMPTS.md", "| format | gives | without a skill | default limit |\n|---|---|---|---|\n"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, after, ok := strings.Cut(string(text), head)
	rows, rest, ends := strings.Cut(after, "\n\n")
	if !ok || !ends {
		t.Fatalf("%s has no table of prompt formats", file)
	}
	var want []string
	for _, f := range formats {
		limit := "24,000"
		if f.unbounded {
			limit = "none"
		}
		want = append(want, "| `"+f.name+"` | "+f.gives+" | "+f.empty+" | "+limit+" |")
	}
	table := strings.Join(want, "\n")
	if flag.Lookup("update").Value.String() == "true" {
		if err := os.WriteFile(file, []byte(before+head+table+"\n\n"+rest), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if rows != table {
		t.Errorf("the table of prompt formats in %s differs from the code; run go test ./publish/prompt -update\ngot\n%s\nwant\n%s", file, rows, table)
	}
}
