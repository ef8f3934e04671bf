package molecule_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pannier/publish/molecule"
)

func TestMerge(t *testing.T) {
	for _, test := range []struct {
		name, own, registered, want string
	}{
		{"nothing registered", `{"name":"a"}`, ``, `{"name":"a"}`},
		{"null", `{"name":"a"}`, `null`, `{"name":"a"}`},
		{"no object", `{"name":"a"}`, `[{"x":1}]`, `{"name":"a"}`},
		{"broken", `{"name":"a"}`, `{"x":1`, `{"name":"a"}`},
		{"kept, sorted", `{"name":"a","skills":[]}`, `{"z":1,"runtime":"langgraph","b":{"d":1,"c":[true,null]}}`, `{"name":"a","skills":[],"b":{"c":[true,null],"d":1},"runtime":"langgraph","z":1}`},
		{"ours win", `{"x":1,"name":"a"}`, `{"name":"boot","x":2,"y":3}`, `{"x":1,"name":"a","y":3}`},
		{"our keys are never kept", `{"name":"a"}`, `{"skills":[{"id":"old"}],"description":"old","version":"0","capabilities":{}}`, `{"name":"a"}`},
		{"url kept", `{"name":"a"}`, `{"url":"http://agent:8000"}`, `{"name":"a","url":"http://agent:8000"}`},
		{"our url wins", `{"name":"a","url":"http://ours"}`, `{"url":"http://agent:8000"}`, `{"name":"a","url":"http://ours"}`},
		{"url empty", `{"name":"a"}`, `{"url":" "}`, `{"name":"a"}`},
		{"url null", `{"name":"a"}`, `{"url":null}`, `{"name":"a"}`},
		{"url no text", `{"name":"a"}`, `{"url":["http://agent"]}`, `{"name":"a"}`},
		{"url with NUL", `{"name":"a"}`, `{"url":"http://a\u0000"}`, `{"name":"a"}`},
		{"NUL in a value", `{"name":"a"}`, `{"x":[{"y":"\u0000"}],"z":1}`, `{"name":"a","z":1}`},
		{"NUL in keys", `{"name":"a"}`, `{"x\u0000":1,"y":{"\u0000":1},"z":1}`, `{"name":"a","z":1}`},
		{"half a pair", `{"name":"a"}`, `{"x":"\ud800!"}`, `{"name":"a","x":"�!"}`},
		{"not UTF-8", `{"name":"a"}`, "{\"x\":\"\xff\"}", `{"name":"a","x":"�"}`},
		{"numbers as they are", `{"name":"a"}`, `{"x":1.50,"y":123456789012345678901234567890}`, `{"name":"a","x":1.50,"y":123456789012345678901234567890}`},
		{"repeated key", `{"name":"a"}`, `{"x":1,"x":2}`, `{"name":"a","x":2}`},
		{"ours empty", ` { } `, `{"x":1}`, `{"x":1}`},
		{"ours with blanks", "{\"name\": \"a\" }\n", `{"x":1}`, `{"name": "a","x":1}`},
		{"ours no object", `["a"]`, `{"x":1}`, `["a"]`},
	} {
		t.Run(test.name, func(t *testing.T) {
			own := json.RawMessage(test.own)
			got, _ := molecule.Merge(own, json.RawMessage(test.registered), 0)
			if string(got) != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
			if string(own) != test.own {
				t.Errorf("ours became %s", own)
			}
		})
	}
}

// TestMergeWithinBounds drops the largest members that are not ours, and never one of ours.
func TestMergeWithinBounds(t *testing.T) {
	const own, registered = `{"name":"a"}`, `{"b":"bbbb","a":"aaaa","url":"http://x","huge":"` + "0123456789" + `"}`
	const whole = `{"name":"a","a":"aaaa","b":"bbbb","huge":"0123456789","url":"http://x"}`
	for _, test := range []struct {
		most          int
		want, dropped string
	}{
		{0, whole, "[]"},
		{len(whole), whole, "[]"},
		{len(whole) - 1, `{"name":"a","a":"aaaa","b":"bbbb","url":"http://x"}`, "[huge]"},
		{50, `{"name":"a","a":"aaaa","b":"bbbb"}`, "[huge url]"},
		{25, `{"name":"a","b":"bbbb"}`, "[a huge url]"},
		{len(own), own, "[a b huge url]"},
		{1, own, "[a b huge url]"},
	} {
		got, dropped := molecule.Merge(json.RawMessage(own), json.RawMessage(registered), test.most)
		if string(got) != test.want || fmt.Sprint(dropped) != test.dropped {
			t.Errorf("within %d bytes: %s, dropped %v", test.most, got, dropped)
		}
	}
}

