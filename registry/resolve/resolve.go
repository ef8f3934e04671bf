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
	r := resolver{snapshot: s, turn: t, active: map[*pannier.Entry]bool{}}
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
	r.implicit()
	slices.SortStableFunc(r.out.Active, func(a, b pannier.ActiveSkill) int {
		return cmp.Or(cmp.Compare(wayRank(a.Reason), wayRank(b.Reason)), cmp.Compare(a.Slug, b.Slug))
	})
	return r.out
}

func wayRank(via string) int {
	return slices.Index([]string{pannier.ViaCapability, pannier.ViaReference, pannier.ViaImplicit}, via)
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
	active   map[*pannier.Entry]bool
	out      pannier.Resolution
}

func (r *resolver) explicit(q request) {
	e, ok := r.snapshot.Lookup(q.ref)
	if !ok || q.kind != "" && e.SourceKind != q.kind {
		r.rejectUnknown(q, e)
		return
	}
	reason, detail := gate(e, r.turn.Runtime)
	if reason == "" && !e.UserInvocable {
		reason, detail = pannier.RejectedNotUserInvocable, "the skill says user-invocable: false, so nobody selects it by name"
	}
	if reason != "" {
		r.reject(q, e.Slug, reason, detail, e.Reasons)
		return
	}
	r.activate(e, q.via, q.arguments)
}

// rejectUnknown tells a slug that nobody has from one that a skill of another kind has.
func (r *resolver) rejectUnknown(q request, owner *pannier.Entry) {
	_, slug := pannier.SplitQualified(q.ref)
	if owner == nil {
		r.reject(q, cmp.Or(slug, q.ref), pannier.RejectedNotFound, fmt.Sprintf("no skill is called %q", q.ref), nil)
		return
	}
	for i := range r.snapshot.Entries {
		if e := &r.snapshot.Entries[i]; e.Slug == slug && e.SourceKind == q.kind {
			r.reject(q, slug, pannier.RejectedShadowed, "the slug belongs to "+e.ShadowedBy, nil)
			return
		}
	}
	r.reject(q, slug, pannier.RejectedNotFound, fmt.Sprintf("the skill is of kind %s, not %s", owner.SourceKind, q.kind), nil)
}

func (r *resolver) reject(q request, slug, reason, detail string, diagnostics []pannier.Reason) {
	if diagnostics == nil {
		diagnostics = []pannier.Reason{}
	}
	r.out.Rejected = append(r.out.Rejected, pannier.RejectedSkill{ID: q.id, Slug: slug, Reason: reason, Detail: detail, Diagnostics: diagnostics})
}

// implicit activates what is automatically available. Nobody named these, so none is rejected.
func (r *resolver) implicit() {
	for i := range r.snapshot.Entries {
		e := &r.snapshot.Entries[i]
		if !e.Automatic() {
			continue
		}
		if reason, _ := gate(e, r.turn.Runtime); reason == "" {
			r.activate(e, pannier.ViaImplicit, "")
		}
	}
}

// activate takes a skill in once, by the first way in that it has.
func (r *resolver) activate(e *pannier.Entry, via, arguments string) {
	if r.active[e] {
		return
	}
	r.active[e] = true
	r.out.Active = append(r.out.Active, pannier.ActiveSkill{
		Slug: e.Slug, SourceKind: e.SourceKind, Name: e.Name, Reason: via, Digest: e.Digest, Arguments: arguments,
	})
}

// gate returns why a skill can not be used in a turn, empty where it can. runtime narrows beyond the workspace's own.
func gate(e *pannier.Entry, runtime string) (reason, detail string) {
	if e.State == pannier.StateUnlisted {
		return pannier.RejectedUnlisted, fmt.Sprintf("config.yaml has a list under skills without %q", e.Folder)
	}
	if len(e.Reasons) > 0 {
		return rejection(e.Reasons[0].Code), e.Reasons[0].Remedy
	}
	if runtime != "" && len(e.Runtimes) > 0 && !slices.Contains(e.Runtimes, runtime) {
		return pannier.RejectedRuntimeIncompatible, "the skill is for " + strings.Join(e.Runtimes, ", ")
	}
	return "", ""
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
