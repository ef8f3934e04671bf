package prompt

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"pannier"
)

// Budget bounds a section. The zero value bounds nothing.
type Budget struct {
	// MaxChars counts code points, MaxTokens estimated tokens; 0 bounds nothing.
	MaxChars, MaxTokens int
}

func (b Budget) allows(s size) bool {
	return (b.MaxChars <= 0 || s.chars <= b.MaxChars) && (b.MaxTokens <= 0 || s.tokens() <= b.MaxTokens)
}

// part returns a share of a budget, in percent.
func (b Budget) part(percent int) Budget {
	share := func(n int) int {
		if n <= 0 {
			return n
		}
		return max(1, n*percent/100)
	}
	return Budget{share(b.MaxChars), share(b.MaxTokens)}
}

// room returns how many more ASCII characters a budget has room for.
func (b Budget) room(used size) int {
	room := math.MaxInt
	if b.MaxChars > 0 {
		room = b.MaxChars - used.chars
	}
	if b.MaxTokens > 0 {
		room = min(room, 4*(b.MaxTokens-used.wide)-(used.chars-used.wide))
	}
	return room
}

// size is the size of a text: its code points, and how many of them are not ASCII.
type size struct{ chars, wide int }

func sizeOf(text string) size {
	chars, wide := count(text)
	return size{chars, wide}
}

func (s size) plus(others ...size) size {
	for _, o := range others {
		s.chars, s.wide = s.chars+o.chars, s.wide+o.wide
	}
	return s
}

// tokens is about how many tokens a model reads a text as: one for each four ASCII characters, and one for each other one.
func (s size) tokens() int { return (s.chars-s.wide+3)/4 + s.wide }

// The order in which a section that cannot show everything spends its budget: the names of all offered skills in one line, in the
// order of config.yaml and so the same from turn to turn, with at most namesPercent of it; a line that says how to find more; the
// bodies of those that the turn is about, each with at most half of what is left, in a format with bodies; their descriptions, with
// at most likelyPercent of what is left; the descriptions of the others, cut at a word, as evenly as there is room; and where all
// descriptions are whole, other bodies, in the order of the resolution.
const (
	namesPercent  = 75
	likelyPercent = 70
	// leastCut is the least of a description that is cut, in code points, mostCut the most for one that the turn is about.
	leastCut, mostCut = 48, 160
)

// layout is how a format writes a section.
type layout struct {
	begin, end string
	// around returns what stands before and after end and is chosen by what is used already, and whether it is complete; nil is nothing.
	around func(used size) (before, after string, complete bool)
	// full returns everything that the format shows of a skill.
	full func(item) *block
	// lean returns the same without links and examples; nil for a format without them.
	lean func(item) *block
	// described returns a skill with a description and without a body.
	described func(e item, description string) string
	// group is what names in one line have in common, such as the directory that they lie in; nil groups by tags. name is one of them.
	group, name *form
	// names writes the lines with the names, one for each group, and what to do with them.
	names func(lines string) string
	// least is the whole section where there is no room for a single name.
	least string
	// most is how many skills are described at most; 0 bounds nothing.
	most int
	// order is that of the entries where everything is shown; nil is that of config.yaml, then by slug.
	order func() []int
}

// write writes a section: everything of every skill, or what the budget has room for.
func (r *Renderer) write(into *Section, l layout) {
	if len(into.items) == 0 {
		return
	}
	used := sizeOf(l.begin).plus(sizeOf(l.end))
	fits := l.most == 0 || len(into.items) <= l.most
	for i := 0; i < len(into.items) && fits; i++ {
		used = used.plus(l.full(into.items[i]).size)
		fits = into.budget.allows(used)
	}
	before, after := "", ""
	if fits && l.around != nil {
		before, after, fits = l.around(used)
	}
	if !fits {
		r.shorten(into, l)
		return
	}
	into.add(l.begin)
	order := l.order
	if order == nil {
		order = r.kept.ranks
	}
	for _, e := range r.stable(into, order()) {
		into.add(l.full(e).text)
		into.show(e, whole)
	}
	into.add(before + l.end + after)
}

