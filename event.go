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
	EventCatalogUpdated EventType = "skill_catalog_updated" // CatalogUpdated
	EventSkillLoaded    EventType = "skill_loaded"          // SkillLoaded
	EventCardPushed     EventType = "card_pushed"           // CardPush
	EventCardRejected   EventType = "card_rejected"         // CardPush
)

// Event is something that happened to the skills of a workspace. Every surface shows the same one.
type Event struct {
	// Seq numbers the events without gaps from 1.
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

// SkillLoaded tells that the content of a skill was served.
type SkillLoaded struct {
	Name        string `json:"name"`
	Path        string `json:"path"`
	Digest      Digest `json:"digest"`
	Frontmatter any    `json:"frontmatter"`
}

// CardPush tells what became of a card that was offered to a platform.
type CardPush struct {
	Platform string `json:"platform"`
	Digest   Digest `json:"digest"`
	// Error is empty where the platform took the card.
	Error string `json:"error,omitempty"`
}
