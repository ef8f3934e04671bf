package scan

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"regexp"
	"slices"
	"sync"
	"unicode/utf16"
	"unicode/utf8"
)

// hit is something found in a text.
type hit struct {
	code   string
	at     int // in bytes
	line   int // from 1
	detail string
}

// probe looks for one thing in a text. keys are literals of three bytes or more that it begins with, which are much faster to
// find than a pattern is to match; find then judges each place that a key is at.
type probe struct {
	keys []string
	// word says that the key begins a word: none of the letters, digits, _ and - comes before it. anyCase says that upper
	// and lower case are the same.
	word, anyCase bool
	// worth is a cheap look at a place before it is judged, nil where every place is worth that.
	worth func(text []byte, at int) bool
	// cost is what judging a place costs, in units of about ten microseconds; 0 is 1.
	cost int
	// find returns the code of the rule for what stands at a place, and a detail for the message; "" where it is nothing.
	find func(text []byte, at int) (code, detail string)
}

// matcher finds the keys of many probes and chains in one pass, by a hash of their first three bytes.
type matcher struct {
	known  [1 << 10]uint64 // a bit for each hash of a group
	group  [1 << 16]uint16 // an index of groups, plus one
	groups [][]keyed
	chains []chain
}

// keyed is a key and what has it: a probe, or a step of a chain.
type keyed struct {
	key           []byte
	word, anyCase bool
	probe         *probe
	chain, step   int
}

// hash3 hashes three bytes, the first of them the lowest.
func hash3(v uint32) uint32 { return v & 0xffffff * 0x9e3779b1 >> 16 }

func newMatcher(probes []probe, chains []chain) *matcher {
	m := &matcher{chains: chains}
	for _, p := range probes {
		for _, key := range p.keys {
			m.add(keyed{key: []byte(key), word: p.word, anyCase: p.anyCase, probe: &p})
		}
	}
	for i, c := range chains {
		for j, s := range c.steps {
			for _, key := range s.keys {
				m.add(keyed{key: []byte(key), word: s.word, anyCase: s.anyCase, chain: i, step: j})
			}
		}
	}
	return m
}

func (m *matcher) add(k keyed) {
	seen := map[uint32]bool{}
	for n := range 8 { // the cases of the first three bytes
		first := [3]byte(k.key)
		for i := range first {
			if k.anyCase && n>>i&1 != 0 && isLetter(first[i]) {
				first[i] ^= 0x20
			}
		}
		h := hash3(uint32(first[0]) | uint32(first[1])<<8 | uint32(first[2])<<16)
		if seen[h] {
			continue
		}
		seen[h] = true
		m.known[h>>6] |= 1 << (h & 63)
		if m.group[h] == 0 {
			m.groups = append(m.groups, nil)
			m.group[h] = uint16(len(m.groups))
		}
		g := &m.groups[m.group[h]-1]
		*g = append(*g, k)
	}
}

// next returns the first place from one on that a key is at, -1 for none.
func (m *matcher) next(text []byte, from int) int {
	for i := from; i+2 < len(text); i++ {
		h := hash3(uint32(text[i]) | uint32(text[i+1])<<8 | uint32(text[i+2])<<16)
		if m.known[h>>6]&(1<<(h&63)) == 0 {
			continue
		}
		for j := range m.groups[m.group[h]-1] {
			if m.groups[m.group[h]-1][j].isAt(text, i) {
				return i
			}
		}
	}
	return -1
}

func (k *keyed) isAt(text []byte, at int) bool {
	if len(text)-at < len(k.key) || k.word && !beginsWord(text, at) {
		return false
	}
	here := text[at : at+len(k.key)]
	return string(here) == string(k.key) || k.anyCase && bytes.EqualFold(here, k.key)
}

var (
	secretKeys  = newMatcher(secretProbes, nil)
	commandKeys = newMatcher(commandProbes, chains)
)

// budget bounds the work of one scan.
type budget struct {
	// work is how many units of judging are left for all texts.
	work int
	fold []byte // the buffer that texts are folded into
}

