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
	EventCardPushed         EventType = "card_pushed"           // CardPush
	EventCardRejected       EventType = "card_rejected"         // CardPush
)

// EventTypes lists every type, for whoever checks that a name is one.
func EventTypes() []EventType {
	return []EventType{
		EventCatalogUpdated, EventSkillLoaded, EventSkillFileRead, EventSkillInvoked, EventSkillStateChanged, EventSkillWarning, EventSkillScanned,
		EventWorkspaceChanged, EventEnvironmentChanged, EventPolicyChanged, EventInstallAdded, EventInstallReplaced, EventInstallRemoved, EventInstallRolledBack, EventSkillPromotion,
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
}

// CatalogUpdated tells how the catalog changed.
type CatalogUpdated struct {
	Count      int         `json:"count"`
	Roots      []string    `json:"roots"`
	Collisions []Collision `json:"collisions,omitempty"`
	Digest     Digest      `json:"digest"`
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
}

// SkillFileRead tells that a file of a skill was served.
type SkillFileRead struct {
	Slug string `json:"slug"`
	// Path is below the skill directory, with slashes.
	Path   string `json:"path"`
	Digest Digest `json:"digest"`
}

// InvocationMode says who invoked a skill.
type InvocationMode string

// InvokedManually is an invocation by whoever named the command.
const InvokedManually InvocationMode = "manual"

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
}

// CardPush tells what became of a card that was offered to a platform.
type CardPush struct {
	Platform string `json:"platform"`
	Digest   Digest `json:"digest"`
	// Error is empty where the platform took the card.
	Error string `json:"error,omitempty"`
}
