package mcp

import (
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// The bounds of the sessions of older versions of the protocol; the share of one caller is half of them. One that is
// idle for longer, or the longest idle one while all are taken, is closed; its host begins another one.
const (
	maxSessions = 1024
	sessionIdle = 30 * time.Minute
)

// sessions are those of hosts that speak an older version over HTTP. They are for any number of callers.
type sessions struct {
	server *Server

	mu     sync.Mutex
	byID   map[string]*session
	coming map[string]int // requests that may begin a session, by caller
	closed bool
}

type session struct {
	*sdk.ServerSession
	caller string
	open   int // requests under way, streams among them
	idle   time.Time
	timer  *time.Timer
}

func (s *sessions) init(server *Server) {
	s.server, s.byID, s.coming = server, map[string]*session{}, map[string]int{}
}

// enter begins a request of a session. It reports false for one that is not the caller's; of one that is unknown, the
// SDK tells.
func (s *sessions) enter(id, caller string) (leave func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, known := s.byID[id]
	if !known {
		return func() {}, true
	}
	if now.caller != caller {
		return nil, false
	}
	now.open++
	now.timer.Stop()
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if now.open--; now.open == 0 {
			now.idle = time.Now()
			now.timer.Reset(sessionIdle)
		}
	}, true
}

// admit makes room for a request that may begin a session, and reports whether there is any. The sessions of the caller
// end first, and those of another one only while all places are taken and the caller has fewer than its share.
func (s *sessions) admit(caller string) (leave func(), ok bool) {
	s.mu.Lock()
	all, own := len(s.byID), s.coming[caller]
	for _, n := range s.coming {
		all += n
	}
	for _, other := range s.byID {
		if other.caller == caller {
			own++
		}
	}
	var oldest *session
	if own >= maxSessions/2 || all >= maxSessions {
		oldest = s.oldestLocked(func(other *session) bool { return other.caller == caller })
		if oldest == nil && own < maxSessions/2 {
			oldest = s.oldestLocked(func(*session) bool { return true })
		}
		if oldest == nil {
			s.mu.Unlock()
			return nil, false
		}
		delete(s.byID, oldest.ID())
	}
	s.coming[caller]++
	s.mu.Unlock()
	if oldest != nil {
		_ = oldest.Close()
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.coming[caller]--; s.coming[caller] == 0 {
			delete(s.coming, caller)
		}
	}, true
}

// oldestLocked returns the longest idle session of some, nil if all of them are in use.
func (s *sessions) oldestLocked(of func(*session) bool) (oldest *session) {
	for _, other := range s.byID {
		if other.open == 0 && of(other) && (oldest == nil || other.idle.Before(oldest.idle)) {
			oldest = other
		}
	}
	return oldest
}

// begin records a session that a host has initialized over HTTP.
func (s *sessions) begin(ss *sdk.ServerSession, caller string) {
	now := &session{ServerSession: ss, caller: caller, idle: time.Now()}
	now.timer = time.AfterFunc(sessionIdle, func() { _ = ss.Close() })
	s.mu.Lock()
	s.byID[ss.ID()] = now
	closed := s.closed
	s.mu.Unlock()
	s.server.metrics.sessions.Inc()
	go func() { // ends with the session, which the timer, the host or close ends
		_ = ss.Wait()
		now.timer.Stop()
		s.mu.Lock()
		if s.byID[ss.ID()] == now {
			delete(s.byID, ss.ID())
		}
		s.mu.Unlock()
		s.server.subscriptions.drop(ss)
		s.server.metrics.sessions.Dec()
	}()
	if closed {
		_ = ss.Close()
	}
}

// close closes all sessions, and those that begin later.
func (s *sessions) close() {
	s.mu.Lock()
	s.closed = true
	all := make([]*session, 0, len(s.byID))
	for _, now := range s.byID {
		all = append(all, now)
	}
	s.mu.Unlock()
	for _, now := range all {
		_ = now.Close()
	}
}
