// Package admin is the one door for every change that is asked for from outside.
//
// A [Service] lets one mutation through at a time, and each goes the same way:
//
//  1. What is asked for is checked. What is the caller's to mend is a [*pannier.Refusal], and nothing else happens.
//  2. The intent is audited. Where that can not be, the error is [pannier.ErrNotAudited], and nothing else happens.
//  3. It is kept in the state store. Where that fails, the outcome says so, and nothing else happens.
//  4. It is handed to the registry, which returns the snapshot that shows it.
//  5. The outcome is audited. That this fails is logged and no error, since the thing is done.
//  6. If something has changed, an event tells of it.
//
// From the second step on, a caller that goes away changes nothing. An intent without an outcome behind it is a mutation
// that a crash cut off: what is in the state store then says whether it was made, and the next start hands it to the
// registry.
//
// A scan changes nothing by itself and takes long, so it is made before its turn: see [Service.Scan].
//
// Nobody is asked here who they are: whoever calls has found that the actor may do this.
package admin

import (
	"context"
	"sync/atomic"

	"github.com/hashicorp/go-hclog"

	"pannier"
	"pannier/admin/policy"
)

// Auditor is the audit log. An entry has reached the disk when Append returns; its errors are [pannier.ErrNotAudited].
type Auditor interface {
	Append(pannier.AuditEntry) (pannier.AuditEntry, error)
}

// Values is what is needed of the state store. A change is on disk when Put returns, or not made where it fails.
type Values interface {
	Get(bucket, key string, value any) (found bool, err error)
	Put(bucket, key string, value any) error
}

// Options are what a door leads to. All are needed but PolicyPath, Emit and Logger.
type Options struct {
	Audit  Auditor
	Policy *policy.Store
	// Values keeps the environment that the agent put.
	Values Values
	// SetPolicies and SetEnvironment hand a change to the registry and return a snapshot that shows it. The map is that
	// of [policy.Store.All], and never changed.
	SetPolicies    func(map[pannier.PolicyKey]pannier.PolicyEntry) *pannier.Snapshot
	SetEnvironment func(pannier.Environment) *pannier.Snapshot
	// PolicyPath returns the directory that a policy of a key is about: that of the present skill, else of the one that an
	// installation would make. Where it is nil, grants hold for every skill of the slug.
	PolicyPath func(pannier.PolicyKey) string
	// Acknowledge ends a condition of health and returns a snapshot that shows it. It refuses one that cannot be ended.
	Acknowledge func(condition string) (*pannier.Snapshot, error)
	// Install is what [Service.Install] and its kin need; the zero value refuses them.
	Install InstallOptions
	// Scans are what [Service.Scan] needs.
	Scans ScanOptions
	// Activity tells the platforms of a promotion, within a time of its own, and returns what became of it; nil tells nobody.
	Activity func(context.Context, pannier.Promotion) []pannier.ActivityResult
	// Emit tells of a change, with the data that belongs to the type. It must not come back through the door.
	Emit func(pannier.EventType, any)
	// Logger is told of outcomes that could not be audited. Nil means none.
	Logger hclog.Logger
}

// Service takes mutations in. It is for any number of callers.
type Service struct {
	o Options
	// turn has a slot that is taken by the mutation under way. It is no mutex, so that whoever waits can go away.
	turn chan struct{}
	// scanning has a slot that is taken by the scan under way.
	scanning chan struct{}
	// spooling has a slot for each body that comes in, until its installation has ended, preparing one for each
	// installation that is unpacked and read.
	spooling, preparing chan struct{}
	// staged counts the bytes that installations under way have unpacked.
	staged atomic.Int64
}

// New returns a door.
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
		o: o, turn: make(chan struct{}, 1), scanning: make(chan struct{}, 1),
		spooling: make(chan struct{}, maxSpooled), preparing: make(chan struct{}, maxPrepared),
	}
}

// done is what became of a mutation.
type done struct {
	snapshot *pannier.Snapshot
	// detail goes into the audit log.
	detail any
	// event is empty where nothing changed.
	event pannier.EventType
	data  any
}

// mutate takes one mutation through the door: act, between its intent and its outcome.
func (d *Service) mutate(ctx context.Context, e pannier.AuditEntry, act func() (done, error)) (*pannier.Snapshot, error) {
	if err := enter(ctx, d.turn); err != nil {
		return nil, err
	}
	defer func() { <-d.turn }()
	e.Phase = pannier.AuditIntent
	intent, err := d.o.Audit.Append(e)
	if err != nil {
		return nil, err
	}
	result, err := act()
	d.conclude(intent, result, err)
	if err != nil {
		return nil, err
	}
	if result.event != "" {
		d.o.Emit(result.event, result.data)
	}
	return result.snapshot, nil
}

// enter waits for its turn. Whoever has gone away meanwhile does not get it.
func enter(ctx context.Context, turn chan<- struct{}) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// conclude audits what became of an intent.
func (d *Service) conclude(intent pannier.AuditEntry, result done, failed error) {
	e := pannier.AuditEntry{
		Phase: pannier.AuditOutcome, Intent: intent.Seq, Action: intent.Action, Actor: intent.Actor, Slug: intent.Slug,
		Detail: result.detail,
	}
	if result.snapshot != nil {
		e.SnapshotVersion = result.snapshot.Version
	}
	if failed != nil {
		e.Error = failed.Error()
	}
	if _, err := d.o.Audit.Append(e); err != nil {
		d.o.Logger.Error("the outcome of a mutation could not be audited", "action", e.Action, "slug", e.Slug, "intent", e.Intent, "failed", e.Error, "error", err)
	}
}
