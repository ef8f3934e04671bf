package api

import (
	"cmp"
	"slices"
	"sync"

	"pannier"
	"pannier/publish/prompt"
)

// turns is what the answers to all turns about one snapshot have in common, made when it is first asked for. What a turn
// names is a handful of skills, what is automatically available can be a thousand; so the latter is resolved and encoded
// once, and an answer is put together of both.
type turns struct {
	resolve  func(*pannier.Snapshot, pannier.Turn) pannier.Resolution
	snapshot *pannier.Snapshot
	sections *prompt.Renderer
	// onlyNamed is the snapshot with nothing that is automatically available: what is active in it is what the turn names.
	onlyNamed func() *pannier.Snapshot

	mu        sync.Mutex
	automatic map[string]*automatic // by the runtime of the turn
}

// maxRuntimes bounds the runtimes that something is kept for. An agent has one.
const maxRuntimes = 16

func newTurns(s *pannier.Snapshot, o Options) *turns {
	return &turns{
		resolve: o.Resolve, snapshot: s, sections: prompt.NewRenderer(s, o.AgentWorkspace),
		onlyNamed: sync.OnceValue(func() *pannier.Snapshot { return withoutAutomatic(s) }),
	}
}

func withoutAutomatic(s *pannier.Snapshot) *pannier.Snapshot {
	named := *s
	named.Entries = slices.Clone(s.Entries)
	for i := range named.Entries {
		named.Entries[i].Policy.AllowImplicit = false
	}
	return &named
}

// automatic is what is automatically available in a runtime, ordered by slug.
type automatic struct {
	active []pannier.ActiveSkill
	// text has of each a comma and its JSON, ends where each ends.
	text []byte
	ends []int
}

// automaticIn may be made by several callers at once, of whom one's stays.
func (t *turns) automaticIn(runtime string) *automatic {
	t.mu.Lock()
	kept := t.automatic[runtime]
	t.mu.Unlock()
	if kept != nil {
		return kept
	}
	made := &automatic{active: t.resolve(t.snapshot, pannier.Turn{Runtime: runtime}).Active}
	for i := range made.active {
		made.text = appendActive(append(made.text, ','), &made.active[i])
		made.ends = append(made.ends, len(made.text))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.automatic == nil || len(t.automatic) >= maxRuntimes {
		t.automatic = map[string]*automatic{}
	}
	t.automatic[runtime] = made
	return made
}

// span is a range of skills that stand together.
type span struct{ from, to int }

// without appends the spans of those that are not named to spans.
func (a *automatic) without(named []pannier.ActiveSkill, spans []span) []span {
	var skip []int
	for i := range named {
		if at, ok := slices.BinarySearchFunc(a.active, named[i].Slug, func(s pannier.ActiveSkill, slug string) int { return cmp.Compare(s.Slug, slug) }); ok {
			skip = append(skip, at)
		}
	}
	slices.Sort(skip)
	from := 0
	for _, at := range append(skip, len(a.active)) {
		if from < at {
			spans = append(spans, span{from, at})
		}
		from = at + 1
	}
	return spans
}

// textOf returns the JSON of a span, with a comma before each.
func (a *automatic) textOf(s span) []byte {
	from := 0
	if s.from > 0 {
		from = a.ends[s.from-1]
	}
	return a.text[from:a.ends[s.to-1]]
}

// turnAnswer is one answer to a turn, in memory that a later one takes over.
type turnAnswer struct {
	pannier.Resolution
	section prompt.Section
	// The skills of Active that are behind named are those spans of automatic.
	named     int
	automatic *automatic
	spans     []span

	active []pannier.ActiveSkill // the memory of Active
	body   []byte
}

// resolve fills in which skills are active. It is what the resolver says of the snapshot itself: what is automatic in a
// runtime depends on nothing else in a turn, but that a skill that is named is not told twice.
func (a *turnAnswer) resolve(t *turns, turn pannier.Turn) {
	a.Resolution = t.resolve(t.onlyNamed(), turn)
	a.named = len(a.Active)
	a.automatic = t.automaticIn(turn.Runtime)
	a.spans = a.automatic.without(a.Active, a.spans[:0])
	a.active = append(a.active[:0], a.Active...)
	for _, s := range a.spans {
		a.active = append(a.active, a.automatic.active[s.from:s.to]...)
	}
	a.Active = a.active
}

// maxSpareBytes bounds the body that is kept for the next answer.
const maxSpareBytes = 8 << 20

// empty drops everything but the memory: nothing of a snapshot outlives it here.
func (a *turnAnswer) empty() {
	clear(a.active)
	if cap(a.body) > maxSpareBytes {
		*a = turnAnswer{}
	}
	a.section.Empty()
	*a = turnAnswer{section: a.section, active: a.active[:0], body: a.body[:0], spans: a.spans[:0]}
}
