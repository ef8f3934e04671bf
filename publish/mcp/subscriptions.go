package mcp

import (
	"context"
	"errors"
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

// subscriptions are the files that hosts want to be told of.
type subscriptions struct {
	server  *Server
	touched chan struct{} // has a value when files may have changed without a snapshot

	mu    sync.Mutex
	files map[string]*subscribed // by URI
	count int
}

// subscribed is a file with the sessions that follow it.
type subscribed struct {
	slug, path string
	digest     pannier.Digest // as hosts were last told; zero where it cannot be read
	by         map[*sdk.ServerSession]int
	dir        Dir
}

// Dir is a directory of a skill.
type Dir struct {
	Skill *pannier.Skill
	Path  string // below the skill directory; "." for that itself
}

func (s *subscriptions) init(server *Server) {
	s.server, s.touched, s.files = server, make(chan struct{}, 1), map[string]*subscribed{}
}

// subscribe takes a subscription to a file that can be read now.
func (s *subscriptions) subscribe(ctx context.Context, req *sdk.SubscribeRequest) error {
	var found *pannier.Entry
	var name string
	var digest pannier.Digest
	err := s.server.fresh(ctx, func(v *view) error {
		e, path, inside, err := s.server.locate(v, req.Params.URI)
		if err != nil {
			return err
		}
		m, err := s.server.Manifest(ctx, e.Skill, 0)
		if err != nil {
			return s.server.held(e, err)
		}
		f, ok := fileIn(m, path)
		if !ok || !inside {
			return refuse(string(pannier.FileMissing), fmt.Sprintf("no file at %.100q", req.Params.URI), "skills/get lists the files of a skill")
		}
		found, name, digest = e, path, f.Digest
		return nil
	})
	if err != nil {
		return s.server.wireError(ctx, "resources/subscribe", req.Params.URI, err)
	}
	return s.add(req, &subscribed{slug: found.Slug, path: name, digest: digest, dir: Dir{found.Skill, path.Dir(name)}})
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
		file = fresh
		file.by = map[*sdk.ServerSession]int{}
		s.files[req.Params.URI] = file
	}
	file.by[req.Session]++
	s.count++
	s.mu.Unlock()
	if !known {
		s.changed()
	}
	return nil
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
	select {
	case s.subscriptions.touched <- struct{}{}:
	default:
	}
}

// check tells hosts of each file whose digest is another one.
func (s *subscriptions) check(ctx context.Context) {
	s.mu.Lock()
	uris := make(map[string]subscribed, len(s.files))
	for uri, file := range s.files {
		uris[uri] = *file
	}
	s.mu.Unlock()
	if len(uris) == 0 {
		return
	}
	v, err := s.server.current(ctx)
	if err != nil {
		return
	}
	for uri, file := range uris {
		digest, err := s.server.digestNow(ctx, v, file.slug, file.path)
		if err != nil || digest == file.digest {
			continue
		}
		s.mu.Lock()
		if now := s.files[uri]; now != nil {
			now.digest = digest
		}
		s.mu.Unlock()
		if err := s.server.sdk.ResourceUpdated(ctx, &sdk.ResourceUpdatedNotificationParams{URI: uri}); err != nil {
			s.server.Logger.Debug("host not told of a change", "uri", uri, "error", err)
		}
	}
}

// digestNow returns the digest of a file as it is, zero where it is not served. It fails while the file is changing.
func (s *Server) digestNow(ctx context.Context, v *view, slug, name string) (pannier.Digest, error) {
	e, ok := v.snapshot.Lookup(slug)
	if !ok || !e.Usable {
		return pannier.Digest{}, nil
	}
	m, err := s.Manifest(ctx, e.Skill, 0)
	if errors.Is(err, pannier.ErrNotServable) {
		return pannier.Digest{}, nil
	}
	f, _ := fileIn(m, name)
	return f.Digest, err
}
