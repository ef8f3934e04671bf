package mcp

import (
	"context"
	"fmt"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pannier"
	"pannier/service"
)

// maxSubscribeAge is how long ago the files of a skill were compared with the disk at most for a subscription to one of
// them, so that a host that subscribes to many does not have each of them compared. After that time a check follows.
const maxSubscribeAge = time.Second

// follow checks the files after each change, and after subscriptions, until ctx is done. Changes during a check are one
// more check.
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
		e, served := v.snapshot.Lookup(slug)
		var m pannier.Manifest
		if served = served && e.Usable; served {
			if m, err = s.server.manifest(ctx, e, 0); err != nil { // it is changing: the next snapshot tells
				continue
			}
		}
		for uri, file := range files {
			var digest pannier.Digest // zero where the file is not served
			if served {
				digest, _, err = s.server.digestIn(ctx, m, e, file.path)
				if _, refused := asRefusal(err); err != nil && !refused {
					continue
				}
			}
			if digest == file.digest {
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

// digestIn returns the digest of a file by a manifest of its skill, and whether that lists it. Where a manifest lists
// no files, the file is read.
func (s *Server) digestIn(
	ctx context.Context, m pannier.Manifest, e *pannier.Entry, name string,
) (digest pannier.Digest, listed bool, err error) {
	if f, ok := fileIn(m, name); ok {
		return f.Digest, true, nil
	}
	if !m.Dynamic {
		return digest, false, refuse(string(pannier.FileMissing),
			fmt.Sprintf("%.200q is not in the list of files of %s", name, e.Slug), "skills/get has the list")
	}
	f, err := s.Service.OpenFile(ctx, e, name, service.Agent)
	if err != nil {
		return digest, false, err
	}
	defer f.Close()
	if f.Size() > maxResourceBytes {
		return digest, false, tooLarge(e, name, maxResourceBytes)
	}
	return f.Digest(), false, nil
}
