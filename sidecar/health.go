package sidecar

import (
	"cmp"
	"fmt"
	"maps"
	"strings"
	"time"

	"pannier"
	"pannier/config"
	"pannier/internal/plain"
	"pannier/publish/api"
	"pannier/publish/card"
)

var startedAt = time.Now()

// newHealth returns the health before the first scan, without conditions.
func newHealth(s config.Settings, b Build) pannier.Health {
	return pannier.Health{
		Version: b.Version, Commit: b.Commit, StartedAt: startedAt.UTC(), Socket: s.Socket.Path,
		Workspace: s.Workspace, WorkspaceID: s.WorkspaceID, Skills: countStates(nil),
		Conditions: []pannier.Condition{}, Push: []pannier.PushHealth{},
	}
}

// What a start waits for.
const (
	notScanned = "the first scan of the workspace has not ended yet"
	notWatched = "not all directories of the workspace are watched yet"
)

func startingCondition(s config.Settings, waitsFor string) pannier.Condition {
	return condition("starting", pannier.SeverityWarning, s.Workspace, waitsFor,
		"wait a moment; where it does not end, the disk may not answer")
}

// skillsHealth is what health says of the skills of a snapshot. It is kept, since it takes a walk over all of them.
type skillsHealth struct {
	snapshot   *pannier.Snapshot
	contents   uint64 // their version
	states     map[pannier.State]int
	conditions []pannier.Condition
}

func (c *core) skillsHealth(s *pannier.Snapshot) *skillsHealth {
	version := c.contents.Version()
	if h := c.lastSkillsHealth.Load(); h != nil && h.snapshot == s && h.contents == version {
		return h
	}
	h := &skillsHealth{s, version, countStates(s), snapshotConditions(s)}
	if c.settings.Scan != config.ScanOff {
		h.conditions = append(h.conditions, c.contents.Conditions(s)...)
	}
	c.lastSkillsHealth.Store(h)
	return h
}

// countStates counts the skills of a snapshot by state. The snapshot may be nil.
func countStates(s *pannier.Snapshot) map[pannier.State]int {
	counts := map[pannier.State]int{}
	for _, state := range pannier.States() {
		counts[state] = 0
	}
	if s != nil {
		for i := range s.Entries {
			counts[s.Entries[i].State]++
		}
	}
	return counts
}

func (c *core) health() pannier.Health {
	s := c.registry.Current()
	h := newHealth(c.settings, c.build)
	h.Watch = c.watcher.Health()
	var made card.Card
	if s != nil {
		if made = c.cards.get(s); made.Problem != nil { // none without a card
			h.Conditions = append(h.Conditions, problemCondition(*made.Problem))
		}
		skills := c.skillsHealth(s)
		h.SnapshotVersion, h.Skills = s.Version, maps.Clone(skills.states)
		h.Conditions = append(h.Conditions, skills.conditions...)
		h.Conditions = append(h.Conditions, c.takeovers.Conditions(s)...)
	}
	switch {
	case s == nil:
		h.Conditions = append(h.Conditions, startingCondition(c.settings, notScanned))
	case !c.watched():
		h.Conditions = append(h.Conditions, startingCondition(c.settings, notWatched))
	}
	if c.watched() { // what watches lack is known after they are armed
		h.Conditions = append(h.Conditions, c.watchConditions(h.Watch)...)
	}
	if err := c.overdue(); err != nil { // as /livez reports
		h.Conditions = append(h.Conditions, condition(codeLooksOverdue, pannier.SeverityError, c.settings.Workspace, err.Error(),
			"see whether the disk of the workspace answers; where it does, restart the sidecar"))
	}
	if err := c.listeners.lost(); err != nil {
		h.Conditions = append(h.Conditions, condition("socket_lost", pannier.SeverityError, c.settings.Socket.Path, err.Error(),
			"remove what stands in the way; the sidecar tries again each second, and keeps the connections that it has"))
	}
	if running, latest := c.running.Load(), c.latest.Load(); running != nil && latest != nil {
		for _, p := range config.RestartNeeded(*running, *latest) {
			h.Conditions = append(h.Conditions, problemCondition(p))
		}
	}
	h.Conditions = append(h.Conditions, c.state.conditions()...)
	h.Conditions = append(h.Conditions, c.changes.Conditions()...)
	h.Conditions = append(h.Conditions, capacityConditions(api.CapacityNow())...)
	h.Conditions = append(h.Conditions, c.listeners.tcp.conditions()...)
	for _, p := range c.parts {
		if p.Conditions != nil {
			h.Conditions = append(h.Conditions, p.Conditions()...)
		}
	}
	var remote []pannier.Condition
	h.Push, remote = c.platforms.health()
	h.Conditions = append(h.Conditions, remote...)
	if !made.Digest.IsZero() { // it may wait for the next push, or was not handed over yet
		for i := range h.Push {
			h.Push[i].Desired = made.Digest
		}
	}
	h.Status = worst(h.Conditions)
	return h
}

