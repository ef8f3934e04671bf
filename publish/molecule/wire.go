package molecule

import (
	"encoding/json"
	"regexp"
	"strings"
)

// The types in this file are what a client sends and reads of the wire of Molecule's platform. The development platform
// has the other types. Both sides ignore unknown fields.

// The routes of the platform.
const (
	PathRegister   = "/registry/register"
	PathUpdateCard = DefaultPath
	PathHeartbeat  = "/registry/heartbeat"
	PathEvents     = "/ws"
)

// WorkspaceHeader names the workspace that a client of the event stream speaks for.
const WorkspaceHeader = "X-Workspace-ID"

var uuid = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// ParseUUID returns the lower-case form of a UUID of 8-4-4-4-12 hexadecimal digits, such as the id of a workspace.
func ParseUUID(text string) (string, bool) {
	if !uuid.MatchString(text) {
		return "", false
	}
	return strings.ToLower(text), true
}

// UpdateCardRequest replaces the stored card of a workspace (`POST /registry/update-card`). Both fields are required.
type UpdateCardRequest struct {
	// WorkspaceID is a UUID.
	WorkspaceID string `json:"workspace_id"`
	// AgentCard is any JSON value, null included.
	AgentCard json.RawMessage `json:"agent_card"`
}

// HeartbeatRequest reports that an agent is alive (`POST /registry/heartbeat`). Only WorkspaceID is required, but every
// missing field is stored as zero, so that there must be one sender for each workspace.
type HeartbeatRequest struct {
	WorkspaceID   string  `json:"workspace_id"`
	ErrorRate     float64 `json:"error_rate"`
	SampleError   string  `json:"sample_error"`
	ActiveTasks   int     `json:"active_tasks"`
	UptimeSeconds int     `json:"uptime_seconds"`
	CurrentTask   string  `json:"current_task"`
}

// The type and the method of a promotion among activities.
const (
	ActivityPromotion = "skill_promotion"
	MethodPromotion   = "memory/skill-promotion"
)

// ActivityRequest reports what a workspace did (`POST /workspaces/:id/activity`). The server accepts only types that it
// knows, and a SourceID that is the workspace's own.
type ActivityRequest struct {
	Type        string          `json:"activity_type"`
	Method      string          `json:"method"`
	Summary     string          `json:"summary"`
	Status      string          `json:"status"`
	SourceID    string          `json:"source_id"`
	RequestBody json.RawMessage `json:"request_body"`
	// Metadata is dropped by servers if there is a RequestBody.
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

// ErrorResponse is the body of every error.
type ErrorResponse struct {
	Error string `json:"error"`
}

// The events of the stream that matter here.
const (
	FrameCardUpdated = "AGENT_CARD_UPDATED"
	FrameOnline      = "WORKSPACE_ONLINE"
	FrameOffline     = "WORKSPACE_OFFLINE"
	FrameExpanded    = "WORKSPACE_EXPANDED"
	FrameCollapsed   = "WORKSPACE_COLLAPSED"
	FrameRemoved     = "WORKSPACE_REMOVED"
)
