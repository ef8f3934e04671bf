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
	// MaxTokens counts estimated tokens; where both are given, both hold. nil and 0 mean no limit of that kind.
	MaxTokens *int `json:"max_tokens,omitempty"`
	// MaxBodies counts the skills whose bodies are read for it; nil means the default, 0 none.
	MaxBodies *int `json:"max_bodies,omitempty"`
}

// The bounds of a turn. The API refuses what is beyond them; the resolver leaves it out.
const (
	// MaxTurnPaths counts the files of a turn, those of its text too; MaxPathBytes is the longest.
	MaxTurnPaths = 512
	MaxPathBytes = 1024
	// MaxTurnTools counts the tools of a turn, MaxToolBytes is the longest.
	MaxTurnTools = 1024
	MaxToolBytes = 1024
	// MaxRecentTexts and MaxRecentSkills count the items of a [TurnContext], MaxRecentTextBytes is the longest text.
	MaxRecentTexts     = 8
	MaxRecentTextBytes = 1 << 20
	MaxRecentSkills    = 32
)

// TurnContext is what came before a turn. The sidecar keeps none of it.
type TurnContext struct {
	// RecentTexts are the user's messages before this one, the newest first. They rank skills with less weight than the text, and
	// choose none.
	RecentTexts []string `json:"recent_texts,omitempty"`
	// RecentSkills are the slugs of skills that the agent used lately, the newest first. They rank before skills that are not
	// relevant for the text.
	RecentSkills []string `json:"recent_skills,omitempty"`
}

// Turn is what an agent tells of the turn that it wants skills for.
type Turn struct {
	// Text is the user's message. References in it choose skills: `/skill:<slug> args`, `/<name> args`, `@skill:<slug>`, `@<name>`,
	// `$<slug>`, "use the <name> skill". The other words rank those that are offered.
	Text    string      `json:"text,omitempty"`
	Context TurnContext `json:"context,omitzero"`
	// Stable asks for the same order and the same prompt in each turn that names no skill, for agents that cache the whole section:
	// nothing is ranked, and every skill is shown by its name.
	Stable bool `json:"stable,omitempty"`
	// Paths are files that the turn is about, beside those that the text names. They choose skills whose globs they match.
	Paths []string `json:"paths,omitempty"`
	// ProjectDir is where the agent's files are: paths below it are matched as they are seen from there.
	ProjectDir string `json:"project_dir,omitempty"`
	// Capabilities are skills chosen beside the text.
	Capabilities []Capability `json:"capabilities,omitempty"`
	// Tools are the caller's own, for skills to narrow. None at all is something else than nil, which leaves them open.
	Tools []string `json:"tools,omitzero"`
	// Runtime can only narrow: a skill must fit it besides the workspace's own.
	Runtime string `json:"runtime,omitempty"`
	// Format names the format of the prompt; empty means the default.
	Format string `json:"format,omitempty"`
	Limits Limits `json:"limits,omitzero"`

	// Verbose asks for every skill that is not active, named or not. On the wire it stands in the query.
	Verbose bool `json:"-"`
	// NamedOnly leaves out what is only [ViaImplicit] and has no place of its own in the order of the turn: for a caller that has it
	// already, because it depends on Runtime alone.
	NamedOnly bool `json:"-"`
}

// How a skill became active in a turn, in the order in which the active ones stand.
const (
	ViaCapability = "explicit_capability"
	ViaReference  = "explicit_reference"
	ViaPath       = "path_match"
	// ViaMentioned is implicit, and named in a way that only ranks it first: in backquotes, as "skill NAME", as [[NAME]].
	ViaMentioned = "mentioned"
	ViaImplicit  = "implicit"
)

// Why a skill is not active, in the order in which the turn asks: the first that fits is told.
const (
	RejectedNotFound               = "not_found"
	RejectedShadowed               = "shadowed"
	RejectedUnlisted               = "unlisted"
	RejectedDisabled               = "disabled_by_policy"
	RejectedNotMatched             = "not_matched"
	RejectedNotUserInvocable       = "not_user_invocable"
	RejectedDisableModelInvocation = "disabled_model_invocation"
	RejectedStateLost              = "state_lost"
	RejectedValidation             = "validation_rejected"
	RejectedInvalidMetadata        = "invalid_metadata"
	RejectedRuntimeIncompatible    = "runtime_incompatible"
	RejectedUnsupportedPlatform    = "unsupported_platform"
	RejectedTrustBlocked           = "trust_blocked"
	RejectedSecurityBlocked        = "security_blocked"
	RejectedDependencyMissing      = "dependency_missing"
	RejectedConflict               = "conflict"
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
	// Relevance says why the text ranks the skill where it is; nil where the text has too little in common with it.
	Relevance *Relevance `json:"relevance,omitempty"`
}

// Relevance is how much a text has in common with a skill.
type Relevance struct {
	// Score grows with relevance and compares within one answer.
	Score float64 `json:"score"`
	// Matched are the words of the text that count, folded, those that count most first.
	Matched []string `json:"matched"`
}

