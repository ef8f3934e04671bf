package install

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/hashicorp/go-hclog"

	"pannier"
	"pannier/loader/scan"
)

// Options configure a [Store].
type Options struct {
	// Rules have the roots and the limits of a skill.
	Rules pannier.DiscoveryRules
	// Trust is the trust level of installed skills.
	Trust pannier.Trust
	// Scan bounds the security scan of staged skills.
	Scan scan.Options
	// Scratch is the directory for dry runs; empty is the directory for temporary files.
	Scratch string
	// Logger logs repairs and directories that could not be removed; nil discards.
	Logger hclog.Logger
	// Step is called with the name of each step that changes the disk, before the step; see the package documentation. Its
	// error fails the step. It is optional.
	Step func(name string) error
}

// Store changes the installed skills in the roots of a workspace. It is safe for concurrent use.
type Store struct {
	rules   pannier.DiscoveryRules
	trust   pannier.Trust
	scan    scan.Options
	scratch string
	log     hclog.Logger
	step    func(name string) error
	// changing is a semaphore for the change in progress.
	changing chan struct{}
	// plain disables the flags of renameat2(2), as on a file system without them, for tests.
	plain bool

	mu sync.Mutex
	// unsettled has the intents that could neither be finished nor undone, by the path of the root.
	unsettled map[string]pannier.Condition
	// created has the directories that were created for a root, deepest first, by the path of the root, until a skill is
	// installed.
	created map[string][]string
}

// Open recovers every root and returns a store. A failed recovery is logged, and retried before the root is changed.
// Open fails only if ctx is done.
func Open(ctx context.Context, o Options) (*Store, error) {
	s := &Store{
		rules: o.Rules, trust: cmp.Or(o.Trust, pannier.TrustUntrusted), scan: o.Scan, scratch: cmp.Or(o.Scratch, os.TempDir()), log: o.Logger,
		step: o.Step, changing: make(chan struct{}, 1), unsettled: map[string]pannier.Condition{}, created: map[string][]string{},
	}
	if s.log == nil {
		s.log = hclog.NewNullLogger()
	}
	if s.step == nil {
		s.step = func(string) error { return nil }
	}
	_, _ = s.Recover(ctx) // errors are logged
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return s, nil
}

// begin waits for the change in progress.
func (s *Store) begin(ctx context.Context) error {
	select {
	case s.changing <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Store) end() { <-s.changing }

// rootsOf returns the roots of a kind that can be installed into; empty is the workspace.
func (s *Store) rootsOf(kind pannier.SourceKind) ([]pannier.Root, error) {
	kind = cmp.Or(kind, pannier.SourceWorkspace)
	if kind != pannier.SourceWorkspace && kind != pannier.SourceManaged {
		return nil, refuse("install.root_kind", fmt.Sprintf("skills cannot be installed into roots of the kind %q", kind), "use the kind workspace or managed")
	}
	var roots []pannier.Root
	for _, root := range s.rules.Roots {
		if root.Kind == kind {
			roots = append(roots, root)
		}
	}
	if len(roots) == 0 {
		return nil, refuse("install.root_kind", fmt.Sprintf("the settings have no root of the kind %s", kind), "configure one, or use another kind")
	}
	return roots, nil
}

// rootOf returns the root of a slug: the first whose lock file lists it, else the first with such a directory, else the
// first.
func (s *Store) rootOf(kind pannier.SourceKind, slug string) (pannier.Root, error) {
	roots, err := s.rootsOf(kind)
	if err != nil {
		return pannier.Root{}, err
	}
	for _, root := range roots {
		if lock, err := readLock(root); err == nil && lock.has(slug) {
			return root, nil
		}
	}
	for _, root := range roots {
		if _, err := os.Lstat(filepath.Join(root.Path, slug)); err == nil && slug != "" {
			return root, nil
		}
	}
	return roots[0], nil
}

// Entry is an installed skill.
type Entry struct {
	Root pannier.Root
	// Path is the path of the directory below the root, with slashes.
	Path string
	pannier.LockEntry
}

// Installed returns the entries of the lock files of a kind, by root and path. An empty kind is the workspace.
func (s *Store) Installed(kind pannier.SourceKind) ([]Entry, error) {
	roots, err := s.rootsOf(kind)
	if err != nil {
		return nil, err
	}
	entries := []Entry{}
	for _, root := range roots {
		lock, err := readLock(root)
		if err != nil {
			return nil, explain(root, err)
		}
		for _, slug := range slices.Sorted(maps.Keys(lock.skills)) {
			e, err := lock.entry(root, slug)
			if err != nil {
				return nil, err
			}
			entries = append(entries, Entry{Root: root, Path: slug, LockEntry: *e})
		}
	}
	return entries, nil
}
