package watcher

import (
	"cmp"
	"context"
	"errors"
	"hash/maphash"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"

	"pannier"
	"pannier/internal/fsx"
)

const (
	// pollInterval is the time from the end of one poll of all polled directories to the next. A person who saved a file waits
	// about as long without wondering, and a poll of ten thousand skills takes less than a tenth of it.
	pollInterval = time.Second
	// pollRest is how many times longer than a poll the pause after it is at least, so that where each stat is a question to
	// another machine, polling is a fifth of the time at most.
	pollRest = 4
	// pollPortion is how long a poll runs before other work gets its turn.
	pollPortion = 20 * time.Millisecond
	// maxFiles bounds the files that matter in one directory. What lies past it is found at the next resync.
	maxFiles = 256
)

// poller is the state of the poll of all polled directories. It belongs to the goroutine of Run, as everything does
// that may block.
type poller struct {
	interval time.Duration
	quick    time.Duration // the pause after a poll that found something
	next     time.Time     // when the next poll begins
	order    []*watch      // all polled directories, by path: neighbours on the disk are near in the kernel's memory too
	grown    bool          // there are others than in order
	queue    []*watch      // the part of order that the current poll has not visited yet
	took     time.Duration
	found    bool
	scratch  []file
	seed     maphash.Seed     // of the sums of names
	mounted  map[string]stamp // files that are mounted by themselves: their directories do not show changes
}

// begin schedules the first poll.
func (p *poller) begin() {
	if p.next.IsZero() {
		p.next = time.Now().Add(spread(p.interval))
	}
}

// pollMounted takes over which files are mounted by themselves. They are marked, since they may have changed since the consumer
// read them.
func (w *Watcher) pollMounted() {
	if !w.mode.polls() {
		return
	}
	w.mu.Lock()
	p, files := &w.poller, w.wanted.Files
	w.mu.Unlock()
	if len(files)+len(p.mounted) == 0 {
		return
	}
	before := p.mounted
	p.mounted = make(map[string]stamp, len(files))
	for _, path := range files {
		seen, known := before[path]
		if !known {
			seen = stampOf(path)
			w.checkNames([]string{filepath.Dir(path)}, true)
			p.begin()
		}
		p.mounted[path] = seen
	}
}

// poll visits a portion of the polled directories if a poll is due; with all, it visits all of them now.
func (w *Watcher) poll(ctx context.Context, all bool) {
	p := &w.poller
	w.pollMounted()
	if len(w.table.polled)+len(p.mounted) == 0 {
		p.queue, p.order, p.next = nil, nil, time.Time{}
		return
	}
	began := time.Now()
	if len(p.queue) == 0 || all {
		if began.Before(p.next) && !all {
			return
		}
		w.startPoll()
	}
	for n := 1; len(p.queue) > 0 && ctx.Err() == nil; n++ {
		last := len(p.queue) - 1
		dir := p.queue[last]
		p.queue = p.queue[:last]
		w.visit(dir)
		if n%64 == 0 && !all && time.Since(began) > pollPortion {
			break
		}
	}
	p.took += time.Since(began)
	if len(p.queue) == 0 {
		wait := spread(p.interval)
		if p.found && p.quick > 0 {
			wait = min(wait, p.quick)
		}
		p.next = time.Now().Add(max(wait, pollRest*p.took))
	}
}

// startPoll makes the list of what is to be visited. The places are resolved at once: that costs little, and
// shows what no directory below does, such as a mount over one of their ancestors.
func (w *Watcher) startPoll() {
	p := &w.poller
	if p.grown || len(p.order) != len(w.table.polled) {
		p.order = slices.SortedFunc(maps.Keys(w.table.polled), func(a, b *watch) int { return cmp.Compare(a.path, b.path) })
		p.grown = false
	}
	p.took, p.found, p.queue = 0, false, p.order
	for path, seen := range w.poller.mounted { // no directory shows their changes
		now := stampOf(path)
		if now == seen {
			continue
		}
		w.poller.mounted[path], w.poller.found = now, true
		w.mu.Lock()
		w.pending.change(filepath.Dir(path), false, time.Now(), filepath.Dir(path))
		w.mu.Unlock()
	}
	moved := func(p *place) bool { return !findChain(p.path).same(p.chain) }
	if slices.ContainsFunc(w.places, moved) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.todo.recheckPlaces = true
	}
}

