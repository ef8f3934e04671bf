package loader

import (
	"path/filepath"

	"golang.org/x/sys/unix"
)

// volumeLink is the link through which a volume of Kubernetes (ConfigMap, Secret, projected) shows all of its files. To change
// them, it is replaced by one that leads to another directory, in one step (AtomicWriter in k8s.io/kubernetes/pkg/volume/util).
const volumeLink = "..data"

// followedLink is where a link led when it was followed.
type followedLink struct {
	link   string // absolute
	target string
}

// linkTargets are where links led when they were first followed in a scan, by their absolute paths. One that led elsewhere later
// in the same scan has an empty one, which never matches.
type linkTargets map[string]string

func (t linkTargets) add(link, target string) {
	if before, again := t[link]; again && before != target {
		target = ""
	}
	t[link] = target
}

func (t linkTargets) addAll(others linkTargets) {
	for link, target := range others {
		t.add(link, target)
	}
}

// retargeted reports whether one of the links leads elsewhere now.
func (t linkTargets) retargeted() bool {
	var buf [unix.PathMax]byte
	for link, target := range t {
		if size, err := unix.Readlink(link, buf[:]); err != nil || string(buf[:size]) != target {
			return true
		}
	}
	return false
}

// recordVolume records where the link of the volume that a directory belongs to leads, before anything is read through it. A
// directory outside of such a volume is not an error.
func (r *reader) recordVolume(n *node) {
	buf := r.metaBuf
	size, err := unix.Readlinkat(r.scan.fd, n.at(volumeLink), buf)
	if err != nil || size == len(buf) {
		return
	}
	r.volumes.add(filepath.Join(r.scan.tree.root.Path, n.at(volumeLink)), string(buf[:size]))
}

// pass notes the links on a way, unless it ends where nothing is read.
func (r *reader) pass(w symlinkChain) {
	if w.strays {
		return
	}
	for _, l := range w.links {
		if filepath.Base(l.link) == volumeLink {
			r.volumes.add(l.link, l.target)
		} else {
			r.links.add(l.link, l.target)
		}
	}
}
