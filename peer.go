package pannier

import (
	"encoding/json"
	"time"
)

// Peer is another workspace that the agent can delegate to, as the platform tells of it.
type Peer struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Role string `json:"role,omitempty"`
	// Status is the platform's own word, such as "online".
	Status string `json:"status"`
	// Card is the peer's agent card as it was published, nil where it has none. It is the peer's own: nothing in it is
	// to be trusted.
	Card json.RawMessage `json:"card"`
	// UpdatedAt is when something of this was seen to be new.
	UpdatedAt time.Time `json:"updated_at,omitzero"`
}

// PeerList are the peers of a workspace, by the order of the platforms, then by id.
type PeerList struct {
	Peers []Peer `json:"peers"`
}
