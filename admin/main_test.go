package admin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"

	"pannier"
	"pannier/admin"
	"pannier/admin/audit"
	"pannier/admin/policy"
	"pannier/internal/state"
)

// The test binary plays a process that is killed in the midst of the mutation that the one names, in the directory of
// the other.
const (
	killVariable = "PANNIER_ADMIN_KILL"
	dirVariable  = "PANNIER_ADMIN_DIR"
)

func TestMain(m *testing.M) {
	if mutation := os.Getenv(killVariable); mutation != "" {
		dieIn(mutation, os.Getenv(dirVariable))
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func dieIn(mutation, dir string) {
	store, err := state.Open(dir)
	log, err2 := audit.Open(audit.Options{Dir: filepath.Join(dir, "audit")})
	rows, err3 := policy.Open(store)
	if errors.Join(err, err2, err3) != nil {
		return
	}
	die := func() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL) }
	d := admin.New(admin.Options{
		Audit: log, Policy: rows, Values: store,
		SetPolicies:    func(map[pannier.PolicyKey]pannier.PolicyEntry) *pannier.Snapshot { die(); select {} },
		SetEnvironment: func(pannier.Environment) *pannier.Snapshot { die(); select {} },
	})
	mutations[mutation](d)
}

// mutations are one of each kind.
var mutations = map[string]func(*admin.Service) error{
	pannier.ActionSetPolicy: func(d *admin.Service) error {
		_, _, err := d.SetPolicy(context.Background(), actor, pdf, off)
		return err
	},
	pannier.ActionPutEnvironment: func(d *admin.Service) error {
		_, _, err := d.PutEnvironment(context.Background(), actor, pannier.Environment{OS: "linux", Bins: []string{"git"}})
		return err
	},
}

var (
	uid   = uint32(1000)
	actor = pannier.Actor{Kind: "socket", UID: &uid}
	pdf   = pannier.PolicyKey{Slug: "pdf", SourceKind: pannier.SourceWorkspace}
	no    = false
	off   = pannier.PolicyChange{Enabled: pannier.Toggle{Given: true, To: &no}}
)

// fixture is a service with a registry that records its calls, and a log and a store that can fail.
type fixture struct {
	*admin.Service
	store    *state.Store
	log      *audit.Log
	said     *bytes.Buffer
	registry pannier.Snapshot
	// unaudited fails entries of a phase, unkept fails what is put into the store.
	unaudited pannier.AuditPhase
	unkept    error
	// during is called in the midst of a mutation, busy counts those under way.
	during func()
	busy   atomic.Int32
	mu     sync.Mutex
	// happened tells in order what was done.
	happened []string
}

// newFixture returns a fixture with its state in dir and more options.
func newFixture(t *testing.T, dir string, more ...func(*admin.Options)) *fixture {
	t.Helper()
	h := &fixture{said: &bytes.Buffer{}, registry: pannier.Snapshot{Version: 40, Entries: []*pannier.Entry{
		{Skill: &pannier.Skill{Slug: "pdf", SourceKind: pannier.SourceManaged}},
		{Skill: &pannier.Skill{Slug: "pdf", SourceKind: pannier.SourceWorkspace, Implicit: true}},
	}}}
	var err, err2 error
	h.store, err = state.Open(dir)
	h.log, err2 = audit.Open(audit.Options{Dir: filepath.Join(dir, "audit"), Logger: hclog.New(&hclog.LoggerOptions{Output: t.Output()})})
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = errors.Join(h.log.Close(), h.store.Close()) })
	rows, err := policy.Open(h)
	if err != nil {
		t.Fatal(err)
	}
	o := admin.Options{
		Audit: h, Policy: rows, Values: h, SetPolicies: h.setPolicies, SetEnvironment: h.setEnvironment,
		Emit: h.emit, Logger: hclog.New(&hclog.LoggerOptions{Output: h.said}),
	}
	for _, add := range more {
		add(&o)
	}
	h.Service = admin.New(o)
	return h
}

func (h *fixture) note(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.happened = append(h.happened, fmt.Sprintf(format, args...))
}

func (h *fixture) Append(e pannier.AuditEntry) (pannier.AuditEntry, error) {
	h.note("audit %s", e.Phase)
	if e.Phase == h.unaudited {
		return e, fmt.Errorf("%w: disk full", pannier.ErrNotAudited)
	}
	return h.log.Append(e)
}

func (h *fixture) Put(bucket, key string, value any) error {
	h.note("put %s/%s", bucket, key)
	if h.unkept != nil {
		return h.unkept
	}
	return h.store.Put(bucket, key, value)
}

func (h *fixture) Get(bucket, key string, value any) (bool, error) {
	return h.store.Get(bucket, key, value)
}

func (h *fixture) Delete(bucket, key string) error { return h.store.Delete(bucket, key) }

func (h *fixture) All(bucket string) (iter.Seq2[string, json.RawMessage], error) {
	return h.store.All(bucket)
}

func (h *fixture) change(change func(*pannier.Snapshot)) *pannier.Snapshot {
	h.note("apply")
	if h.busy.Add(1) > 1 {
		panic("two mutations at a time")
	}
	defer h.busy.Add(-1)
	if h.during != nil {
		h.during()
	}
	h.registry.Version++
	change(&h.registry)
	s := h.registry
	return &s
}

func (h *fixture) setPolicies(rows map[pannier.PolicyKey]pannier.PolicyEntry) *pannier.Snapshot {
	return h.change(func(s *pannier.Snapshot) { s.Policies.Workspace = rows })
}

func (h *fixture) setEnvironment(env pannier.Environment) *pannier.Snapshot {
	return h.change(func(s *pannier.Snapshot) { s.Environment = env })
}

func (h *fixture) emit(kind pannier.EventType, data any) {
	text, _ := json.Marshal(data)
	h.note("emit %s %s", kind, text)
}

// audited returns the entries of the log, oldest first, one a line.
func (h *fixture) audited(t *testing.T) string {
	t.Helper()
	entries, err := h.log.Newest("", 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, e := range entries {
		text, _ := json.Marshal(e.Detail)
		line := fmt.Sprintf("%d %s of %d %s %s %s %d %s", e.Seq, e.Phase, e.Intent, e.Action, e.Slug, text, e.SnapshotVersion, e.Error)
		lines = append([]string{strings.TrimRight(line, " ")}, lines...)
	}
	return strings.Join(lines, "\n")
}
