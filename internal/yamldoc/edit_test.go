package yamldoc_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"pannier/internal/yamldoc"
)

func TestAppendItem(t *testing.T) {
	for _, tt := range []struct{ name, before, item, after string }{
		{"block", "skills:\n  - a\n  - b\nx: 1\n", "c", "skills:\n  - a\n  - b\n  - c\nx: 1\n"},
		{"dashes below the key", "skills:\n- a\nx: 1\n", "c", "skills:\n- a\n- c\nx: 1\n"},
		{"blanks behind a dash", "skills:\n-   a\n", "c", "skills:\n-   a\n-   c\n"},
		{"comments", "# top\nskills: # mine\n  - a # one\n  # b is next\n\nx: 1 # end\n", "c", "# top\nskills: # mine\n  - a # one\n  - c\n  # b is next\n\nx: 1 # end\n"},
		{"line ends of Windows", "\ufeffskills:\r\n  - a\r\nx: 1\r\n", "c", "\ufeffskills:\r\n  - a\r\n  - c\r\nx: 1\r\n"},
		{"no line end at the end", "x: 1\nskills:\n  - a", "c", "x: 1\nskills:\n  - a\n  - c"},
		{"no line end at the end on Windows", "x: 1\r\nskills:\r\n  - a", "c", "x: 1\r\nskills:\r\n  - a\r\n  - c"},
		{"mappings", "skills:\n  - name: a\n    on: true\n\n  -\n    name: b\n\nx: 1\n", "c", "skills:\n  - name: a\n    on: true\n\n  -\n    name: b\n  - c\n\nx: 1\n"},
		{"a block text", "skills:\n  - |\n    a\n    # b\n", "c", "skills:\n  - |\n    a\n    # b\n  - c\n"},
		{"nothing in an item", "skills:\n  - a\n  -\n", "c", "skills:\n  - a\n  -\n  - c\n"},
		{"document marks", "---\nskills:\n- a\n...\n", "c", "---\nskills:\n- a\n- c\n...\n"},
		{"empty", "skills: []\n", "c", "skills: [c]\n"},
		{"empty with a blank", "skills: [ ] # none\n", "c", "skills: [c ] # none\n"},
		{"brackets", "skills: [a, 'b']\nx: 1\n", "c", "skills: [a, 'b', c]\nx: 1\n"},
		{"brackets with a comma at the end", "skills: [a, b, ]\n", "c", "skills: [a, b, c, ]\n"},
		{"brackets on lines", "skills: [\n  a, # one, two\n  {name: b, x: [1, 2]} # ] it's\n]\n", "c", "skills: [\n  a, # one, two\n  {name: b, x: [1, 2]}, c # ] it's\n]\n"},
		{"quotes in brackets", `skills: ["a\"]", 'b'']', it's, x]` + "\n", "c", `skills: ["a\"]", 'b'']', it's, x, c]` + "\n"},
		{"all in braces", "{x: 1, skills: [a]}\n", "c", "{x: 1, skills: [a, c]}\n"},
		{"characters before it", "é: 1\n\"skills\": [é, ü]\n", "c", "é: 1\n\"skills\": [é, ü, c]\n"},
		{"quotes where they are needed", "skills: [a]\n", "123", "skills: [a, \"123\"]\n"},
		{"a word", "skills:\n- a\n", "no", "skills:\n- a\n- \"no\"\n"},
		{"nothing that is a word", "skills:\n- a\n", "null", "skills:\n- a\n- \"null\"\n"},
		{"strange characters", "skills:\n- a\n", "a: b #\n", "skills:\n- a\n- \"a: b #\\n\"\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			after, err := yamldoc.AppendItem([]byte(tt.before), "skills", tt.item)
			if err != nil || string(after) != tt.after {
				t.Errorf("%v\n got %q\nwant %q", err, after, tt.after)
			}
		})
	}
}

func TestRemoveItem(t *testing.T) {
	for _, tt := range []struct {
		name, before string
		index        int
		after        string
	}{
		{"block", "skills:\n  - a\n  - b # two\n  # about c\n  - c\nx: 1\n", 1, "skills:\n  - a\n  # about c\n  - c\nx: 1\n"},
		{"the first", "skills:\n- a\n- b\n", 0, "skills:\n- b\n"},
		{"the last", "skills:\r\n- a\r\n- b\r\n\r\n# x\r\nx: 1\r\n", 1, "skills:\r\n- a\r\n\r\n# x\r\nx: 1\r\n"},
		{"the last of the text", "skills:\n- a\n- b", 1, "skills:\n- a\n"},
		{"mapping", "skills:\n  - name: a\n    # of a\n    on: true\n\n  - b\n", 0, "skills:\n\n  - b\n"},
		{"the only one", "x: 1\nskills: # mine\n  # first\n  - a\n\ny: 2\n", 0, "x: 1\nskills: [] # mine\n  # first\n\ny: 2\n"},
		{"the only one, and the last of the text", "'skills' :\n- a", 0, "'skills' : []\n"},
		{"brackets", "skills: [a, b, c]\n", 1, "skills: [a, c]\n"},
		{"first in brackets", "skills: [a,b]\n", 0, "skills: [b]\n"},
		{"last in brackets", "skills: [ a, b ]\n", 1, "skills: [ a ]\n"},
		{"only in brackets", "skills: [ 'a' ] # x\n", 0, "skills: [  ] # x\n"},
		{"only in brackets with a comma", "skills: [a, ]\n", 0, "skills: [ ]\n"},
		{"on lines", "skills: [\n  a, # one\n  b,\n  c\n]\n", 1, "skills: [\n  a, # one\n  c\n]\n"},
		{"on lines with a comment", "skills: [\n  a, # one\n  b # two\n]\n", 0, "skills: [\n  # one\n  b # two\n]\n"},
		{"last on lines", "skills: [\n  a, # one\n  b\n]\n", 1, "skills: [\n  a # one\n]\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			after, err := yamldoc.RemoveItem([]byte(tt.before), "skills", tt.index)
			if err != nil || string(after) != tt.after {
				t.Errorf("%v\n got %q\nwant %q", err, after, tt.after)
			}
		})
	}
}

