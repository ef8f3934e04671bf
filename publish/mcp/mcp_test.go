package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pannier"
	"pannier/publish/mcp"
	"pannier/service"
)

// TestPages goes through all pages of lists, also while they change.
func TestPages(t *testing.T) {
	var slugs []string
	for i := range 25 {
		slugs = append(slugs, fmt.Sprintf("skill-%02d", i))
	}
	s := newShop(t, slugs...)
	s.PageSize = 10
	host := connect(t, s.serve(t), stateless, nil)
	var seen []string
	cursor := ""
	for page := 0; page == 0 || cursor != ""; page++ {
		got, err := sdk.CallCustomMethod[*params, *result](t.Context(), host, "skills/list", &params{Cursor: cursor})
		if err != nil || len(got.Skills) > 10 {
			t.Fatal(len(got.Skills), err)
		}
		for _, skill := range got.Skills {
			seen = append(seen, skill.URI)
		}
		if cursor = got.NextCursor; page == 0 {
			s.set(append([]string{"skill-00-new"}, slugs[11:]...)...) // the item before the next page is gone
		}
	}
	if len(seen) != 10+14 || seen[10] != "skill://skill-11/SKILL.md" {
		t.Errorf("%d skills: %v", len(seen), seen)
	}
	for _, cursor := range []string{"x", "YWZ0ZXI", strings.Repeat("a", 10_000)} {
		_, err := sdk.CallCustomMethod[*params, *result](t.Context(), host, "skills/list", &params{Cursor: cursor})
		var wire *jsonrpc.Error
		if !errors.As(err, &wire) || wire.Code != jsonrpc.CodeInvalidParams || len(wire.Message) > 500 {
			t.Errorf("cursor %.20s: %v", cursor, err)
		}
	}
}

// TestToolsFollowTheSkills: there are none without skills, and a search from 10 on.
func TestToolsFollowTheSkills(t *testing.T) {
	s := newShop(t)
	host := connect(t, s.serve(t), stateless, nil)
	names := func() string {
		list, err := host.ListTools(t.Context(), &sdk.ListToolsParams{Meta: sdk.Meta{"n": time.Now().String()}})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, tool := range list.Tools {
			names = append(names, tool.Name)
		}
		return strings.Join(names, " ")
	}
	if got := names(); got != "" {
		t.Errorf("tools without skills: %s", got)
	}
	var slugs []string
	for i := range 10 {
		slugs = append(slugs, fmt.Sprintf("skill-%02d", i))
	}
	s.set(slugs[:9]...)
	eventually(t, "tools of 9 skills", func() bool { return names() == "activate_skill read_skill_file" })
	s.set(slugs...)
	eventually(t, "tools of 10 skills", func() bool { return names() == "activate_skill find_skills read_skill_file" })
	found, err := host.CallTool(t.Context(), &sdk.CallToolParams{Name: "find_skills", Arguments: json.RawMessage(`{"query":"Skill 07"}`)})
	if err != nil || !strings.HasPrefix(found.Content[0].(*sdk.TextContent).Text, "- `skill-07`: About skill-07.") {
		t.Errorf("%+v %v", found, err)
	}
}

// TestOneGeneration: a file whose digest is not that of the manifest is not served.
func TestOneGeneration(t *testing.T) {
	s := newShop(t, "a")
	s.write("a/x.md", "one")
	host := connect(t, s.serve(t), stateless, nil)
	read := func() (string, error) {
		got, err := host.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "skill://a/x.md", Meta: sdk.Meta{"n": time.Now().String()}})
		if err != nil {
			return "", err
		}
		return got.Contents[0].Text, nil
	}
	if got, err := read(); got != "one" {
		t.Fatal(got, err)
	}
	s.mu.Lock()
	s.listed = map[string]string{"a/SKILL.md": s.files["a/SKILL.md"], "a/x.md": "one"}
	s.files["a/x.md"] = "two"
	s.mu.Unlock()
	time.Sleep(1100 * time.Millisecond) // the client keeps answers for as long as the server says
	if got, err := read(); err == nil || !strings.Contains(err.Error(), "keeps changing") || s.rescans == 0 {
		t.Errorf("%q %v after %d scans", got, err, s.rescans)
	}
	s.mu.Lock()
	s.onRescan = func() { s.mu.Lock(); s.listed = nil; s.mu.Unlock() }
	s.mu.Unlock()
	if got, err := read(); got != "two" {
		t.Errorf("after a scan: %q %v", got, err)
	}
}

