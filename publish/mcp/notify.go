package mcp

import (
	"context"
	"sync"
	"time"

	"pannier"
)

// announcements are the digests of the lists that hosts were last told of. Which tools of skills can be called also
// depends on scans and on the runner, which change no snapshot.
type announcements struct {
	tools, skillTools, prompts, resources pannier.Digest
}

// listsOf returns the digests of the lists as hosts see them now.
func (s *Server) listsOf(v *view) *announcements {
	now := v.lists
	now.skillTools = digestOf(s.skillTools(v.snapshot))
	return &now
}

// skillToolsEvery is how often the tools of skills are compared with those that hosts were told of.
const skillToolsEvery = 2 * time.Second

// toolsInterval is the least time between two notifications of changed tools. A prompt begins with the tools, so that a
// model reads all of it anew after each; skills that are written one after the other cost that once.
const toolsInterval = time.Second

// notify tells hosts which lists each snapshot has changed, and which files that they subscribed to. Files are compared
// beside it, because that reads them, and no list waits for it.
func (s *Server) notify(ctx context.Context) {
	var checks sync.WaitGroup
	defer checks.Wait()
	checks.Go(func() { s.subscriptions.follow(ctx) })
	snapshots, cancel := s.Subscribe()
	defer cancel()
	var ticks, later <-chan time.Time
	var told time.Time // when hosts were last told of changed tools
	// announce sends what has changed. Tools that change again within the interval wait for the end of it.
	announce := func(snapshot *pannier.Snapshot) {
		wait := time.Until(told.Add(toolsInterval))
		changed := s.announce(snapshot, wait <= 0)
		switch {
		case !changed:
		case wait <= 0:
			told = time.Now()
		case later == nil:
			later = time.After(wait)
		}
	}
	if s.SkillTools {
		ticker := time.NewTicker(skillToolsEvery)
		defer ticker.Stop()
		ticks = ticker.C
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks:
			if s.announced.Load() != nil && s.hasHosts() {
				announce(s.Service.Snapshot())
			}
		case <-later:
			later = nil
			announce(s.Service.Snapshot())
		case snapshot := <-snapshots:
			announce(snapshot)
			signal(s.subscriptions.touched)
		}
	}
}

// announce sends list_changed of the lists that differ from those that hosts were told of before, and reports whether the
// tools do; that of the tools only where tools says so. The SDK waits 10 ms for more.
func (s *Server) announce(snapshot *pannier.Snapshot, tools bool) (changed bool) {
	select {
	case <-s.ready:
	default:
		s.makeReady() // hosts wait for the first snapshot, so none has seen another list
		return false
	}
	if !s.hasHosts() {
		// A view costs what all skills cost, and holds a whole snapshot: without a host none is built, and the last one is
		// dropped.
		s.announced.Store(nil)
		s.building.Lock()
		defer s.building.Unlock()
		s.views.Store(nil)
		s.entries.keep(nil)
		return false
	}
	now := s.listsOf(s.build(snapshot))
	before := s.announced.Load()
	if before == nil {
		before = &announcements{} // a host came while the last view was dropped: what it has seen is not known
	}
	changed = s.Tools && (before.tools != now.tools || before.skillTools != now.skillTools)
	if changed && tools {
		s.touchTools()
	} else if changed {
		now.tools, now.skillTools = before.tools, before.skillTools
	}
	s.announced.Store(now)
	if before.prompts != now.prompts {
		s.touchPrompts()
	}
	if before.resources != now.resources {
		s.touchResources()
	}
	return changed
}

func (s *Server) hasHosts() bool {
	for range s.sdk.Sessions() {
		return true
	}
	return false
}