// visit compares one directory with what it was and marks it if it differs.
func (w *Watcher) visit(dir *watch) {
	if _, polled := w.table.polled[dir]; !polled || w.table.byPath[dir.path] != dir {
		return
	}
	at := time.Now()
	now := w.compareDir(dir, at)
	if fault := now.dir.fault(); fault != nil && gone(fault) || fault == nil && now.dir.FileID != dir.id {
		// As the kernel would report it.
		w.mu.Lock()
		w.poller.found = true
		w.noticeLocked(dir.path, fsnotify.Remove, "", at)
		w.mu.Unlock()
		return
	}
	reachable := now.dir.err == dir.seen.dir.err
	if d, again := dir.seen.update(now, at); d.any() {
		w.mu.Lock()
		switch {
		case w.differs(dir, d):
			w.poller.found = true
			names := w.namesLocked(dir.path)
			if again {
				w.pending.check(dir.path, false, at, names...)
			} else {
				w.pending.change(dir.path, dir.has(roleTree|roleExtra) && !dir.skill, at, names...)
			}
		case d.dir && !again:
			w.touchLocked(dir)
		}
		if dir.has(roleReached) {
			put(&w.todo.relist, dir.path)
		}
		if _, holds := w.watchRequests.holders[dir.path]; (d.dir || d.entries) && holds { // which of them changed is not known
			w.todo.wanted = true
		}
		if d.files {
			for _, end := range w.watchRequests.files[dir.path] {
				w.poller.found = true
				if again {
					w.pending.check(end, false, at, end)
				} else {
					put(&w.todo.changedEntries, end)
				}
			}
		}
		w.signal()
		w.mu.Unlock()
	}
	if !reachable {
		w.changed = true
	}
	if dir.confirmed && dir.kind == "" && !dir.seen.pending.any() {
		w.mu.Lock()
		delete(w.table.polled, dir)
		w.mu.Unlock()
		dir.seen = nil
		w.changed = true
	}
}

// compareDir samples a directory and the files that matter in it, which are valid until the next call. It reads the
// directory only where other files may matter by now.
func (w *Watcher) compareDir(dir *watch, at time.Time) sample {
	s := sample{dir: stampOf(dir.path), files: dir.seen.files, entries: dir.seen.entries, stale: dir.seen.stale}
	if s.dir.err != 0 {
		return s
	}
	// On a remote file system the times of a directory prove nothing.
	if s.dir != dir.seen.dir || s.stale || dir.kind != "" || dir.seen.due(at) {
		files, entries, err := w.files(dir)
		if s.stale = err != nil; !s.stale {
			s.files, s.entries = files, entries
		}
	}
	w.poller.scratch = append(w.poller.scratch[:0], s.files...)
	s.files = w.poller.scratch
	for i := range s.files {
		s.files[i].stamp = stampOf(s.files[i].path)
	}
	return s
}

// files returns the files that matter in a directory, without their stamps, and the sum of the names of its directories and
// links. One that is only on a path is not read for that: where the path leads is resolved anyway, and what is at its end is
// known.
func (w *Watcher) files(dir *watch) (files []file, entries uint64, err error) {
	if dir.roles != roleAnchor {
		if files, entries, err = w.held(dir); err != nil {
			return nil, 0, err
		}
	}
	for _, end := range w.watchRequests.files[dir.path] {
		files = append(files, file{path: end})
	}
	slices.SortFunc(files, func(a, b file) int { return cmp.Compare(a.path, b.path) })
	return slices.Compact(files), entries, nil
}

// held returns the files in a directory that are read, the links, or all where everything counts.
func (w *Watcher) held(dir *watch) (files []file, entries uint64, err error) {
	d, err := fsx.OpenDir(dir.path)
	if err != nil {
		return nil, 0, err
	}
	defer d.Close()
	w.mu.Lock()
	named := w.wanted.Entries
	w.mu.Unlock()
	for {
		batch, err := d.ReadDir(256)
		for _, e := range batch {
			name := e.Name()
			if e.IsDir() || e.Type() == fs.ModeSymlink {
				entries += maphash.String(w.poller.seed, name) ^ uint64(e.Type())
			}
			if matters(dir, e, named) && (len(files) < maxFiles || pannier.IsSkillFile(name)) {
				files = append(files, file{path: filepath.Join(dir.path, name)})
			}
		}
		if errors.Is(err, io.EOF) {
			return files, entries, nil
		}
		if err != nil {
			return nil, 0, err
		}
	}
}

// matters reports whether an entry of a polled directory is sampled itself. Besides the files that are read, and links, those
// are all that lie where the consumer asked for it: the SKILL.md of a link may have any name there. That others come and
// go, the directory shows.
func matters(dir *watch, e fs.DirEntry, named []string) bool {
	name := e.Name()
	switch {
	case dir.has(roleWorkspace) && ofWorkspace(name, named):
		return true
	case e.IsDir():
		return false
	case dir.has(roleExtra) && !dir.skill, dir.entered() && pannier.IsPartDir(filepath.Base(dir.path)):
		return true
	case dir.has(roleTree|roleExtra) && (decides(name) || e.Type() == fs.ModeSymlink):
		return true
	}
	return dir.has(roleReached) && pannier.IsSkillFile(name)
}

// differs reports whether a difference counts.
func (w *Watcher) differs(dir *watch, d difference) bool {
	switch {
	case dir.has(roleExtra) && !dir.skill:
		return true
	case dir.has(roleTree | roleExtra):
		return d.entries || d.files
	}
	return d.files && dir.has(roleProbe|roleWorkspace)
}