// watchConditions are the reasons why changes are noticed by something else than the kernel. That a network mount is
// polled is as it should be, and leaves the status alone.
func (c *core) watchConditions(watch pannier.WatchHealth) []pannier.Condition {
	var conditions []pannier.Condition
	for _, r := range watch.Reasons {
		code := "watch_degraded"
		if r.Severity == pannier.SeverityInfo {
			code = "watch_polling"
		}
		conditions = append(conditions, condition(code, r.Severity, cmp.Or(r.Root, c.settings.Workspace),
			r.Reason, r.Hint))
	}
	if watch.Problem != "" && len(conditions) == 0 {
		conditions = append(conditions, condition("watch_degraded", pannier.SeverityWarning, c.settings.Workspace,
			watch.Problem, "until this is fixed, changes are found every "+c.settings.Watch.Resync.String()+" only"))
	}
	return conditions
}

// snapshotConditions are the problems of config.yaml and the roots, and one for all skills that cannot be read.
func snapshotConditions(s *pannier.Snapshot) []pannier.Condition {
	conditions := make([]pannier.Condition, 0, len(s.Problems)+1)
	for _, p := range s.Problems {
		conditions = append(conditions, problemCondition(p))
	}
	var broken []string
	for i := range s.Entries {
		if e := s.Entries[i]; e.Broken || e.LastGood {
			broken = append(broken, e.Slug)
		}
	}
	if len(broken) > 0 {
		conditions = append(conditions, condition("skills_unreadable", pannier.SeverityWarning, plain.Shorten(strings.Join(broken, ", "), 200),
			fmt.Sprintf("%d of %d skills cannot be read", len(broken), len(s.Entries)),
			"`pannier list` shows the line of each fault and what to do"))
	}
	return conditions
}

// codeLooksOverdue is the code of the condition that /livez says no.
const codeLooksOverdue = "looks_overdue"

// livenessGrace is how much longer than three resyncs a sidecar may go without a scan, so that a slow disk is not taken
// for a loop that stands.
const livenessGrace = 30 * time.Second

// scanOverdue returns an error if the loop from the watcher to the registry no longer runs, by the time of the last
// scan that ended. Each resync leads to a scan, whatever changed, so that without one for long a restart would help.
// Before the first scan it reports nothing: that is what startup probes ask, and a large workspace may take its time.
// Without resyncs a missing scan means nothing either.
func scanOverdue(now, last time.Time, resync time.Duration) error {
	if resync == 0 || last.IsZero() {
		return nil
	}
	if silence := now.Sub(last); (silence-livenessGrace)/3 > resync {
		return fmt.Errorf("no scan of the workspace has ended for %s, and one is due every %s", silence.Round(time.Second), resync)
	}
	return nil
}

// livenessError says why a restart would help: the sidecar no longer scans what it watches, or clients find no socket.
func (c *core) livenessError() error {
	if err := c.listeners.lost(); err != nil {
		return err
	}
	return c.overdue()
}

// overdue says whether the sidecar still scans what it watches.
func (c *core) overdue() error {
	var last time.Time
	if at := c.scans.last.Load(); at != nil && c.watched() {
		last = *at
	}
	return scanOverdue(time.Now(), last, c.settings.Watch.Resync)
}
