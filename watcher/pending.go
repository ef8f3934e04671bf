package watcher

import (
	"maps"
	"path/filepath"
	"slices"
	"time"

	"pannier"
)

// everything is the key of the unit that covers all others.
const everything = "/"

// scanGap is the part of settle that passes between two scans at least, so that many units that settle one after the other do
// not make a scan each.
const scanGap = 4

// unit is what settles together: the changes in one directory, or in a directory with everything below it.
type unit struct {
	marks
	keys      map[string]bool // directories without links; true where everything below the directory belongs to the unit
	last      time.Time       // when the latest change was noticed
	urgent    bool            // not to wait for quiet
	immediate bool            // not to wait for quiet as long as there is no change
}

// pending keeps what was noticed until the batch that carries it is handed over, by unit. It does no I/O and knows no clock; the
// lock of the [Watcher] guards it.
//
// A unit is given out once it has been quiet for settle, and no later than maxWait after its first change. What pannier itself
// has changed is complete, so it is in no unit (own) and waits for nothing.
//
// A batch is offered, and the offer then ends as delivered or withdrawn; in between only the channel knows whether the consumer
// has received the batch. A rescan must be in a batch that is handed over after the request. If it is requested during an
// offer, its marks wait in deferred, and it gets the Seq after the one on offer (reserveSeq). The end of the offer adds them to
// what is pending (closeOffer). If the batch was withdrawn, its Seq is not used again, so that the reserved one comes next.
type pending struct {
	settle, maxWait time.Duration

	seq     uint64           // of the batch handed over last
	next    uint64           // of the batch to offer, or on offer
	scanned time.Time        // when a batch was handed over last
	units   map[string]*unit // by each of their keys
	// noisySince is when the units were handed over that had not become quiet, by each of their keys.
	noisySince map[string]time.Time
	own        marks
	deferred   struct{ all, own marks }
	offering   bool
	offered    struct {
		units []*unit
		own   marks
	}
}

func newPending(settle, maxWait time.Duration) pending {
	return pending{settle: settle, maxWait: maxWait, next: 1, units: make(map[string]*unit), noisySince: make(map[string]time.Time)}
}

// change marks names, which are what the consumer calls a directory, because an entry of it changed. With covers, everything
// below the directory settles with it.
func (p *pending) change(dir string, covers bool, at time.Time, names ...string) {
	u := p.touch(dir, covers)
	u.recordReason(pannier.TriggerEvent, at)
	u.mark(names...)
	if at.After(u.last) {
		u.last = at
	}
	u.immediate = false // else half of the change would be given out
	p.bound()
}

// check marks names to be scanned although nothing was noticed there, because something may have been missed. It keeps no
// change waiting. With immediate it does not wait for quiet itself unless there is a change.
func (p *pending) check(dir string, immediate bool, at time.Time, names ...string) {
	u := p.touch(dir, false)
	if u.empty() {
		u.last, u.immediate = at, immediate
	}
	u.recordReason(pannier.TriggerEvent, at)
	u.mark(names...)
	p.bound()
}

// all marks everything.
func (p *pending) all(trigger pannier.Trigger, urgent bool, at time.Time) {
	u := p.touch(everything, true)
	u.recordReason(trigger, at)
	u.fill()
	if !urgent && at.After(u.last) {
		u.last = at
	}
	u.urgent = u.urgent || urgent
}

// join makes one unit of two directories, as far as both are pending: something was moved from one to the other.
func (p *pending) join(a, b string) {
	if from, to := p.find(a), p.find(b); from != nil && to != nil {
		p.absorb(to, from)
	}
}

// find returns the unit that a directory belongs to, nil where none is pending.
func (p *pending) find(dir string) *unit {
	for at := dir; ; at = filepath.Dir(at) {
		if u := p.units[at]; u != nil && (at == dir || u.keys[at]) {
			return u
		}
		if at == everything {
			return nil
		}
	}
}

// touch returns the unit that a directory belongs to. With covers it takes in what is pending below the directory.
func (p *pending) touch(dir string, covers bool) *unit {
	return p.claim(&unit{keys: make(map[string]bool)}, dir, covers)
}

// claim makes a directory belong to a unit, or the unit a part of the one that the directory belongs to, and returns that one.
func (p *pending) claim(u *unit, dir string, covers bool) *unit {
	if now := p.find(dir); now != nil && now != u {
		p.absorb(now, u)
		u = now
		if p.units[dir] != u { // one above it covers it
			return u
		}
	}
	if p.units[dir] == u && (u.keys[dir] || !covers) {
		return u
	}
	p.units[dir], u.keys[dir] = u, covers
	if covers {
		for key, other := range p.units {
			if _, below := under(dir, key); below {
				p.absorb(u, other)
			}
		}
	}
	return u
}

// absorb adds the marks and the directories of other to u.
func (p *pending) absorb(u, other *unit) {
	if u == other {
		return
	}
	u.urgent = u.urgent || other.urgent
	if !other.empty() {
		u.immediate = other.immediate && (u.immediate || u.empty())
	}
	u.merge(&other.marks)
	if other.last.After(u.last) {
		u.last = other.last
	}
	for key, covers := range other.keys {
		p.units[key], u.keys[key] = u, covers || u.keys[key]
	}
}

