package mcp

import (
	"context"
	"errors"
	"fmt"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pannier"
	"pannier/service"
)

// maxSubscribeAge is how long ago the files of a skill were compared with the disk at most for a subscription to one of them, so
// that a host that subscribes to many does not have each of them compared. After that time a check follows.
const maxSubscribeAge = time.Second

// follow checks the files after each change, and after subscriptions, until ctx is done. Changes during a check are one more check.
func (s *subscriptions) follow(ctx context.Context) {
	var due <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.added:
			if due == nil {
				due = time.After(maxSubscribeAge)
			}
			continue
		case <-due:
			due = nil
		case <-s.touched:
		}
		s.check(ctx)
	}
}

// check tells hosts of each file whose digest is another one. Each skill is compared with the disk once.
func (s *subscriptions) check(ctx context.Context) {
	bySkill := map[string]map[string]subscribed{} // by slug and URI
	s.mu.Lock()
	for uri, file := range s.files {
		if bySkill[file.slug] == nil {
			bySkill[file.slug] = map[string]subscribed{}
		}
		bySkill[file.slug][uri] = *file
	}
	s.mu.Unlock()
	if len(bySkill) == 0 {
		return
	}
	v, err := s.server.current(ctx)
	if err != nil {
		return
	}
	for slug, files := range bySkill {
		digests, err := s.server.digestsNow(ctx, v, slug, files)
		if ctx.Err() != nil {
			return
		}
		if err != nil { // it is changing: the next snapshot tells
			continue
		}
		for uri, digest := range digests {
			if digest == files[uri].digest {
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
}

// digestsNow returns the digests of files of a skill as they are, by URI; zero where one is not served, and without those that are
// changing. It fails while the skill is changing.
func (s *Server) digestsNow(ctx context.Context, v *view, slug string, files map[string]subscribed) (map[string]pannier.Digest, error) {
	digests := make(map[string]pannier.Digest, len(files))
	e, ok := v.snapshot.Lookup(slug)
	if !ok || !e.Usable {
		for uri := range files {
			digests[uri] = pannier.Digest{}
		}
		return digests, nil
	}
	m, err := s.Manifest(ctx, e.Skill, 0)
	if err != nil && !errors.Is(err, pannier.ErrNotServable) {
		return nil, err
	}
	listed := make(map[string]pannier.Digest, len(m.Files))
	for _, f := range m.Files {
		listed[f.Path] = f.Digest
	}
	for uri, file := range files {
		digest, ok := listed[file.path]
		if !ok && m.Dynamic {
			digest, err = s.readDigest(ctx, e, file.path)
			if _, refused := asRefusal(err); err != nil && !refused {
				continue
			}
		}
		digests[uri] = digest
	}
	return digests, nil
}

// digestOfFile returns the digest of a file that can be read, as it was at most [maxSubscribeAge] ago. unlisted says that the
// manifest does not have it.
func (s *Server) digestOfFile(ctx context.Context, e *pannier.Entry, name string) (digest pannier.Digest, unlisted bool, err error) {
	for _, age := range []time.Duration{min(maxSubscribeAge, time.Since(time.Unix(0, s.changed.Load()))), 0} {
		m, err := s.manifest(ctx, e, age)
		if err != nil {
			return digest, false, err
		}
		if f, ok := fileIn(m, name); ok {
			return f.Digest, false, nil
		}
		if m.Dynamic {
			digest, err = s.readDigest(ctx, e, name)
			return digest, true, err
		}
	}
	return digest, false, refuse(string(pannier.FileMissing), fmt.Sprintf("%.200q is not in the list of files of %s", name, e.Slug), "skills/get has the list")
}

// readDigest returns the digest of a file whose skill has no list of files.
func (s *Server) readDigest(ctx context.Context, e *pannier.Entry, name string) (pannier.Digest, error) {
	f, err := s.Service.OpenFile(ctx, e, name, service.Agent)
	if err != nil {
		return pannier.Digest{}, err
	}
	defer f.Close()
	if f.Size() > maxResourceBytes {
		return pannier.Digest{}, tooLarge(e, name, maxResourceBytes)
	}
	return f.Digest(), nil
}