// stable returns the items in an order that does not depend on the turn: those that are offered without being named in an order of the
// entries; then the others, in the order of the resolution.
func (r *Renderer) stable(into *Section, order []int) []item {
	places := make([]int32, r.kept.entries) // of an entry among the items, and 1
	for i, e := range into.items {
		if e.Automatic() {
			places[e.index] = int32(i) + 1
		}
	}
	into.ordered = into.ordered[:0]
	for _, index := range order {
		if at := places[index]; at > 0 {
			into.ordered = append(into.ordered, into.items[at-1])
		}
	}
	for _, e := range into.items {
		if places[e.index] == 0 {
			into.ordered = append(into.ordered, e)
		}
	}
	return into.ordered
}

// shorten writes a section within a budget that has no room for everything.
func (r *Renderer) shorten(into *Section, l layout) {
	w := spending{r: r, Section: into, layout: l, used: sizeOf(l.begin).plus(sizeOf(l.end))}
	w.done, w.places = make([]bool, len(into.items)), make([]int, len(into.items))
	named := ""
	reserved := w.used // for what has to be named, before names of others
	for _, e := range into.items {
		if !e.Automatic() || e.explicit {
			if more := reserved.plus(sizeOf(l.described(e, ""))); into.budget.part(namesPercent).allows(more) {
				reserved = more
			}
		}
	}
	groups := r.groups(into, l, w.used)
	if lines, listed := r.nameLines(into, l, reserved, groups); len(listed) > 0 {
		named = l.names(lines)
		w.used = w.used.plus(sizeOf(named))
		for _, e := range listed {
			into.show(e, nameOnly)
		}
	}
	before, after := "", ""
	if l.around != nil {
		before, after, _ = l.around(w.used)
		w.used = w.used.plus(sizeOf(before), sizeOf(after))
	}
	w.showBodies()
	w.describeLikely()
	if named != "" || l.least == "" { // else nothing says that there are more than these
		w.describeOthers()
		w.fillWithBodies()
	}
	if named == "" && len(w.texts) == 0 {
		if l.least != "" && into.budget.allows(sizeOf(l.least)) {
			into.add(l.least)
		}
		return
	}
	into.add(l.begin)
	into.add(named)
	into.Parts = append(into.Parts, w.texts...)
	into.add(before + l.end + after)
}

// spending is what a budget has been spent on.
type spending struct {
	r *Renderer
	*Section
	layout

	used   size
	texts  []string
	places []int  // of an item among the texts, and 1
	done   []bool // the items that need nothing more
	left   int    // items that are not described whole
}

func (w *spending) put(e item, text string, s size, as level) {
	w.used = w.used.plus(s)
	w.texts = append(w.texts, text)
	w.places[e.place] = len(w.texts)
	w.done[e.place] = true
	w.show(e, as)
}

// isFull reports whether the format shows no more skills.
func (w *spending) isFull() bool { return w.most > 0 && len(w.texts) == w.most }

// showBodies shows whole skills that the turn is about, each in at most half of what is left.
func (w *spending) showBodies() {
	for _, e := range w.items {
		if !e.likely || w.lean == nil || w.isFull() {
			continue
		}
		half := w.budget.room(w.used) / 2
		fits := func(b *block) bool { return b.size.tokens() <= half/4 && w.budget.allows(w.used.plus(b.size)) }
		if b := w.full(e); fits(b) {
			w.put(e, b.text, b.size, whole)
		} else if b := w.lean(e); fits(b) {
			w.put(e, b.text, b.size, withoutResources)
		}
	}
}

// describeLikely describes what the turn is about: whole, and cut where that has had its part of what was left.
func (w *spending) describeLikely() {
	rest := w.budget.room(w.used)
	for _, e := range w.items {
		if w.done[e.place] {
			continue
		}
		description := w.r.block(aboutSkill, e).text
		if w.shown[e.place] == nameOnly && description == "" { // its name says all there is
			w.show(e, described)
			w.done[e.place] = true
			continue
		}
		if w.left++; !e.likely || w.isFull() {
			continue
		}
		text := w.described(e, description)
		s := sizeOf(text)
		if spent := rest - w.budget.room(w.used.plus(s)); w.budget.allows(w.used.plus(s)) && (len(w.texts) == 0 || spent <= rest*likelyPercent/100) {
			w.put(e, text, s, described)
			w.left--
		} else {
			w.putCut(e, description, mostCut)
		}
	}
}