// TestSubscriptionsAreBounded fills the shares of two callers, and frees one by ending its session.
func TestSubscriptionsAreBounded(t *testing.T) {
	s := newShop(t, "a")
	s.Caller = func(r *http.Request) string { return r.Header.Get("Caller") }
	for i := range 1100 {
		s.write(fmt.Sprintf("a/f%04d", i), "x")
	}
	client := s.serve(t)
	as := func(caller, version string) *sdk.ClientSession {
		return connect(t, &http.Client{Transport: callerTransport{client.Transport, caller}}, version, nil)
	}
	subscribe := func(host *sdk.ClientSession, i int) error {
		return host.Subscribe(t.Context(), &sdk.SubscribeParams{URI: fmt.Sprintf("skill://a/f%04d", i)})
	}
	first, second := as("first", withSessions), as("second", withSessions)
	for i := range 500 {
		if err := errors.Join(subscribe(first, i), subscribe(first, 0), subscribe(second, 500+i)); err != nil {
			t.Fatal(i, err)
		}
	}
	for _, host := range []*sdk.ClientSession{first, as("first", withSessions), as("third", withSessions)} {
		if err := subscribe(host, 1000); err == nil || !strings.Contains(err.Error(), "unsubscribe from others") {
			t.Errorf("one more: %v", err)
		}
	}
	if err := subscribe(first, 499); err != nil {
		t.Errorf("the same again: %v", err)
	}
	if err := second.Subscribe(t.Context(), &sdk.SubscribeParams{URI: "skill://a/none"}); err == nil {
		t.Error("a file that does not exist can be subscribed to")
	}
	if dirs := s.server.Watched(); len(dirs) != 1 || dirs[0].Path != "." {
		t.Errorf("watched: %v", dirs)
	}
	first.Close()
	second.Close()
	eventually(t, "the places are free", func() bool { return len(s.server.Watched()) == 0 })
	third := as("third", withSessions)
	if err := subscribe(third, 1000); err != nil {
		t.Error(err)
	}
	if err := third.Unsubscribe(t.Context(), &sdk.UnsubscribeParams{URI: "skill://a/f1000"}); err != nil || len(s.server.Watched()) != 0 {
		t.Error(err, s.server.Watched())
	}
}

// callerTransport sends the name of a caller.
type callerTransport struct {
	http.RoundTripper
	caller string
}

