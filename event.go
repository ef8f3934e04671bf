package pannier

import (
	"errors"
	"time"
)

// ErrTooOld says that the events after a number are not kept any more. The answer to it is to look at the whole.
var ErrTooOld = errors.New("the event is not kept any more")

// EventType names what happened.
type EventType string

// The types of event, each with the type of its data.
const (
	EventCatalogUpdated     EventType = "skill_catalog_updated" // CatalogUpdated
	EventSkillLoaded        EventType = "skill_loaded"          // SkillLoaded
	EventSkillFileRead      EventType = "skill_file_read"       // SkillFileRead
	EventSkillInvoked       EventType = "skill_invoked"         // SkillInvoked
	EventSkillToolCalled    EventType = "skill_tool_called"     // SkillToolCalled
	EventSkillOverride      EventType = "skill_override"        // SkillOverride
	EventTurnResolved       EventType = "turn_resolved"         // TurnResolved
	EventSkillStateChanged  EventType = "skill_state_changed"   // SkillStateChanged
	EventSkillWarning       EventType = "skill_warning"         // SkillWarning
	EventWorkspaceChanged   EventType = "workspace_changed"     // WorkspaceChanged
	EventEnvironmentChanged EventType = "environment_changed"   // EnvironmentChanged
	EventPolicyChanged      EventType = "policy_changed"        // PolicyChanged
	EventSkillScanned       EventType = "skill_scanned"         // SkillScanned
	EventInstallAdded       EventType = "install_added"         // SkillInstalled
	EventInstallReplaced    EventType = "install_replaced"      // SkillInstalled
	EventInstallRemoved     EventType = "install_removed"       // SkillInstalled
	EventInstallRolledBack  EventType = "install_rolled_back"   // SkillInstalled
	EventSkillPromotion     EventType = "skill_promotion"       // SkillPromotion
	EventMCPSession         EventType = "mcp_session"           // MCPSession
	EventCardPushed         EventType = "card_pushed"           // CardPush
	EventCardRejected       EventType = "card_rejected"         // CardPush
)

// EventTypes lists every type, to check names against.
func EventTypes() []EventType {
	return []EventType{
		EventCatalogUpdated, EventSkillLoaded, EventSkillFileRead, EventSkillInvoked, EventSkillToolCalled, EventSkillOverride, EventTurnResolved, EventSkillStateChanged, EventSkillWarning, EventSkillScanned,
		EventWorkspaceChanged, EventEnvironmentChanged, EventPolicyChanged, EventInstallAdded, EventInstallReplaced, EventInstallRemoved, EventInstallRolledBack, EventSkillPromotion, EventMCPSession,
		EventCardPushed, EventCardRejected,
	}
}

// Event is something that happened to the skills of a workspace. Every surface shows the same one.
type Event struct {
	// Seq numbers the events from 1. A gap is where events were dropped.
	Seq             uint64    `json:"seq"`
	Time            time.Time `json:"time"`
	Type            EventType `json:"type"`
	WorkspaceID     string    `json:"workspace_id"`
	SnapshotVersion uint64    `json:"snapshot_version"`
	Data            any       `json:"data"`
}

// Collision is two skills that want one slug.
type Collision struct {
	Slug string `json:"slug"`
	// Winner and Loser are paths of skill directories.
	Winner string `json:"winner"`
	Loser  string `json:"loser"`
	// Rule decided between them; empty in events of earlier versions.
	Rule CollisionRule `json:"rule,omitempty"`
}

// CollisionRule says what the winner of a collision has that the loser has not.
type CollisionRule string

// The rules, in their order: the first that tells two skills apart decides.
const (
	RuleReadable CollisionRule = "readable" // its SKILL.md can be read
	RuleRoot     CollisionRule = "root"     // its root is earlier in the settings
	RuleLocked   CollisionRule = "locked"   // the lock file of its root names it
	RuleListed   CollisionRule = "listed"   // config.yaml lists it
	RuleFolder   CollisionRule = "folder"   // its folder is called like the slug, or becomes it
	RuleDepth    CollisionRule = "depth"    // its path has fewer directories
	RulePath     CollisionRule = "path"     // its path is smaller in bytes
)

