package molecule_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pannier/publish/molecule"
)

// FuzzObjectOf holds the members of a text against those that encoding/json finds.
func FuzzObjectOf(f *testing.F) {
	for _, text := range []string{
		`{}`, ` { "a" : 1 , "b":[1,{"c":"]"}] ,"a":"\\\"}" } `, `{"a":true,"b":null,"c":-1.5e3,"d":{}}`, `{"\u0061":"","a":"x\\"}`, `[]`, `null`, `"{}"`, ``, `{`,
		`{"a":{"b":"\\","c":"\\\\\""}}`, "{\"a\"\n:\t[ ]\r}", `{"a":1}}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var want map[string]json.RawMessage
		if json.Unmarshal(text, &want) != nil {
			want = nil
		}
		if diff := cmp.Diff(want, molecule.ObjectOf(text)); diff != "" {
			t.Errorf("%q: want -, got +:\n%s", text, diff)
		}
	})
}
