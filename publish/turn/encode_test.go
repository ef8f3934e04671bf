package turn_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"pannier"
	"pannier/publish/turn"
)

// fill gives every field of a value something that is not zero, so that one which is added later is missed where the
// answers leave it out.
func fill(v reflect.Value) {
	if v.Type() == reflect.TypeFor[json.RawMessage]() {
		v.SetBytes([]byte(`{"a":["<b> & c",1.0]}`))
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fill(v.Index(i))
		}
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i))
		}
	case reflect.String:
		v.SetString(`a "<b>" & c`)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(5)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(7)
	case reflect.Float32, reflect.Float64:
		v.SetFloat(0.5)
	}
}

// TestAnswersLeaveNothingOut holds every field of a resolution against the encoder of the standard library.
func TestAnswersLeaveNothingOut(t *testing.T) {
	var full pannier.Resolution
	fill(reflect.ValueOf(&full).Elem())
	full.Prompt.Chars, full.Prompt.TokensEstimate = 11, 3 // which follow from the text
	full.Prompt.Overrides = nil                           // which the resolution has
	noTools := pannier.AllowedTools{Effective: []string{}, NarrowedBy: []string{}}
	for name, r := range map[string]pannier.Resolution{
		"full":  full,
		"empty": {Active: []pannier.ActiveSkill{}, Rejected: []pannier.RejectedSkill{}, Tools: []pannier.ListedTool{}, ExcludedTools: []pannier.ExcludedTool{}, AllowedTools: noTools, Prompt: &pannier.Prompt{Omitted: []string{}}},
		"zero":  {Active: make([]pannier.ActiveSkill, 2), Rejected: []pannier.RejectedSkill{{Diagnostics: []pannier.Reason{}}}, Tools: make([]pannier.ListedTool, 2), ExcludedTools: make([]pannier.ExcludedTool, 2), AllowedTools: noTools, Prompt: &pannier.Prompt{Omitted: []string{}}},
	} {
		if got, want := string(turn.AppendResolution(r)), encodeJSON(t, r); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		}
		r.Prompt.Overrides = r.Overrides
		if got, want := string(turn.AppendPrompt(*r.Prompt)), encodeJSON(t, r.Prompt); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		}
	}
}

// encodeJSON returns a value as the encoder of the standard library has it.
func encodeJSON(t *testing.T, value any) string {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
