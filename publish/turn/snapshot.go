package turn

import (
	"bufio"
	"slices"
	"sync"

	"pannier"
	"pannier/publish/prompt"
	"pannier/service"
)

// snapshotTurns is what the answers to all turns about one snapshot have in common, made when it is first asked for.
// What a turn names is a handful of skills, what is automatically available can be a thousand; so the latter is resolved
// and encoded once, and an answer is put together of both.
type snapshotTurns struct {
	resolve  func(*pannier.Snapshot, pannier.Turn) pannier.Resolution
	permit   func(*pannier.Snapshot, *pannier.RuntimeTool) *pannier.ToolError
	snapshot *pannier.Snapshot
	sections *prompt.Renderer
	used     *service.Activity

	mu        sync.Mutex
	automatic map[string]*automaticSkills // by the runtime of the turn
}

// maxRuntimes bounds the runtimes that something is kept for. An agent has one.
const maxRuntimes = 16

// automaticSkills are those that are automatically available in a runtime, in the order of a turn that ranks nothing.
type automaticSkills struct {
	active          []pannier.ActiveSkill
	places          map[string]int // in active, by slug
	lookedUp        *prompt.Looked
	skills, without keptList
	tools           []keptTool
	uses            []*service.Use     // of active
	recorded        []pannier.TurnTool // the first of without, as events record them
}

// keptTool is a tool with its JSON but for what follows from permissions, scans and the runner, which change no
// snapshot.
type keptTool struct {
	*pannier.RuntimeTool
	text []byte
}

// automaticIn may be made by several callers at once, of whom one's stays.
func (t *snapshotTurns) automaticIn(runtime string) *automaticSkills {
	t.mu.Lock()
	kept := t.automatic[runtime]
	t.mu.Unlock()
	if kept != nil {
		return kept
	}
	r := t.resolve(t.snapshot, pannier.Turn{Runtime: runtime})
	made := &automaticSkills{
		active: r.Active, places: make(map[string]int, len(r.Active)), lookedUp: t.sections.Look(r.Active),
	}
	uses := t.used.Of(t.snapshot)
	for i := range r.Active {
		made.places[r.Active[i].Slug] = i
		if e, ok := t.snapshot.Lookup(r.Active[i].Slug); ok {
			made.uses = append(made.uses, uses.Of(e))
		}
		made.skills.add(r.Active[i].Slug, func(dst []byte) []byte { return appendActive(dst, &r.Active[i]) })
	}
	for i := range r.Tools {
		tool := &r.Tools[i].RuntimeTool
		made.tools = append(made.tools, keptTool{tool, appendJSON(nil, tool)})
	}
	for i := range r.ExcludedTools {
		made.without.add(
			r.ExcludedTools[i].Skill, func(dst []byte) []byte { return appendJSON(dst, &r.ExcludedTools[i]) },
		)
	}
	made.recorded = recordedTools(r.ExcludedTools)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.automatic == nil || len(t.automatic) >= maxRuntimes {
		t.automatic = map[string]*automaticSkills{}
	}
	t.automatic[runtime] = made
	return made
}

func (a *automaticSkills) has(slug string) bool {
	_, ok := a.places[slug]
	return ok
}

// keptList is a list that is encoded: of each item a comma and its JSON. They are ordered by the slugs that they
// belong to.
type keptList struct {
	slugs []string
	text  []byte
	ends  []int
}

func (l *keptList) add(slug string, encode func([]byte) []byte) {
	l.text = encode(append(l.text, ','))
	l.slugs, l.ends = append(l.slugs, slug), append(l.ends, len(l.text))
}

// span returns the JSON of the items in a range, with a comma before each.
func (l *keptList) span(from, to int) []byte {
	if from >= to {
		return nil
	}
	begin := 0
	if from > 0 {
		begin = l.ends[from-1]
	}
	return l.text[begin:l.ends[to-1]]
}

// rest appends the spans of those that are not named to spans.
func (a *automaticSkills) rest(named []pannier.ActiveSkill, spans []prompt.Span) []prompt.Span {
	var skip []int
	for i := range named {
		if at, ok := a.places[named[i].Slug]; ok {
			skip = append(skip, at)
		}
	}
	slices.Sort(skip)
	from := 0
	for _, at := range append(skip, len(a.active)) {
		if from < at {
			spans = append(spans, prompt.Span{From: from, To: at})
		}
		from = at + 1
	}
	return spans
}

// Answer is one answer to a turn, in memory that a later one takes over.
type Answer struct {
	// Resolution has of Active those that are named or ranked by the turn, and of the tools those that are not of
	// automatic.
	pannier.Resolution
	section prompt.Section
	// snapshot is the one that the answer is of, read the bodies that the prompt shows.
	snapshot *pannier.Snapshot
	read     []readBody
	permit   func(*pannier.RuntimeTool) *pannier.ToolError
	// The skills of Active are followed by those spans of automatic; nil if nothing is cached.
	automatic *automaticSkills
	spans     []prompt.Span

	turns    *Turns        // that it is released to
	body     []byte        // of JSON and PromptJSON
	buffered *bufio.Writer // between the text and the client; nil before the first
}

func (a *Answer) active() prompt.Active {
	active := prompt.Active{Named: a.Active, Spans: a.spans}
	if a.automatic != nil {
		active.Rest = a.automatic.lookedUp
	}
	return active
}

// resolve fills in which skills are active. It is what the resolver says of the snapshot itself: what is automatic in a
// runtime, with its tools, depends on nothing else in a turn, but that a skill with another way in is not told twice.
func (a *Answer) resolve(t *snapshotTurns, turn pannier.Turn) {
	a.automatic, a.spans = nil, a.spans[:0]
	a.permit = func(tool *pannier.RuntimeTool) *pannier.ToolError { return t.permit(t.snapshot, tool) }
	turn.NamedOnly = !turn.Verbose
	a.Resolution = t.resolve(t.snapshot, turn)
	for i := range a.Tools {
		tool := &a.Tools[i]
		tool.Why = a.permit(&tool.RuntimeTool)
		tool.Callable = tool.Why == nil
	}
	if turn.Verbose { // which few ask for, and no agent at each turn
		return
	}
	a.automatic = t.automaticIn(turn.Runtime)
	a.spans = a.automatic.rest(a.Active, a.spans)
	a.Tools = slices.DeleteFunc(a.Tools, func(t pannier.ListedTool) bool { return a.automatic.has(t.Skill) })
	a.ExcludedTools = slices.DeleteFunc(
		a.ExcludedTools, func(t pannier.ExcludedTool) bool { return a.automatic.has(t.Skill) },
	)
}

// maxSpareBytes bounds the body that is kept for the next answer.
const maxSpareBytes = 8 << 20

// Release takes back the memory of an answer, and of what it was encoded as. Nothing of a snapshot outlives it there.
func (a *Answer) Release() {
	kept := Answer{turns: a.turns}
	if cap(a.body) <= maxSpareBytes {
		a.section.Empty()
		clear(a.read)
		if a.buffered != nil {
			a.buffered.Reset(nil)
		}
		kept.section, kept.body, kept.buffered, kept.spans, kept.read = a.section, a.body[:0], a.buffered, a.spans[:0], a.read[:0]
	}
	*a = kept
	a.turns.spare.Put(a)
}
