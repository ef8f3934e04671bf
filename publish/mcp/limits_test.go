package mcp_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// TestOneMessageInEachRequest refuses what the SDK would answer at a high cost, in part, or with another id.
func TestOneMessageInEachRequest(t *testing.T) {
	s := newShop(t, "a")
	client := s.serve(t)
	read := `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"skill://a/SKILL.md"}}`
	ping := func(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}` }
	for _, tt := range []struct {
		name, body, id string
		code           int
		message        string
	}{
		{"batch", " \n[" + strings.Repeat(read+",", 19) + read + "]", "null", -32600, "send one message in each request"},
		{"empty batch", "[]", "null", -32600, "batches are not supported"},
		{"two messages", ping("1") + ping("2"), "null", -32700, "more than one JSON document"},
		{"a message and more", ping("1") + " x", "null", -32700, "more than one JSON document"},
		{"no JSON", "{", "null", -32700, "is not JSON"},
		{"blanks", " \n", "null", -32700, "is not JSON"},
		{"no object", "5", "null", -32600, "not a JSON object"},
		{"fraction", ping("1.5"), "1.5", -32600, "invalid id"},
		{"large integer", ping("12345678901234567890"), "12345678901234567890", -32600, "invalid id"},
		{"just too large", ping("9007199254740992"), "9007199254740992", -32600, "invalid id"},
		{"too large for a float", ping("1e400"), "1e400", -32600, "invalid id"},
		{"null", ping("null"), "null", -32600, "invalid id"},
		{"truth", ping("true"), "null", -32600, "invalid id"},
		{"object", ping(`{"a":1}`), "null", -32600, "invalid id"},
		{"text", ping(`"x"`), `"x"`, 0, ""},
		{"integer", ping("-9007199254740991"), "-9007199254740991", 0, ""},
		{"zero and blanks", ping("0") + " \n", "0", 0, ""},
	} {
		for _, version := range []string{"2025-03-26", withSessions} {
			res, text := post(t, client, tt.body, "MCP-Protocol-Version", version)
			var answer struct {
				ID    json.RawMessage
				Error struct {
					Code    int
					Message string
				}
			}
			err := json.Unmarshal([]byte(text), &answer)
			refused := res.StatusCode == http.StatusBadRequest
			if err != nil || refused != (tt.code != 0) || string(answer.ID) != tt.id || answer.Error.Code != tt.code || !strings.Contains(answer.Error.Message, tt.message) {
				t.Errorf("%s, %s: %d %.300s", tt.name, version, res.StatusCode, text)
			}
		}
	}
}