// FindRequest asks for the skills that a text is about.
type FindRequest struct {
	Text string `json:"text"`
	// Limit is the most skills of the answer; 0 means 20.
	Limit int `json:"limit,omitempty"`
}

// Found is a skill that has words of a text.
type Found struct {
	*Entry
	Relevance
}

// FoundList answers a [FindRequest].
type FoundList struct {
	SnapshotVersion uint64 `json:"snapshot_version"`
	Digest          Digest `json:"digest"`
	// Total counts the skills that have words of the text, Skills are the most relevant of them, the best first.
	Total  int          `json:"total"`
	Skills []FoundSkill `json:"skills"`
}

// FoundSkill is a skill of a [FoundList].
type FoundSkill struct {
	Slug        string `json:"slug"`
	Name        string `json:"name"`
	Description string `json:"description"`
	State       State  `json:"state"`
	Usable      bool   `json:"usable"`
	// Offered says that the model is offered the skill in turns that do not name it.
	Offered   bool      `json:"offered"`
	Relevance Relevance `json:"relevance"`
}

// Suggestion is what a reference that no skill has may have meant.
type Suggestion struct {
	// Reference is as the text writes it, Slugs are those with one typing error less.
	Reference string   `json:"reference"`
	Slugs     []string `json:"slugs"`
}

// RejectedSkill is a skill that the turn may not use: one that it named or, where it asks for all, any.
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
	// Suggestions are for references that no skill has.
	Suggestions []Suggestion `json:"suggestions,omitempty"`
	// Tools are the runtime tools that the active skills declare, and whether the sidecar carries them out now; ExcludedTools those
	// that are kept back, tools in files among them; by skill, then by name.
	Tools         []ListedTool   `json:"tools"`
	ExcludedTools []ExcludedTool `json:"excluded_tools"`
	// AllowedTools are what is left of the caller's own tools.
	AllowedTools AllowedTools `json:"allowed_tools"`
	// Overrides are what the chosen skills propose to override; nil where the settings ignore that, or none proposes anything.
	Overrides *TurnOverrides `json:"overrides,omitempty"`
	// Prompt is rendered from Active; the resolver itself leaves it empty.
	Prompt *Prompt `json:"prompt,omitempty"`
}

// The profiles of tool policy.
const (
	ProfileDefault = "default"
	// ProfileFullAuto lets skills add to the caller's tools, and every answer says so.
	ProfileFullAuto = "full_auto"
)

// AllowedTools are the tools that are left to the caller while it follows the skills that a turn has chosen. What is only
// [ViaImplicit] has no part in it: such a skill is offered and not followed yet.
type AllowedTools struct {
	// Effective are the tools, sorted, as the caller or a skill writes them. Where NarrowedBy is empty and the caller named
	// no tools, it is empty too, and all of the caller's tools are left.
	Effective []string `json:"effective"`
	// NarrowedBy and WidenedBy are the slugs of those skills that took something from the caller's tools or, where policy
	// lets them, added to them, in the order of the active ones.
	NarrowedBy []string `json:"narrowed_by"`
	WidenedBy  []string `json:"widened_by,omitempty"`
	// Profile is that of policy, where it is not [ProfileDefault].
	Profile string `json:"profile,omitempty"`
}

// Prompt is the skills section of a system prompt.
type Prompt struct {
	Format string `json:"format"`
	Text   string `json:"text"`
	// Omitted are the slugs that did not fit into the limit or whose text could not be read, Truncated whether there are
	// any.
	Omitted   []string `json:"omitted"`
	Truncated bool     `json:"truncated"`
	// Shortened are the skills that the text shows in part.
	Shortened []Shortened `json:"shortened,omitempty"`
	// Chars counts the code points of Text, as the limit does, TokensEstimate about the tokens that a model reads it as.
	Chars          int `json:"chars"`
	TokensEstimate int `json:"tokens_estimate"`
	// Overrides are as in a [Resolution], in an answer that has the prompt alone.
	Overrides *TurnOverrides `json:"overrides,omitempty"`
}

// Shortened is a skill that a prompt shows in part.
type Shortened struct {
	Slug string `json:"slug"`
	// LeftOut is "description" where the prompt has the name alone, "description_end" where the description is cut, "body" where its
	// body belongs in the format and is not shown, "resources" where some links or examples are not.
	LeftOut string `json:"left_out"`
	// Why is "limit", or "not_read" where the files could not be read.
	Why string `json:"why"`
}

// The values of [Shortened].
const (
	LeftOutDescription    = "description"
	LeftOutDescriptionEnd = "description_end"
	LeftOutBody           = "body"
	LeftOutResources      = "resources"
	ShortenedByLimit      = "limit"
	ShortenedUnread       = "not_read"
)

// PromptFormats returns the names of the formats of a prompt, the default first. The package publish/prompt has the
// formats themselves.
func PromptFormats() []string {
	return []string{"compact", "available_skills", "available_skills_reference", "openclaw", "skills_xml", "molecule", "molecule_system"}
}
