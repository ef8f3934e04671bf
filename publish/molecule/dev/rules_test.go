package dev_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"pannier/publish/molecule/dev"
)

func TestMayRegister(t *testing.T) {
	for url, want := range map[string]bool{
		"http://localhost:8000":           true,
		"https://agent.example/a2a":       true,
		"http://8.8.8.8":                  true,
		"http://172.32.0.1":               true,
		"http://[2606:4700::1111]:8000":   true,
		"":                                false,
		"agent.example":                   false,
		"ws://agent.example":              false,
		"http://":                         false,
		"http://127.0.0.1:8000":           false,
		"http://[::1]":                    false,
		"http://[::ffff:127.0.0.1]":       false,
		"http://169.254.169.254/metadata": false,
		"http://[fe80::1]":                false,
		"http://[fe80::1%25eth0]":         false,
		"http://10.1.2.3":                 false,
		"http://172.16.0.1":               false,
		"http://172.31.255.255":           false,
		"http://192.168.1.1":              false,
		"http://100.64.0.1":               false,
		"http://192.0.2.1":                false,
		"http://198.51.100.1":             false,
		"http://203.0.113.1":              false,
		"http://224.0.0.1":                false,
		"http://[ff02::1]":                false,
		"http://[fd00::1]":                false,
	} {
		if got := dev.MayRegister(url); got != want {
			t.Errorf("%q: %v, want %v", url, got, want)
		}
	}
}

// FuzzStorable compares with what decoding makes of a text: a NUL shows as it is, and half a pair as U+FFFD.
func FuzzStorable(f *testing.F) {
	for _, seed := range []string{`"\u0000"`, `"\\u0000"`, `"\ud83d\ude00"`, `"\ud83d"`, `"\ude00\ud83d"`, `{"\u0000":["\n"]}`, "\"\xff\"", `"\ufffd"`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, card []byte) {
		got := json.Valid(card) && dev.Storable(card)
		var text string
		if json.Unmarshal(card, &text) != nil {
			return
		}
		replaced := strings.Count(text, "\uFFFD")
		spelled := strings.Count(string(card), "\uFFFD") + strings.Count(strings.ToLower(string(card)), `\ufffd`)
		want := utf8.Valid(card) && !strings.Contains(text, "\x00") && replaced == spelled
		if strings.Contains(strings.ToLower(string(card)), `\\ufffd`) {
			return // here counting can not tell what was spelled out
		}
		if got != want {
			t.Errorf("%q: %v, want %v", card, got, want)
		}
	})
}
