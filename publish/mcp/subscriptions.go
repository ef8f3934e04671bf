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
	count int
}

// subscribed is a file with the sessions that follow it.
type subscribed struct {
	slug, path string
	digest     pannier.Digest // as hosts were last told; zero where it cannot be read
	unlisted   bool           // the manifest does not have it, so each check reads it
	by         map[*sdk.ServerSession]int
	dir        Dir
}

// Dir is a directory of a skill.
type Dir struct {
	Skill *pannier.Skill
	Path  string // below the skill directory; "." for that itself
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
			return refuse(string(pannier.FileIsDirectory), fmt.Sprintf("%.100q is a directory", req.Params.URI), "subscribe to a file in it")
		}
		digest, unlisted, err := s.server.digestOfFile(ctx, e, name)
		fresh = &subscribed{slug: e.Slug, path: name, digest: digest, unlisted: unlisted, dir: Dir{e.Skill, path.Dir(name)}}
		return err
	})
	if err != nil {
		return s.server.wireError(ctx, "resources/subscribe", req.Params.URI, err)
	}
	return s.add(req, fresh)
}

func (s *subscriptions) add(req *sdk.SubscribeRequest, fresh *subscribed) error {
	s.mu.Lock()
	if s.count >= maxSubscriptions {
		s.mu.Unlock()
		return s.server.wireError(context.Background(), "resources/subscribe", req.Params.URI,
			refuse("too_many_subscriptions", fmt.Sprintf("%d files are subscribed to already", maxSubscriptions), "unsubscribe from others"))
	}
	file, known := s.files[req.Params.URI]
	if !known {
		if fresh.unlisted && s.countUnlisted() >= maxUnlisted {
			s.mu.Unlock()
			return s.server.wireError(context.Background(), "resources/subscribe", req.Params.URI,
				refuse("too_many_subscriptions", fmt.Sprintf("%d files of skills without a list of files are subscribed to already", maxUnlisted), "unsubscribe from others"))
		}
		file = fresh
		file.by = map[*sdk.ServerSession]int{}
		s.files[req.Params.URI] = file
	}
	file.by[req.Session]++
	s.count++
	s.mu.Unlock()
	if !known {
		s.changed()
		signal(s.added)
	}
	return nil
}

func (s *subscriptions) countUnlisted() (n int) {
	for _, file := range s.files {
		if file.unlisted {
			n++
		}
	}
	return n
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
	gone := s.releaseLocked(req.Params.URI, req.Session, 1)
	s.mu.Unlock()
	if gone {
		s.changed()
	}
	return nil
}

// releaseLocked drops up to n subscriptions of a session, and reports whether the file has no subscription left.
func (s *subscriptions) releaseLocked(uri string, session *sdk.ServerSession, n int) (gone bool) {
	file, ok := s.files[uri]
	if !ok || file.by[session] == 0 {
		return false
	}
	n = min(n, file.by[session])
	s.count -= n
	if file.by[session] -= n; file.by[session] == 0 {
		delete(file.by, session)
	}
	if len(file.by) == 0 {
		delete(s.files, uri)
		return true
	}
	return false
}

// drop drops the subscriptions of a session that has ended.
func (s *subscriptions) drop(session *sdk.ServerSession) {
	gone := false
	s.mu.Lock()
	for uri, file := range s.files {
		gone = s.releaseLocked(uri, session, file.by[session]) || gone
	}
	s.mu.Unlock()
	if gone {
		s.changed()
	}
}

// Watched returns the directories of files that hosts subscribed to, so that their changes are noticed at once.
func (s *Server) Watched() []Dir {
	s.subscriptions.mu.Lock()
	defer s.subscriptions.mu.Unlock()
	var dirs []Dir
	for _, file := range s.subscriptions.files {
		if !slices.Contains(dirs, file.dir) {
			dirs = append(dirs, file.dir)
		}
	}
	return dirs
}

// Touched says that files of skills may have changed without a snapshot that shows it.
func (s *Server) Touched() {
	s.changed.Store(time.Now().UnixNano())
	signal(s.subscriptions.touched)
}