func (c callerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Caller", c.caller)
	return c.RoundTripper.RoundTrip(r)
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"h","version":"1"}}}`

func post(t testing.TB, client *http.Client, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://pannier/mcp", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(text)
}

// TestSessionsAreBounded opens more sessions than there is room for: the longest idle one goes, one with a stream stays.
func TestSessionsAreBounded(t *testing.T) {
	s := newShop(t, "a")
	client := s.serve(t)
	following := connect(t, client, withSessions, nil) // which has a stream
	ids := make([]string, 1030)
	for i := range ids {
		res, text := post(t, client, initialize)
		if ids[i] = res.Header.Get("Mcp-Session-Id"); ids[i] == "" {
			t.Fatal(i, res.Status, text)
		}
	}
	ping := func(id string) int {
		res, _ := post(t, client, `{"jsonrpc":"2.0","id":2,"method":"ping"}`, "Mcp-Session-Id", id)
		return res.StatusCode
	}
	if first, last := ping(ids[0]), ping(ids[len(ids)-1]); first != http.StatusNotFound || last != http.StatusOK {
		t.Errorf("the first session answers %d, the last %d", first, last)
	}
	if err := following.Ping(t.Context(), nil); err != nil {
		t.Errorf("a session with a stream: %v", err)
	}
}

// TestSessionsOfCallers: a caller with more sessions than its share ends its own, never those of another one.
func TestSessionsOfCallers(t *testing.T) {
	s := newShop(t, "a")
	s.Caller = func(r *http.Request) string { return r.Header.Get("Caller") }
	client := s.serve(t)
	begin := func(caller string) string {
		res, text := post(t, client, initialize, "Caller", caller)
		id := res.Header.Get("Mcp-Session-Id")
		if id == "" {
			t.Fatal(res.Status, text)
		}
		return id
	}
	other := begin("other")
	first := begin("greedy")
	second := begin("greedy")
	for range 511 {
		begin("greedy")
	}
	for _, tt := range []struct {
		id, caller string
		status     int
	}{{other, "other", http.StatusOK}, {first, "greedy", http.StatusNotFound}, {second, "greedy", http.StatusOK}} {
		if res, text := post(t, client, `{"jsonrpc":"2.0","id":2,"method":"ping"}`, "Mcp-Session-Id", tt.id, "Caller", tt.caller); res.StatusCode != tt.status {
			t.Errorf("%s: %d %s; want %d", tt.caller, res.StatusCode, text, tt.status)
		}
	}
}

// TestNotificationsOfChangedLists sends one of a list only where that list changed, to hosts of both eras, within 50 ms.
func TestNotificationsOfChangedLists(t *testing.T) {
	s := newShop(t, "a", "b")
	client := s.serve(t)
	for _, version := range []string{withSessions, stateless} {
		told := make(chan string, 16)
		connect(t, client, version, &sdk.ClientOptions{
			ToolListChangedHandler:     func(context.Context, *sdk.ToolListChangedRequest) { told <- "tools" },
			PromptListChangedHandler:   func(context.Context, *sdk.PromptListChangedRequest) { told <- "prompts" },
			ResourceListChangedHandler: func(context.Context, *sdk.ResourceListChangedRequest) { told <- "resources" },
		})
		s.write("a/SKILL.md", "---\nname: a\ndescription: About a.\n---\nAnother "+version+".\n")
		began := time.Now()
		s.set("a", "b")
		if got := <-told; got != "resources" {
			t.Errorf("%s: a change of a text changed the %s", version, got)
		}
		if took := time.Since(began); took > 50*time.Millisecond {
			t.Logf("%s: the notification took %s", version, took)
		}
		s.set("a", "b") // the same again
		select {
		case got := <-told:
			t.Errorf("%s: nothing changed the %s", version, got)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// TestFirstSnapshot: a host that comes before the first scan waits for it.
func TestFirstSnapshot(t *testing.T) {
	s := newShop(t, "a")
	first := s.snapshot
	s.snapshot, s.news = nil, make(chan *pannier.Snapshot, 1)
	client := s.serve(t)
	connected := make(chan string)
	go func() {
		_, text := post(t, client, initialize)
		connected <- text
	}()
	select {
	case text := <-connected:
		t.Fatalf("answered before the first snapshot: %s", text)
	case <-time.After(50 * time.Millisecond):
	}
	s.mu.Lock()
	s.snapshot = first
	s.mu.Unlock()
	s.news <- first
	if text := <-connected; !strings.Contains(text, "activate_skill") {
		t.Error(text)
	}
}

// TestRunOverPipes serves a host as over standard input and output, and ends with it.
func TestRunOverPipes(t *testing.T) {
	s := newShop(t, "a")
	s.serve(t)
	here, there := sdk.NewInMemoryTransports()
	ended := make(chan error, 1)
	go func() { ended <- s.server.Run(t.Context(), there) }()
	host, err := sdk.NewClient(&sdk.Implementation{Name: "h", Version: "1"}, nil).Connect(t.Context(), here, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := host.CallTool(t.Context(), &sdk.CallToolParams{Name: "activate_skill", Arguments: json.RawMessage(`{"name":"a"}`)})
	if err != nil || got.IsError {
		t.Errorf("%+v %v", got, err)
	}
	host.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// FuzzURI: whatever a URI is, the answer is a file of the skill or an error with a hint.
func FuzzURI(f *testing.F) {
	for _, uri := range []string{"skill://a/SKILL.md", "skill://a/%2e%2e/b", "skill://a//b", "skill://a/b?c#d", "file:///etc/passwd", "skill://a/%00", "skill://a/\xff", "skill://%61/SKILL.md"} {
		f.Add(uri)
	}
	s := newShop(f, "a", "b")
	s.write("a/dir/x.md", "x")
	s.Service = service.New(s.contents)
	server := mcp.New(s.Options)
	f.Cleanup(func() {})
	f.Fuzz(func(t *testing.T, uri string) {
		text, err := server.ReadForTest(t.Context(), uri)
		if err == nil && text != s.files["a/SKILL.md"] && text != s.files["b/SKILL.md"] && text != "x" {
			t.Errorf("%q: %q", uri, text)
		}
		var wire *jsonrpc.Error
		if err != nil && (!errors.As(err, &wire) || wire.Message == "" || len(wire.Data) == 0) {
			t.Errorf("%q: %v", uri, err)
		}
	})
}

// TestResultType: without sessions, each result says that it is complete.
func TestResultType(t *testing.T) {
	s := newShop(t, "pdf")
	client := s.serve(t)
	for name, params := range map[string]string{
		"tools/list":   "",
		"tools/call":   `"name":"activate_skill","arguments":{"name":"pdf"},`,
		"tools/call ":  `"name":"activate_skill","arguments":{"name":"none"},`,
		"prompts/get":  `"name":"pdf",`,
		"prompts/list": "",
	} {
		method := strings.TrimSpace(name)
		headers := []string{"MCP-Protocol-Version", stateless, "Mcp-Method", method}
		if named, _, ok := strings.Cut(strings.TrimPrefix(params, `"name":"`), `"`); ok {
			headers = append(headers, "Mcp-Name", named)
		}
		_, text := post(t, client, `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{`+params+
			`"_meta":{"io.modelcontextprotocol/protocolVersion":"`+stateless+
			`","io.modelcontextprotocol/clientCapabilities":{}}}}`, headers...)
		if !strings.Contains(text, `"resultType":"complete"`) {
			t.Errorf("%s %s: %s", method, params, text)
		}
	}
}

