// Package resolve decides which skills of a snapshot are active in one turn of an agent, and why the others that were
// named are not.
//
// It is pure over one snapshot: same turn and same digest, same answer, to the byte.
package resolve

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"pannier"
)

// Resolve returns the skills that are active in a turn: those that a client chose, those that the text refers to, and
// those that are automatically available, in this order and by slug within each. Every one that was named and is not
// active is rejected with a reason.
func Resolve(s *pannier.Snapshot, t pannier.Turn) pannier.Resolution {
	r := resolver{snapshot: s, turn: t, active: map[*pannier.Entry]int{}, refused: map[string]bool{}}
	r.out = pannier.Resolution{
		SnapshotVersion: s.Version, Digest: s.Digest,
		Active: []pannier.ActiveSkill{}, Rejected: []pannier.RejectedSkill{},
	}
	for _, c := range t.Capabilities {
		r.explicit(request{ref: c.Slug, kind: c.SourceKind, id: c.ID, via: pannier.ViaCapability})
	}
	for _, ref := range references(t.Text) {
		if _, known := s.Lookup(ref.slug); !known && ref.sigil == sigilDollar {
			continue // `$HOME` is a variable, not a skill that is not there
		}
		r.explicit(request{ref: ref.slug, arguments: ref.arguments, via: pannier.ViaReference})
	}
	slices.SortStableFunc(r.out.Active, func(a, b pannier.ActiveSkill) int {
		return cmp.Or(cmp.Compare(wayRank(a.Reason), wayRank(b.Reason)), cmp.Compare(a.Slug, b.Slug))
	})
	r.implicit()
	return r.out
}

func wayRank(via string) int {
	return slices.Index([]string{pannier.ViaCapability, pannier.ViaReference}, via)
}

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
	turn     pannier.Turn
	active   map[*pannier.Entry]int // what was named: index in out.Active
	refused  map[string]bool        // what the text named and did not get, told once
	out      pannier.Resolution
}

func (r *resolver) explicit(q request) {
	e, ok := r.snapshot.Lookup(q.ref)
	if !ok || q.kind != "" && e.SourceKind != q.kind {
		r.rejectUnknown(q, e)
		return
	}
	if e.State == pannier.StateUnlisted {
		r.reject(q, e.Slug, pannier.RejectedUnlisted, fmt.Sprintf("config.yaml has a list under skills without it; add %q there", e.PathBelowRoot), e.Reasons)
		return
	}
	against := reasons(e, r.turn.Runtime)
	switch {
	case !e.Policy.Enabled:
		r.reject(q, e.Slug, pannier.RejectedDisabled, fmt.Sprintf("the %s policy has disabled the skill", e.Policy.Source), against)
	case !e.UserInvocable:
		r.reject(q, e.Slug, pannier.RejectedNotUserInvocable, "the skill says user-invocable: false, so nobody selects it by name", against)
	case len(against) > 0:
		r.reject(q, e.Slug, rejection(against[0].Code), against[0].Remedy, against)
	default:
		r.activate(e, q.via, q.arguments)
	}
}

// rejectUnknown tells a name that no skill has from that of a skill that is shadowed, or of another kind. owner is who
// has the slug, nil where that does not fit.
func (r *resolver) rejectUnknown(q request, owner *pannier.Entry) {
	by, slug := pannier.SplitQualified(q.ref)
	entries := r.snapshot.Entries
	i, _ := slices.BinarySearchFunc(entries, slug, func(e pannier.Entry, slug string) int { return strings.Compare(e.Slug, slug) })
	for ; i < len(entries) && entries[i].Slug == slug; i++ {
		e := &entries[i]
		if e.State == pannier.StateShadowed && (q.kind == "" || q.kind == e.SourceKind) && (by == "" || by == e.Owner) {
			r.reject(q, slug, pannier.RejectedShadowed, "the slug belongs to "+e.ShadowedBy, e.Reasons)
			return
		}
	}
	detail := fmt.Sprintf("no skill is called %q", q.ref)
	if owner != nil {
		detail = fmt.Sprintf("the skill is of kind %s, not %s", owner.SourceKind, q.kind)
	}
	r.reject(q, cmp.Or(slug, q.ref), pannier.RejectedNotFound, detail, nil)
}

func (r *resolver) reject(q request, slug, reason, detail string, diagnostics []pannier.Reason) {
	if q.via == pannier.ViaReference {
		if r.refused[slug] {
			return
		}
		r.refused[slug] = true
	}
	if diagnostics == nil {
		diagnostics = []pannier.Reason{}
	}
	r.out.Rejected = append(r.out.Rejected, pannier.RejectedSkill{ID: q.id, Slug: slug, Reason: reason, Detail: detail, Diagnostics: diagnostics})
}

// implicit activates what is automatically available and not active yet. Nobody named these, so none is rejected. It comes
// last: the snapshot has them in the order that the resolution wants, and there can be thousands.
func (r *resolver) implicit() {
	for i := range r.snapshot.Entries {
		e := &r.snapshot.Entries[i]
		if !e.Automatic() || !fits(e, r.turn.Runtime) {
			continue
		}
		if _, ok := r.active[e]; !ok {
			r.out.Active = append(r.out.Active, active(e, pannier.ViaImplicit, ""))
		}
	}
}

// activate takes a skill in once, by the first way in that it has, with the first arguments that it was given.
func (r *resolver) activate(e *pannier.Entry, via, arguments string) {
	if i, ok := r.active[e]; ok {
		r.out.Active[i].Arguments = cmp.Or(r.out.Active[i].Arguments, arguments)
		return
	}
	r.active[e] = len(r.out.Active)
	r.out.Active = append(r.out.Active, active(e, via, arguments))
}

func active(e *pannier.Entry, via, arguments string) pannier.ActiveSkill {
	return pannier.ActiveSkill{
		Slug: e.Slug, SourceKind: e.SourceKind, Name: e.Name, Reason: via, Digest: e.Digest, Arguments: arguments,
	}
}

// fits reports whether a skill can be used in a runtime. A turn's narrows beyond the workspace's own.
func fits(e *pannier.Entry, runtime string) bool {
	return runtime == "" || len(e.Runtimes) == 0 || slices.Contains(e.Runtimes, runtime)
}

// reasons returns every reason against a skill in a turn, in the order in which they are checked.
func reasons(e *pannier.Entry, runtime string) []pannier.Reason {
	is := func(code string) func(pannier.Reason) bool {
		return func(r pannier.Reason) bool { return r.Code == code }
	}
	if fits(e, runtime) || slices.ContainsFunc(e.Reasons, is(pannier.ReasonRuntimeIncompatible)) {
		return e.Reasons
	}
	behind := slices.IndexFunc(e.Reasons, is(pannier.ReasonInvalid)) + 1
	return slices.Insert(slices.Clone(e.Reasons), behind, pannier.Reason{
		Code: pannier.ReasonRuntimeIncompatible, Subject: runtime, Remedy: "the skill is for " + strings.Join(e.Runtimes, ", "),
	})
}

// rejection returns the word that a turn has for a reason.
func rejection(code string) string {
	switch code {
	case pannier.ReasonInvalid:
		return pannier.RejectedInvalidMetadata
	case pannier.ReasonRuntimeIncompatible:
		return pannier.RejectedRuntimeIncompatible
	case pannier.ReasonOSUnsupported:
		return pannier.RejectedUnsupportedPlatform
	}
	return pannier.RejectedDependencyMissing
}
