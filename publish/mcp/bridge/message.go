package bridge

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// The methods that a bridge does more for than forward them.
const (
	methodInitialize      = "initialize"
	methodListen          = "subscriptions/listen"
	methodSubscribe       = "resources/subscribe"
	methodUnsubscribe     = "resources/unsubscribe"
	methodSetLevel        = "logging/setLevel"
	methodCallTool        = "tools/call"
	notificationCancelled = "notifications/cancelled"
	notificationReady     = "notifications/initialized"
	notificationListening = "notifications/subscriptions/acknowledged"
	notificationUpdated   = "notifications/resources/updated"
)

// The keys of _meta.
const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaSubscription = "io.modelcontextprotocol/subscriptionId"
)

// modernVersion is the first protocol version without sessions.
const modernVersion = "2026-07-28"

// The error codes of JSON-RPC that a bridge uses.
const (
	codeParse          = -32700
	codeInvalidRequest = -32600
	codeUnavailable    = -32000
)

// rpcError is an error of JSON-RPC.
type rpcError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// Error implements error.
func (e *rpcError) Error() string { return e.Message }

// message is a message of JSON-RPC, and the text that it was read from.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *rpcError       `json:"error"`

	text   []byte
	params params
}

// params are the parameters that a bridge looks at. One of another type counts as absent; the server refuses it.
type params struct {
	name, uri, version string
	requestID          json.RawMessage
	notifications      wanted
}

// wanted are the notifications that subscriptions/listen asks for.
type wanted struct {
	Tools     bool     `json:"toolsListChanged"`
	Prompts   bool     `json:"promptsListChanged"`
	Resources bool     `json:"resourcesListChanged"`
	URIs      []string `json:"resourceSubscriptions"`
}

// isCall reports whether a message wants an answer.
func (m *message) isCall() bool { return m.Method != "" && len(m.ID) > 0 && string(m.ID) != "null" }

// isModern reports whether a request stands alone, without a session.
func (m *message) isModern() bool { return m.params.version >= modernVersion }

// cancelled returns the id of the call that a notifications/cancelled is about.
func (m *message) cancelled() string { return string(m.params.requestID) }

// isAnswer reports whether a message is the answer to a call. In a response of the server, it is that to the call of the request.
func (m *message) isAnswer() bool { return m.Method == "" }

// parseMessage returns the message of a line. With a fault, the message has the id that is known.
func parseMessage(l line) (*message, *rpcError) {
	m := &message{text: bytes.TrimSpace(l.text)}
	if l.tooLong {
		return m, &rpcError{Code: codeInvalidRequest, Message: fmt.Sprintf("the message is larger than %d bytes", MaxMessage)}
	}
	if bytes.HasPrefix(m.text, []byte("[")) {
		return m, &rpcError{Code: codeInvalidRequest, Message: "batches are not supported; send one message on each line"}
	}
	if err := json.Unmarshal(m.text, m); err != nil {
		return &message{}, &rpcError{Code: codeParse, Message: "the line is not a message of JSON-RPC: " + err.Error()}
	}
	if m.Method == "" && len(m.ID) == 0 {
		return m, &rpcError{Code: codeInvalidRequest, Message: "the message has neither a method nor an id"}
	}
	if len(m.text) > MaxMessage {
		return m, &rpcError{Code: codeInvalidRequest, Message: fmt.Sprintf("the message has %d bytes and may have %d", len(m.text), MaxMessage)}
	}
	m.params = parseParams(m.Params)
	return m, nil
}

func parseParams(text json.RawMessage) (p params) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(text, &fields) != nil {
		return p
	}
	var meta map[string]json.RawMessage
	for name, into := range map[string]any{"name": &p.name, "uri": &p.uri, "requestId": &p.requestID, "notifications": &p.notifications, "_meta": &meta} {
		readField(fields[name], into)
	}
	readField(meta[metaVersion], &p.version)
	return p
}

func readField(text json.RawMessage, into any) {
	if len(text) > 0 {
		_ = json.Unmarshal(text, into) // see params
	}
}

// fail answers a call with an error. Without an id the answer has null (JSON-RPC 2.0, section 5).
func (b *bridge) fail(id json.RawMessage, fault *rpcError) {
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	b.writeValue(map[string]any{"jsonrpc": "2.0", "id": id, "error": fault})
}

// tell sends the host a notification.
func (b *bridge) tell(method string, params map[string]any) {
	notification := map[string]any{"jsonrpc": "2.0", "method": method}
	if len(params) > 0 {
		notification["params"] = params
	}
	b.writeValue(notification)
}

func (b *bridge) writeValue(value any) {
	text, err := json.Marshal(value)
	if err != nil {
		b.Log.Error("message not encoded", "error", err)
		return
	}
	b.write(text)
}

// write sends the host a message on a line of its own. A host that cannot be written to is gone.
func (b *bridge) write(text []byte) {
	if bytes.ContainsAny(text, "\r\n") {
		var compact bytes.Buffer
		if err := json.Compact(&compact, text); err != nil {
			b.Log.Error("message of the server dropped", "error", err)
			return
		}
		text = compact.Bytes()
	}
	b.outMu.Lock()
	defer b.outMu.Unlock()
	if _, err := b.Out.Write(append(text[:len(text):len(text)], '\n')); err != nil {
		b.stop(err)
	}
}
