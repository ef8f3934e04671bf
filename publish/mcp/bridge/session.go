package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"
)

// session is a session of the older form of the protocol. It is never changed.
type session struct {
	id, version string
	// lists are the lists whose changes the server reports.
	lists []string
}

// legacy is what a bridge remembers of a host that opened a session, to open it again.
type legacy struct {
	opening chan struct{} // has a value while a session is opened

	mu            sync.Mutex
	now           *session // nil before initialize
	initialize    *message
	ready         *message // notifications/initialized; nil before
	level         *message // the last logging/setLevel
	subscriptions map[string]*message
	following     bool
}

// sessionFor returns the session that a message belongs to, nil for a message that stands alone.
func (l *legacy) sessionFor(m *message) *session {
	if m.isModern() || m.Method == methodInitialize {
		return nil
	}
	return l.current()
}

// current returns the session, nil before there is one.
func (l *legacy) current() *session {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now
}

// remember keeps a message that the next session needs too.
func (l *legacy) remember(m *message) {
	if m.isModern() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch m.Method {
	case notificationReady:
		l.ready = m
	case methodSetLevel:
		l.level = m
	case methodUnsubscribe:
		delete(l.subscriptions, m.params.uri)
	case methodSubscribe:
		if l.subscriptions == nil {
			l.subscriptions = map[string]*message{}
		}
		if len(l.subscriptions) < maxSubscriptions {
			l.subscriptions[m.params.uri] = m
		}
	}
}

// begin follows the notifications of the session, once.
func (l *legacy) begin(ctx context.Context, b *bridge) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.now == nil || l.following {
		return
	}
	l.following = true
	b.tasks.Go(func() { b.follow(ctx) })
}

// initialize forwards the call that opens a session.
func (b *bridge) initialize(ctx context.Context, m *message) error {
	s, err := b.open(ctx, m, func(got *message) { b.write(got.text) })
	if err != nil || s == nil {
		return err
	}
	b.legacy.mu.Lock()
	defer b.legacy.mu.Unlock()
	b.legacy.now, b.legacy.initialize = s, m
	return nil
}

// open opens a session. It returns nil where the server answers with an error, which take gets.
func (b *bridge) open(ctx context.Context, m *message, take func(*message)) (*session, error) {
	res, err := b.post(ctx, m)
	if err != nil {
		return nil, err
	}
	var opened *session
	err = b.receive(res, func(got *message) {
		if got.isAnswer() && got.Error == nil {
			opened = newSession(res.Header.Get(headerSession), got.Result)
		}
		take(got)
	})
	return opened, err
}

func newSession(id string, result json.RawMessage) *session {
	var said struct {
		Version      string `json:"protocolVersion"`
		Capabilities map[string]struct {
			ListChanged bool `json:"listChanged"`
		} `json:"capabilities"`
	}
	_ = json.Unmarshal(result, &said) // the host judges it
	s := &session{id: id, version: said.Version}
	for _, list := range []string{"prompts", "resources", "tools"} {
		if said.Capabilities[list].ListChanged {
			s.lists = append(s.lists, list)
		}
	}
	return s
}

// renew opens a session in the place of one that the server has forgotten, with the messages that opened it. It does nothing
// where that was done already.
func (b *bridge) renew(ctx context.Context, lost *session) error {
	l := &b.legacy
	select {
	case l.opening <- struct{}{}:
		defer func() { <-l.opening }()
	case <-ctx.Done():
		return ctx.Err()
	}
	l.mu.Lock()
	now, initialize := l.now, l.initialize
	replayed := []*message{l.ready, l.level}
	for _, uri := range slices.Sorted(maps.Keys(l.subscriptions)) {
		replayed = append(replayed, l.subscriptions[uri])
	}
	l.mu.Unlock()
	if now != lost {
		return nil
	}
	var refused error
	s, err := b.open(ctx, initialize, func(got *message) {
		if got.Error != nil {
			refused = got.Error
		}
	})
	switch {
	case err != nil:
		return err
	case s == nil:
		return &rpcError{Code: codeUnavailable, Message: fmt.Sprintf("%s has restarted and opens no session: %v", b.Server, refused)}
	case s.version != lost.version:
		return &rpcError{Code: codeUnavailable, Message: fmt.Sprintf("%s has restarted with another version of the protocol; restart this MCP server in the host", b.Server)}
	}
	for _, m := range replayed {
		if m == nil {
			continue
		}
		res, err := b.send(ctx, http.MethodPost, m, s)
		if err != nil {
			return b.broken(err)
		}
		// The host has the answer to the first call.
		if m.isCall() {
			_ = b.receive(res, func(*message) {})
		}
		res.Body.Close()
	}
	b.Log.Info("session opened again", "server", b.Server)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now = s
	return nil
}