func TestListsThatAreLeftAlone(t *testing.T) {
	for name, text := range map[string]string{
		"no list":           "skills: a\n",
		"nothing":           "skills:\n",
		"no key":            "x: [a]\n",
		"a mapping":         "skills: {a: b}\n",
		"repeated":          "skills: [a]\nskills: [b]\n",
		"old line ends":     "skills: [a]\rx: 1\r",
		"other line breaks": "x: \"\u2028\"\nskills: [a]\n",
		"an explicit key":   "? skills\n:\n  - a\n",
	} {
		if name != "an explicit key" {
			if out, err := yamldoc.AppendItem([]byte(text), "skills", "c"); !errors.Is(err, yamldoc.ErrLayout) {
				t.Errorf("%s: added: %q, %v", name, out, err)
			}
		}
		if out, err := yamldoc.RemoveItem([]byte(text), "skills", 0); !errors.Is(err, yamldoc.ErrLayout) {
			t.Errorf("%s: removed: %q, %v", name, out, err)
		}
	}
	for _, text := range []string{"skills: &x [a]\n", "skills: [a\n", "skills: [*a]\n", "skills: !!seq [a]\n"} {
		_, err := yamldoc.AppendItem([]byte(text), "skills", "c")
		if _, fault := errors.AsType[*yamldoc.Fault](err); !fault {
			t.Errorf("%q: %v", text, err)
		}
	}
	if out, err := yamldoc.RemoveItem([]byte("skills: [a]\n"), "skills", 1); !errors.Is(err, yamldoc.ErrLayout) {
		t.Errorf("an item that is not there: %q, %v", out, err)
	}
	if out, err := yamldoc.AppendItem([]byte("skills: [a]\n"), "skills", "\xff"); !errors.Is(err, yamldoc.ErrLayout) {
		t.Errorf("no text: %q, %v", out, err)
	}
}

// listOf returns what a text says: the items of the list, and everything else.
func listOf(t *testing.T, text []byte) (items, rest []string) {
	t.Helper()
	doc, _, err := yamldoc.Parse(text)
	if err != nil {
		t.Fatalf("%q cannot be read: %v", text, err)
	}
	for pair := range doc.Pairs() {
		if pair.Key != "skills" {
			rest = append(rest, pair.Key, string(pair.Value.AppendMeaning(nil)))
			continue
		}
		for item := range pair.Value.Items() {
			items = append(items, string(item.AppendMeaning(nil)))
		}
	}
	return items, rest
}

// isWithin reports whether a text comes about by only leaving out bytes of another.
func isWithin(text, other []byte) bool {
	for _, c := range text {
		at := bytes.IndexByte(other, c)
		if at < 0 {
			return false
		}
		other = other[at+1:]
	}
	return true
}

// inserted reports whether a text is another one with something put in at one place.
func inserted(text, other []byte) bool {
	n := 0
	for n < len(other) && n < len(text) && text[n] == other[n] {
		n++
	}
	return len(text) > len(other) && bytes.HasSuffix(text, other[n:])
}

func FuzzListEdit(f *testing.F) {
	for _, seed := range []string{
		"skills:\n  - a\n  - name: b\n    x: |\n      #\nx: 1\n", "skills: [a, 'b', {c: d}, \"e\\\"\", ]\r\n", "skills: []\n", "\ufeffskills:\n- a # b\n",
		"skills: [\n a, # b\n c\n ]\n", "skills:\n- - a\n- \"b\n  c\"\n-\n", "{skills: [a\n, b], x: y}", "skills:\n  - a\n  b\n", "x:\n  skills: [a]\nskills: [a:b, c#d, it's]\n",
	} {
		f.Add([]byte(seed), "new", uint8(1))
	}
	f.Fuzz(func(t *testing.T, text []byte, item string, at uint8) {
		if after, err := yamldoc.AppendItem(text, "skills", item); err == nil {
			before, rest := listOf(t, text)
			items, others := listOf(t, after)
			if len(items) != len(before)+1 || !slices.Equal(items[:len(before)], before) || !slices.Equal(others, rest) || !inserted(after, text) {
				t.Fatalf("added %q to %q: %q", item, text, after)
			}
			back, err := yamldoc.RemoveItem(after, "skills", len(before))
			if err != nil && !strings.ContainsAny(string(text), "?\"'") {
				t.Fatalf("not removed again from %q: %v", after, err)
			}
			if err == nil && !isWithin(bytes.Replace(back, []byte(" []"), nil, 1), after) {
				t.Fatalf("removed again from %q: %q", after, back)
			}
		}
		after, err := yamldoc.RemoveItem(text, "skills", int(at))
		if err != nil {
			return
		}
		before, rest := listOf(t, text)
		items, others := listOf(t, after)
		if !slices.Equal(items, slices.Delete(before, int(at), int(at)+1)) || !slices.Equal(others, rest) {
			t.Fatalf("removed %d from %q: %q", at, text, after)
		}
		if !isWithin(after, text) && !isWithin(bytes.Replace(after, []byte(" []"), nil, 1), text) {
			t.Fatalf("removed %d from %q, and changed more: %q", at, text, after)
		}
	})
}
