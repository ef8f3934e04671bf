package molecule

import (
	"encoding/json"
	"time"
)

// The types in this file are the wire of Molecule's platform: its field names, what it takes for required, and what it
// answers. Both sides of the wire use them. Fields that are not known are ignored by both.

// The routes of the platform that pannier speaks of.
const (
	PathRegister   = "/registry/register"
	PathUpdateCard = DefaultPath
	PathHeartbeat  = "/registry/heartbeat"
	PathEvents     = "/ws"
)

// WorkspaceHeader names the workspace that a client of the event stream speaks for.
const WorkspaceHeader = "X-Workspace-ID"

// UpdateCardRequest replaces the stored card of a workspace (`POST /registry/update-card`). Both fields are required.
type UpdateCardRequest struct {
	// WorkspaceID is a UUID.
	WorkspaceID string `json:"workspace_id"`
	// AgentCard is any JSON value, null included.
	AgentCard json.RawMessage `json:"agent_card"`
}

// RegisterRequest makes a workspace known (`POST /registry/register`). All fields are required. pannier itself never
// registers: the agent's runtime does.
type RegisterRequest struct {
	// ID is a UUID.
	ID string `json:"id"`
	// URL is where the agent can be reached.
	URL       string          `json:"url"`
	AgentCard json.RawMessage `json:"agent_card"`
}

// RegisterResponse is the answer to a registration.
type RegisterResponse struct {
	// AuthToken is the workspace's new bearer token. It is given once, while the workspace has none.
	AuthToken string `json:"auth_token,omitempty"`
	// Status is "registered".
	Status string `json:"status"`
}

// HeartbeatRequest says that an agent lives (`POST /registry/heartbeat`). Only WorkspaceID is required, but whatever is
// left out is stored as zero, so that there must be one sender for each workspace.
type HeartbeatRequest struct {
	WorkspaceID   string  `json:"workspace_id"`
	ErrorRate     float64 `json:"error_rate"`
	SampleError   string  `json:"sample_error"`
	ActiveTasks   int     `json:"active_tasks"`
	UptimeSeconds int     `json:"uptime_seconds"`
	CurrentTask   string  `json:"current_task"`
}

// What a promotion is called among activities.
const (
	ActivityPromotion = "skill_promotion"
	MethodPromotion   = "memory/skill-promotion"
)

// ActivityRequest tells of something that a workspace did (`POST /workspaces/:id/activity`). The server takes only types that
// it knows, and a SourceID that is the workspace's own.
type ActivityRequest struct {
	Type        string          `json:"activity_type"`
	Method      string          `json:"method"`
	Summary     string          `json:"summary"`
	Status      string          `json:"status"`
	SourceID    string          `json:"source_id"`
	RequestBody json.RawMessage `json:"request_body"`
	// Metadata is dropped by servers where there is a RequestBody.
	Metadata PromotionMetadata `json:"metadata"`
}

// PromotionMetadata is that of a promotion.
type PromotionMetadata struct {
	Source           string          `json:"source"`
	Scope            any             `json:"scope,omitempty"`
	MemoryID         any             `json:"memory_id,omitempty"`
	PromoteToSkill   bool            `json:"promote_to_skill"`
	RepetitionSignal json.RawMessage `json:"repetition_signal"`
	MemoryPacket     json.RawMessage `json:"memory_packet"`
}

// StatusResponse is the answer to what needs no other: "updated" for a card, "ok" for a heartbeat, "logged" for an
// activity.
type StatusResponse struct {
	Status string `json:"status"`
}

// ErrorResponse is the body of every answer that is an error.
type ErrorResponse struct {
	Error string `json:"error"`
}

// Peer is a workspace as another one sees it (`GET /registry/:id/peers`).
type Peer struct {
	ActiveTasks int `json:"active_tasks"`
	// AgentCard is null for a workspace that has none.
	AgentCard json.RawMessage `json:"agent_card"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	// ParentID and Role are null for a workspace that has none.
	ParentID *string `json:"parent_id"`
	Role     *string `json:"role"`
	Status   string  `json:"status"`
	Tier     int     `json:"tier"`
	URL      string  `json:"url"`
}

// WorkspaceInfo is what the platform stores of a workspace (`GET /workspaces/:id`). It is open to everybody, so a card can
// be read back without a token.
type WorkspaceInfo struct {
	ActiveTasks int             `json:"active_tasks"`
	AgentCard   json.RawMessage `json:"agent_card"`
	ID          string          `json:"id"`
	Name        string          `json:"name"`
	ParentID    *string         `json:"parent_id"`
	Role        *string         `json:"role"`
	// Runtime names the agent's adapter.
	Runtime string `json:"runtime"`
	Status  string `json:"status"`
	Tier    int    `json:"tier"`
	URL     string `json:"url"`
}

// Frame is one event of the platform's stream (`GET /ws`), a text message each. There is no numbering and no replay: who
// was away reads everything anew.
type Frame struct {
	// Event is one of the Frame constants, or another one that is of no concern here.
	Event string `json:"event"`
	// WorkspaceID is as the request that caused the event had it.
	WorkspaceID string `json:"workspace_id"`
	// Timestamp is in UTC, with nanoseconds.
	Timestamp time.Time `json:"timestamp"`
	// Payload depends on Event.
	Payload json.RawMessage `json:"payload"`
}

// The events of a [Frame] that pannier knows, each with the type of its payload.
const (
	FrameCardUpdated = "AGENT_CARD_UPDATED"  // CardUpdatedPayload
	FrameOnline      = "WORKSPACE_ONLINE"    // OnlinePayload
	FrameTaskUpdated = "TASK_UPDATED"        // TaskUpdatedPayload
	FrameHeartbeat   = "WORKSPACE_HEARTBEAT" // HeartbeatPayload

	// Of these only the workspace counts.
	FrameOffline   = "WORKSPACE_OFFLINE"
	FrameExpanded  = "WORKSPACE_EXPANDED"
	FrameCollapsed = "WORKSPACE_COLLAPSED"
	FrameRemoved   = "WORKSPACE_REMOVED"
)

// CardUpdatedPayload tells of a card that was replaced by update-card.
type CardUpdatedPayload struct {
	AgentCard json.RawMessage `json:"agent_card"`
}

// OnlinePayload tells of a workspace that came up. AgentCard is there when that was a registration, which has replaced
// the stored card.
type OnlinePayload struct {
	AgentCard json.RawMessage `json:"agent_card,omitempty"`
	URL       string          `json:"url"`
}

// TaskUpdatedPayload tells that an agent turned to another task.
type TaskUpdatedPayload struct {
	ActiveTasks int    `json:"active_tasks"`
	CurrentTask string `json:"current_task"`
}

// HeartbeatPayload tells of each heartbeat.
type HeartbeatPayload struct {
	ActiveTasks   int `json:"active_tasks"`
	UptimeSeconds int `json:"uptime_seconds"`
}
