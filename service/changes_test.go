package service_test

import (
	"context"
	"errors"
	"testing"

	"pannier"
	"pannier/service"
)

// contents have a verdict of files with a fingerprint, once they were scanned.
type contents struct {
	service.Contents
	verdict *pannier.ScanVerdict
}

func (c contents) Verdict(*pannier.Skill) (pannier.ScanVerdict, bool, error) {
	if c.verdict.Decision == "" {
		return pannier.ScanVerdict{}, false, nil
	}
	return *c.verdict, true, nil
}

// permissions show files with a fingerprint, and refuse those whose scan blocks.
type permissions struct {
	service.Tools
	now     pannier.Digest
	err     error
	verdict *pannier.ScanVerdict
}

func (p permissions) Permission(_ context.Context, s *pannier.Skill) (pannier.ToolPermission, error) {
	shown := pannier.ToolPermission{Slug: s.Slug, Path: s.Path, Fingerprint: p.now}
	switch p.verdict.Decision {
	case pannier.ScanBlock:
		shown.Refused = &pannier.ToolError{Code: pannier.ToolUnscanned, Message: "blocked", Hint: "run"}
	case "":
		shown.Refused = &pannier.ToolError{Code: pannier.ToolUnscanned, Message: "not scanned", Hint: "run"}
	}
	return shown, p.err
}

// policies keep the last policy that was set. A scan finds what it is told to.
type policies struct {
	service.Changes
	set   *pannier.PolicyKey
	scans func() error
}

func (p policies) Scan(context.Context, pannier.Actor, *pannier.Skill, pannier.ScanRequest) (pannier.ScanReport, *pannier.Snapshot, error) {
	return pannier.ScanReport{}, nil, p.scans()
}

func (p policies) SetPolicy(_ context.Context, _ pannier.Actor, key pannier.PolicyKey, _ pannier.PolicyChange) (pannier.Policy, *pannier.Snapshot, error) {
	*p.set = key
	return pannier.Policy{PolicyKey: key}, nil, nil
}

// TestToolsAreAllowedOfTheirContent: a client allows the tools of the content that it has seen, and of no other. Content that was not
// scanned is scanned before, and content that a scan blocks is not allowed.
func TestToolsAreAllowedOfTheirContent(t *testing.T) {
	seen, other := pannier.DigestOf([]byte("seen")), pannier.DigestOf([]byte("other"))
	known := &pannier.Snapshot{Entries: []*pannier.Entry{{
		Skill: &pannier.Skill{Slug: "a", SourceKind: pannier.SourceWorkspace, Path: "skills/a"}, State: pannier.StateEligible, Usable: true,
	}}}
	const allow, block = pannier.ScanAllow, pannier.ScanBlock
	for name, tt := range map[string]struct {
		now          *pannier.Snapshot
		slug         string
		disk         pannier.Digest
		err          error
		kept, comes  pannier.ScanDecision
		want, scans  string
		withoutTools bool
	}{
		"the same content":      {now: known, slug: "a", disk: seen, kept: allow},
		"with an owner":         {now: known, slug: "ann/a", disk: seen, kept: allow},
		"other content":         {now: known, slug: "a", disk: other, kept: allow, want: pannier.ToolChanged},
		"changing content":      {now: known, slug: "a", err: pannier.ErrChanged, want: service.CodeChanging},
		"unreadable content":    {now: known, slug: "a", err: &pannier.Refusal{Code: pannier.ToolChanged}, want: pannier.ToolChanged},
		"no such skill":         {now: known, slug: "b", disk: seen, want: "skill_not_found"},
		"before the first scan": {slug: "a", disk: seen, want: service.CodeNotReady},
		"blocked":               {now: known, slug: "a", disk: seen, kept: block, want: pannier.ToolUnscanned},
		"not scanned":           {now: known, slug: "a", disk: seen, comes: allow, scans: "once"},
		"not scanned, blocked":  {now: known, slug: "a", disk: seen, comes: block, want: pannier.ToolUnscanned, scans: "once"},
		"other, not scanned":    {now: known, slug: "a", disk: other, comes: allow, want: pannier.ToolChanged},
		"without tools":         {now: known, slug: "a", disk: seen, kept: allow, withoutTools: true, want: pannier.ToolNoRunner},
	} {
		var set pannier.PolicyKey
		scans := ""
		verdict := &pannier.ScanVerdict{Fingerprint: tt.disk, Decision: tt.kept}
		s := service.New(service.Options{
			Snapshot: func() *pannier.Snapshot { return tt.now },
			Rescan:   func(context.Context, bool) (*pannier.Snapshot, error) { return tt.now, nil },
			Changes: policies{set: &set, scans: func() error {
				scans += "once"
				verdict.Decision = tt.comes
				return nil
			}},
			Reading: service.Reading{Contents: contents{verdict: verdict}},
		})
		if s.Tools = (permissions{now: tt.disk, err: tt.err, verdict: verdict}); tt.withoutTools {
			s.Tools = nil
		}
		change := pannier.PolicyChange{ToolsAllowed: pannier.Permission{Given: true, To: seen}}
		_, err := s.SetPolicy(t.Context(), pannier.PolicyKey{Slug: tt.slug}, change)
		code := ""
		if refusal, refused := errors.AsType[*pannier.Refusal](err); refused {
			code = refusal.Code
		}
		if code != tt.want || err != nil && code == "" || scans != tt.scans || (set.Slug != "") != (tt.want == "") {
			t.Errorf("%s: %v, want %q, set %+v, scans %q", name, err, tt.want, set, scans)
		}
	}
}
