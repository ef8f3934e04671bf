package service_test

import (
	"context"
	"errors"
	"testing"

	"pannier"
	"pannier/service"
)

// prints are the fingerprint that every skill has on disk.
type prints struct {
	service.Contents
	now pannier.Digest
	err error
}

func (p prints) Compute(context.Context, *pannier.Skill) (pannier.Digest, error) { return p.now, p.err }

// policies keep the last policy that was set.
type policies struct {
	service.Changes
	set *pannier.PolicyKey
}

func (p policies) SetPolicy(_ context.Context, _ pannier.Actor, key pannier.PolicyKey, _ pannier.PolicyChange) (pannier.Policy, *pannier.Snapshot, error) {
	*p.set = key
	return pannier.Policy{PolicyKey: key}, nil, nil
}

// TestProgramsAreAllowedOfTheirContent: a client allows the programs of the content that it has read, and of no other.
func TestProgramsAreAllowedOfTheirContent(t *testing.T) {
	read, other := pannier.DigestOf([]byte("read")), pannier.DigestOf([]byte("other"))
	known := &pannier.Snapshot{Entries: []*pannier.Entry{{
		Skill: &pannier.Skill{Slug: "a", SourceKind: pannier.SourceWorkspace, Path: "skills/a"}, State: pannier.StateEligible, Usable: true,
	}}}
	for name, tt := range map[string]struct {
		now     *pannier.Snapshot
		slug    string
		disk    prints
		allowed bool
	}{
		"the same content":      {known, "a", prints{now: read}, true},
		"other content":         {known, "a", prints{now: other}, false},
		"unreadable content":    {known, "a", prints{err: errors.New("it changes")}, false},
		"no such skill":         {known, "b", prints{now: read}, false},
		"before the first scan": {nil, "a", prints{now: read}, false},
	} {
		var set pannier.PolicyKey
		s := service.New(service.Options{
			Snapshot: func() *pannier.Snapshot { return tt.now }, Changes: policies{set: &set}, Reading: service.Reading{Contents: tt.disk},
		})
		change := pannier.PolicyChange{ToolsAllowed: pannier.Permission{Given: true, To: read}}
		_, err := s.SetPolicy(t.Context(), pannier.PolicyKey{Slug: tt.slug}, change)
		refusal, refused := errors.AsType[*pannier.Refusal](err)
		if refused == tt.allowed || refused && (refusal.Code != "policy.fingerprint" || set.Slug != "") {
			t.Errorf("%s: %v, set %+v", name, err, set)
		}
		if tt.allowed && set != (pannier.PolicyKey{Slug: "a", SourceKind: pannier.SourceWorkspace}) {
			t.Errorf("%s: set %+v", name, set)
		}
	}
}
