package sidecar

import (
	"context"
	"testing"

	"go.uber.org/goleak"

	"pannier"
	"pannier/contents"
	"pannier/internal/policyfile"
	"pannier/service"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// noChanges opens changes that no client can make.
func noChanges(h StateHost) (ChangesStore, error) {
	verdicts, err := contents.OpenVerdicts(h.Store, policyfile.New(policyfile.Generation{}))
	none := func() []pannier.Condition { return nil }
	wait := func(ctx context.Context) error { <-ctx.Done(); return nil }
	return ChangesStore{
		Audit: noAudit{}, Verdicts: verdicts, Conditions: none, RetryWrites: func(bool) {}, Close: func() error { return nil },
		Open: func(context.Context, ChangesHost) (ChangeMaker, error) {
			return ChangeMaker{
				Environment: func() (env pannier.Environment, found bool, err error) { return env, false, nil },
				Conditions:  none, Recover: wait, ExpireUploads: wait,
			}, nil
		},
	}, err
}

// noAudit is an audit log without entries.
type noAudit struct{ service.AuditLog }

func (noAudit) Newest(string, uint64, int) ([]pannier.AuditEntry, error) { return nil, nil }
