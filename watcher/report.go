package watcher

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"pannier"
)

// cause is one reason why the kernel does not report all changes in a root, with the directories that it concerns.
type cause struct {
	root string // its name, empty for what lies in none
	mode string // of those directories
	err  error  // nil for a file system that others change
	kind string // of that
}

// causes counts directories by cause, and keeps the first path of each. Errors are distinguished by their kind and hint.
type causes map[string]*affected

type affected struct {
	cause
	path string
	dirs int
}

func (c causes) add(why cause, path string) {
	key := why.root + "\x00" + why.mode + "\x00" + why.kind
	if why.err != nil {
		key += kindOf(why.err) + advice(why.err)
	}
	f := c[key]
	if f == nil {
		f = &affected{cause: why, path: path}
		c[key] = f
	}
	f.dirs++
	if path < f.path {
		f.path, f.err = path, why.err
	}
}

// survey collects the causes of everything that the kernel does not report.
func (w *Watcher) survey() causes {
	all := make(causes)
	for path, err := range w.failed {
		if dir := w.table.byPath[path]; dir == nil || dir.refused == nil { // those come below
			all.add(cause{root: w.rootOf(path), mode: w.modeOf(path), err: err}, path)
		}
	}
	for dir := range w.table.polled {
		if why, ok := dir.cause(); ok {
			why.root = w.rootOf(dir.path)
			all.add(why, dir.path)
		}
	}
	if w.mode.polls() {
		return all
	}
	for path, dir := range w.table.byPath {
		if dir.kind != "" {
			all.add(cause{root: w.rootOf(path), mode: modeDegraded, kind: dir.kind}, path)
		}
	}
	return all
}

// cause returns why a polled directory is polled, or why not even that works, unless that is because all are.
func (d *watch) cause() (why cause, ok bool) {
	switch {
	case d.seen.dir.err != 0:
		return cause{mode: modeDegraded, err: d.seen.dir.err}, true
	case d.refused != nil:
		return cause{mode: modeBoth, err: d.refused}, true
	case d.kind != "" && d.confirmed:
		return cause{mode: modeBoth, kind: d.kind}, true
	}
	return cause{}, false
}

// modeOf returns how changes are noticed where something failed.
func (w *Watcher) modeOf(path string) string {
	dir := w.table.byPath[path]
	_, polled := w.table.polled[dir]
	switch {
	case w.backend == nil && (path == "" && w.mode.polls() || polled && dir.seen.dir.err == 0):
		return modePoll
	case polled && dir.seen.dir.err == 0:
		return modeBoth
	}
	return modeDegraded
}

// rootOf returns the name of the root that a directory belongs to.
func (w *Watcher) rootOf(path string) string {
	for _, p := range w.places {
		_, held := p.holds(path)
		_, named := under(p.path, path)
		if p.root != nil && (held || named) {
			return p.root.Name
		}
	}
	return ""
}

// reasons puts the causes into words, the gravest first.
func (c causes) reasons() []pannier.WatchReason {
	var reasons []pannier.WatchReason
	for _, f := range c {
		reasons = append(reasons, f.reason())
	}
	slices.SortFunc(reasons, func(a, b pannier.WatchReason) int {
		return cmp.Or(
			slices.Index(modes, b.Mode)-slices.Index(modes, a.Mode), -strings.Compare(string(a.Severity), string(b.Severity)),
			strings.Compare(a.Root, b.Root), strings.Compare(a.Reason, b.Reason),
		)
	})
	return reasons
}

