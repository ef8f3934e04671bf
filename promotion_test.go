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
