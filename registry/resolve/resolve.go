// Package resolve decides which skills of a snapshot are active in one turn of an agent, and why the others that were
// named are not.
//
// It is pure over one snapshot: same turn and same digest, same answer, to the byte. Nothing is opened, and nothing is run.
package resolve

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"pannier"
	"pannier/registry/rank"
)

// Rules are the part of policy that is about turns, and the same for each of them.
type Rules struct {
	// Profile is one of the Profile constants; empty is the default.
	Profile string
	// Tooling is about the runtime tools of active skills.
	Tooling   ToolRules
	Overrides OverrideRules
}

// Resolve resolves a turn by the default rules.
func Resolve(s *pannier.Snapshot, t pannier.Turn) pannier.Resolution { return Rules{}.Resolve(s, t) }

// Resolve returns the skills that are active in a turn: those that a client chose, those that the text refers to, those
// whose globs match a file that the turn is about, each by slug; then those that are automatically available, in the order of
// [resolver.implicit]. Every one that was named and is not active is rejected with a reason; where the turn asks for it, every
// other one too, by slug behind them.
func (rules Rules) Resolve(s *pannier.Snapshot, t pannier.Turn) pannier.Resolution {
	return rules.resolve(s, t, newIndex(s, nil))
}

func (rules Rules) resolve(s *pannier.Snapshot, t pannier.Turn, x *index) pannier.Resolution {
	r := resolver{snapshot: s, turn: t, index: x, active: map[*pannier.Entry]int{}, refused: map[string]bool{}, told: map[*pannier.Entry]bool{}}
	r.out = pannier.Resolution{
		SnapshotVersion: s.Version, Digest: s.Digest,
		Active: []pannier.ActiveSkill{}, Rejected: []pannier.RejectedSkill{},
	}
	r.named()
	if r.files = (files{pathsOf(t)}); !r.files.none() {
		globs := x.globs() // of what is automatically available
		for i, matched := range globs.match(r.files) {
			e := globs.entries[i]
			if _, ok := r.active[e]; matched && !ok && fits(e, t.Runtime) {
				r.activate(e, pannier.ViaPath, "")
			}
		}
	}
	r.out.AllowedTools = rules.allowedTools(s, t, r.out.Active)
	r.out.Overrides = r.overrides(rules, r.out.AllowedTools)
	r.implicit()
	var tools []pannier.RuntimeTool
	tools, r.out.ExcludedTools = rules.Tooling.plan(r.tooled)
	r.out.Tools = make([]pannier.ListedTool, len(tools))
	for i := range tools {
		r.out.Tools[i].RuntimeTool = tools[i]
	}
	if !t.Verbose {
		return r.out
	}
	for _, e := range s.Entries {
		if _, active := r.active[e]; active || r.told[e] {
			continue
		}
		if v := r.judge(e, r.wayIn(e)); v.reason != "" {
			r.rejectAs(request{}, e.Slug, v)
		}
	}
	return r.out
}

// ways are the ways in, in their order.
var ways = []string{pannier.ViaCapability, pannier.ViaReference, pannier.ViaPath, pannier.ViaImplicit}

// request is one naming of a skill.
type request struct {
	ref       string
	kind      pannier.SourceKind
	id        string
	arguments string
	via       string
}

type resolver struct {
	snapshot *pannier.Snapshot
	index    *index
	turn     pannier.Turn
	files    files
	active   map[*pannier.Entry]int  // index in out.Active
	refused  map[string]bool         // what the text named and did not get, told once
	told     map[*pannier.Entry]bool // what is rejected
	tooled   []*pannier.Entry        // the active ones that have tools
	out      pannier.Resolution
}

// named takes in what the turn names.
func (r *resolver) named() {
	for _, c := range r.turn.Capabilities {
		r.explicit(request{ref: c.Slug, kind: c.SourceKind, id: c.ID, via: pannier.ViaCapability})
	}
	for _, ref := range references(r.turn.Text) {
		e, known := r.index.named(ref.slug)
		switch {
		case known:
			r.explicit(request{ref: e.Qualified(), arguments: ref.arguments, via: pannier.ViaReference})
		case ref.certain():
			r.explicit(request{ref: ref.slug, arguments: ref.arguments, via: pannier.ViaReference})
			r.suggest(ref)
		default: // `$HOME` is a variable and `/help` a command, and no skill that is missing
			r.suggest(ref)
		}
	}
	slices.SortStableFunc(r.out.Active, func(a, b pannier.ActiveSkill) int {
		return cmp.Or(cmp.Compare(slices.Index(ways, a.Reason), slices.Index(ways, b.Reason)), cmp.Compare(a.Slug, b.Slug))
	})
}

// maxSuggestions bounds the references with suggestions, and the skills that one suggests.
const maxSuggestions = 4

// suggest tells which skills have a name that differs by one typing error. None is activated.
func (r *resolver) suggest(ref reference) {
	slug := pannier.Slugify(ref.slug)
	if len(slug) < 4 || len(r.out.Suggestions) == maxSuggestions {
		return
	}
	var near []string
	for _, e := range r.snapshot.Entries {
		if e.Usable && rank.OneEdit(slug, e.Slug) && !slices.Contains(near, e.Slug) && len(near) < maxSuggestions {
			near = append(near, e.Slug)
		}
	}
	again := slices.ContainsFunc(r.out.Suggestions, func(s pannier.Suggestion) bool { return s.Reference == ref.slug })
	if len(near) > 0 && !again {
		r.out.Suggestions = append(r.out.Suggestions, pannier.Suggestion{Reference: ref.slug, Slugs: near})
	}
}