// bound makes one unit of everything where there are too many.
func (p *pending) bound() {
	if len(p.units) > maxDirty {
		p.touch(everything, true).fill()
	}
}

// reserveSeq returns the Seq of a batch that will be handed over after the call, and whether one is on offer, so that its marks must
// be deferred. Without an offer that is the next batch: it is made under the lock, which the caller holds.
func (p *pending) reserveSeq() (seq uint64, onOffer bool) {
	if p.offering {
		return p.next + 1, true
	}
	return p.next, false
}

// rescan asks for everything at once and returns the Seq of the batch that will carry it.
func (p *pending) rescan(at time.Time) uint64 {
	seq, later := p.reserveSeq()
	if later {
		p.deferred.all.recordReason(pannier.TriggerManual, at)
	} else {
		p.all(pannier.TriggerManual, true, at)
	}
	return seq
}

// rescanDirs asks for a scan of directories that pannier itself has changed, as rescan does for everything.
func (p *pending) rescanDirs(dirs []string, at time.Time) uint64 {
	seq, later := p.reserveSeq()
	m := &p.own
	if later {
		m = &p.deferred.own
	}
	m.recordReason(pannier.TriggerManual, at)
	m.mark(dirs...)
	m.markOwn(dirs...)
	return seq
}

// due returns when a batch is to be offered, if there is anything to offer.
func (p *pending) due() (at time.Time, ok bool) {
	if !p.own.empty() {
		return p.own.first, true
	}
	for _, u := range p.units {
		if due := p.settled(u); !ok || due.Before(at) {
			at, ok = due, true
		}
	}
	return at, ok
}

// settled returns when a unit is given out.
func (p *pending) settled(u *unit) time.Time {
	if u.urgent || u.immediate {
		return u.first
	}
	at := u.last.Add(p.settle)
	if latest := u.first.Add(p.maxWait); latest.Before(at) {
		at = latest
	}
	if least := p.scanned.Add(p.settle / scanGap); at.Before(least) {
		return least
	}
	return at
}

// offer returns a batch of all that is due at a time.
func (p *pending) offer(at time.Time) pannier.Batch {
	var m marks
	seen := make(map[*unit]struct{})
	for key, u := range p.units {
		if p.settled(u).After(at) {
			continue
		}
		delete(p.units, key)
		if _, again := seen[u]; !again {
			seen[u] = struct{}{}
			p.offered.units = append(p.offered.units, u)
			m.merge(&u.marks)
		}
	}
	m.merge(&p.own)
	p.offered.own, p.own = p.own, marks{}
	p.offering = true
	slices.Sort(m.dirs)
	return pannier.Batch{
		Seq: p.next, Full: m.full, Dirs: slices.Clip(m.dirs), OwnChanges: slices.Clip(m.ownChanges), Trigger: m.trigger, Since: m.first,
	}
}

// withdraw takes back the batch on offer, which the consumer has not received. If the Seq after it was reserved, that is the next one.
func (p *pending) withdraw() {
	if !p.offering {
		return
	}
	for _, u := range p.offered.units {
		now := u // it joins what has become pending meanwhile
		for key, covers := range u.keys {
			now = p.claim(now, key, covers)
		}
	}
	p.own.merge(&p.offered.own)
	if p.closeOffer() {
		p.next++
	}
}

// delivered records that the consumer took the batch on offer.
func (p *pending) delivered(at time.Time) {
	for _, u := range p.offered.units {
		noisy := !u.urgent && !u.immediate && at.Sub(u.last) < p.settle && len(p.noisySince) < maxDirty
		for key := range u.keys {
			if noisy {
				p.noisySince[key] = at
			} else {
				delete(p.noisySince, key)
			}
		}
		maps.DeleteFunc(p.noisySince, func(_ string, since time.Time) bool { return at.Sub(since) > 2*p.maxWait })
	}
	p.seq, p.scanned = p.next, at
	p.next++
	p.closeOffer()
}

// isNoisy reports whether a unit has not been quiet since it was handed over at maxWait.
func (p *pending) isNoisy(u *unit) bool {
	for key := range u.keys {
		if since, ok := p.noisySince[key]; !ok || u.first.Sub(since) > p.settle {
			return false
		}
	}
	return true
}

// closeOffer ends the offer and makes what was deferred pending. It reports whether anything was.
func (p *pending) closeOffer() (deferred bool) {
	p.offering, p.offered.units, p.offered.own = false, nil, marks{}
	if all := p.deferred.all; !all.empty() {
		p.all(all.trigger, true, all.first)
		deferred = true
	}
	if !p.deferred.own.empty() {
		p.own.merge(&p.deferred.own)
		deferred = true
	}
	p.deferred.all, p.deferred.own = marks{}, marks{}
	return deferred
}

// quiet reports whether nothing is pending that batches up to the one with that Seq do not carry. A batch on offer with that Seq
// was taken. A unit that never becomes quiet does not count after maxWait, since what waits for it would wait for ever.
func (p *pending) quiet(seq uint64) bool {
	if p.offering && seq < p.next || seq < p.seq || !p.own.empty() || !p.deferred.all.empty() || !p.deferred.own.empty() {
		return false
	}
	for _, u := range p.units {
		if !p.isNoisy(u) {
			return false
		}
	}
	return true
}