// CatalogUpdated tells how the catalog changed.
type CatalogUpdated struct {
	Count      int         `json:"count"`
	Roots      []string    `json:"roots"`
	Collisions []Collision `json:"collisions,omitempty"`
	Digest     Digest      `json:"digest"`
	// DigestForm numbers the definition of Digest. Digests of two forms are not compared; 0 is the first.
	DigestForm int `json:"digest_form"`
	// Added, Changed and Removed are slugs, sorted.
	Added   []string `json:"added"`
	Changed []string `json:"changed"`
	Removed []string `json:"removed"`
}

// SkillStateChanged tells that a skill stands elsewhere than it did. Of a skill that is new or gone, From or To is empty.
type SkillStateChanged struct {
	Slug       string     `json:"slug"`
	SourceKind SourceKind `json:"source_kind"`
	Path       string     `json:"path"`
	From       State      `json:"from,omitempty"`
	To         State      `json:"to,omitempty"`
	// Cause says in a few words why: the first reason against the skill, or what has gone away.
	Cause string `json:"cause"`
}

// SkillWarning tells that something is wrong with a skill that was not before, or not known (OpenSkills contract,
// "skill_warning").
type SkillWarning struct {
	// Name is the slug of the skill; empty where it is about several, or about none.
	Name string `json:"name,omitempty"`
	// Kind is the code of the problem, Detail its place and message.
	Kind   string `json:"kind"`
	Detail string `json:"detail"`
}

// WorkspaceChanged tells that config.yaml or a file of the system prompt changed.
type WorkspaceChanged struct {
	// Files are relative to the workspace, sorted.
	Files  []string     `json:"files"`
	Fields FieldChanges `json:"fields"`
}

// FieldChanges are the keys of config.yaml that changed, by what that leads to, each list sorted.
type FieldChanges struct {
	// Hot takes effect without a restart of the agent, Restart only with one, and Ignored not at all.
	Hot     []string `json:"hot"`
	Restart []string `json:"restart"`
	Ignored []string `json:"ignored"`
}

// EnvironmentChanged tells that skills are judged by another environment.
type EnvironmentChanged struct {
	Source EnvironmentSource `json:"source"`
	OS     string            `json:"os"`
	Arch   string            `json:"arch"`
	// Bins, Env, Config and MCP count the names.
	Bins   int `json:"bins"`
	Env    int `json:"env"`
	Config int `json:"config"`
	MCP    int `json:"mcp"`
}

// PolicyChanged tells that a client set the policy of a skill.
type PolicyChanged struct {
	PolicyKey
	// Before and After are the workspace layer, Effective what follows.
	Before    PolicyEntry     `json:"before"`
	After     PolicyEntry     `json:"after"`
	Effective EffectivePolicy `json:"effective"`
}

// SkillLoaded tells that the content of a skill was served.
type SkillLoaded struct {
	Name        string `json:"name"`
	Path        string `json:"path"`
	Digest      Digest `json:"digest"`
	Frontmatter any    `json:"frontmatter"`
	// Warnings are problems of the skill at the time, without its name (OpenSkills contract, "skill_loaded"). There are at most
	// [MaxLoadWarnings].
	Warnings []SkillWarning `json:"warnings,omitempty"`
	// Resources are the files whose links and examples the prompt showed, at most links.yaml and 64 of examples/.
	Resources []LoadedFile `json:"resources,omitempty"`
	// TurnDigest is that of the turn whose prompt showed the content; none for any other request.
	TurnDigest Digest `json:"turn_digest,omitzero"`
}

// MaxLoadWarnings bounds the warnings of a [SkillLoaded].
const MaxLoadWarnings = 10

// SkillFileRead tells that a file of a skill was served.
type SkillFileRead struct {
	Slug string `json:"slug"`
	// Path is below the skill directory, with slashes.
	Path   string `json:"path"`
	Digest Digest `json:"digest"`
}

// InvocationMode says who invoked a skill.
type InvocationMode string

const (
	// InvokedManually is an invocation by a client, a command or a turn that named the skill.
	InvokedManually InvocationMode = "manual"
	// InvokedAutomatically is an invocation by a turn that matched the skill without naming it.
	InvokedAutomatically InvocationMode = "auto"
)

