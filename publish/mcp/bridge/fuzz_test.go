package bridge

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// FuzzMessages reads lines of a host. What is not refused is a message that a server can get, and every answer to it fits a line.
func FuzzMessages(f *testing.F) {
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize"}`, `{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":1,"_meta":[]}}`,
		`{"id":null,"method":"x"}`, `[]`, `{}`, `null`, "1", `{"method":"notifications/cancelled","params":{"requestId":{"a":1}}}`,
		`{"id":1,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["a",2]},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`,
	} {
		f.Add([]byte(line), false)
	}
	f.Fuzz(func(t *testing.T, text []byte, tooLong bool) {
		if tooLong {
			text = nil
		}
		m, fault := parseMessage(text)
		var out bytes.Buffer
		b := &bridge{Options: Options{Out: &out}}
		if fault == nil {
			if !json.Valid(m.text) || m.Method == "" && len(m.ID) == 0 {
				t.Errorf("%q is not refused", text)
			}
			fault = &jsonrpc.Error{Message: "x"}
		}
		b.fail(m.ID, fault)
		if answer := out.Bytes(); bytes.Count(answer, []byte("\n")) != 1 || !json.Valid(answer) {
			t.Errorf("%q is answered with %q", text, answer)
		}
	})
}

// FuzzStreams reads streams of server-sent events. Every message that is handed on is JSON.
func FuzzStreams(f *testing.F) {
	for _, stream := range []string{
		"event: message\ndata: {\"id\":1,\"result\":{}}\n\n", "data: {\ndata: \"id\":1}\n\n", ": ping\n\ndata:\n\ndata: x\n\n", "data: null\r\n\r\n", "id: 1\nretry: 5\ndata: {}\n\n",
	} {
		f.Add([]byte(stream))
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		_ = readStream(bytes.NewReader(stream), func(m *message) bool {
			if !json.Valid(m.text) {
				t.Errorf("%q hands on %q", stream, m.text)
			}
			return false
		})
	})
}
