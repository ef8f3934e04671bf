package changes

import (
	"errors"
	"path/filepath"

	"pannier"
	"pannier/admin/audit"
	"pannier/admin/policy"
	"pannier/admin/refusals"
	"pannier/internal/policyfile"
	"pannier/internal/state"
)

// The codes of conditions that have series and exceptions of their own.
const (
	CodeLost        = refusals.CodeLost
	CodeAuditBroken = audit.CodeBroken
)

// State is what the next process finds of changes: the audit log, policy and blocks.
type State struct {
	Audit    *audit.Log
	Refusals *refusals.State
	dir      string
	store    *state.Guarded
}

// StateOptions configure a [State]; its Audit is set by [OpenState].
type StateOptions = refusals.Options

// OpenState opens the state in a directory, or in memory where o.Dir is empty. It does not fail if the audit log cannot be opened:
// changes are refused until it can.
func OpenState(o StateOptions) (*State, error) {
	s := &State{dir: o.Dir, store: o.Store}
	log := audit.Options{Logger: o.Logger, CheckPlace: o.Store.CheckPlace}
	if o.Dir != "" {
		log.Dir = AuditDirectory(o.Dir)
	}
	var err error
	if s.Audit, err = audit.Open(log); err != nil {
		o.Logger.Error("changes are refused, because they cannot be audited", "error", err)
	}
	o.Audit = s.Audit
	if s.Refusals, err = refusals.Open(o); err != nil {
		_ = s.Audit.Close()
		return nil, err
	}
	return s, nil
}

// AuditDirectory returns the directory of the audit log in a state directory.
func AuditDirectory(dir string) string { return filepath.Join(dir, audit.Dir) }

// ReadPolicies returns the policies in the state directory of a sidecar that may be running. What cannot be read is left out: the
// reader need not be the user of the sidecar.
func ReadPolicies(dir string) map[pannier.PolicyKey]pannier.PolicyEntry {
	found, _, _ := policyfile.Load(dir)
	if kept, err := policy.Open(policyfile.New(found)); err == nil {
		return kept.All()
	}
	return nil
}

// Close closes the policy file and the audit log.
func (s *State) Close() error { return errors.Join(s.Refusals.Close(), s.Audit.Close()) }
