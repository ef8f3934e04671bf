package bridge

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
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

// modernVersion is the first protocol version without sessions.
const modernVersion = "2026-07-28"

// codeUnavailable is the error code of a server that does not answer.
const codeUnavailable = -32000

// message is a message of JSON-RPC, and the text that it was read from.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *jsonrpc.Error  `json:"error"`

	text   []byte
	params params
}

// params are the parameters that a bridge looks at. One of another type counts as absent; the server refuses it.
type params struct {
	Name          string          `json:"name"`
	URI           string          `json:"uri"`
	RequestID     json.RawMessage `json:"requestId"`
	Notifications struct {
		Tools     bool     `json:"toolsListChanged"`
		Prompts   bool     `json:"promptsListChanged"`
		Resources bool     `json:"resourcesListChanged"`
		URIs      []string `json:"resourceSubscriptions"`
	} `json:"notifications"`
	Meta struct {
		Version string `json:"io.modelcontextprotocol/protocolVersion"`
	} `json:"_meta"`
}

// isCall reports whether a message wants an answer.
func (m *message) isCall() bool { return m.Method != "" && len(m.ID) > 0 && string(m.ID) != "null" }

// isModern reports whether a request stands alone, without a session.
func (m *message) isModern() bool { return m.params.Meta.Version >= modernVersion }

// isAnswer reports whether a message is the answer to a call. In a response of the server, it is that to the call of
// the request.
func (m *message) isAnswer() bool { return m.Method == "" }

// parseMessage returns the message of a line, which is nil for one that is too long. With a fault, the message has the
// id that is known.
func parseMessage(line []byte) (*message, *jsonrpc.Error) {
	refuse := func(format string, args ...any) *jsonrpc.Error {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: fmt.Sprintf(format, args...)}
	}
	m := &message{text: bytes.TrimSpace(line)}
	if line == nil {
		return m, refuse("the message is larger than %d bytes", MaxMessage)
	}
	if bytes.HasPrefix(m.text, []byte("[")) {
		return m, refuse("batches are not supported; send one message on each line")
	}
	if err := json.Unmarshal(m.text, m); err != nil {
		fault := refuse("the line is not a message of JSON-RPC: %v", err)
		fault.Code = jsonrpc.CodeParseError
		return &message{}, fault
	}
	if m.Method == "" && len(m.ID) == 0 {
		return m, refuse("the message has neither a method nor an id")
	}
	if len(m.text) > MaxMessage {
		return m, refuse("the message has %d bytes and may have %d", len(m.text), MaxMessage)
	}
	_ = json.Unmarshal(m.Params, &m.params) // goes on after a field of another type: see params
	return m, nil
}

// fail answers a call with an error. Without an id the answer has null (JSON-RPC 2.0, section 5).
func (b *bridge) fail(id json.RawMessage, fault *jsonrpc.Error) {
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	b.writeValue(map[string]any{"jsonrpc": "2.0", "id": id, "error": fault})
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
		b.stop()
	}
}
