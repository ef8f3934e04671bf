package mcp

import (
	"context"

	"pannier"
)

// announcements are the digests that hosts were last told of. They belong to [Server.notify].
type announcements struct {
	tools, prompts, resources pannier.Digest
}

// notify tells hosts which lists each snapshot has changed, and which files that they subscribed to.
func (s *Server) notify(ctx context.Context) {
	snapshots, cancel := s.Subscribe()
	defer cancel()
	for {
		select {
		case <-ctx.Done():
			return
		case snapshot := <-snapshots:
			s.announce(s.viewOf(snapshot))
			s.subscriptions.check(ctx)
		case <-s.subscriptions.touched:
			s.subscriptions.check(ctx)
		}
	}
}

// announce sends list_changed of the lists that differ from those of the view before. The SDK waits 10 ms for more.
func (s *Server) announce(v *view) {
	before := s.announcements
	s.announcements = announcements{v.toolsDigest, v.promptsDigest, v.resourcesDigest}
	if first := before == (announcements{}); first {
		s.makeReady()
		return // hosts wait for the first snapshot, so none has seen another list
	}
	if s.Tools && before.tools != v.toolsDigest {
		s.touchTools()
	}
	if before.prompts != v.promptsDigest {
		s.touchPrompts()
	}
	if before.resources != v.resourcesDigest {
		s.touchResources()
	}
}