// follow hands on the notifications of the session until ctx is done, also those of the sessions that follow it.
func (b *bridge) follow(ctx context.Context) {
	wait := minWait
	for tries := 1; ; tries++ {
		s := b.legacy.current()
		res, err := b.send(ctx, http.MethodGet, nil, s)
		switch {
		case err != nil:
		case isSessionLost(res, s):
			res.Body.Close()
			err = b.renew(ctx, s)
		case res.StatusCode == http.StatusOK && mediaType(res) == "text/event-stream":
			if tries > 1 {
				b.announceSession(s)
			}
			began := time.Now()
			_ = readStream(res.Body, func(got *message) bool { b.write(got.text); return false }) // the next one follows
			res.Body.Close()
			wait = waitAfter(began, wait)
		default:
			res.Body.Close()
			if res.StatusCode == http.StatusMethodNotAllowed {
				return // the server reports nothing
			}
		}
		if err != nil && ctx.Err() == nil {
			b.Log.Debug("notifications not available", "error", err)
		}
		if sleep(ctx, wait) != nil {
			return
		}
		wait = min(2*wait, maxWait)
	}
}

// announceSession tells the host what may have changed while no notifications came.
func (b *bridge) announceSession(s *session) {
	for _, list := range s.lists {
		b.tell(listChanged(list), nil)
	}
	b.legacy.mu.Lock()
	uris := slices.Sorted(maps.Keys(b.legacy.subscriptions))
	b.legacy.mu.Unlock()
	for _, uri := range uris {
		b.tell(notificationUpdated, map[string]any{"uri": uri})
	}
}

// waitAfter returns how long to wait before the stream that follows one that has ended: hardly, unless it ended at once.
func waitAfter(began time.Time, wait time.Duration) time.Duration {
	if time.Since(began) > maxWait {
		return minWait
	}
	return wait
}

func listChanged(list string) string { return "notifications/" + list + "/list_changed" }

// closeSession ends the session at the end of the host, so that the server need not keep it.
func (b *bridge) closeSession() {
	s := b.legacy.current()
	if s == nil || s.id == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if res, err := b.send(ctx, http.MethodDelete, nil, s); err == nil {
		res.Body.Close()
	}
}

// subscription is a subscriptions/listen of the host.
type subscription struct {
	*message
	acknowledged bool // the host has the acknowledgement
	missed       bool // changes may have come while the server had no request
}

// listen forwards a subscription without a session until it is cancelled. Where the server ends it, such as at a restart, it
// subscribes again and tells the host what may have changed meanwhile. Until the first acknowledgement it does so for a while: a
// server that is killed breaks a number of connections before it refuses them.
func (b *bridge) listen(ctx context.Context, m *message) error {
	sub := &subscription{message: m}
	deadline := time.Now().Add(reachTimeout)
	for wait := minWait; ; wait = min(2*wait, maxWait) {
		began := time.Now()
		ended, err := b.listenOnce(ctx, sub)
		if ended || !sub.acknowledged && time.Now().After(deadline) {
			return err
		}
		sub.missed = true
		wait = waitAfter(began, wait)
		if err := sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// listenOnce sends a subscription and hands on what comes. It reports whether the server has refused it, with the error that the host
// does not have yet.
func (b *bridge) listenOnce(ctx context.Context, sub *subscription) (refused bool, err error) {
	res, err := b.send(ctx, http.MethodPost, sub.message, nil)
	switch {
	case err != nil && wasNotSent(err):
		return false, b.unavailable(err)
	case err != nil:
		return false, b.broken(err)
	}
	err = b.receive(res, func(got *message) {
		begins := got.Method == notificationListening
		if stops := got.isAnswer() && got.Error == nil; !stops && (!begins || !sub.acknowledged) {
			b.write(got.text)
		}
		if begins && sub.missed {
			b.announceListen(sub.message)
		}
		sub.acknowledged = sub.acknowledged || begins
		refused = got.isAnswer() && got.Error != nil
	})
	if err == nil && !refused {
		err = b.broken(errEnded)
	}
	return refused || res.StatusCode/100 == 4, err
}

func (b *bridge) announceListen(m *message) {
	of := func(more map[string]any) map[string]any {
		params := map[string]any{"_meta": map[string]any{metaSubscription: m.ID}}
		maps.Copy(params, more)
		return params
	}
	want := m.params.notifications
	for list, wanted := range map[string]bool{"prompts": want.Prompts, "resources": want.Resources, "tools": want.Tools} {
		if wanted {
			b.tell(listChanged(list), of(nil))
		}
	}
	for _, uri := range want.URIs {
		b.tell(notificationUpdated, of(map[string]any{"uri": uri}))
	}
}
