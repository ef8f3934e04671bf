package pannier_test

import (
	"errors"
	"strings"
	"testing"

	"pannier"
)

func TestParsePromotion(t *testing.T) {
	tests := []struct{ packet, summary, code string }{
		{`{"promote_to_skill":true,"repetition_signal":{"count":3},"summary":" Nightly\n backup "}`, "Nightly backup", ""},
		{`{"promote_to_skill":1,"repetition_signal":"three times","title":"T","what changed":"W"}`, "T", ""},
		{`{"promote_to_skill":"yes","repetition_signal":[1],"summary":"","what changed":"W"}`, "W", ""},
		{`{"promote_to_skill":true,"repetition_signal":2,"summary":7}`, "a workflow that repeats", ""},
		{`{"promote_to_skill":true,"repetition_signal":2,"title":"` + strings.Repeat("x", 300) + `"}`, strings.Repeat("x", 199) + "…", ""},
		{`{"promote_to_skill":false,"repetition_signal":2}`, "", "promotion.not_asked"},
		{`{"repetition_signal":2}`, "", "promotion.not_asked"},
		{`{"promote_to_skill":true}`, "", "promotion.no_proof"},
		{`{"promote_to_skill":true,"repetition_signal":{}}`, "", "promotion.no_proof"},
		{`{"promote_to_skill":true,"repetition_signal":0}`, "", "promotion.no_proof"},
		{`[1]`, "", "promotion.packet"},
		{`null`, "", "promotion.packet"},
		{`{`, "", "promotion.packet"},
	}
	for _, tt := range tests {
		p, err := pannier.ParsePromotion([]byte(tt.packet))
		var code string
		if refusal, ok := errors.AsType[*pannier.Refusal](err); ok {
			code = refusal.Code
		}
		if p.Summary != tt.summary || code != tt.code || (err == nil) != (tt.code == "") {
			t.Errorf("%s: %q, %v", tt.packet, p.Summary, err)
		}
	}
}

func TestDraft(t *testing.T) {
	p, err := pannier.ParsePromotion([]byte(`{"promote_to_skill":true,"repetition_signal":{"count":3},"summary":"Back up: the \"nightly\" database","steps":["stop\nwrites","dump"],"when":"at night","owner":"ops","secret\u202e":7}`))
	if err != nil {
		t.Fatal(err)
	}
	const want = `---
name: back-up-the-nightly-database
description: "Back up: the \"nightly\" database"
version: "0.1.0"
disable-model-invocation: true
---

# Back up: the "nightly" database

This is a draft that was made of a memory packet. Review it, write down when it is to be used, and take out
` + "`disable-model-invocation`" + ` before it is used without being asked for.

## When to use it

at night

## Steps

1. stop writes
2. dump

## Why this is a skill

` + "`" + `{"count":3}` + "`" + `

## Notes from the packet

- owner: ops
- secret: ` + "`7`" + `
`
	slug, text := p.Draft()
	if slug != "back-up-the-nightly-database" || text != want {
		t.Errorf("%s:\n%s", slug, text)
	}
	for summary, want := range map[string]string{"技能": "drafted-skill", strings.Repeat("word ", 30): strings.TrimSuffix(strings.Repeat("word-", 13), "-"), strings.Repeat("x", 99): strings.Repeat("x", 64)} {
		if slug, _ := (pannier.Promotion{Summary: summary, Packet: []byte("{}")}).Draft(); slug != want {
			t.Errorf("%.20s: %q, want %q", summary, slug, want)
		}
	}
}
