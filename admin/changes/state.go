package changes

import (
	"errors"
	"path/filepath"
	"slices"

	"pannier"
	"pannier/admin/audit"
	"pannier/admin/policy"
	"pannier/admin/refusals"
	"pannier/internal/policyfile"
	"pannier/internal/state"
	"pannier/sidecar"
)

// Module is the module of a sidecar. It does not fail if the audit log cannot be opened: changes are refused until it
// can.
func Module(h sidecar.StateHost) (sidecar.ChangesStore, error) {
	log := audit.Options{Logger: h.Logger, CheckPlace: h.Store.CheckPlace}
	if h.Dir != "" {
		log.Dir = AuditDirectory(h.Dir)
	}
	entries, err := audit.Open(log)
	if err != nil {
		h.Logger.Error("changes are refused, because they cannot be audited", "error", err)
	}
	known, err := refusals.Open(refusals.Options{
		Dir: h.Dir, ReadFrom: h.ReadFrom, Store: h.Store, Audit: entries, Logger: h.Logger, Inaccessible: h.Inaccessible, Unread: h.Unread,
	})
	if err != nil {
		return sidecar.ChangesStore{}, errors.Join(err, entries.Close())
	}
	return sidecar.ChangesStore{
		Audit: entries, Verdicts: known.Verdicts,
		Conditions: func() []pannier.Condition { return slices.Concat(entries.Conditions(), known.Conditions()) },
		RetryWrites: func(writable bool) {
			if writable {
				entries.Retry(state.NoSpace)
			}
			known.FinishStart()
		},
		Close: func() error { return errors.Join(known.Close(), entries.Close()) },
		Open:  opener{h.Dir, h.Store, entries, known}.open,
	}, nil
}

// AuditDirectory returns the directory of the audit log in a state directory.
func AuditDirectory(dir string) string { return filepath.Join(dir, audit.Dir) }

// ReadPolicies returns the policies in the state directory of a sidecar that may be running, none where dir is empty.
// What cannot be read is left out: the reader need not be the user of the sidecar.
func ReadPolicies(dir string) map[pannier.PolicyKey]pannier.PolicyEntry {
	if dir == "" {
		return nil
	}
	found, _, _ := policyfile.Load(dir)
	if kept, err := policy.Open(policyfile.New(found)); err == nil {
		return kept.All()
	}
	return nil
}