// describeOthers describes the others in the order of the resolution, cut to equal shares of what is left.
func (w *spending) describeOthers() {
	first := slices.Index(w.done, false)
	if first < 0 {
		return
	}
	empty := sizeOf(w.described(w.items[first], "")).chars
	share := max(leastCut, w.budget.room(w.used)/max(1, w.left)-empty)
	if share > leastCut { // what short descriptions leave is for the long ones
		var sizes []int
		for _, e := range w.items[first:] {
			if !w.done[e.place] {
				sizes = append(sizes, utf8.RuneCountInString(w.r.block(aboutSkill, e).text))
			}
		}
		slices.Sort(sizes)
		room := w.budget.room(w.used) - len(sizes)*empty
		for i, n := range sizes {
			if share = max(leastCut, room/(len(sizes)-i)); n > share {
				break
			}
			room -= n
		}
	}
	for _, e := range w.items[first:] {
		if w.isFull() || w.budget.room(w.used) < empty+8 {
			return
		}
		if w.done[e.place] {
			continue
		}
		description := w.r.block(aboutSkill, e).text
		text := w.described(e, description)
		if s := sizeOf(text); utf8.RuneCountInString(description) <= share && w.budget.allows(w.used.plus(s)) {
			w.put(e, text, s, described)
			w.left--
		} else {
			w.putCut(e, description, share)
		}
	}
}

// fillWithBodies shows bodies in the place of descriptions, where all descriptions are whole and there is room left.
func (w *spending) fillWithBodies() {
	for _, e := range w.items {
		if w.lean == nil || w.left > 0 {
			return
		}
		if w.shown[e.place] != described || e.toolsOnly {
			continue
		}
		b, at := w.full(e), w.places[e.place]-1
		if at < 0 {
			if w.budget.allows(w.used.plus(b.size)) {
				w.put(e, b.text, b.size, whole)
			}
			continue
		}
		before, after := sizeOf(w.texts[at]), w.used.plus(b.size)
		after.chars, after.wide = after.chars-before.chars, after.wide-before.wide
		if w.budget.allows(after) {
			w.used, w.texts[at] = after, b.text
			w.show(e, whole)
		}
	}
}

// putCut shows a skill with the beginning of its description, at most so many code points, if there is room for some of it.
func (w *spending) putCut(e item, description string, most int) {
	for ; most >= leastCut/2; most = most * 2 / 3 {
		beginning := cutAtWord(description, most)
		text := w.described(e, beginning)
		if s := sizeOf(text); !w.budget.allows(w.used.plus(s)) {
			continue
		} else if beginning == description {
			w.put(e, text, s, described)
			w.left--
		} else {
			w.put(e, text, s, cutShort)
		}
		return
	}
}

// cutAtWord returns the beginning of a text with at most so many code points, the last of which says that more follows.
func cutAtWord(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	end := 0
	for i := range text {
		if most--; most == 0 {
			end = i
			break
		}
	}
	cut := text[:end]
	if i := strings.LastIndexByte(cut, ' '); i > len(cut)/2 {
		cut = cut[:i]
	}
	return strings.TrimRight(cut, " ,;:.–—-(") + "…"
}

