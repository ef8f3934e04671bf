package pannier

import "encoding/json"

// The parts of a turn that a skill can propose to override.
const (
	OverrideTools   = "tools"
	OverrideModel   = "model"
	OverrideContext = "context"
)

// What becomes of the overrides that skills propose.
const (
	OverridesIgnore  = "ignore"
	OverridesSuggest = "suggest" // they are judged and told, and the sidecar applies none
	OverridesApply   = "apply"
)

// The bounds of the overrides of one skill, and of the events of one turn about them.
const (
	MaxOverrides     = 64
	MaxOverrideBytes = 128 // of each text
)

// Override is one thing that a skill proposes to override in turns that choose it (OpenSkills contract, "Skill-defined overrides").
type Override struct {
	// Part is one of the Override constants.
	Part string `json:"part"`
	// Key is aliases.NAME or defaults.TOOL.ARGUMENT of tools; prefer, provider or effort of the model; include, exclude or max_chars of
	// the context.
	Key   string          `json:"key"`
	Value json.RawMessage `json:"value"`
}

// ProposedOverride is an override with the skill that proposes it.
type ProposedOverride struct {
	Slug string `json:"slug"`
	Override
}

// RefusedOverride is a proposal that does not count.
type RefusedOverride struct {
	Slug string `json:"slug"`
	Part string `json:"part"`
	Key  string `json:"key"`
	// Reason is one of the OverrideRefused constants.
	Reason string `json:"reason"`
}

// Why an override is refused.
const (
	OverrideRefusedPart     = "part_not_allowed" // the settings do not list its part
	OverrideRefusedTrust    = "trust_too_low"
	OverrideRefusedPolicy   = "disabled_by_policy" // a switch of the skill
	OverrideRefusedConflict = "conflict"           // a skill before it sets the key
	OverrideRefusedTool     = "tool_unknown"       // the turn has no such tool, or its skills do not allow it
	OverrideRefusedAlias    = "alias_shadows"      // the turn has a tool of that name
	OverrideRefusedGlob     = "outside_project"
)

// TurnOverrides are what the chosen skills of a turn propose, and what follows.
type TurnOverrides struct {
	Mode      string             `json:"mode"`
	Proposed  []ProposedOverride `json:"proposed"`
	Effective EffectiveOverrides `json:"effective"`
	Refused   []RefusedOverride  `json:"refused"`
}

// EffectiveOverrides are the proposals that policy allows.
type EffectiveOverrides struct {
	Tools struct {
		// Aliases are other names for tools of the turn, Defaults values for arguments that a call leaves out, by tool.
		Aliases  map[string]string                     `json:"aliases,omitempty"`
		Defaults map[string]map[string]json.RawMessage `json:"defaults,omitempty"`
	} `json:"tools,omitzero"`
	// Model is for the agent to follow.
	Model struct {
		Prefer   []string `json:"prefer,omitempty"`
		Provider string   `json:"provider,omitempty"`
		Effort   string   `json:"effort,omitempty"`
	} `json:"model,omitzero"`
	Context struct {
		// Include has a list for each skill: a file of the project counts if it matches a glob of each list and none of Exclude.
		Include [][]string `json:"include,omitempty"`
		Exclude []string   `json:"exclude,omitempty"`
		// Paths are the files of the turn that count, nil where no skill has globs.
		Paths []string `json:"paths,omitzero"`
		// MaxChars bounds the prompt, if it is less than the limit of the turn; 0 bounds nothing.
		MaxChars int `json:"max_chars,omitempty"`
	} `json:"context,omitzero"`
}

// The decisions of [SkillOverride].
const (
	OverrideSuggested = "suggested"
	OverrideApplied   = "applied"
	OverrideRefused   = "refused"
)

// SkillOverride tells what became of one override that a skill proposed in a turn.
type SkillOverride struct {
	Slug string `json:"slug"`
	Part string `json:"part"`
	Key  string `json:"key"`
	// Value is masked as arguments are.
	Value json.RawMessage `json:"value,omitempty"`
	// Decision is one of suggested, applied and refused, Reason why it is refused.
	Decision   string `json:"decision"`
	Reason     string `json:"reason,omitempty"`
	TurnDigest Digest `json:"turn_digest"`
}
