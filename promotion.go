package pannier

import "encoding/json"

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
}
