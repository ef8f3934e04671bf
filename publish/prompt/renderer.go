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

	available, reference        memo
	openClawFull, openClawShort memo
	nameRanks                   func() []int
}

// NewRenderer returns a renderer. workspace is the workspace as the agent sees it, for locations.
func NewRenderer(s *pannier.Snapshot, workspace string) *Renderer {
	n := len(s.Entries)
	return &Renderer{
		snapshot: s, workspace: workspace,
		available: make(memo, n), reference: make(memo, n), openClawFull: make(memo, n), openClawShort: make(memo, n),
		nameRanks: sync.OnceValue(func() []int { return rankNames(s) }),
	}
}

// Render makes into what [Render] returns, to the byte. format is one of [Formats], or empty for the default; maxChars is
// [Options.MaxChars].
func (r *Renderer) Render(resolution pannier.Resolution, bodies map[string]string, format string, maxChars int, into *Section) {
	into.Empty()
	into.Format = cmp.Or(format, AvailableSkills)
	into.maxChars = maxChars
	r.items(resolution.Active, into)
	switch into.Format {
	case AvailableSkillsReference:
		r.availableSkillsReference(into)
	case OpenClaw:
		r.openClaw(into)
	case Molecule:
		molecule(bodies, into)
	case MoleculeSystem:
		moleculeSystem(r.snapshot.Workspace.Prompts, bodies, into)
	default:
		r.availableSkills(into)
	}
	into.omit()
}

// items looks up what is active. Most of it stands in the order of the snapshot, so the entry behind the last one is
// tried before all others.
func (r *Renderer) items(active []pannier.ActiveSkill, into *Section) {
	entries := r.snapshot.Entries
	into.items = slices.Grow(into.items, len(active))
	next := 0
	for i := range active {
		a := &active[i]
		if !r.owns(next, a.Slug) {
			at, ok := slices.BinarySearchFunc(entries, a.Slug, func(e pannier.Entry, slug string) int { return strings.Compare(e.Slug, slug) })
			if !ok {
				continue
			}
			next = at
		}
		if !entries[next].ToolsOnly { // which has nothing to read
			into.items = append(into.items, item{&entries[next], int32(next), int32(len(into.items)), a.Reason == pannier.ViaImplicit})
		}
		next++
	}
	into.shown = append(into.shown, make([]bool, len(into.items))...)
}

// owns reports whether an entry is the first one that has a slug, and so the one that owns it.
func (r *Renderer) owns(i int, slug string) bool {
	entries := r.snapshot.Entries
	return i < len(entries) && entries[i].Slug == slug && (i == 0 || entries[i-1].Slug != slug)
}

// block is what a format says of one skill.
type block struct {
	text string
	size int // in code points
}

// memo holds a block for each entry that one was asked for of. Callers that ask at once may each make it; all of them
// make the same.
type memo []atomic.Pointer[block]

// of returns the block of an item, and makes it where nobody has asked yet.
func (m memo) of(e item, write func(*pannier.Entry) string) *block {
	if b := m[e.index].Load(); b != nil {
		return b
	}
	text := write(e.Entry)
	b := &block{text, runes(text)}
	m[e.index].Store(b)
	return b
}

// rankNames returns for each entry how many stand before it where all are ordered by what they are called, then by slug,
// both in bytes.
func rankNames(s *pannier.Snapshot) []int {
	names := make([]string, len(s.Entries))
	order := make([]int, len(s.Entries))
	for i := range s.Entries {
		names[i], order[i] = displayName(&s.Entries[i]), i
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
