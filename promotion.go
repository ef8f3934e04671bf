package pannier

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Promotion is a memory packet that asks for a workflow to become a skill (Molecule, "Skill Promotion Loop"): free-form beside
// what is named here.
type Promotion struct {
	// Packet is the whole of it, an object, as it came in.
	Packet json.RawMessage
	// Summary says in one line what is promoted: `summary`, else `title`, else `what changed`.
	Summary string
	// Repetition is the proof that the workflow has succeeded more than once, as the packet has it.
	Repetition json.RawMessage
}

// SkillPromotion tells that a packet was recorded.
type SkillPromotion struct {
	Summary    string          `json:"summary"`
	Digest     Digest          `json:"digest"`
	Repetition json.RawMessage `json:"repetition_signal"`
	Packet     json.RawMessage `json:"packet"`
	// Platforms says of each platform what became of the activity, in the order of the settings.
	Platforms []ActivityResult `json:"platforms,omitempty"`
}

// ActivityResult says whether a platform took an activity.
type ActivityResult struct {
	Platform string `json:"platform"`
	// Error is empty where it did.
	Error string `json:"error,omitempty"`
	// Kept says that the activity waits in the outbox and is sent again.
	Kept bool `json:"kept,omitempty"`
}

// noSummary is what a packet without one is called.
const noSummary = "a workflow that repeats"

// maxSummary bounds a summary, in characters.
const maxSummary = 200

// ParsePromotion reads a packet. It fails with a [*Refusal] where the packet does not ask for a promotion, or brings no
// proof that the workflow repeats.
func ParsePromotion(text []byte) (Promotion, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil || fields == nil {
		return Promotion{}, &Refusal{Code: "promotion.packet", Message: "the packet is not a JSON object", Hint: "send the memory packet as one JSON object"}
	}
	if !truthy(fields["promote_to_skill"]) {
		return Promotion{}, &Refusal{Code: "promotion.not_asked", Message: "the packet does not set promote_to_skill", Hint: "set promote_to_skill to true once the workflow is durable"}
	}
	if !truthy(fields["repetition_signal"]) {
		return Promotion{}, &Refusal{Code: "promotion.no_proof", Message: "the packet has no repetition_signal", Hint: "say in repetition_signal how often the workflow has succeeded, and where that is seen"}
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, text); err != nil {
		return Promotion{}, fmt.Errorf("read the packet: %w", err)
	}
	return Promotion{Packet: compact.Bytes(), Summary: summaryOf(fields), Repetition: fields["repetition_signal"]}, nil
}

// truthy reports whether a value says yes, as Python takes it, which the runtime that writes packets is written in: null,
// false, zero and whatever is empty do not.
func truthy(raw json.RawMessage) bool {
	var value any
	if raw == nil || json.Unmarshal(raw, &value) != nil {
		return false
	}
	switch v := value.(type) {
	case bool:
		return v
	case float64:
		return v != 0
	case string:
		return strings.TrimSpace(v) != ""
	case []any:
		return len(v) > 0
	case map[string]any:
		return len(v) > 0
	}
	return false
}

// summaryOf returns the first of the fields that can tell in words what is promoted, as one line.
func summaryOf(fields map[string]json.RawMessage) string {
	for _, key := range []string{"summary", "title", "what changed"} {
		var text string
		if json.Unmarshal(fields[key], &text) != nil {
			continue
		}
		if text = strings.Join(strings.Fields(text), " "); text == "" {
			continue
		}
		return Truncate(text, maxSummary)
	}
	return noSummary
}