func (r *resolver) explicit(q request) {
	e, ok := r.snapshot.Lookup(q.ref)
	if !ok || q.kind != "" && e.SourceKind != q.kind {
		r.rejectUnknown(q, e)
		return
	}
	if v := r.judge(e, q.via); v.reason != "" {
		r.reject(q, e, v)
		return
	}
	r.activate(e, q.via, q.arguments)
}

// rejectUnknown tells a name that no skill has from that of a skill that is shadowed, or of another kind. owner is who
// has the slug, nil where that does not fit.
func (r *resolver) rejectUnknown(q request, owner *pannier.Entry) {
	by, slug := pannier.SplitQualified(q.ref)
	entries := r.snapshot.Entries
	i, _ := slices.BinarySearchFunc(entries, slug, func(e *pannier.Entry, slug string) int { return strings.Compare(e.Slug, slug) })
	for ; i < len(entries) && entries[i].Slug == slug; i++ {
		e := entries[i]
		if e.State == pannier.StateShadowed && (q.kind == "" || q.kind == e.SourceKind) && (by == "" || by == e.Owner) {
			r.reject(q, e, r.judge(e, q.via))
			return
		}
	}
	detail := fmt.Sprintf("no skill is called %q", q.ref)
	if owner != nil {
		detail = fmt.Sprintf("the skill is of kind %s, not %s", owner.SourceKind, q.kind)
	}
	r.rejectAs(q, cmp.Or(slug, q.ref), verdict{reason: pannier.RejectedNotFound, detail: detail})
}

func (r *resolver) reject(q request, e *pannier.Entry, v verdict) {
	r.told[e] = true
	r.rejectAs(q, e.Slug, v)
}

func (r *resolver) rejectAs(q request, slug string, v verdict) {
	if q.via == pannier.ViaReference {
		if r.refused[slug] {
			return
		}
		r.refused[slug] = true
	}
	if v.diagnostics == nil {
		v.diagnostics = []pannier.Reason{}
	}
	r.out.Rejected = append(r.out.Rejected, pannier.RejectedSkill{ID: q.id, Slug: slug, Reason: v.reason, Detail: v.detail, Diagnostics: v.diagnostics})
}

// maxRanked bounds the skills that the text ranks.
const maxRanked = 128

// implicit activates what is automatically available and not active yet: what the text mentions, what has a trigger in it, what it
// is likely to be about, what was used lately, what has other words of it, and the rest as config.yaml lists it, then by slug. The
// turn names none of these, so none is rejected.
func (r *resolver) implicit() {
	offer := func(e *pannier.Entry, via string) bool {
		if _, ok := r.active[e]; ok || !e.Automatic() || !fits(e, r.turn.Runtime) {
			return false
		}
		r.activate(e, via, "")
		return true
	}
	if !r.turn.Stable {
		for _, name := range mentioned(r.turn.Text) {
			if e, ok := r.index.named(name); ok {
				offer(e, pannier.ViaMentioned)
			}
		}
		var hits []rank.Hit
		if recent := r.turn.Context.RecentTexts; r.turn.Text != "" || len(recent) > 0 {
			hits = r.index.words().Rank(r.turn.Text, recent[:min(len(recent), pannier.MaxRecentTexts)], 2*maxRanked)
		}
		likely := slices.IndexFunc(hits, func(h rank.Hit) bool { return !h.Likely() })
		if likely < 0 {
			likely = len(hits)
		}
		ranked := 0
		show := func(hits []rank.Hit) {
			for _, h := range hits {
				if e, ok := r.snapshot.Lookup(h.Skill.Qualified()); ok && e.Skill == h.Skill && ranked < maxRanked && offer(e, pannier.ViaImplicit) {
					ranked++
				}
			}
		}
		show(hits[:likely])
		for _, slug := range r.turn.Context.RecentSkills[:min(len(r.turn.Context.RecentSkills), pannier.MaxRecentSkills)] {
			if e, ok := r.snapshot.Lookup(slug); ok {
				offer(e, pannier.ViaImplicit)
			}
		}
		show(hits[likely:])
		for _, h := range hits[:likely] {
			if e, ok := r.snapshot.Lookup(h.Skill.Qualified()); ok {
				if i, ok := r.active[e]; ok {
					r.out.Active[i].Relevance = &pannier.Relevance{Score: h.Score, Matched: h.Matched}
				}
			}
		}
	}
	if r.turn.NamedOnly {
		return
	}
	for _, e := range r.snapshot.Ranked() {
		offer(e, pannier.ViaImplicit)
	}
}

// activate takes a skill in once, by the first way in that it has, with the first arguments that it was given.
func (r *resolver) activate(e *pannier.Entry, via, arguments string) {
	if i, ok := r.active[e]; ok {
		r.out.Active[i].Arguments = cmp.Or(r.out.Active[i].Arguments, arguments)
		return
	}
	r.active[e] = len(r.out.Active)
	r.out.Active = append(r.out.Active, pannier.ActiveSkill{
		Slug: e.Slug, SourceKind: e.SourceKind, Name: e.Name, Reason: via, Digest: e.Digest, Arguments: arguments,
	})
	if len(e.RuntimeTools)+len(e.FileTools) > 0 {
		r.tooled = append(r.tooled, e)
	}
}
