package api_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"
	"github.com/creachadair/jrpc2"

	"pannier"
)

// dialRPC makes a WebSocket to a socket.
func dialRPC(t *testing.T, path string, header http.Header) (*websocket.Conn, *http.Response, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	c := caller(t, path)
	c.Timeout = 0 // it would end the WebSocket
	return websocket.Dial(ctx, "ws://pannier/v1/rpc", &websocket.DialOptions{HTTPClient: c, HTTPHeader: header})
}

// frames makes a WebSocket what the client of another author sends and receives by.
type frames struct {
	ctx  context.Context
	conn *websocket.Conn
}

func (f frames) Send(text []byte) error { return f.conn.Write(f.ctx, websocket.MessageText, text) }

func (f frames) Recv() ([]byte, error) {
	_, text, err := f.conn.Read(f.ctx)
	return text, err
}

func (f frames) Close() error { return f.conn.CloseNow() }

// TestAnotherClient has a JSON-RPC client of another author go through all methods.
func TestAnotherClient(t *testing.T) {
	c := newCallable(documentsOnly())
	path, _ := serve(t, c.handler())
	conn, _, err := dialRPC(t, path, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	told := make(chan string, 1)
	client := jrpc2.NewClient(frames{ctx, conn}, &jrpc2.ClientOptions{OnNotify: func(r *jrpc2.Request) { told <- r.Method() + " " + r.ParamString() }})
	defer client.Close()
	var list struct {
		Skills []struct{ Slug, Status string }
	}
	if err := client.CallResult(ctx, "skills/list", map[string]any{"workspace_id": protocolID}, &list); err != nil || len(list.Skills) != 1 || list.Skills[0].Status != "ready" {
		t.Errorf("list %+v, %v", list, err)
	}
	answers, err := client.Batch(ctx, []jrpc2.Spec{
		{Method: "skills/health"},
		{Method: "skills/policy/list"},
		{Method: "skills/resolve", Params: map[string]string{"text": "$documents"}},
		{Method: "skills/prompt"},
		{Method: "skills/read", Params: map[string]string{"slug": "documents"}},
		{Method: "skills/list", Notify: true},
		{Method: "skills/update"},
	})
	if err != nil || len(answers) != 6 {
		t.Fatalf("%d answers, %v", len(answers), err)
	}
	for i, a := range answers {
		if e := a.Error(); (e != nil) != (i == 5) || e != nil && e.Code != jrpc2.MethodNotFound {
			t.Errorf("answer %d: %v", i, e)
		}
	}
	var set struct {
		Policy struct{ Enabled *bool }
	}
	if err := client.CallResult(ctx, "skills/policy/set", map[string]any{"skill_slug": "documents", "enabled": false}, &set); err != nil || set.Policy.Enabled == nil || *set.Policy.Enabled {
		t.Errorf("set %+v, %v", set, err)
	}
	want := `skills/changed {"workspace_id":"ws_000000000000000001","snapshot_version":13,"reason":"policy_updated","changes":[{"slug":"documents","source_kind":"workspace","change_type":"policy"}],"created_at":1777900000}`
	select {
	case got := <-told:
		if got != want {
			t.Errorf("told %s", got)
		}
	case <-ctx.Done():
		t.Error("nothing was told")
	}
}

// TestManyClients are all told of a change, once each.
func TestManyClients(t *testing.T) {
	const clients = 200
	c := newCallable(catalog())
	path, stop := serve(t, c.handler())
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	var ready, told sync.WaitGroup
	ready.Add(clients)
	for i := range clients {
		told.Go(func() {
			err := follow(t, ctx, path, i, ready.Done)
			if err != nil {
				t.Errorf("client %d: %v", i, err)
			}
		})
	}
	ready.Wait()
	next := catalog()
	next.Version = 8
	next.Entries = next.Entries[1:]
	c.feed.set(next)
	told.Wait()
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// follow makes a call, and waits until it is told of a change; then it sees it.
func follow(t *testing.T, ctx context.Context, path string, i int, ready func()) error {
	ready = sync.OnceFunc(ready)
	defer ready()
	conn, _, err := dialRPC(t, path, nil)
	if err != nil {
		return err
	}
	defer conn.CloseNow()
	f := frames{ctx, conn}
	for _, want := range []string{
		fmt.Sprintf(`{"jsonrpc":"2.0","id":"%d","result":{"snapshot_version":7,`, i),
		`{"jsonrpc":"2.0","method":"skills/changed","params":{"workspace_id":"ws_000000000000000001","snapshot_version":8,"reason":"catalog_changed","changes":[],"created_at":1795136523}}`,
		fmt.Sprintf(`{"jsonrpc":"2.0","id":"%d","result":{"snapshot_version":8,`, i),
	} {
		if !strings.Contains(want, "skills/changed") {
			if err := f.Send([]byte(rpcRequest(fmt.Sprint(i), "skills/health", `{"skills":[{"slug":"omega"}]}`))); err != nil {
				return err
			}
		} else {
			ready()
		}
		got, err := f.Recv()
		if err != nil {
			return err
		}
		if !strings.HasPrefix(string(got), want) {
			return fmt.Errorf("got %s, want %s", got, want)
		}
	}
	return nil
}

// TestStopClosesWebSockets and waits for them.
func TestStopClosesWebSockets(t *testing.T) {
	path, stop := serve(t, newCallable(catalog()).handler())
	conn, _, err := dialRPC(t, path, nil)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, _, err := conn.Read(t.Context())
		ended <- err
	}()
	if err := stop(); err != nil {
		t.Error(err)
	}
	if e, ok := errors.AsType[websocket.CloseError](<-ended); !ok || e.Code != websocket.StatusGoingAway {
		t.Errorf("closed with %v", e)
	}
}

// TestBrowsersGetNoWebSocket, as they get nothing else.
func TestBrowsersGetNoWebSocket(t *testing.T) {
	path, _ := serve(t, newCallable(catalog()).handler())
	for _, name := range []string{"Origin", "Referer"} {
		_, res, err := dialRPC(t, path, http.Header{name: {"http://pannier"}})
		if err == nil || res == nil || res.StatusCode != http.StatusForbidden {
			t.Errorf("with %s: %v, %v", name, res, err)
		}
	}
}

// TestChangesToldTogether: whoever was told of policies alone may keep the rest, so nothing else may have changed.
func TestChangesToldTogether(t *testing.T) {
	off := false
	policy := map[pannier.PolicyKey]pannier.PolicyEntry{{Slug: "beta", SourceKind: pannier.SourceWorkspace}: {Switches: pannier.Switches{Enabled: &off}}}
	for _, tt := range []struct {
		name   string
		change func(*pannier.Snapshot)
		reason string
	}{
		{"a policy", func(s *pannier.Snapshot) {
			s.Policies.Workspace = policy
			s.Entries[1].State = pannier.StateDisabled
		}, "policy_updated"},
		{"a policy, and another skill", func(s *pannier.Snapshot) {
			s.Policies.Workspace = policy
			s.Entries[0].State = pannier.StateIneligible
		}, "catalog_changed"},
		{"a policy, and a text", func(s *pannier.Snapshot) {
			s.Policies.Workspace = policy
			s.Entries[1].Skill.Sum[0]++
		}, "catalog_changed"},
		{"a skill", func(s *pannier.Snapshot) { s.Entries = s.Entries[1:] }, "catalog_changed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newCallable(catalog())
			path, _ := serve(t, c.handler())
			conn, _, err := dialRPC(t, path, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.CloseNow()
			ctx, cancel := context.WithTimeout(t.Context(), deadline)
			defer cancel()
			f := frames{ctx, conn}
			if err := f.Send([]byte(rpcRequest("1", "skills/policy/list", `{}`))); err != nil {
				t.Fatal(err)
			}
			if _, err := f.Recv(); err != nil { // by then it knows the snapshot of its calls
				t.Fatal(err)
			}
			next := catalog()
			next.Version++
			tt.change(next)
			c.feed.set(next)
			if got, err := f.Recv(); err != nil || !strings.Contains(string(got), `"reason":"`+tt.reason+`"`) {
				t.Errorf("%s %v", got, err)
			}
		})
	}
}