// buffers are those of a scan that has ended, for the next one.
type buffers struct{ read, fold []byte }

var spare = sync.Pool{New: func() any { return new(buffers) }}

// maxSpare bounds the buffers that are kept.
const maxSpare = 1 << 20

// The bounds of the work of one scan and of one text. Ordinary texts take a tenth of theirs at most.
const (
	maxWork     = 50_000
	minTextWork = 2000
)

// textWork is how many units of work a text gets: so many, and one for each 128 bytes.
func textWork(text []byte) int { return minTextWork + len(text)/128 }

// search is one search of one text.
type search struct {
	ctx    context.Context
	text   []byte
	hits   []hit
	counts map[string]int // of hits, by code
	asked  int            // how often stop was called
	looks  int            // how often a place was looked at before it was judged
	left   int            // of the work of this text
	over   bool           // not every place was judged, or not every hit kept
}

// looksPerUnit is how many cheap looks at places cost one unit of work.
const looksPerUnit = 16

// spend takes work off what is left, and reports whether there is so much.
func (s *search) spend(units int) bool {
	if s.left < units {
		s.over = true
		return false
	}
	s.left -= units
	return true
}

// maxHits bounds the hits of one rule in one text.
const maxHits = 1000

func (s *search) add(code string, at int, detail string) {
	if s.counts[code]++; s.counts[code] <= maxHits {
		s.hits = append(s.hits, hit{code: code, at: at, detail: detail})
	} else if rules[code].Blocking {
		s.over = true // one of the others may block where these do not
	}
}

// stop reports, every so many places, whether nobody waits any more. A text can be made so that it is slow to search.
func (s *search) stop() bool {
	s.asked++
	return s.asked%64 == 0 && s.ctx.Err() != nil
}

// searchFile returns what is found in a file, by line, and whether all of it was searched. A file that begins as UTF-16 does
// is searched as that, and as the bytes that a shell reads.
func searchFile(ctx context.Context, path string, data []byte, b *budget) (hits []hit, all bool) {
	hits, all = searchText(ctx, path, data, b)
	if text, ok := fromUTF16(data); ok {
		more, allToo := searchText(ctx, path, text, b)
		hits, all = append(more, hits...), all && allToo
		slices.SortStableFunc(hits, byLine)
	}
	return hits, all
}

// searchText returns what is found in a text, by line, as far as it came until ctx was done. Nothing in a file keeps
// commands and secrets from being found: not a NUL, which a shell reads over, nor bytes that are no UTF-8. Characters and
// assignments count in texts only. Commands are searched in the folded text, everything else in the text as it is.
//
// all is false where the bounds on work or on hits were met.
func searchText(ctx context.Context, path string, text []byte, b *budget) (hits []hit, all bool) {
	given := min(textWork(text), b.work)
	s := &search{ctx: ctx, text: text, counts: map[string]int{}, left: given}
	s.match(secretKeys)
	if !isBinary(text) {
		s.assignments()
		s.characters()
	}
	s.hits = slices.DeleteFunc(s.hits, func(h hit) bool { return isSecret(h.code) && isAllowed(text, h.at) })
	s.sort()
	number(s.hits, folded{text: text})

	plain := fold(text, b.fold)
	b.fold = plain.text
	c := &search{ctx: ctx, text: plain.text, counts: map[string]int{}, left: s.left}
	c.match(commandKeys)
	c.sort()
	if len(c.hits) > 0 {
		c.hits = newPassages(path, plain.text).judge(c.hits)
		number(c.hits, plain)
	}
	hits = append(s.hits, c.hits...)
	slices.SortStableFunc(hits, byLine)
	b.work -= given - c.left
	return hits, !s.over && !c.over
}

func byLine(a, b hit) int { return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.code, b.code)) }

func (s *search) sort() {
	slices.SortStableFunc(s.hits, func(a, b hit) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.code, b.code)) })
}

