package mcp

import (
	"context"
	"sync"
	"time"

	"pannier"
)

// announcements are the digests of the lists that hosts were last told of.
type announcements struct {
	tools, prompts, resources pannier.Digest
}

// notify tells hosts which lists each snapshot has changed, and which files that they subscribed to. Files are compared beside
// it, because that reads them, and no list waits for it.
func (s *Server) notify(ctx context.Context) {
	var checks sync.WaitGroup
	defer checks.Wait()
	checks.Go(func() { s.subscriptions.follow(ctx) })
	snapshots, cancel := s.Subscribe()
	defer cancel()
	var ticks <-chan time.Time
	if s.ListTools != nil {
		ticker := time.NewTicker(skillToolsEvery)
		defer ticker.Stop()
		ticks = ticker.C
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks:
			s.announceTools()
		case snapshot := <-snapshots:
			s.announce(snapshot)
			signal(s.subscriptions.touched)
		}
	}
}

// announce sends list_changed of the lists that differ from those that hosts were told of before. The SDK waits 10 ms for more.
//
// Without a host no view is built, because its lists cost what all skills cost, and the last one is dropped.
func (s *Server) announce(snapshot *pannier.Snapshot) {
	select {
	case <-s.ready:
	default:
		s.makeReady() // hosts wait for the first snapshot, so none has seen another list
		return
	}
	if !s.connectedHosts() {
		s.announced.Store(nil)
		s.dropView()
		return
	}
	v := s.build(snapshot)
	before := s.announced.Swap(&v.lists)
	if before == nil {
		before = &announcements{} // a host came while the last view was dropped: what it has seen is not known
	}
	if s.Tools && before.tools != v.lists.tools {
		s.touchTools()
	}
	if before.prompts != v.lists.prompts {
		s.touchPrompts()
	}
	if before.resources != v.lists.resources {
		s.touchResources()
	}
}

func (s *Server) connectedHosts() bool {
	for range s.sdk.Sessions() {
		return true
	}
	return false
}
