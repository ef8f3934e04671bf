package mcp_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pannier"
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

// TestUnreadAnswers: hosts that never read keep the places of large reads only until they lose their connections.
func TestUnreadAnswers(t *testing.T) {
	for _, era := range []string{withSessions, stateless} {
		t.Run(era, func(t *testing.T) { checkUnreadAnswers(t, era) })
	}
}

func checkUnreadAnswers(t *testing.T, era string) {
	s := newShop(t, "a")
	s.write("a/large", strings.Repeat("x", 4<<20))
	s.write("a/small", "x")
	var reads atomic.Int32
	s.contents.Emit = func(_ pannier.EventType, data any) {
		if read, ok := data.(pannier.SkillFileRead); ok && read.Path == "large" {
			reads.Add(1)
		}
	}
	s.wait, s.stall = 50*time.Millisecond, 2*time.Second
	client := s.serve(t)
	headers := []string{"MCP-Protocol-Version", era, "Pannier-Answer", "1"}
	meta := ""
	if era == stateless {
		meta = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	} else {
		res, _ := post(t, client, initialize)
		headers = append(headers, "Mcp-Session-Id", res.Header.Get("Mcp-Session-Id"))
	}
	call := func(id int, file string) (body string, with []string) {
		body = fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"resources/read","params":{"uri":"skill://a/%s"%s}}`, id, file, meta)
		return body, append([]string{"Mcp-Method", "resources/read", "Mcp-Name", "skill://a/" + file}, headers...)
	}
	for i := range 8 {
		body, with := call(100+i, "large")
		var request strings.Builder
		for j := 0; j < len(with); j += 2 {
			fmt.Fprintf(&request, "%s: %s\r\n", with[j], with[j+1])
		}
		conn, err := client.Transport.(*http.Transport).DialContext(t.Context(), "unix", "")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: pannier\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n%sContent-Length: %d\r\n\r\n%s", request.String(), len(body), body)
	}
	eventually(t, "all places are taken", func() bool { return s.server.PlacesForTest() == 4 })
	body, with := call(1, "large")
	if _, text := post(t, client, body, with...); !strings.Contains(text, "retry in a moment") || !strings.Contains(text, "too_many_reads") {
		t.Errorf("a large read beyond the bound: %.300s", text)
	}
	if n := reads.Load(); n != 4 {
		t.Errorf("%d large files were read", n)
	}
	body, with = call(2, "small")
	if _, text := post(t, client, body, with...); !strings.Contains(text, `"text":"x"`) {
		t.Errorf("a small read: %.300s", text)
	}
	eventually(t, "all places are free", func() bool { return s.server.PlacesForTest() == 0 })
	body, with = call(3, "large")
	if _, text := post(t, client, body, with...); len(text) < 4<<20 {
		t.Errorf("a large read after that: %.300s", text)
	}
	eventually(t, "its place is free", func() bool { return s.server.PlacesForTest() == 0 })
}

// TestRepeatedSubscriptions: a stream that names one file many times takes one place, and frees it.
func TestRepeatedSubscriptions(t *testing.T) {
	s := newShop(t, "a")
	client := s.serve(t)
	uris := strings.Repeat(`"skill://a/SKILL.md",`, 599) + `"skill://a/SKILL.md"`
	body := `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":[` + uris +
		`]},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://pannier/mcp", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Mcp-Protocol-Version": {stateless}, "Mcp-Method": {"subscriptions/listen"}}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text := make([]byte, 256)
	n, err := res.Body.Read(text)
	if err != nil || !strings.Contains(string(text[:n]), "acknowledged") || len(s.server.Watched()) != 1 {
		t.Errorf("%.256q %v, %d directories", text[:n], err, len(s.server.Watched()))
	}
	res.Body.Close()
	eventually(t, "the place is free", func() bool { return len(s.server.Watched()) == 0 })
}
