package main

import (
	"strings"
	"testing"

	"pannier"
)

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
	slug, text := draftOf(p)
	if slug != "back-up-the-nightly-database" || text != want {
		t.Errorf("%s:\n%s", slug, text)
	}
	for summary, want := range map[string]string{"技能": "drafted-skill", strings.Repeat("word ", 30): strings.TrimSuffix(strings.Repeat("word-", 13), "-"), strings.Repeat("x", 99): strings.Repeat("x", 64)} {
		if slug, _ := draftOf(pannier.Promotion{Summary: summary, Packet: []byte("{}")}); slug != want {
			t.Errorf("%.20s: %q, want %q", summary, slug, want)
		}
	}
}
