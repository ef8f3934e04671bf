package loader

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// volumeLink is the link through which a volume of Kubernetes (ConfigMap, Secret, projected) shows all of its files. To change
// them, it is replaced by one that leads to another directory, in one step (AtomicWriter in k8s.io/kubernetes/pkg/volume/util).
const volumeLink = "..data"

// volumePrefix begins the names that are a volume's own: its data, of which the links beside them show what is to be seen.
const volumePrefix = ".."

// volume is where the link of one volume led when it was first gone through in a look.
type volume struct {
	link   string // absolute
	target string
}

// steadyTries is how often a load begins anew because a volume was swapped, or a root replaced, in the midst of it.
const steadyTries = 8

// loadSteady loads all trees, and again where something was swapped meanwhile, so that a catalog shows it as it was before or
// after and never half of both. Roots that do not hold still are restless, and keep what the catalog has of them.
func (l *Loader) loadSteady(ctx context.Context, full bool) error {
	for try := 1; ; try++ {
		for _, t := range l.trees {
			if err := t.load(ctx, full); err != nil {
				return err
			}
		}
		again := false
		for _, t := range l.trees {
			if t.restless = t.swapped(); t.restless {
				t.top.markAll()
				again = true
			}
		}
		if !again || try == steadyTries {
			return nil
		}
	}
}

// Steady reports whether what the last load read is still what the paths of the roots lead to. What else was read between that
// load and this call is then of the same volumes as the skills.
func (l *Loader) Steady() bool {
	return !slices.ContainsFunc(l.trees, (*tree).swapped)
}

// swapped reports whether the root, or a volume that it was read from, is another one than when the load began.
func (t *tree) swapped() bool {
	if t.failure != nil {
		return false
	}
	if st, err := os.Stat(t.root.Path); err == nil {
		now := fromSys(st.Sys().(*unixStat))
		if now.dev != t.dev || now.ino != t.top.ino {
			return true
		}
	}
	for _, v := range t.volumes {
		if now, err := os.Readlink(v.link); err != nil || now != v.target {
			return true
		}
	}
	return false
}

// enter notes where the link of the volume that a directory belongs to leads, before anything is read through it. It is no
// error where there is none.
func (r *reader) enter(n *node) {
	buf := r.metaBuf
	size, err := unix.Readlinkat(r.scan.fd, n.at(volumeLink), buf)
	if err != nil || size == len(buf) {
		return
	}
	r.volumes = append(r.volumes, volume{link: filepath.Join(r.scan.tree.root.Path, n.at(volumeLink)), target: string(buf[:size])})
}

// volumes returns the volumes that were read from.
func (s *scan) volumes() (all []volume) {
	for _, r := range s.readers {
		all = append(all, r.volumes...)
	}
	return all
}
