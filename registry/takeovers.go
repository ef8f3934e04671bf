package registry

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"pannier"
)

// Takeovers remembers which slugs passed to another skill while the one that held them is still there. A snapshot
// cannot show that, because it depends on what was before. It is kept for as long as the process runs. The zero value
// is ready. All methods are for any number of callers.
type Takeovers struct {
	mu   sync.Mutex
	from map[string]takeover // by slug
}

// takeover is a slug that passed from one directory to another.
type takeover struct{ from, to string }

// Observe records what passed to another skill between two snapshots, and forgets what is over: when the slug has
// another holder again, or the former holder no longer claims it. before may be nil. A skill that takes the slug by its
// folder name in another root is ordinary shadowing, and not recorded.
func (t *Takeovers) Observe(before, after *pannier.Snapshot) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for slug, o := range t.from {
		holder, held := after.Lookup(slug)
		if _, claims := after.LookupPath(slug, o.from); !held || holder.Path != o.to || !claims {
			delete(t.from, slug)
		}
	}
	if before == nil {
		return
	}
	for old, e := range Changes(before, after) {
		if e == nil || e.State != pannier.StateShadowed || e.Deleting {
			continue
		}
		to, _ := after.Lookup(e.Slug)
		if old == nil || old.State == pannier.StateShadowed || to.RootIndex != e.RootIndex && claimsByFolder(to.Skill) {
			continue
		}
		if t.from == nil {
			t.from = map[string]takeover{}
		}
		if len(t.from) < maxContests {
			t.from[e.Slug] = takeover{e.Path, to.Path}
		}
	}
}

// Conditions returns a health condition for each takeover that the snapshot does not report itself.
func (t *Takeovers) Conditions(s *pannier.Snapshot) []pannier.Condition {
	t.mu.Lock()
	defer t.mu.Unlock()
	var conditions []pannier.Condition
	for slug, o := range t.from {
		if isContested(s, slug) {
			continue
		}
		conditions = append(conditions, pannier.Condition{
			Code: kindContested, Severity: pannier.SeverityWarning, Subject: slug,
			Message: fmt.Sprintf("%s took the slug %q from %s, which is still there", o.to, slug, o.from),
			Hint:    "check both; remove the one that is not wanted, or give it another slug",
		})
	}
	slices.SortFunc(conditions, func(a, b pannier.Condition) int { return strings.Compare(a.Subject, b.Subject) })
	return conditions
}

// isContested reports whether a snapshot has a problem about a slug.
func isContested(s *pannier.Snapshot, slug string) bool {
	return slices.ContainsFunc(s.Problems, func(p pannier.Problem) bool { return p.Code == kindContested && p.Path == slug })
}
