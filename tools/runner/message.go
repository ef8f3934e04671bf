// Package runner joins a sidecar with a runner in the agent's container, over a WebSocket of the sidecar's unix socket.
//
// Each message is a JSON object in a text frame. The runner begins with "hello"; then the sidecar sends "call", "cancel" and
// "read", the runner "output", "result" and "part":
//
//	hello   report
//	call    id, job, workspace
//	cancel  id
//	output  id, data
//	result  id, result
//	read    id, call, name, offset: a part of an artifact of a call
//	part    id, data, error
//
// What a runner sends is a claim: [Hub] bounds it, cleans it, and takes nothing from it that the sidecar knows itself.
package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/coder/websocket"

	"pannier"
)

// The bounds of a connection.
const (
	maxFrame     = 16 << 20
	maxReport    = 64 << 10
	writeTimeout = 10 * time.Second
	pingInterval = 15 * time.Second
	pongTimeout  = 10 * time.Second
	helloTimeout = 10 * time.Second
)

// The types of messages.
const (
	typeHello  = "hello"
	typeCall   = "call"
	typeCancel = "cancel"
	typeOutput = "output"
	typeResult = "result"
	typeRead   = "read"
	typePart   = "part"
)

type message struct {
	Type      string                `json:"type"`
	ID        string                `json:"id,omitempty"`
	Report    *pannier.RunnerReport `json:"report,omitempty"`
	Job       *pannier.ToolJob      `json:"job,omitempty"`
	Workspace string                `json:"workspace,omitempty"` // that the directory of the skill is below, where it is
	Data      []byte                `json:"data,omitempty"`
	Result    *pannier.ToolResult   `json:"result,omitempty"`
	Call      string                `json:"call,omitempty"` // the id of a job
	Name      string                `json:"name,omitempty"`
	Offset    int64                 `json:"offset,omitempty"`
	Error     *pannier.ToolError    `json:"error,omitempty"`
}

// errTooLarge says that a message is larger than the peer accepts.
var errTooLarge = fmt.Errorf("a message has more than %d bytes", maxFrame)

func encode(m message) ([]byte, error) {
	text, err := json.Marshal(m)
	if err == nil && len(text) > maxFrame {
		err = errTooLarge
	}
	return text, err
}

// write has a time of its own: the end of a context during a write would end the connection, with the calls of others.
func write(socket *websocket.Conn, text []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
	defer cancel()
	return socket.Write(ctx, websocket.MessageText, text)
}

func read(ctx context.Context, socket *websocket.Conn) (m message, err error) {
	kind, text, err := socket.Read(ctx)
	switch {
	case err != nil:
		return m, err
	case kind != websocket.MessageText:
		return m, errors.New("a binary message")
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return m, fmt.Errorf("a message that is not understood: %w", err)
	}
	return m, nil
}

// heartbeat pings the peer until ctx is done, and ends the connection if it does not answer.
func heartbeat(ctx context.Context, socket *websocket.Conn) {
	tick := time.NewTicker(pingInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		pinged, cancel := context.WithTimeout(ctx, pongTimeout)
		err := socket.Ping(pinged)
		cancel()
		if err != nil {
			socket.CloseNow()
			return
		}
	}
}