// SkillInvoked tells that a skill was given to an agent to follow (OpenSkills contract, "skill_invoked").
type SkillInvoked struct {
	// Name is that of the skill, as SkillLoaded has it; Slug tells skills of one name apart.
	Name string `json:"name"`
	Slug string `json:"slug"`
	// Command is the declared command that was meant; empty for the skill itself.
	Command string         `json:"command,omitempty"`
	Args    string         `json:"args,omitempty"`
	Mode    InvocationMode `json:"mode"`
	// EffectiveAllowedTools are those that the skill narrows the agent to.
	EffectiveAllowedTools []string `json:"effective_allowed_tools,omitempty"`
	// TurnDigest is that of the turn that invoked the skill; none for a command.
	TurnDigest Digest `json:"turn_digest,omitzero"`
}

// TurnResolved records what a turn resolved to.
type TurnResolved struct {
	// Digest is that of the snapshot, TurnDigest that of the JSON of the turn.
	Digest     Digest `json:"digest"`
	TurnDigest Digest `json:"turn_digest"`
	Format     string `json:"format,omitempty"`
	// Active and Rejected count skills by reason.
	Active   map[string]int `json:"active"`
	Rejected map[string]int `json:"rejected"`
	// Skills are the chosen skills, then the rejected ones, and ExcludedTools the tools of active skills that are not offered, at most
	// [MaxTurnSkills] each; Truncated says that there are more.
	Skills        []TurnSkill `json:"skills"`
	ExcludedTools []TurnTool  `json:"excluded_tools"`
	Truncated     bool        `json:"truncated,omitempty"`
	// Bodies counts the skills whose bodies the prompt shows.
	Bodies int `json:"bodies"`
	// Verbose says that skills which the turn did not name are among the rejected ones.
	Verbose bool `json:"verbose,omitempty"`
	// Unrecorded counts the turns since the last recorded one.
	Unrecorded uint64 `json:"unrecorded,omitempty"`
	// Turn is the turn itself, if the settings allow it and it is not too long.
	Turn *Turn `json:"turn,omitempty"`
}

// MaxTurnSkills bounds the lists of [TurnResolved], MaxTurnSlugBytes each name in them, and MaxTurnCodes the reasons of one skill.
const (
	MaxTurnSkills    = 64
	MaxTurnSlugBytes = 128
	MaxTurnCodes     = 8
)

// TurnSkill is a skill that a turn chose or rejected.
type TurnSkill struct {
	Slug string `json:"slug"`
	// State is active or rejected.
	State string `json:"state"`
	// Reason is one of the Via or Rejected constants.
	Reason string `json:"reason"`
	// Relevance is the score of one that the text is likely to be about; the matched words are the user's, and in no event.
	Relevance float64 `json:"relevance,omitempty"`
	// Codes are those of the reasons against a rejected skill, at most [MaxTurnCodes], and Subjects what each is about, such as the
	// dependency that is missing.
	Codes    []string `json:"codes,omitempty"`
	Subjects []string `json:"subjects,omitempty"`
}

// TurnTool is a tool of an active skill that a turn does not offer.
type TurnTool struct {
	Name string `json:"name"`
	// Reason is that of an [ExcludedTool].
	Reason string `json:"reason"`
}

// The values of [TurnSkill].State.
const (
	TurnActive   = "active"
	TurnRejected = "rejected"
)

// MCPSession tells that a host of the Model Context Protocol has connected. Its texts are the host's own, cleaned and bounded.
type MCPSession struct {
	Client  string `json:"client"`
	Version string `json:"version"`
	// Protocol is the version of the protocol, Method what the host began with: initialize or server/discover.
	Protocol string `json:"protocol"`
	Method   string `json:"method"`
}

// CardPush tells what became of a card that was offered to a platform.
type CardPush struct {
	Platform string `json:"platform"`
	Digest   Digest `json:"digest"`
	// Error is empty where the platform took the card.
	Error string `json:"error,omitempty"`
	// DurationMS is how long the request took, in milliseconds, at least 1; 0 where no request was made.
	DurationMS int64 `json:"duration_ms,omitempty"`
}
