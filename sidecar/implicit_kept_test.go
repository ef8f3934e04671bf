package sidecar

import (
	"testing"

	"pannier"
)

// TestImplicitKept lists the installed skills that the model may choose without a policy that says so: "Gateway policy can
// override those values, and workspace policy can override gateway policy" (Pioneer skills architecture, "Policy").
func TestImplicitKept(t *testing.T) {
	entry := func(slug string, managed bool, source pannier.PolicyLayer) *pannier.Entry {
		return &pannier.Entry{
			Skill:  &pannier.Skill{Slug: slug, Managed: managed, Implicit: true},
			Policy: pannier.EffectivePolicy{Enabled: true, AllowImplicit: true, ImplicitSource: source},
		}
	}
	s := &pannier.Snapshot{Entries: []*pannier.Entry{
		entry("byhand", false, pannier.PolicyGateway), entry("old", true, pannier.PolicyGateway),
		entry("set", true, pannier.PolicyWorkspace),
	}}
	got := implicitConditions(s)
	if len(got) != 1 || got[0].Code != "implicit_kept" || got[0].Subject != "old" || got[0].Severity != pannier.SeverityInfo {
		t.Errorf("got %+v, want one condition about old", got)
	}
	if got := implicitConditions(&pannier.Snapshot{}); got != nil {
		t.Errorf("without skills: %+v", got)
	}
}
