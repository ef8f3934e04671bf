// Package admin makes every change that a client asks for.
//
// A [Service] makes one change at a time, in this sequence:
//
//  1. The request is checked. An error that the client can correct is a [*pannier.Refusal].
//  2. The intent is audited. If that fails, the error is [pannier.ErrNotAudited] and nothing is changed.
//  3. The change is written to the state store. If that fails, the audited outcome says so.
//  4. The registry applies the change and returns the snapshot that shows it.
//  5. The outcome is audited. A failure is only logged, because the change is made.
//  6. If something changed, an event is emitted.
//
// From step 2 on, a canceled request has no effect. An intent without an outcome is a change that a crash interrupted:
// the state store says whether it was made, and the next start applies it.
//
// Scans and the preparation of installations take long, so they run outside of the sequence and only commit in it.
//
// The package does not authenticate. The caller has checked that the actor may make the change.
package admin

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/hashicorp/go-hclog"

	"pannier"
	"pannier/admin/policy"
)

// Auditor is the audit log. Append returns after the entry is on disk; its errors are [pannier.ErrNotAudited].
type Auditor interface {
	Append(pannier.AuditEntry) (pannier.AuditEntry, error)
}

// Values is the state store. Put returns after the value is on disk; if it fails, the old value is unchanged.
type Values interface {
	Get(bucket, key string, value any) (found bool, err error)
	Put(bucket, key string, value any) error
}

// Options configure a [Service]. PolicyPath, Activity, Emit and Logger are optional.
type Options struct {
	Audit  Auditor
	Policy *policy.Store
	// Values stores the environment that the agent reported.
	Values Values
	// SetPolicies and SetEnvironment apply a change in the registry and return a snapshot that shows it. The map is that
	// of [policy.Store.All] and must not be changed.
	SetPolicies    func(map[pannier.PolicyKey]pannier.PolicyEntry) *pannier.Snapshot
	SetEnvironment func(pannier.Environment) *pannier.Snapshot
	// PolicyPath returns the directory that the policy of a key is for: that of the present skill, or the one that an
	// installation would create. If it is nil, grants apply to every skill with the slug.
	PolicyPath func(pannier.PolicyKey) string
	// Acknowledge ends a health condition and returns a snapshot that shows it. It refuses conditions that end by
	// themselves.
	Acknowledge func(condition string) (*pannier.Snapshot, error)
	// Install configures [Service.Install], [Service.Uninstall] and [Service.Rollback]; the zero value disables them.
	Install InstallOptions
	// Scans configure [Service.Scan].
	Scans ScanOptions
	// Activity reports a promotion to the platforms, within its own timeout, and returns their results; nil reports
	// nothing.
	Activity func(context.Context, pannier.Promotion) []pannier.ActivityResult
	// Emit emits an event with its data. It must not call the Service.
	Emit func(pannier.EventType, any)
	// Logger logs outcomes that could not be audited; nil discards.
	Logger hclog.Logger
}

// Service makes changes. It is safe for concurrent use.
type Service struct {
	o Options
	// changing, scanning, spooling and preparing are semaphores: of the change in progress, of the explicit scan in
	// progress, of the archives received as a body until their installation ends, and of the archives being unpacked and
	// read. A channel, unlike a mutex, lets a canceled request stop waiting.
	changing, scanning, spooling, preparing chan struct{}
	// staged counts the bytes that the installations in progress have unpacked.
	staged atomic.Int64
}

// New returns a service.
func New(o Options) *Service {
	if o.Emit == nil {
		o.Emit = func(pannier.EventType, any) {}
	}
	if o.PolicyPath == nil {
		o.PolicyPath = func(pannier.PolicyKey) string { return "" }
	}
	if o.Logger == nil {
		o.Logger = hclog.NewNullLogger()
	}
	o.Logger = o.Logger.Named("admin")
	return &Service{
		o: o, changing: make(chan struct{}, 1), scanning: make(chan struct{}, 1),
		spooling: make(chan struct{}, maxSpooled), preparing: make(chan struct{}, maxPrepared),
	}
}

// outcome is the result of a change.
type outcome struct {
	snapshot *pannier.Snapshot
	// slug is the skill, if the intent does not name it.
	slug string
	// detail goes into the audit log.
	detail any
	// event is empty if nothing changed.
	event pannier.EventType
	data  any
}

// mutate is [Service.audited] while no other change is made.
func (s *Service) mutate(ctx context.Context, e pannier.AuditEntry, apply func() (outcome, error)) (*pannier.Snapshot, error) {
	if err := acquire(ctx, s.changing); err != nil {
		return nil, err
	}
	defer func() { <-s.changing }()
	return s.audited(e, apply)
}

// audited audits an intent, applies it, audits the outcome and emits the event.
func (s *Service) audited(e pannier.AuditEntry, apply func() (outcome, error)) (*pannier.Snapshot, error) {
	e.Phase = pannier.AuditIntent
	intent, err := s.o.Audit.Append(e)
	if err != nil {
		return nil, err
	}
	o, err := s.applied(intent, apply)
	s.auditOutcome(intent, o, err)
	if err != nil {
		return nil, err
	}
	if o.event != "" {
		s.o.Emit(o.event, o.data)
	}
	return o.snapshot, nil
}

// applied applies an audited intent. A panic is audited as the outcome and continues.
func (s *Service) applied(intent pannier.AuditEntry, apply func() (outcome, error)) (outcome, error) {
	defer func() {
		if cause := recover(); cause != nil {
			s.auditOutcome(intent, outcome{}, fmt.Errorf("panic: %v; the log of the sidecar has the stack", cause))
			panic(cause)
		}
	}()
	return apply()
}

// acquire waits for a slot of a semaphore. It fails if ctx is done, even if a slot is free.
func acquire(ctx context.Context, slots chan<- struct{}) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Service) auditOutcome(intent pannier.AuditEntry, o outcome, failed error) {
	e := pannier.AuditEntry{
		Phase: pannier.AuditOutcome, Intent: intent.Seq, Action: intent.Action, Actor: intent.Actor, Slug: intent.Slug, Detail: o.detail,
	}
	if e.Slug == "" {
		e.Slug = o.slug
	}
	if o.snapshot != nil {
		e.SnapshotVersion = o.snapshot.Version
	}
	if failed != nil {
		e.Error = failed.Error()
	}
	if _, err := s.o.Audit.Append(e); err != nil {
		s.o.Logger.Error("the outcome of a change could not be audited",
			"action", e.Action, "slug", e.Slug, "intent", e.Intent, "failed", e.Error, "error", err)
	}
}