// TestForeignKeysOverTheBound are left out of the push, and health names them until a push has room for all.
func TestForeignKeysOverTheBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMolecule(t).known(t)
		m.register(t, `{"name":"boot","runtime":"langgraph","junk\u001b`+strings.Repeat("k", 100)+`":"`+strings.Repeat("x", 200)+`","more":"`+strings.Repeat("x", 100)+`"}`)
		p := facing(t, m, options{ReadBack: true, CardMaxBytes: 100})
		start(t, p)
		p.Offer(cardOf("a"))
		synctest.Wait()
		m.expectCard(t, `{"name":"a","runtime":"langgraph"}`)
		c := p.Conditions()
		if codes(p) != "card_foreign_keys_dropped warning" || !strings.HasSuffix(c[0].Message, ": junk"+strings.Repeat("k", 59)+"..., more") || c[0].Hint == "" || c[0].Since.IsZero() {
			t.Errorf("conditions %+v", c)
		}
		pass(time.Minute)
		p.Offer(cardOf("b"))
		synctest.Wait()
		m.expectCard(t, `{"name":"b","runtime":"langgraph"}`)
		if got := codes(p); got != "" {
			t.Errorf("conditions %s once there is room", got)
		}
	})
}

func TestHolds(t *testing.T) {
	const own = `{"name":"a","n":1.50,"skills":[{"id":"x","tags":["p","q"]}]}`
	for _, test := range []struct {
		name, registered string
		want             bool
	}{
		{"same", own, true},
		{"other order and escapes", `{"skills":[{"tags":["p","q"],"id":"x"}],"n":1.50,"name":"\u0061"}`, true},
		{"further keys", `{"name":"a","n":1.50,"skills":[{"id":"x","tags":["p","q"]}],"runtime":"langgraph","url":"http://a"}`, true},
		{"further key in a skill", `{"name":"a","n":1.5,"skills":[{"id":"x","tags":["p","q"],"y":1}]}`, false},
		{"list in another order", `{"name":"a","n":1.5,"skills":[{"id":"x","tags":["q","p"]}]}`, false},
		{"other number", `{"name":"a","n":1.51,"skills":[{"id":"x","tags":["p","q"]}]}`, false},
		{"number as text", `{"name":"a","n":"1.50","skills":[{"id":"x","tags":["p","q"]}]}`, false},
		{"text for a list", `{"name":"a","n":1.50,"skills":"x"}`, false},
		{"list for a text", `{"name":["a"],"n":1.50,"skills":[]}`, false},
		{"key missing", `{"name":"a","n":1.5}`, false},
		{"null", `null`, false},
		{"absent", ``, false},
		{"list", `[1]`, false},
	} {
		if got := molecule.Holds(json.RawMessage(test.registered), json.RawMessage(own)); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

// FuzzMerge: whatever is registered, what is sent is an object that has our card in it and no poison.
func FuzzMerge(f *testing.F) {
	f.Add(`{"x":1,"url":"http://a","skills":null}`)
	f.Add(`{"\u0000":{},"x":"\ud800\udc00\udfff","":[[]]}`)
	f.Add("{\"\xff\":1e5,\"a\":\"</script>\\u2028\"}")
	f.Fuzz(func(t *testing.T, registered string) {
		const own = `{"name":"a","skills":[{"id":"x"}]}`
		got, _ := molecule.Merge(json.RawMessage(own), json.RawMessage(registered), 0)
		if !json.Valid(got) || !strings.HasPrefix(string(got), strings.TrimSuffix(own, "}")) || !molecule.Holds(got, json.RawMessage(own)) {
			t.Fatalf("got %s", got)
		}
		var v any
		if err := json.Unmarshal(got, &v); err != nil {
			t.Fatal(err)
		}
		plain, _ := json.Marshal(v)
		if bytes.Contains(bytes.ReplaceAll(plain, []byte(`\\`), nil), []byte(`\u0000`)) {
			t.Errorf("NUL in %s", plain)
		}
		if again, _ := molecule.Merge(json.RawMessage(own), got, 0); !bytes.Equal(again, got) {
			t.Errorf("merged again: %s, before %s", again, got)
		}
		least, most := len(own), (len(own)+len(got))/2
		if some, dropped := molecule.Merge(json.RawMessage(own), got, most); len(some) > max(least, most) || len(dropped) == 0 != bytes.Equal(some, got) || !json.Valid(some) {
			t.Errorf("within %d bytes: %s, dropped %q, before %s", most, some, dropped, got)
		}
	})
}
