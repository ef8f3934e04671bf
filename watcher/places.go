package watcher

import (
	"slices"

	"pannier"
)

// maxChainRetries bounds how often a symlink chain is followed again because it changed meanwhile. The next event or resync continues.
const maxChainRetries = 16

// place is a path at which a directory is watched whatever becomes of it: the workspace, or a root. Its directory can be
// missing, come back, be replaced, and be reached through links.
type place struct {
	path    string
	root    *pannier.Root // nil for the workspace
	chain   symlinkChain  // how the path led to what is armed; zero before it was armed
	armed   bool          // what it led to was armed
	dirs    int           // how many directories count against the budget of the root
	crowded bool          // that there are more was logged
}

func (p *place) role() role {
	if p.root == nil {
		return roleWorkspace
	}
	return roleTree
}

// holds reports whether a directory belongs to the place, and returns what is left of its path.
func (p *place) holds(dir string) (rest string, ok bool) {
	if p.chain.real == "" {
		return "", false
	}
	rest, ok = under(p.chain.real, dir)
	return rest, ok && (p.root != nil || rest == "")
}

// armPlaces arms each place at the directory that its path leads to now, and the chains there, and reports whether any
// has changed. What is below the roots is left to the caller.
func (w *Watcher) armPlaces() (changed bool) {
	for _, p := range w.places {
		changed = w.armPlace(p) || changed
	}
	if changed {
		w.dropAnchors()
	}
	return changed
}

// armPlace arms one place. It follows the chain again after the arming, because what is armed may have been replaced just before.
func (w *Watcher) armPlace(p *place) (changed bool) {
	for range maxChainRetries {
		chain := findChain(p.path)
		if chain.err != nil && w.failed[p.path] == nil {
			w.fail(p.path, chain.err)
		}
		if chain.same(p.chain) && w.placed(p) {
			return changed
		}
		w.move(p, chain)
		changed = true
	}
	return changed
}

// placed reports whether all that p needs is armed, or has failed and waits for the next resync.
func (w *Watcher) placed(p *place) bool {
	if dir := w.table.byPath[p.chain.real]; p.chain.real != "" && (dir == nil || dir.id != p.chain.id || !dir.has(p.role())) {
		return w.failed[p.chain.real] != nil
	}
	return !slices.ContainsFunc(p.chain.anchors, func(a string) bool {
		dir := w.table.byPath[a]
		return (dir == nil || !dir.has(roleAnchor)) && w.failed[a] == nil
	})
}

// move arms p by another chain than before, or by the same one after its watch was lost.
func (w *Watcher) move(p *place, to symlinkChain) {
	from := p.chain
	stays := from.real == to.real && from.id == to.id
	intact := stays && w.table.byPath[to.real] != nil
	w.mu.Lock()
	p.chain = to
	w.entries = make(map[string]struct{})
	for _, p := range w.places {
		for _, entry := range p.chain.entries {
			w.entries[entry] = struct{}{}
		}
	}
	w.changed = true
	w.mu.Unlock()
	for _, a := range to.anchors {
		w.arm(a, roleAnchor)
	}
	if dir := w.table.byPath[from.real]; dir != nil && !stays {
		w.drop(dir)
	}
	if to.err == nil {
		w.clearFailure(p.path)
	}
	if to.real != "" {
		w.arm(to.real, p.role())
	}
	if !intact {
		w.reportRoot(p, from.entries == nil)
	}
}

// reportRoot logs and counts that a root went, came or was replaced, unless this is the first that is known of it.
func (w *Watcher) reportRoot(p *place, first bool) {
	had := p.armed
	p.armed = w.table.byPath[p.chain.real] != nil
	if p.root == nil || first {
		if p.root != nil && !p.armed {
			w.log.Info("a root is not there yet", "root", p.path)
		}
		return
	}
	if had {
		w.metrics.errors.WithLabelValues(kindLostRoot).Inc()
		w.log.Warn("a root was removed or replaced", "root", p.path)
	}
	if p.armed {
		w.metrics.rearms.WithLabelValues(rearmRoot).Inc()
		w.log.Info("a root is watched again", "root", p.path)
	}
}

// dropAnchors ends the watches on directories that no chain needs any more.
func (w *Watcher) dropAnchors() {
	needed := make(map[string]struct{})
	for _, p := range w.places {
		for _, a := range p.chain.anchors {
			needed[a] = struct{}{}
		}
	}
	for a := range w.anchors {
		_, ok := needed[a]
		if _, wanted := w.watchRequests.anchors[a]; !ok && !wanted {
			w.dropAnchor(a)
		}
	}
	w.anchors = needed
}

func (w *Watcher) dropAnchor(a string) {
	w.clearFailure(a)
	if dir := w.table.byPath[a]; dir != nil {
		w.revoke(dir, roleAnchor)
	}
}
