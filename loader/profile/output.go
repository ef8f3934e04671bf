package profile

import (
	"maps"
	"slices"
	"strings"

	"pannier/internal/yamldoc"
)

// modes are those of a part of an output policy, with the keys that each may have beside `mode`.
type modes map[string][]string

// outputParts are the parts of an output policy (Pioneer skills architecture, "Runtime tools").
var outputParts = map[string]modes{
	"llm":           {"full": {"max_bytes"}, "structured": {"max_bytes"}, "summary_only": nil},
	"llm_retention": {"until_turn_terminal": {"max_bytes"}, "do_not_retain": nil},
	"timeline":      {"full": {"max_bytes"}, "summary": {"max_chars"}, "metadata_only": nil, "hidden": nil},
	"storage":       {"full": {"max_bytes"}, "summary": {"max_chars"}, "metadata_only": nil, "none": nil},
	"recovery": {
		"evidence":      {"include_exit_status", "include_error_class", "include_retry_hint", "diagnostic_excerpt", "include_fingerprints"},
		"metadata_only": nil, "none": nil,
	},
	"deltas": {"persist_and_display": {"max_chunk_bytes", "max_total_bytes"}, "progress_only": nil, "disabled": nil},
}

var excerptModes = modes{"disabled": nil, "errors_only": {"max_chars"}, "output": {"max_chars"}}

const codeOutputPolicy = "contract.runtime.tools.output_policy"

// outputPolicy judges what a tool asks for: there, a key that is not known is an error.
func outputPolicy(c *check, field string, v yamldoc.Value) {
	if v.Kind() != yamldoc.Map {
		c.fail(codeOutputPolicy, field, placeOf(v), "this is "+shapeOf(v)+" where a mapping belongs", "write its parts below it, such as `llm:`")
		return
	}
	for pair := range v.Pairs() {
		allowed, ok := outputParts[pair.Key]
		if !ok {
			c.fail(codeOutputPolicy, key(field, pair.Key), place{pair.Line, pair.Column}, "an output policy has no part "+quote(pair.Key), "write one of "+words(outputParts))
			continue
		}
		outputPart(c, key(field, pair.Key), pair.Value, allowed)
	}
}

func outputPart(c *check, field string, v yamldoc.Value, allowed modes) {
	mode, _ := v.Get("mode").Text()
	keys, ok := allowed[mode]
	if !ok {
		c.fail(codeOutputPolicy, field+".mode", placeOr(v.Get("mode"), v), "`mode:` is missing or unknown", "write `mode:` with one of "+words(allowed))
		return
	}
	for pair := range v.Pairs() {
		switch {
		case pair.Key == "diagnostic_excerpt" && slices.Contains(keys, pair.Key):
			outputPart(c, key(field, pair.Key), pair.Value, excerptModes)
		case pair.Key != "mode" && !slices.Contains(keys, pair.Key):
			c.fail(codeOutputPolicy, key(field, pair.Key), place{pair.Line, pair.Column}, "the mode "+mode+" has no key "+quote(pair.Key), "remove it")
		}
	}
}

func words[V any](known map[string]V) string {
	return strings.Join(slices.Sorted(maps.Keys(known)), ", ")
}