// nameLines returns the names of the skills, one line for each group, as far as their part of the budget goes, and whose they are. Those
// that are offered without being named come first, so the beginning depends on nothing else of the turn.
func (r *Renderer) nameLines(into *Section, l layout, used size, label func(item) string) (string, []item) {
	budget := into.budget.part(namesPercent)
	used = used.plus(sizeOf(l.names("")))
	type group struct {
		label string
		names []string
	}
	var groups []*group
	var listed []item
	for _, e := range r.stable(into, r.kept.ranks()) {
		label, name := label(e), r.block(l.name, e)
		at := slices.IndexFunc(groups, func(g *group) bool { return g.label == label })
		cost := name.size.plus(size{chars: len(", ")})
		if at < 0 {
			cost = cost.plus(sizeOf(label), size{chars: len("\n")})
		}
		if used = used.plus(cost); !budget.allows(used) {
			break
		}
		if at < 0 {
			groups, at = append(groups, &group{label: label}), len(groups)
		}
		groups[at].names = append(groups[at].names, name.text)
		listed = append(listed, e)
	}
	if i := slices.IndexFunc(groups, func(g *group) bool { return g.label == otherTags }); i >= 0 {
		other := groups[i]
		groups = append(slices.Delete(groups, i, i+1), other)
	}
	var lines strings.Builder
	for _, g := range groups {
		lines.WriteString(g.label + strings.Join(g.names, ", ") + "\n")
	}
	return lines.String(), listed
}

// otherTags is the label of skills that have no tag in common, which are in the last line.
const otherTags = "other: "

// groups returns the label of the line that a skill is named in. Skills are grouped by tags only if there is room for the labels and the
// names of all that are offered, so that a line is not moved by the turn.
func (r *Renderer) groups(into *Section, l layout, used size) func(item) string {
	if l.group != nil {
		return func(e item) string { return r.block(l.group, e).text }
	}
	oneLine := func(item) string { return "" }
	tags := r.kept.tags()
	if tags == nil {
		return oneLine
	}
	byTag := func(e item) string {
		if tag := tags[e.index]; tag != "" && e.Automatic() {
			return tag + ": "
		}
		return otherTags
	}
	offered := 0
	for _, e := range into.items {
		if e.Automatic() {
			offered++
		}
	}
	if _, listed := r.nameLines(into, l, used, byTag); len(listed) < offered {
		return oneLine
	}
	return byTag
}

// A tag groups names if at least leastTagged skills have it, and not more than half of all.
const leastTagged, maxTagBytes, maxTags = 3, 32, 16

// tagsOf returns for each entry of a snapshot the tag that its name is grouped by, the most common of those that group; nil if no more
// than half of the offered skills have one. Tags are as a slug is, so that none reads like a part of the prompt.
func tagsOf(s *pannier.Snapshot) []string {
	have, offered := map[string]int{}, 0
	own := make([][]string, len(s.Entries))
	for i, e := range s.Entries {
		if !e.Automatic() {
			continue
		}
		offered++
		for _, tag := range e.Tags[:min(len(e.Tags), maxTags)] {
			if tag = pannier.Slugify(tag); tag != "" && len(tag) <= maxTagBytes && !slices.Contains(own[i], tag) {
				own[i] = append(own[i], tag)
				have[tag]++
			}
		}
	}
	tags, grouped := make([]string, len(s.Entries)), 0
	for i := range own {
		for _, tag := range own[i] {
			if n, best := have[tag], have[tags[i]]; n >= leastTagged && n <= offered/2 && (n > best || n == best && tag < tags[i]) {
				tags[i] = tag
			}
		}
		if tags[i] != "" {
			grouped++
		}
	}
	if grouped <= offered/2 {
		return nil
	}
	return tags
}

// The names of formats that list slugs, and the label of a format that names all skills in one line.
var (
	noGroup       = newForm(func(*Renderer, *pannier.Entry) string { return "" })
	slugName      = newForm(func(_ *Renderer, e *pannier.Entry) string { return e.Slug })
	qualifiedName = newForm(func(_ *Renderer, e *pannier.Entry) string { return e.Qualified() })
)

// aboutSkill is what a skill says of itself, on one line: its description, and what calls for it.
var aboutSkill = newForm(func(_ *Renderer, e *pannier.Entry) string { return aboutEntry(e) })

func aboutEntry(e *pannier.Entry) string {
	var triggers []string
	for _, text := range e.Triggers {
		if text = fold(text); text != "" {
			triggers = append(triggers, text)
		}
	}
	text := fold(e.Description)
	if len(triggers) > 0 {
		text = strings.TrimPrefix(text+" Triggers: "+strings.Join(triggers, ", "), " ")
	}
	return text
}
