package sidecar

import (
	"fmt"
	"slices"
	"time"

	"pannier"
)

// Messages of log records that a printer for people may want to tell from others.
const (
	LogServing   = "serving"        // at the start; has the workspace
	LogReady     = "ready"          // after the first scan; has counts and addresses
	LogChanged   = "skills changed" // skills whose content changed while their state did not
	LogBroken    = "skill is broken"
	LogMalformed = "runtime of a skill is malformed"
)

// logReport logs what no event says: that the sidecar is ready, with its addresses, and which skills changed without a change of
// their state.
func (c *core) logReport(before, s *pannier.Snapshot, changed []string, transitions []pannier.SkillStateChanged) {
	if before == nil {
		counts := countStates(s)
		fields := []any{"skills", len(s.Entries), "usable", counts[pannier.StateEligible], "took", time.Since(startedAt), "socket", c.settings.Socket}
		if c.probes != nil {
			fields = append(fields, "metrics", fmt.Sprintf("http://%s/metrics", c.probes.Addr()))
		}
		if c.tcp != nil {
			fields = append(fields, "api", c.tcp.Addr().String())
		}
		pushes, _ := c.platforms.health()
		for _, push := range pushes {
			fields = append(fields, "platform", push.Platform)
		}
		c.log.Debug(LogReady, fields...)
		return
	}
	changed = slices.DeleteFunc(slices.Clone(changed), func(slug string) bool {
		return slices.ContainsFunc(transitions, func(t pannier.SkillStateChanged) bool { return t.Slug == slug })
	})
	if len(changed) > 0 {
		c.log.Debug(LogChanged, "slugs", changed)
	}
}
