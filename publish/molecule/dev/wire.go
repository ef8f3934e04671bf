package dev

import (
	"encoding/json"
	"time"
)

// The types in this file are what the platform alone needs of the wire; the client has the others.

// registerRequest makes a workspace known (`POST /registry/register`). All fields are required. pannier itself never
// registers: the agent's runtime does.
type registerRequest struct {
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

// statusResponse is the answer to what needs no other: "updated" for a card, "ok" for a heartbeat, "logged" for an
// activity.
type statusResponse struct {
	Status string `json:"status"`
}

// row is what the platform stores of a workspace, as another one sees it (`GET /registry/:id/peers`), and as everybody does
// (`GET /workspaces/:id`), so that a card can be read back without a token.
type row struct {
	ActiveTasks int `json:"active_tasks"`
	// AgentCard is null for a workspace that has none.
	AgentCard json.RawMessage `json:"agent_card"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	// ParentID and Role are null for a workspace that has none.
	ParentID *string `json:"parent_id"`
	Role     *string `json:"role"`
	// Runtime names the agent's adapter. Peers do not see it.
	Runtime string `json:"runtime,omitempty"`
	Status  string `json:"status"`
	Tier    int    `json:"tier"`
	URL     string `json:"url"`
}

// sizeOf returns how many bytes of cards and URLs an answer holds.
func sizeOf(answer any) (bytes int) {
	rows, _ := answer.([]row)
	if one, ok := answer.(row); ok {
		rows = []row{one}
	}
	for _, r := range rows {
		bytes += len(r.AgentCard) + len(r.URL)
	}
	return bytes
}

// Frame is one event of the platform's stream (`GET /ws`), a text message each. Events have no numbers and no replay.
type Frame struct {
	// Event is one of the Frame constants.
	Event string `json:"event"`
	// WorkspaceID is as the request that caused the event had it.
	WorkspaceID string `json:"workspace_id"`
	// Timestamp is in UTC, with nanoseconds.
	Timestamp time.Time `json:"timestamp"`
	// Payload depends on Event.
	Payload json.RawMessage `json:"payload"`
}

type cardUpdatedPayload struct {
	AgentCard json.RawMessage `json:"agent_card"`
}

// onlinePayload reports a workspace that came online. AgentCard is set after a registration, which has replaced the stored card.
type onlinePayload struct {
	AgentCard json.RawMessage `json:"agent_card,omitempty"`
	URL       string          `json:"url"`
}

type taskUpdatedPayload struct {
	ActiveTasks int    `json:"active_tasks"`
	CurrentTask string `json:"current_task"`
}

type heartbeatPayload struct {
	ActiveTasks   int `json:"active_tasks"`
	UptimeSeconds int `json:"uptime_seconds"`
}

// The events that only the platform knows, each with the type of its payload.
const (
	frameTaskUpdated = "TASK_UPDATED"        // taskUpdatedPayload
	frameHeartbeat   = "WORKSPACE_HEARTBEAT" // heartbeatPayload
)