// BenchmarkActivate calls activate_skill of 1,000 skills over a socket.
func BenchmarkActivate(b *testing.B) {
	var slugs []string
	for i := range 1000 {
		slugs = append(slugs, fmt.Sprintf("skill-%04d", i))
	}
	s := newShop(b, slugs...)
	client := s.serve(b)
	for n := 0; b.Loop(); n++ {
		_, text := post(b, client, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"activate_skill","arguments":{"name":"skill-%04d"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`, n%1000),
			"MCP-Protocol-Version", stateless, "Mcp-Method", "tools/call", "Mcp-Name", "activate_skill")
		if !strings.Contains(text, "skill_content") {
			b.Fatal(text)
		}
	}
}

// BenchmarkList lists 1,000 skills over a socket.
func BenchmarkList(b *testing.B) {
	var slugs []string
	for i := range 1000 {
		slugs = append(slugs, fmt.Sprintf("skill-%04d", i))
	}
	s := newShop(b, slugs...)
	s.PageSize = 1000
	manifests := map[string]pannier.Manifest{}
	for _, e := range s.snapshot.Entries {
		manifests[e.Slug], _ = s.manifest(b.Context(), e.Skill, 0)
	}
	s.Manifest = func(_ context.Context, e *pannier.Skill, _ time.Duration) (pannier.Manifest, error) {
		return manifests[e.Slug], nil
	}
	client := s.serve(b)
	for b.Loop() {
		_, text := post(b, client, `{"jsonrpc":"2.0","id":1,"method":"skills/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`,
			"MCP-Protocol-Version", stateless, "Mcp-Method", "skills/list")
		b.SetBytes(int64(len(text)))
	}
}
