package repair_test

import (
	"bytes"
	"errors"
	"reflect"
	"regexp"
	"testing"
	"unicode/utf8"

	"pannier/internal/yamldoc"
	"pannier/loader/repair"
)

// plainKey is a line that begins with a key, where no quote or bracket can have swallowed it.
var plainKey = regexp.MustCompile(`(?m)^([a-z-]+):(?: |$)`)

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"name: x\ndescription: Use when: y\n", "description: **b** c\n", "description: | a\n  b\n", "description: a\nb\nc: d\n",
		"description: \"a \"b\" c\"\n", "argument-hint: [a] [b]\n", "metadata: {\"a\":\"\\ud83d\\udc3e\"}\n", "description: a\n---# b\n",
		"a: &x b\ndescription: *x\n", "description: >\nb\n  c\n", "a: {\nb: c\n}\ndescription: d: e\n", "description:\n  a b: c\n", "- a\nb: c: d\n",
		"description: a\ntools:\n- @b\n  c: d\n", "description: a\n\nb\n\nc\nd: e\n", "description: a\nmetadata: {\"b\": [}\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 64<<10 {
			return
		}
		kept := bytes.Clone(text)
		r, err := repair.Parse(text)
		if !bytes.Equal(kept, text) {
			t.Fatal("the text was written to")
		}
		again, errAgain := repair.Parse(text)
		if !reflect.DeepEqual(r, again) || !reflect.DeepEqual(err, errAgain) {
			t.Fatalf("once %+v, %v; again %+v, %v", r, err, again, errAgain)
		}
		v, repeated, strict := yamldoc.Parse(text)
		switch {
		case strict == nil:
			if err != nil || !reflect.DeepEqual(r, repair.Result{Value: v, Repeated: repeated}) {
				t.Fatalf("strictly %s, else %+v, %v", v.JSON(), r, err)
			}
		case err != nil:
			checkRefused(t, r, err, strict)
		default:
			checkRepaired(t, r, text)
		}
	})
}

func checkRefused(t *testing.T, r repair.Result, err, strict error) {
	t.Helper()
	var f *yamldoc.Fault
	if !errors.As(err, &f) || !reflect.DeepEqual(err, strict) {
		t.Fatalf("error %v, want %v", err, strict)
	}
	if guess := r.Guess; !reflect.DeepEqual(r, repair.Result{Guess: guess}) || utf8.RuneCountInString(guess.Name+guess.Description) > 402 {
		t.Fatalf("a refused text comes with %+v", r)
	}
}

func checkRepaired(t *testing.T, r repair.Result, text []byte) {
	t.Helper()
	lines := bytes.Split(text, []byte("\n"))
	if len(r.Repairs) == 0 || len(r.Repairs) > repair.MaxRepairs {
		t.Fatalf("%d repairs", len(r.Repairs))
	}
	dropped := ""
	for i, p := range r.Repairs {
		if p.Dropped {
			dropped = p.Field
		}
		if p.Line < 1 || p.Line > len(lines) || p.Column < 1 || p.Column > len(lines[p.Line-1])+1 || p.Message == "" || p.Hint == "" {
			t.Fatalf("repair %+v of %d lines", p, len(lines))
		}
		if i > 0 && p.Line < r.Repairs[i-1].Line {
			t.Fatalf("repairs out of order: %+v", r.Repairs)
		}
	}
	if r.Glued {
		front, _, ok := repair.Fence(text)
		if !ok {
			t.Fatal("the fence is missing")
		}
		text = front
	}
	for pair := range r.Value.Pairs() {
		if last := bytes.Count(text, []byte("\n")) + 1; pair.Line < 1 || pair.Line > last && !hasOtherBreaks(text) {
			t.Fatalf("%s in line %d of %d", pair.Key, pair.Line, last)
		}
	}
	if bytes.ContainsAny(text, "\"'{[?") || hasOtherBreaks(text) {
		return
	}
	for _, key := range plainKey.FindAllSubmatch(text, -1) {
		if string(key[1]) != dropped && r.Value.Get(string(key[1])).Kind() == yamldoc.Missing {
			t.Fatalf("%s is lost in %s", key[1], r.Value.JSON())
		}
	}
}

// hasOtherBreaks reports whether a text has line ends that only the YAML library takes for some.
func hasOtherBreaks(text []byte) bool { return bytes.ContainsAny(text, "\r\u0085\u2028\u2029") }
