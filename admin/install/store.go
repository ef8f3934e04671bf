package install

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/go-hclog"

	"pannier"
	"pannier/loader/scan"
)

// Options configure a [Store].
type Options struct {
	// Rules have the roots, and the bounds of a skill.
	Rules pannier.DiscoveryRules
	// Trust is that of what is installed.
	Trust pannier.Trust
	// Scan bounds the security scan of what is staged.
	Scan scan.Options
	// Scratch is where dry runs stage; empty is the directory for temporary files.
	Scratch string
	// Logger is told of repairs and of what could not be cleared away. Nil is silent.
	Logger hclog.Logger
	// Step, where it is set, is called before each step that changes the disk, by its name; see the package documentation.
	// Its error fails the step.
	Step func(name string) error
}

// Store changes what is installed in the roots of a workspace. Any number of callers may use it at a time.
type Store struct {
	rules pannier.DiscoveryRules
	trust pannier.Trust
	scan  scan.Options
	// scratch is where dry runs stage.
	scratch string
	log     hclog.Logger
	step    func(name string) error
	// changing holds one token, for the one change at a time.
	changing chan struct{}
	// plain says that no flag of renameat2(2) is to be used, as on a file system that knows none, in tests.
	plain bool

	mu sync.Mutex
	// unsettled has, by the path of its root, each intent that could neither be finished nor undone.
	unsettled map[string]pannier.Condition
	// made has, by the path of a root, the directories that were made for it, the deepest first, until something is installed.
	made map[string][]string
}

// Open repairs every root and returns a store. A root that can not be repaired is logged, and tried again before it is
// changed. It fails only when ctx is done.
func Open(ctx context.Context, o Options) (*Store, error) {
	s := &Store{rules: o.Rules, trust: cmp.Or(o.Trust, pannier.TrustUntrusted), scan: o.Scan, scratch: cmp.Or(o.Scratch, os.TempDir()), log: o.Logger, step: o.Step, changing: make(chan struct{}, 1), unsettled: map[string]pannier.Condition{}, made: map[string][]string{}}
	if s.log == nil {
		s.log = hclog.NewNullLogger()
	}
	if s.step == nil {
		s.step = func(string) error { return nil }
	}
	_, _ = s.Recover(ctx) // has logged what it could not do
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return s, nil
}

// begin waits for the change under way.
func (s *Store) begin(ctx context.Context) error {
	select {
	case s.changing <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Store) end() { <-s.changing }

// rootsOf returns the roots of a kind that is written to; an empty kind is the workspace's own.
func (s *Store) rootsOf(kind pannier.SourceKind) ([]pannier.Root, error) {
	kind = cmp.Or(kind, pannier.SourceWorkspace)
	if kind != pannier.SourceWorkspace && kind != pannier.SourceManaged {
		return nil, refuse("install.root_kind", fmt.Sprintf("nothing is installed into roots of the kind %q", kind), "install into one of the kind workspace or managed")
	}
	var roots []pannier.Root
	for _, root := range s.rules.Roots {
		if root.Kind == kind {
			roots = append(roots, root)
		}
	}
	if len(roots) == 0 {
		return nil, refuse("install.root_kind", fmt.Sprintf("the settings have no root of the kind %s", kind), "name one, or install into another kind")
	}
	return roots, nil
}

// rootOf returns the root of a kind that a reference to a skill means: the first whose lock file names it, else the first
// that has a directory of that name, else the first.
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

// Entry is a skill that pannier has installed.
type Entry struct {
	Root pannier.Root
	// Path is that of its directory below the root, with slashes.
	Path string
	pannier.LockEntry
}

// Installed returns what the lock files of the roots of a kind say, in the order of the roots and by path. An empty kind is
// the workspace's own.
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
		of, err := lock.entries(root)
		if err != nil {
			return nil, err
		}
		slices.SortFunc(of, func(a, b Entry) int { return strings.Compare(a.Path, b.Path) })
		entries = append(entries, of...)
	}
	return entries, nil
}
