package prompt

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"pannier"
)

// Renderer renders what is active of one snapshot, turn after turn, for any number of callers at once. What a format says
// of a skill is the same in each turn, so it is made when it is first asked for and kept as long as the renderer is: at
// most one block for each skill and form of it. Bodies are never kept.
type Renderer struct {
	snapshot  *pannier.Snapshot
	workspace string
	peers     []pannier.Peer
	resources map[string]pannier.Resources // by slug
	kept      *blocks
}

// NewRenderer returns a renderer. workspace is the workspace as the agent sees it, for locations.
func NewRenderer(s *pannier.Snapshot, workspace string) *Renderer {
	return &Renderer{snapshot: s, workspace: workspace, kept: newBlocks(s)}
}

// WithPeers returns the renderer with peers to tell of, which come and go without the snapshot. It costs next to nothing:
// both keep the same blocks.
func (r *Renderer) WithPeers(peers []pannier.Peer) *Renderer {
	with := *r
	with.peers = peers
	return &with
}

// WithResources returns the renderer with the resources of skills by slug, for the formats that show bodies. It costs next to
// nothing, as [Renderer.WithPeers] does.
func (r *Renderer) WithResources(resources map[string]pannier.Resources) *Renderer {
	with := *r
	with.resources = resources
	return &with
}

// Active is what is active in a turn: some skills, then spans of others that were looked up before.
type Active struct {
	Named []pannier.ActiveSkill
	Rest  *Looked
	Spans []Span
}

// Span is a range of skills that stand together.
type Span struct{ From, To int }

// RenderActive makes into the section of what is active. format is one of [Formats], or empty for the default; maxChars is the
// limit in code points, 0 for none.
func (r *Renderer) RenderActive(active Active, bodies map[string]string, format string, maxChars int, into *Section) {
	into.Empty()
	f := formatNamed(format)
	into.Format = f.name
	into.maxChars = maxChars
	into.items = r.items(active.Named, slices.Grow(into.items, active.count()))
	for _, s := range active.Spans {
		into.items = append(into.items, active.Rest.items[s.From:s.To]...)
	}
	into.items = slices.DeleteFunc(into.items, item.missing)
	for i := range into.items {
		into.items[i].place = int32(i)
	}
	into.shown = append(into.shown, make([]bool, len(into.items))...)
	f.render(r, bodies, into)
	for i := range into.items { // in the order of the resolution
		if !into.shown[i] {
			into.Omitted = append(into.Omitted, into.items[i].slug)
		}
	}
}

func (a Active) count() int {
	n := len(a.Named)
	for _, s := range a.Spans {
		n += s.To - s.From
	}
	return n
}

// Looked are skills that a renderer has looked up. They are for any renderer of the same snapshot.
type Looked struct{ items []item }

// Look looks skills up.
func (r *Renderer) Look(active []pannier.ActiveSkill) *Looked { return &Looked{r.items(active, nil)} }

// items appends what is active, one for one. Most of it stands in the order of the snapshot, so the entry behind the last
// one is tried before all others.
func (r *Renderer) items(active []pannier.ActiveSkill, items []item) []item {
	entries := r.snapshot.Entries
	next := 0
	for i := range active {
		a := &active[i]
		if !r.owns(next, a.Slug) {
			at, ok := slices.BinarySearchFunc(entries, a.Slug, func(e *pannier.Entry, slug string) int { return strings.Compare(e.Slug, slug) })
			if !ok {
				items = append(items, item{slug: a.Slug})
				continue
			}
			next = at
		}
		e := entries[next]
		items = append(items, item{
			Entry: e, slug: e.Slug, index: int32(next),
			implicit: a.Reason == pannier.ViaImplicit, byPath: a.Reason == pannier.ViaPath, toolsOnly: e.ToolsOnly,
		})
		next++
	}
	return items
}

// owns reports whether an entry is the first one that has a slug, and so the one that owns it.
func (r *Renderer) owns(i int, slug string) bool {
	entries := r.snapshot.Entries
	return i < len(entries) && entries[i].Slug == slug && (i == 0 || entries[i-1].Slug != slug)
}

type block struct {
	text string
	size int // in code points
}

// form is one text about a skill that a format uses, such as its element without a description.
type form struct {
	index int
	write func(*Renderer, *pannier.Entry) string
}

// forms counts the forms. They are declared as variables of the package, so it is complete before the first renderer exists.
var forms int

func newForm(write func(*Renderer, *pannier.Entry) string) *form {
	forms++
	return &form{forms - 1, write}
}

// blocks are kept for one snapshot. Each form has one for each entry, once the form is first asked for.
type blocks struct {
	entries   int
	forms     []atomic.Pointer[[]atomic.Pointer[block]] // by the index of a form
	nameRanks func() []int
}

func newBlocks(s *pannier.Snapshot) *blocks {
	return &blocks{
		entries: len(s.Entries), forms: make([]atomic.Pointer[[]atomic.Pointer[block]], forms),
		nameRanks: sync.OnceValue(func() []int { return rankNames(s) }),
	}
}

// block returns a form of an item, and caches it. Concurrent first calls may each write it; they write the same text.
func (r *Renderer) block(f *form, e item) *block {
	cached := r.kept.forms[f.index].Load()
	if cached == nil {
		fresh := make([]atomic.Pointer[block], r.kept.entries)
		r.kept.forms[f.index].CompareAndSwap(nil, &fresh)
		cached = r.kept.forms[f.index].Load()
	}
	slot := &(*cached)[e.index]
	if b := slot.Load(); b != nil {
		return b
	}
	text := f.write(r, e.Entry)
	b := &block{text, runes(text)}
	slot.Store(b)
	return b
}

// list adds a form of those items that fit, and returns what is used then.
func (r *Renderer) list(into *Section, f *form, used int) int {
	for i, e := range into.items {
		if b := r.block(f, e); into.fits(used + b.size) {
			used += b.size
			into.shown[i] = true
			into.add(b.text)
		}
	}
	return used
}

// rankNames returns for each entry how many stand before it where all are ordered by what they are called, then by slug,
// both in bytes.
func rankNames(s *pannier.Snapshot) []int {
	names := make([]string, len(s.Entries))
	order := make([]int, len(s.Entries))
	for i := range s.Entries {
		names[i], order[i] = displayName(s.Entries[i]), i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(names[a], names[b]), cmp.Compare(s.Entries[a].Slug, s.Entries[b].Slug))
	})
	ranks := make([]int, len(order))
	for rank, i := range order {
		ranks[i] = rank
	}
	return ranks
}