func (f *affected) reason() pannier.WatchReason {
	r := pannier.WatchReason{Root: f.root, Mode: f.mode, Severity: pannier.SeverityWarning}
	subject := f.path
	if f.dirs > 1 {
		subject += fmt.Sprintf(" and %d more", f.dirs-1)
	}
	switch {
	case f.err == nil && f.mode == modeDegraded:
		r.Reason = fmt.Sprintf("%s: on %s the kernel tells only of changes that are made on this machine", subject, f.kind)
		r.Hint = "set watch to auto, so that it is polled; until then other changes are found at each resync"
	case f.err == nil:
		r.Severity = pannier.SeverityInfo
		r.Reason = fmt.Sprintf("%s: on %s the kernel tells only of changes that are made on this machine", subject, f.kind)
		r.Hint = "nothing need be done: it is polled every second; on a local file system changes would show at once"
	case f.path == "":
		r.Reason = fmt.Sprintf("cannot watch anything: %v", f.err)
		r.Hint = advice(f.err) + "; " + meanwhile(f.mode)
	default:
		r.Reason = fmt.Sprintf("cannot watch %s: %v", subject, f.err)
		r.Hint = advice(f.err) + "; " + meanwhile(f.mode)
	}
	return r
}

func meanwhile(mode string) string {
	if mode == modeDegraded {
		return "until then changes are found at each resync"
	}
	return "until then changes are found by polling every second"
}

// reportHealth brings health, the gauges and the log up to date with how changes are noticed.
func (w *Watcher) reportHealth() {
	if !w.changed {
		return
	}
	w.changed = false
	failing := len(w.failed) > 0
	for dir := range w.table.polled {
		failing = failing || w.isUnconfirmed(dir)
	}
	switch { // what failed is tried again, at resyncs and besides them
	case !failing:
		w.backoff.at = time.Time{}
	case w.backoff.at.IsZero():
		w.backoff.fail(time.Now(), retryFirst, retryLast)
	}
	why := w.survey()
	names := []string{}
	for _, p := range w.places {
		if p.root != nil && w.table.byPath[p.chain.real] != nil {
			names = append(names, p.root.Name)
		}
	}
	h := pannier.WatchHealth{
		Watches: len(w.table.byPath), Polled: len(w.table.polled), Roots: names, Reasons: why.reasons(),
	}
	switch {
	case len(h.Reasons) > 0 && h.Reasons[0].Mode == modeDegraded:
		h.Mode = modeDegraded
	case w.backend == nil:
		h.Mode = modePoll
	case len(h.Reasons) > 0:
		h.Mode = modeBoth
	default:
		h.Mode = modeInotify
	}
	for _, r := range h.Reasons {
		if r.Severity == pannier.SeverityWarning {
			h.Problem = r.Reason + "; " + r.Hint
			break
		}
	}
	confirmed := h.Watches
	for dir := range w.table.polled {
		if !dir.confirmed {
			confirmed--
		}
	}
	w.setHealth(h, confirmed)
	w.metrics.missing.Set(float64(len(w.rules.Roots) - len(h.Roots)))
	w.logMode(h, why)
}

// logMode logs a change of the mode or of the causes. How many directories they concern does not count as a change, so that a line is
// written when a limit is reached and not for each directory past it.
func (w *Watcher) logMode(h pannier.WatchHealth, why causes) {
	state := strings.Join(append([]string{h.Mode}, slices.Sorted(maps.Keys(why))...), "\n")
	if state == w.loggedState {
		return
	}
	w.loggedState = state
	log, args := w.log.Info, []any{"mode", h.Mode, "directories", h.Watches, "polled", h.Polled}
	if h.Problem != "" {
		log = w.log.Warn
	}
	for _, r := range h.Reasons {
		args = append(args, "reason", r.Reason+"; "+r.Hint)
	}
	log("how changes are noticed has changed", args...)
}

// setHealth sets health and its gauges. confirmed counts the directories that the kernel watches.
func (w *Watcher) setHealth(h pannier.WatchHealth, confirmed int) {
	w.mu.Lock()
	w.health = h
	w.mu.Unlock()
	w.metrics.watches.Set(float64(confirmed))
	w.metrics.polled.Set(float64(h.Polled))
	w.metrics.setMode(h.Mode)
}
