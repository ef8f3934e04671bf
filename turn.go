package pannier

// Capability names a skill that a client chose for a turn.
type Capability struct {
	// ID and Label are the client's own and are given back as they came.
	ID string `json:"id"`
	// Slug is "slug" or "owner/slug".
	Slug string `json:"slug"`
	// SourceKind, where it is given, must be that of the skill.
	SourceKind SourceKind `json:"source_kind,omitempty"`
	Label      string     `json:"label,omitempty"`
}

// Limits bound the prompt of one turn.
type Limits struct {
	// MaxChars counts code points; nil means the default, 0 no limit.
	MaxChars *int `json:"max_chars,omitempty"`
}

// Turn is what an agent tells of the turn that it wants skills for.
type Turn struct {
	// Text is the user's message. References in it (`/skill:<slug> args`, `$<slug>`, `@skill:<slug>`) choose skills.
	Text string `json:"text,omitempty"`
	// Capabilities are skills chosen beside the text.
	Capabilities []Capability `json:"capabilities,omitempty"`
	// Runtime can only narrow: a skill must fit it besides the workspace's own.
	Runtime string `json:"runtime,omitempty"`
	// Format names the format of the prompt; empty means the default.
	Format string `json:"format,omitempty"`
	Limits Limits `json:"limits,omitzero"`
}

// How a skill became active in a turn, and why one that was named did not.
const (
	ViaCapability = "explicit_capability"
	ViaReference  = "explicit_reference"
	ViaPath       = "path_match"
	ViaImplicit   = "implicit"

	RejectedNotFound            = "not_found"
	RejectedShadowed            = "shadowed"
	RejectedUnlisted            = "unlisted"
	RejectedDisabled            = "disabled_by_policy"
	RejectedNotUserInvocable    = "not_user_invocable"
	RejectedInvalidMetadata     = "invalid_metadata"
	RejectedRuntimeIncompatible = "runtime_incompatible"
	RejectedUnsupportedPlatform = "unsupported_platform"
	RejectedDependencyMissing   = "dependency_missing"
)

// ActiveSkill is a skill that the turn may use.
type ActiveSkill struct {
	Slug       string     `json:"slug"`
	SourceKind SourceKind `json:"source_kind"`
	Name       string     `json:"name"`
	// Reason is one of the Via constants.
	Reason string `json:"reason"`
	// Digest is that of its SKILL.md; none where it has tools only.
	Digest Digest `json:"digest,omitzero"`
	// Arguments are what stood behind a `/skill:<slug>` in the text.
	Arguments string `json:"arguments,omitempty"`
}

// RejectedSkill is a skill that the turn named and may not use.
type RejectedSkill struct {
	// ID is that of the capability that named it.
	ID   string `json:"id,omitempty"`
	Slug string `json:"slug"`
	// Reason is one of the Rejected constants, Detail a sentence about it, Diagnostics every reason of the skill.
	Reason      string   `json:"reason"`
	Detail      string   `json:"detail"`
	Diagnostics []Reason `json:"diagnostics"`
}

// Resolution is the answer to a [Turn]: which skills of one snapshot are active in it.
type Resolution struct {
	SnapshotVersion uint64          `json:"snapshot_version"`
	Digest          Digest          `json:"digest"`
	Active          []ActiveSkill   `json:"active"`
	Rejected        []RejectedSkill `json:"rejected"`
	// Prompt is rendered from Active; the resolver itself leaves it empty.
	Prompt *Prompt `json:"prompt,omitempty"`
}

// Prompt is the skills section of a system prompt.
type Prompt struct {
	Format string `json:"format"`
	Text   string `json:"text"`
	// Omitted are the slugs that did not fit into the limit or whose text could not be read, Truncated whether there are
	// any.
	Omitted   []string `json:"omitted"`
	Truncated bool     `json:"truncated"`
}
