package resolve

import (
	"fmt"
	"slices"
	"strings"

	"pannier"
)

// verdict is why a skill is not active in a turn; without a reason it can be.
type verdict struct {
	reason, detail string
	diagnostics    []pannier.Reason
}

// judge leads a skill through the gates, and stops at the first that is closed. via is how the turn names
// it, empty where there is none.
func (r *resolver) judge(e *pannier.Entry, via string) verdict {
	against := reasons(e, r.turn.Runtime)
	is := func(reason, detail string) verdict { return verdict{reason, detail, against} }
	explicit := via == pannier.ViaCapability || via == pannier.ViaReference
	if reason, detail := outside(e); reason != "" {
		return is(reason, detail)
	}
	switch {
	case via == "":
		return is(pannier.RejectedNotMatched, notMatched)
	case explicit && !e.UserInvocable:
		return is(pannier.RejectedNotUserInvocable, "the skill says user-invocable: false, so it cannot be selected by name")
	case !explicit && e.DisableModelInvocation:
		return is(pannier.RejectedDisableModelInvocation, "the skill says disable-model-invocation: true, so it has to be named")
	case len(against) > 0:
		reason, detail := first(e, against)
		return is(reason, detail)
	}
	return verdict{}
}

// outside tells why turns ignore a skill.
func outside(e *pannier.Entry) (reason, detail string) {
	switch {
	case e.State == pannier.StateShadowed:
		return pannier.RejectedShadowed, "the slug belongs to " + e.ShadowedBy
	case e.State == pannier.StateUnlisted:
		return pannier.RejectedUnlisted, fmt.Sprintf("config.yaml has a list under skills without it; add %q there", e.PathBelowRoot)
	case !e.Policy.Enabled:
		return pannier.RejectedDisabled, fmt.Sprintf("the %s policy has disabled the skill", e.Policy.Source)
	case e.DisabledBy != "":
		return pannier.RejectedDisabled, "the skill itself says that it is not to be used (" + e.DisabledBy + ")"
	}
	return "", ""
}

// Rejection returns the reason that every turn has against a skill, one of the Rejected constants; empty where some turn can
// have it active.
func Rejection(e *pannier.Entry) string {
	reason, _ := outside(e)
	if reason == "" && len(e.Reasons) > 0 {
		reason, _ = first(e, e.Reasons)
	}
	return reason
}

// wayIn returns how a turn reaches a skill that it does not name. Globs say when a skill is wanted, and not
// whether it may come unasked: that is for policy alone, so that no package decides it by what it writes into its
// frontmatter (Pioneer skills architecture, "Policy").
func (r *resolver) wayIn(e *pannier.Entry) string {
	switch {
	case !e.Policy.AllowImplicit:
		return ""
	case r.files.match(e.Paths):
		return pannier.ViaPath
	}
	return pannier.ViaImplicit
}

const notMatched = "the turn does not name it, and policy does not let it be used unasked (allow_implicit_invocation)"

// gates are the words for the reasons against a skill, in the order in which they are asked for.
var gates = []string{
	pannier.RejectedStateLost, pannier.RejectedValidation, pannier.RejectedInvalidMetadata, pannier.RejectedRuntimeIncompatible,
	pannier.RejectedUnsupportedPlatform, pannier.RejectedTrustBlocked, pannier.RejectedSecurityBlocked,
	pannier.RejectedDependencyMissing, pannier.RejectedConflict,
}

// first returns the word for the reason that is asked for before all others, and what can be done about it.
func first(e *pannier.Entry, against []pannier.Reason) (word, detail string) {
	best := len(gates)
	for _, r := range against {
		if at := slices.Index(gates, rejection(e, r)); at < best {
			best, detail = at, r.Remedy
		}
	}
	return gates[best], detail
}

// rejection returns the word that a turn has for a reason.
func rejection(e *pannier.Entry, r pannier.Reason) string {
	switch r.Code {
	case pannier.ReasonStateLost:
		return pannier.RejectedStateLost
	case pannier.ReasonInvalid:
		if slices.Contains(e.Blocked, r.Subject) {
			return pannier.RejectedValidation
		}
		return pannier.RejectedInvalidMetadata
	case pannier.ReasonRuntimeIncompatible:
		return pannier.RejectedRuntimeIncompatible
	case pannier.ReasonOSUnsupported:
		return pannier.RejectedUnsupportedPlatform
	case pannier.ReasonTrustBlocked:
		return pannier.RejectedTrustBlocked
	case pannier.ReasonSecurityBlocked, pannier.ReasonSecurityPending:
		return pannier.RejectedSecurityBlocked
	case pannier.ReasonConflict:
		return pannier.RejectedConflict
	}
	return pannier.RejectedDependencyMissing
}

// fits reports whether a skill can be used in a runtime. A turn's narrows beyond the workspace's own.
func fits(e *pannier.Entry, runtime string) bool {
	return runtime == "" || len(e.Runtimes) == 0 || slices.Contains(e.Runtimes, runtime)
}

// reasons returns every reason against a skill in a turn, in the order in which they are checked.
func reasons(e *pannier.Entry, runtime string) []pannier.Reason {
	if fits(e, runtime) || slices.ContainsFunc(e.Reasons, func(r pannier.Reason) bool { return r.Code == pannier.ReasonRuntimeIncompatible }) {
		return e.Reasons
	}
	behind := slices.IndexFunc(e.Reasons, func(r pannier.Reason) bool {
		return r.Code != pannier.ReasonDisabled && r.Code != pannier.ReasonInvalid
	})
	if behind < 0 {
		behind = len(e.Reasons)
	}
	return slices.Insert(slices.Clone(e.Reasons), behind, pannier.Reason{
		Code: pannier.ReasonRuntimeIncompatible, Subject: runtime, Remedy: "the skill is for " + strings.Join(e.Runtimes, ", "),
	})
}
