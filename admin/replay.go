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

// RestoredVerdicts takes in what scans decided, without their findings.
type RestoredVerdicts interface {
	// Restore sets which rules block a fingerprint, none where the list is empty, for the skill at a path.
	Restore(path string, fingerprint pannier.Digest, rules []string, at time.Time) error
	// Accept sets what is accepted of a fingerprint at a path, nothing where the list is empty.
	Accept(path string, fingerprint pannier.Digest, accepted []pannier.Acceptance) error
	// RestoreHeld sets which rules block the skill at a path as long as its files have these digests.
	RestoreHeld(path string, digest, metaDigest pannier.Digest, rules []string, at time.Time) error
}

// Replay applies the outcomes of policy and scans in audit entries, in their order: it leads from the policies and blocks
// of an earlier time to those of a later one. Each outcome has the value after it, so applying one twice changes nothing.
type Replay struct {
	Policy   *policy.Store
	Verdicts RestoredVerdicts

	// Interrupted says that a scan has no outcome, so that it is unknown whether it blocked a skill. Finish sets it.
	Interrupted bool

	intents map[uint64]pannier.AuditEntry // without an outcome so far
	err     error
}

// Relevant reports whether an entry tells of a change that [Replay] applies.
func Relevant(e pannier.AuditEntry) bool {
	return e.Action == pannier.ActionSetPolicy || e.Action == pannier.ActionScan
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

// Err returns what made no sense so far.
func (r *Replay) Err() error { return r.err }

// Finish applies the intents without an outcome, of which a crash left unknown whether they were carried out: a policy that
// refuses counts, one that grants does not. It fails where an entry makes no sense.
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
		return fmt.Errorf("entry %d does not say which files of %s it is about", e.Seq, e.Slug) // of an older version
	case len(o.Blocking) > 0:
		return r.Verdicts.RestoreHeld(o.Path, o.HeldBy.Digest, o.HeldBy.MetaDigest, o.Blocking, e.Time)
	}
	return nil // it was not kept
}

func decodeDetail(e pannier.AuditEntry, into any) error {
	raw, err := json.Marshal(e.Detail)
	if err == nil {
		err = json.Unmarshal(raw, into)
	}
	return err
}