// match judges each place that a key is at, in one pass.
func (s *search) match(m *matcher) {
	if len(s.text) < 3 {
		return
	}
	state, line := newChainState(m.chains), 0
	v := uint32(s.text[0])<<8 | uint32(s.text[1])<<16
	for i, c := range s.text[2:] { // i is where the three bytes begin
		v = v>>8 | uint32(c)<<16
		if byte(v) == '\n' {
			line = i + 1
		}
		h := hash3(v)
		if m.known[h>>6]&(1<<(h&63)) == 0 {
			continue
		}
		for j := range m.groups[m.group[h]-1] {
			k := &m.groups[m.group[h]-1][j]
			if !k.isAt(s.text, i) {
				continue
			}
			if s.stop() {
				return
			}
			if k.probe != nil {
				s.judge(k.probe, i)
			} else {
				s.follow(m, k, state, i, line)
			}
		}
	}
}

// judge judges a place by a probe.
func (s *search) judge(p *probe, at int) {
	if p.worth != nil {
		if s.looks++; s.looks%looksPerUnit == 0 && !s.spend(1) {
			return
		}
		if s.over || !p.worth(s.text, at) {
			return
		}
	}
	if !s.spend(max(p.cost, 1)) {
		return
	}
	if code, detail := p.find(s.text, at); code != "" {
		s.add(code, at, detail)
	}
}

// follow continues a chain, where the place is in reach of the step before.
func (s *search) follow(m *matcher, k *keyed, state []chainState, at, line int) {
	c, until := &m.chains[k.chain], &state[k.chain]
	step := &c.steps[k.step]
	if k.step > 0 && (until[k.step-1] < at || step.sameLine && until[k.step-1]-step.within < line) {
		return
	}
	if end := at + len(k.key); step.ends && end < len(s.text) && isWord(s.text[end]) {
		return
	}
	if step.check != nil && (!s.spend(2) || !step.check(s.text, at)) {
		return
	}
	if k.step < len(c.steps)-1 {
		until[k.step] = at + c.steps[k.step+1].within
	} else if c.confirm == nil || s.spend(2) && c.confirm(s.text, at) {
		s.add(c.code, at, "")
	}
}

// beginsWord reports whether a word begins at a place. A line end that is written as \n in a string ends a word too.
func beginsWord(text []byte, at int) bool {
	if at == 0 || !isWord(text[at-1]) {
		return true
	}
	return at > 1 && text[at-2] == '\\' && (text[at-1] == 'n' || text[at-1] == 't' || text[at-1] == 'r')
}

// number sets the lines of hits, which are in order.
func number(hits []hit, f folded) {
	line, from := 1, 0
	for i := range hits {
		line += bytes.Count(f.text[from:hits[i].at], []byte{'\n'})
		from = hits[i].at
		hits[i].line = line + f.joined(from)
	}
}

func isWord(c byte) bool {
	return c == '_' || c == '-' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// reach is how far behind a key anything is looked for.
const reach = 600

// window returns the text from a place on, as far as anything is looked for.
func window(text []byte, at int) []byte { return text[at:min(at+reach, len(text))] }

// anchored compiles a pattern that has to match from the key on.
func anchored(pattern string) *regexp.Regexp { return regexp.MustCompile(`^(?:` + pattern + `)`) }

// isBinary reports whether a file is no text, by a NUL near its beginning, as git has it.
func isBinary(data []byte) bool { return bytes.IndexByte(head(data, 8000), 0) >= 0 }

// fromUTF16 returns a text in UTF-16 that begins with a byte order mark as UTF-8. PowerShell writes scripts so.
func fromUTF16(data []byte) ([]byte, bool) {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}):
		order = binary.LittleEndian
	case bytes.HasPrefix(data, []byte{0xfe, 0xff}):
		order = binary.BigEndian
	default:
		return nil, false
	}
	data = data[2:]
	text := make([]byte, 0, len(data))
	for len(data) >= 2 {
		r := rune(order.Uint16(data))
		data = data[2:]
		if utf16.IsSurrogate(r) && len(data) >= 2 {
			if both := utf16.DecodeRune(r, rune(order.Uint16(data))); both != utf8.RuneError {
				r, data = both, data[2:]
			}
		}
		text = utf8.AppendRune(text, r)
	}
	return text, true
}
