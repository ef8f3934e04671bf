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
	kept      *blocks
}

// Texts are what was read of skills for one section, by slug.
type Texts struct {
	Bodies map[string]string
	// Unread are the skills whose bodies could not be read. Of others without a body none was asked for.
	Unread map[string]bool
	// Resources are links and examples, for the formats that show bodies.
	Resources map[string]pannier.Resources
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

// Active is what is active in a turn: some skills, then spans of others that were looked up before.
type Active struct {
	Named []pannier.ActiveSkill
	Rest  *Looked
	Spans []Span
}

// Span is a range of skills that stand together.
type Span struct{ From, To int }

// RenderActive makes into the section of what is active. format is one of [Formats], or empty for the default.
func (r *Renderer) RenderActive(active Active, texts Texts, format string, budget Budget, into *Section) {
	into.Empty()
	f := formatNamed(format)
	into.Format = f.name
	into.budget = budget
	size := len(active.Named)
	for _, s := range active.Spans {
		size += s.To - s.From
	}
	into.items = r.items(active.Named, slices.Grow(into.items, size))
	for _, s := range active.Spans {
		into.items = append(into.items, active.Rest.items[s.From:s.To]...)
	}
	into.items = slices.DeleteFunc(into.items, func(e item) bool { return e.Entry == nil }) // the snapshot has it no more
	for i := range into.items {
		into.items[i].place = int32(i)
	}
	into.shown = append(into.shown, make([]level, len(into.items))...)
	f.render(r, texts, into)
	for i, e := range into.items { // in the order of the resolution
		short := pannier.Shortened{Slug: e.slug, Why: pannier.ShortenedByLimit}
		if f.needsBodies == allBodies && into.shown[i] >= withoutResources && !e.toolsOnly {
			if !texts.has(e) {
				into.shown[i] = described
			} else if into.Bodies = append(into.Bodies, e.slug); texts.Resources[e.slug].Incomplete {
				into.shown[i] = withoutResources
			}
		}
		switch into.shown[i] {
		case absent:
			into.Omitted = append(into.Omitted, e.slug)
			continue
		case nameOnly:
			short.LeftOut = pannier.LeftOutDescription
		case cutShort:
			short.LeftOut = pannier.LeftOutDescriptionEnd
		case described:
			if f.needsBodies == noBodies || e.toolsOnly || f.needsBodies == pathBodies && !e.byPath {
				continue
			}
			short.LeftOut = pannier.LeftOutBody
			if texts.Unread[e.slug] {
				short.Why = pannier.ShortenedUnread
			}
		case withoutResources:
			short.LeftOut = pannier.LeftOutResources
			if texts.Resources[e.slug].Incomplete {
				short.Why = pannier.ShortenedUnread
			}
		case whole:
			continue
		}
		into.Shortened = append(into.Shortened, short)
	}
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
			likely: a.Reason != pannier.ViaImplicit || a.Relevance != nil, byPath: a.Reason == pannier.ViaPath, explicit: a.Reason == pannier.ViaCapability || a.Reason == pannier.ViaReference, toolsOnly: e.ToolsOnly,
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
	size size
}

func newBlock(text string) *block { return &block{text, sizeOf(text)} }

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
	entries int
	forms   []atomic.Pointer[[]atomic.Pointer[block]] // by the index of a form
	// ranks are the entries in the order of config.yaml, names by what they are called, slugs by slug; equal ones by slug.
	ranks, names, slugs func() []int
	tags                func() []string // see tagsOf
}

func newBlocks(s *pannier.Snapshot) *blocks {
	return &blocks{
		entries: len(s.Entries), forms: make([]atomic.Pointer[[]atomic.Pointer[block]], forms),
		ranks: sync.OnceValue(func() []int {
			return entriesBy(s, func(a, b *pannier.Entry) int { return cmp.Compare(a.Rank, b.Rank) })
		}),
		tags:  sync.OnceValue(func() []string { return tagsOf(s) }),
		slugs: sync.OnceValue(func() []int { return entriesBy(s, func(*pannier.Entry, *pannier.Entry) int { return 0 }) }),
		names: sync.OnceValue(func() []int {
			return entriesBy(s, func(a, b *pannier.Entry) int { return cmp.Compare(displayName(a), displayName(b)) })
		}),
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
	b := newBlock(f.write(r, e.Entry))
	slot.Store(b)
	return b
}

// entriesBy returns the entries of a snapshot in an order, equal ones by slug.
func entriesBy(s *pannier.Snapshot, compare func(a, b *pannier.Entry) int) []int {
	order := make([]int, len(s.Entries))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return compare(s.Entries[a], s.Entries[b]) })
	return order
}
