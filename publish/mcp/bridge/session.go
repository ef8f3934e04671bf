package bridge

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// session is a session of the older form of the protocol. It is never changed.
type session struct {
	id, version string
	lists       []string // whose changes the server reports
	opening     *message
}

// current returns the session, nil before there is one.
func (b *bridge) current() *session {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.session
}

// remember keeps a message that the next session needs too.
func (b *bridge) remember(m *message) {
	if m.isModern() {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	method := m.Method
	if method == methodUnsubscribe {
		method = methodSubscribe
	}
	at := slices.IndexFunc(b.replayed, func(kept *message) bool {
		return kept.Method == method && kept.params.URI == m.params.URI
	})
	switch m.Method {
	case methodUnsubscribe:
		if at >= 0 {
			b.replayed = slices.Delete(b.replayed, at, at+1)
		}
	case notificationReady, methodSetLevel, methodSubscribe:
		if at >= 0 {
			b.replayed[at] = m
		} else if len(b.replayed) < maxReplayed {
			b.replayed = append(b.replayed, m)
		}
	}
}

// initialize forwards the call that opens a session.
func (b *bridge) initialize(ctx context.Context, m *message) error {
	s, err := b.open(ctx, m, func(answer *message) { b.write(answer.text) })
	if s != nil {
		b.mu.Lock()
		b.session = s
		b.mu.Unlock()
	}
	return err
}

// open opens a session. It returns nil where the server answers with an error, which take gets.
func (b *bridge) open(ctx context.Context, m *message, take func(*message)) (s *session, err error) {
	res, err := b.post(ctx, m)
	if err != nil {
		return nil, err
	}
	err = b.receive(res, func(got *message) {
		if got.isAnswer() && got.Error == nil {
			var said struct {
				Version      string `json:"protocolVersion"`
				Capabilities map[string]struct {
					ListChanged bool `json:"listChanged"`
				} `json:"capabilities"`
			}
			_ = json.Unmarshal(got.Result, &said) // the host judges it
			s = &session{id: res.Header.Get("Mcp-Session-Id"), version: said.Version, opening: m}
			for _, list := range []string{"prompts", "resources", "tools"} {
				if said.Capabilities[list].ListChanged {
					s.lists = append(s.lists, list)
				}
			}
		}
		take(got)
	})
	return s, err
}

// renew opens a session in the place of one that the server has forgotten, with the messages that opened it. It does
// nothing where that was done already.
func (b *bridge) renew(ctx context.Context, lost *session) error {
	b.renewing.Lock()
	defer b.renewing.Unlock()
	b.mu.Lock()
	now, replayed := b.session, slices.Clone(b.replayed)
	b.mu.Unlock()
	if now != lost {
		return nil
	}
	var refused error
	s, err := b.open(ctx, lost.opening, func(got *message) {
		if got.Error != nil {
			refused = got.Error
		}
	})
	switch {
	case err != nil:
		return err
	case s == nil:
		return unavailable("%s has restarted and opens no session: %v", b.Server, refused)
	case s.version != lost.version:
		return unavailable("%s has restarted with another version of the protocol; restart this MCP server in the host",
			b.Server)
	}
	for _, m := range replayed {
		res, err := b.send(ctx, http.MethodPost, m, s)
		if err != nil {
			return b.broken(err)
		}
		if m.isCall() { // the host has the answer to the first one
			_ = b.receive(res, func(*message) {})
		}
		res.Body.Close()
	}
	b.Log.Info("session opened again", "server", b.Server)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.session = s
	return nil
}

// follow hands on the notifications of the session until ctx is done, also those of the sessions that follow it.
func (b *bridge) follow(ctx context.Context) {
	missed := false // changes may have come while the server had no request
	repeat(ctx, func() (done bool) {
		s := b.current()
		res, err := b.send(ctx, http.MethodGet, nil, s)
		if err == nil {
			defer res.Body.Close()
			switch {
			case isSessionLost(res, s):
				err = b.renew(ctx, s)
			case res.StatusCode == http.StatusOK && isStream(res):
				if missed {
					b.announce(nil, s.lists, b.subscribed())
				}
				_ = readStream(res.Body, func(got *message) bool { b.write(got.text); return false }) // the next one follows
			default:
				done = res.StatusCode == http.StatusMethodNotAllowed // the server reports nothing
			}
		}
		if err != nil && ctx.Err() == nil {
			b.Log.Debug("notifications not available", "error", err)
		}
		missed = true
		return done
	})
}

// subscribed returns the resources that the host has subscribed to in the session.
func (b *bridge) subscribed() (uris []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range b.replayed {
		if m.Method == methodSubscribe {
			uris = append(uris, m.params.URI)
		}
	}
	return uris
}

// announce tells the host that lists and resources may have changed. The subscription is the id of a
// subscriptions/listen, nil in a session.
func (b *bridge) announce(subscription json.RawMessage, lists, uris []string) {
	tell := func(method string, params map[string]any) {
		if subscription != nil {
			params["_meta"] = map[string]any{sdk.MetaKeySubscriptionID: subscription}
		}
		b.writeValue(map[string]any{"jsonrpc": "2.0", "method": method, "params": params})
	}
	for _, list := range lists {
		tell("notifications/"+list+"/list_changed", map[string]any{})
	}
	for _, uri := range uris {
		tell(notificationUpdated, map[string]any{"uri": uri})
	}
}

// listen forwards a subscription without a session until it is cancelled. Where the server ends it, such as at a
// restart, it subscribes again and tells the host what may have changed meanwhile. Until the first acknowledgement it
// does so for a while: a server that is killed breaks a number of connections before it refuses them.
func (b *bridge) listen(ctx context.Context, m *message) (err error) {
	var lists []string
	want := m.params.Notifications
	for list, wanted := range map[string]bool{"prompts": want.Prompts, "resources": want.Resources, "tools": want.Tools} {
		if wanted {
			lists = append(lists, list)
		}
	}
	acknowledged, missed := false, false
	deadline := time.Now().Add(reachTimeout)
	repeat(ctx, func() (done bool) {
		var res *http.Response
		if res, err = b.send(ctx, http.MethodPost, m, nil); err != nil {
			err = b.broken(err)
		} else {
			err = b.receive(res, func(got *message) {
				begins, ends := got.Method == notificationListening, got.isAnswer()
				refused := ends && got.Error != nil
				if refused || !ends && !(begins && acknowledged) {
					b.write(got.text)
				}
				if begins && missed {
					b.announce(m.ID, lists, want.URIs)
				}
				acknowledged, done = acknowledged || begins, done || refused
			})
			if err == nil && !done {
				err = b.broken(errEnded)
			}
			done = done || res.StatusCode/100 == 4
		}
		missed = true
		return done || !acknowledged && time.Now().After(deadline)
	})
	return err
}
