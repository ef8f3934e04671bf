package pannier

import (
	"cmp"
	"slices"
	"time"
)

// State is where a skill stands; of several that fit, the first in the order of the constants.
type State string

// The states.
const (
	// StateShadowed lost its slug to a skill of higher precedence.
	StateShadowed State = "shadowed"
	// StateUnlisted is not in the list that config.yaml has.
	StateUnlisted State = "unlisted"
	// StateDisabled was switched off by policy or by the skill itself.
	StateDisabled State = "disabled"
	// StateIneligible has at least one [Reason] against it.
	StateIneligible State = "ineligible"
	// StateEligible can be used.
	StateEligible State = "eligible"
)

// States lists every state, for metrics that show each from the start.
func States() []State {
	return []State{StateShadowed, StateUnlisted, StateDisabled, StateIneligible, StateEligible}
}

// Entry is a skill as the registry judged it.
type Entry struct {
	*Skill
	// ID is the skill's id on the agent card: its folder, or its slug where an earlier usable skill has that folder name,
	// with a number behind it where that is taken too. No two usable skills have the same.
	ID string `json:"id"`
	// State and Usable say whether the skill can be used, Reasons why not.
	State   State    `json:"state"`
	Usable  bool     `json:"usable"`
	Reasons []Reason `json:"reasons"`
	// Policy is how its switches stand.
	Policy EffectivePolicy `json:"policy,omitzero"`
	// ShadowedBy is the path of the skill that has the slug.
	ShadowedBy string `json:"shadowed_by,omitempty"`
	// Problems are those of the skill and those that judging it added.
	Problems []Problem `json:"problems,omitempty"`
	// Fingerprint covers every file of the skill directory, Health is derived from the rest. None of these is set in a snapshot:
	// the API fills them in, where they are known and asked for.
	Fingerprint Digest       `json:"fingerprint,omitzero"`
	Health      *SkillHealth `json:"health,omitempty"`
	// ScanSummary is the verdict of the fingerprint, filled in as those are; nil where there is none.
	ScanSummary *ScanSummary `json:"scan_summary,omitempty"`
	// Activity is when the skill was last used, where a client asks for it. No snapshot holds it.
	Activity *Activity `json:"activity,omitempty"`
	// FileTools are the tools in files of the skill, FoundDigest that of all that was found in them; none until they were looked at.
	FileTools   []Tool `json:"-"`
	FoundDigest Digest `json:"-"`
	// Rank orders the skills as config.yaml lists them; without a list it is 0, and they are ordered by slug.
	Rank int `json:"-"`
}

// Automatic reports whether the model is offered the skill in turns that do not name it.
func (e *Entry) Automatic() bool {
	return e.Usable && e.Policy.AllowImplicit && !e.DisableModelInvocation
}

// Snapshot is one immutable state of the registry.
type Snapshot struct {
	// Version grows by at least one whenever Digest changes, and at a start after an unclean stop or in another boot.
	Version uint64
	// Digest covers all that the snapshot shows of the skills and the workspace. Same tree, settings and environment:
	// same digest.
	Digest Digest
	// Time is when the snapshot was made.
	Time time.Time
	// Workspace is the agent's own configuration.
	Workspace Workspace
	// Environment is what the skills were judged by.
	Environment Environment
	// Policies are the layers that they were judged by.
	Policies Policies
	// Entries are all skills that were found, ordered by slug in bytes, the winner of a collision first. Snapshots share those of
	// which nothing changed.
	Entries []*Entry
	// Problems are those of config.yaml and the roots.
	Problems []Problem
	// Paced says that the card may wait a moment for other changes: this one was not asked for.
	Paced bool
}

// TreeDigest returns the digest of the raw files alone, so that an independent walk of the disk can compute it; see
// [TreeDigest].
func (s *Snapshot) TreeDigest() Digest {
	skills := make([]*Skill, len(s.Entries))
	for i, e := range s.Entries {
		skills[i] = e.Skill
	}
	return TreeDigest(skills)
}

// Lookup returns the skill that owns a slug. ref is a slug or "owner/slug"; a wrong owner finds nothing.
func (s *Snapshot) Lookup(ref string) (*Entry, bool) {
	owner, slug := SplitQualified(ref)
	i := s.search(slug)
	if i == len(s.Entries) || s.Entries[i].Slug != slug || owner != "" && owner != s.Entries[i].Owner {
		return nil, false
	}
	return s.Entries[i], true
}

// LookupPath returns the skill with that slug that lies at a path, which also reaches one that is shadowed.
func (s *Snapshot) LookupPath(ref, path string) (*Entry, bool) {
	owner, slug := SplitQualified(ref)
	for i := s.search(slug); i < len(s.Entries) && s.Entries[i].Slug == slug; i++ {
		if e := s.Entries[i]; e.Path == path && (owner == "" || owner == e.Owner) {
			return e, true
		}
	}
	return nil, false
}

// Holder returns the skill that a policy of a key is about: of those with its slug in a root of its kind, the one of highest
// precedence.
func (s *Snapshot) Holder(key PolicyKey) (*Entry, bool) {
	for i := s.search(key.Slug); i < len(s.Entries) && s.Entries[i].Slug == key.Slug; i++ {
		if s.Entries[i].SourceKind == key.SourceKind {
			return s.Entries[i], true
		}
	}
	return nil, false
}

// search returns the index of the first entry whose slug is not less than slug.
func (s *Snapshot) search(slug string) int {
	i, _ := slices.BinarySearchFunc(s.Entries, slug, func(e *Entry, slug string) int { return cmp.Compare(e.Slug, slug) })
	return i
}

// Ranked returns the usable skills in the order of config.yaml.
func (s *Snapshot) Ranked() []*Entry {
	usable := make([]*Entry, 0, len(s.Entries))
	for i := range s.Entries {
		if s.Entries[i].Usable {
			usable = append(usable, s.Entries[i])
		}
	}
	if byRank := func(a, b *Entry) int { return cmp.Compare(a.Rank, b.Rank) }; !slices.IsSortedFunc(usable, byRank) {
		slices.SortStableFunc(usable, byRank)
	}
	return usable
}

// Held returns the slugs of the skills that are served as they last were, and so can differ from the disk.
func (s *Snapshot) Held() Held {
	h := Held{LastGood: []string{}, Deleting: []string{}}
	for i := range s.Entries {
		if s.Entries[i].LastGood {
			h.LastGood = append(h.LastGood, s.Entries[i].Slug)
		}
		if s.Entries[i].Deleting {
			h.Deleting = append(h.Deleting, s.Entries[i].Slug)
		}
	}
	return h
}
