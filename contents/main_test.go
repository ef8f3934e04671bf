package contents

import (
	"maps"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"pannier"
	"pannier/internal/policyfile"
	"pannier/internal/state"
	"pannier/loader"
	"pannier/registry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is a tracker over a workspace with the root skills, without the rest of a sidecar.
type bench struct {
	*Tracker
	loader *loader.Loader
}

func newBench(t *testing.T, dir string, store *state.Store, change ...func(*Options)) *bench {
	t.Helper()
	verdicts, err := OpenVerdicts(store, blocksOf(store))
	if err != nil {
		t.Fatal(err)
	}
	rules := pannier.DiscoveryRules{
		Workspace: dir, MaxDepth: 6, MaxDirs: 20_000, MaxSkillBytes: 1 << 20, MaxFrontmatterBytes: 64 << 10,
		Roots: []pannier.Root{{Path: filepath.Join(dir, "skills"), Name: "skills", Kind: pannier.SourceWorkspace, Implicit: true}},
	}
	o := Options{
		Rules: rules, Registry: registry.New(registry.Options{}), Verdicts: verdicts,
		Emit: func(pannier.EventType, any) {}, Registerer: prometheus.NewRegistry(), Logger: hclog.NewNullLogger(),
	}
	b := &bench{loader: loader.New(loader.Options{Rules: rules})} // removed skills are dropped at once
	for _, c := range change {
		c(&o)
	}
	if o.Read != nil {
		o.Read = b.loader.Contents
	}
	b.Tracker = New(o)
	o.Registry.Prepare(func(in *registry.Inputs) { in.Judges = []func() registry.Judge{b.Judge} })
	return b
}

// blocks are the policy files that belong to a store.
var blocks sync.Map

func blocksOf(store *state.Store) *policyfile.File {
	file, _ := blocks.LoadOrStore(store, policyfile.New(policyfile.Generation{}))
	return file.(*policyfile.File)
}

// load scans the workspace.
func (b *bench) load(t *testing.T) *pannier.Snapshot {
	t.Helper()
	catalog, err := b.loader.Load(t.Context(), pannier.Batch{Full: true, Trigger: pannier.TriggerManual})
	if err != nil {
		t.Error(err)
	}
	return b.o.Registry.Update(func(in *registry.Inputs) { in.Catalog = catalog })
}

// lookAt scans the workspace and returns the skill at skills/slug.
func (b *bench) lookAt(t *testing.T, slug string) *pannier.Entry {
	t.Helper()
	e, ok := b.load(t).LookupPath(slug, "skills/"+slug)
	if !ok {
		t.Fatalf("no skill %s", slug)
	}
	return e
}

// round goes through all skills once.
func (b *bench) round(t *testing.T) time.Duration {
	t.Helper()
	b.HintAll()
	next, _ := b.readDue(t.Context(), nil)
	return next
}

// known returns what is known of directories that were read.
func (b *bench) known() map[string]*Content {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := maps.Collect(b.allLocked())
	maps.DeleteFunc(all, func(_ string, c *Content) bool { return c.ticket == 0 })
	return all
}

// block keeps a verdict that blocks what a skill is now.
func (b *bench) block(t *testing.T, e *pannier.Entry) {
	t.Helper()
	digest, err := b.Compute(t.Context(), e.Skill)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.o.Verdicts.Put(pannier.ScanVerdict{Fingerprint: digest, Decision: pannier.ScanBlock, Findings: []pannier.Finding{{Rule: "scan.test", Blocking: true}}}); err != nil {
		t.Fatal(err)
	}
	s := b.Apply(e.Skill, digest)
	if now, ok := s.LookupPath(e.Slug, e.Path); !ok || now.State != pannier.StateIneligible {
		t.Fatalf("it is %s", now.State)
	}
}
