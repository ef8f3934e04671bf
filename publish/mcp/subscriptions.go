package mcp

import (
	"context"
	"fmt"
	"path"
	"slices"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pannier"
	"pannier/sidecar"
)

// maxSubscriptions bounds the subscriptions of all hosts together.
const maxSubscriptions = 1000

// maxUnlisted bounds the files that each check reads as a whole.
const maxUnlisted = 64

// subscriptions are the files that hosts want to be told of.
type subscriptions struct {
	server  *Server
	touched chan struct{} // has a value when files may have changed
	added   chan struct{} // has a value when a file was added whose digest may be maxSubscribeAge old

	mu    sync.Mutex
	files map[string]*subscribed // by URI
}

// subscribed is a file with the sessions that follow it.
type subscribed struct {
	slug, path string
	digest     pannier.Digest                // as hosts were last told; zero where it cannot be read
	unlisted   bool                          // the manifest does not have it, so each check reads it
	by         map[*sdk.ServerSession]string // the callers of the sessions
	watch      sidecar.Watch
}

func (s *subscriptions) init(server *Server) {
	s.server, s.files = server, map[string]*subscribed{}
	s.touched, s.added = make(chan struct{}, 1), make(chan struct{}, 1)
}

// subscribe takes a subscription to a file that can be read now.
func (s *subscriptions) subscribe(ctx context.Context, req *sdk.SubscribeRequest) error {
	var fresh *subscribed
	err := s.server.fresh(ctx, func(v *view) error {
		e, name, inside, err := s.server.locate(v, req.Params.URI)
		if err != nil {
			return err
		}
		if !inside || name == "" {
			return refuse(string(pannier.FileIsDirectory), fmt.Sprintf("%.100q is a directory", req.Params.URI),
				"subscribe to a file in it")
		}
		fresh = &subscribed{slug: e.Slug, path: name, watch: sidecar.Watch{Skill: e.Skill, Path: path.Dir(name)}}
		recent := min(maxSubscribeAge, time.Since(time.Unix(0, s.server.changed.Load())))
		listed := false
		for _, age := range []time.Duration{recent, 0} {
			var m pannier.Manifest
			if m, err = s.server.manifest(ctx, e, age); err != nil {
				return err
			}
			fresh.digest, listed, err = s.server.digestIn(ctx, m, e, name)
			if listed || m.Dynamic {
				break
			}
		}
		fresh.unlisted = !listed
		return err
	})
	if err != nil {
		return s.server.wireError(ctx, "resources/subscribe", req.Params.URI, err)
	}
	return s.add(ctx, req, fresh)
}

func (s *subscriptions) add(ctx context.Context, req *sdk.SubscribeRequest, fresh *subscribed) error {
	caller, _ := ctx.Value(callerKey{}).(string)
	s.mu.Lock()
	file, known := s.files[req.Params.URI]
	if known {
		if _, again := file.by[req.Session]; again {
			s.mu.Unlock()
			return nil
		}
	}
	if err := s.boundLocked(caller, !known && fresh.unlisted); err != nil {
		s.mu.Unlock()
		return s.server.wireError(ctx, "resources/subscribe", req.Params.URI, err)
	}
	if !known {
		file = fresh
		file.by = map[*sdk.ServerSession]string{}
		s.files[req.Params.URI] = file
	}
	file.by[req.Session] = caller
	s.mu.Unlock()
	if !known {
		s.changed()
		signal(s.added)
	}
	return nil
}

// boundLocked refuses a subscription beyond a bound: that of all callers, half of which is the share of one, or that of
// files that manifests do not have.
func (s *subscriptions) boundLocked(caller string, unlisted bool) error {
	var all, own, unlistedFiles int
	for _, file := range s.files {
		if file.unlisted {
			unlistedFiles++
		}
		all += len(file.by)
		for _, other := range file.by {
			if other == caller {
				own++
			}
		}
	}
	message := ""
	switch {
	case own >= maxSubscriptions/2:
		message = fmt.Sprintf("%d files are subscribed to by this user or token already", maxSubscriptions/2)
	case all >= maxSubscriptions:
		message = fmt.Sprintf("%d files are subscribed to already", maxSubscriptions)
	case unlisted && unlistedFiles >= maxUnlisted:
		message = fmt.Sprintf("%d files of skills without a list of files are subscribed to already", maxUnlisted)
	default:
		return nil
	}
	return refuse("too_many_subscriptions", message, "unsubscribe from others")
}

// signal gives a channel a value unless it has one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (s *subscriptions) changed() {
	if s.server.OnWatch != nil {
		s.server.OnWatch()
	}
}

func (s *subscriptions) unsubscribe(_ context.Context, req *sdk.UnsubscribeRequest) error {
	s.mu.Lock()
	gone := s.releaseLocked(req.Params.URI, req.Session)
	s.mu.Unlock()
	if gone {
		s.changed()
	}
	return nil
}

// releaseLocked drops the subscription of a session, and reports whether the file has no subscription left.
func (s *subscriptions) releaseLocked(uri string, session *sdk.ServerSession) (gone bool) {
	file, ok := s.files[uri]
	if !ok {
		return false
	}
	delete(file.by, session)
	if len(file.by) > 0 {
		return false
	}
	delete(s.files, uri)
	return true
}

// drop drops the subscriptions of a session that has ended.
func (s *subscriptions) drop(session *sdk.ServerSession) {
	gone := false
	s.mu.Lock()
	for uri := range s.files {
		gone = s.releaseLocked(uri, session) || gone
	}
	s.mu.Unlock()
	if gone {
		s.changed()
	}
}

// Watched returns the directories of files that hosts subscribed to, so that their changes are noticed at once.
func (s *Server) Watched() []sidecar.Watch {
	s.subscriptions.mu.Lock()
	defer s.subscriptions.mu.Unlock()
	var dirs []sidecar.Watch
	for _, file := range s.subscriptions.files {
		if !slices.Contains(dirs, file.watch) {
			dirs = append(dirs, file.watch)
		}
	}
	return dirs
}

// Touched says that files of skills may have changed without a snapshot that shows it.
func (s *Server) Touched() {
	s.changed.Store(time.Now().UnixNano())
	signal(s.subscriptions.touched)
}
