package admin

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"pannier"
	"pannier/admin/policy"
)

// RestoredVerdicts stores the decisions of scans, without their findings.
type RestoredVerdicts interface {
	// Restore sets the rules that block a fingerprint at a path; an empty list unblocks it.
	Restore(path string, fingerprint pannier.Digest, rules []string, at time.Time) error
	// Accept sets the acceptances of a fingerprint at a path.
	Accept(path string, fingerprint pannier.Digest, accepted []pannier.Acceptance) error
	// RestoreHeld sets the rules that block the skill at a path as long as its files have these digests.
	RestoreHeld(path string, digest, metaDigest pannier.Digest, rules []string, at time.Time) error
}

// Replay applies audited changes of policy and scan verdicts, in their order, to an older state. Outcomes hold the new
// value, so applying one twice changes nothing.
type Replay struct {
	Policy   *policy.Store
	Verdicts RestoredVerdicts

	// Interrupted says that a scan has no outcome: whether it blocked a skill is unknown. Finish sets it.
	Interrupted bool

	intents map[uint64]pannier.AuditEntry // without an outcome
	err     error
}

// Relevant reports whether [Replay] applies an entry.
func Relevant(e pannier.AuditEntry) bool {
	return e.Action == pannier.ActionSetPolicy || e.Action == pannier.ActionAllowTools || e.Action == pannier.ActionScan
}

// Apply applies one entry.
func (r *Replay) Apply(e pannier.AuditEntry) {
	if !Relevant(e) {
		return
	}
	if e.Phase == pannier.AuditIntent {
		if r.intents == nil {
			r.intents = map[uint64]pannier.AuditEntry{}
		}
		r.intents[e.Seq] = e
		return
	}
	delete(r.intents, e.Intent)
	if e.Error != "" {
		return // nothing was changed
	}
	apply := r.policy
	if e.Action == pannier.ActionScan {
		apply = r.scan
	}
	r.err = errors.Join(r.err, apply(e))
}

// Err returns the errors of the invalid entries so far.
func (r *Replay) Err() error { return r.err }

// Finish applies the intents without an outcome, which a crash interrupted: policies that refuse are applied, policies
// that grant are not. It fails if an entry was invalid.
func (r *Replay) Finish() error {
	for _, seq := range slices.Sorted(maps.Keys(r.intents)) {
		e := r.intents[seq]
		if e.Action == pannier.ActionScan {
			r.Interrupted = true
			continue
		}
		r.err = errors.Join(r.err, r.unfinishedPolicy(e))
	}
	return r.err
}

func (r *Replay) policy(e pannier.AuditEntry) error {
	var o policyOutcome
	if err := decodeDetail(e, &o); err != nil {
		return err
	}
	return r.Policy.Restore(pannier.PolicyKey{Slug: e.Slug, SourceKind: o.SourceKind}, o.After)
}

func (r *Replay) unfinishedPolicy(e pannier.AuditEntry) error {
	var o policyIntent
	if err := decodeDetail(e, &o); err != nil {
		return err
	}
	key := pannier.PolicyKey{Slug: e.Slug, SourceKind: o.SourceKind}
	after := r.Policy.All()[key]
	after.Enabled, after.AllowImplicit = stricter(after.Enabled, o.Enabled), stricter(after.AllowImplicit, o.AllowImplicit)
	after.Tools, after.Overrides = stricter(after.Tools, o.Tools), stricter(after.Overrides, o.Overrides)
	if o.ToolsAllowed.Given {
		after.ToolsAllowed = pannier.Digest{}
	}
	return r.Policy.Restore(key, after)
}

// stricter returns the stricter value of a switch before and after a change.
func stricter(before *bool, change pannier.Toggle) *bool {
	if !change.Given || before != nil && !*before || change.To != nil && *change.To {
		return before
	}
	return change.To
}

func (r *Replay) scan(e pannier.AuditEntry) error {
	var o scanOutcome
	if err := decodeDetail(e, &o); err != nil {
		return err
	}
	switch {
	case !o.Fingerprint.IsZero():
		return errors.Join(r.Verdicts.Restore(o.Path, o.Fingerprint, o.Blocking, e.Time), r.Verdicts.Accept(o.Path, o.Fingerprint, o.Accepted))
	case len(o.Blocking) > 0 && o.HeldBy == nil:
		return fmt.Errorf("entry %d does not name the files of %s", e.Seq, e.Slug) // of an older version
	case len(o.Blocking) > 0:
		return r.Verdicts.RestoreHeld(o.Path, o.HeldBy.Digest, o.HeldBy.MetaDigest, o.Blocking, e.Time)
	}
	return nil // the verdict was not stored
}

func decodeDetail(e pannier.AuditEntry, into any) error {
	raw, err := json.Marshal(e.Detail)
	if err == nil {
		err = json.Unmarshal(raw, into)
	}
	return err
}
