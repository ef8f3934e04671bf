package scan

import (
	"bytes"
	"cmp"
	"context"
	"regexp"
	"slices"
	"sort"
	"strings"
	"sync"

	"golang.org/x/text/encoding/unicode"
)

type hit struct {
	code   string
	at     int // in bytes
	line   int // from 1
	detail string
}

// probe searches a text for one thing. Finding a literal key is much faster than matching a pattern, so a pattern only
// evaluates the places of keys.
type probe struct {
	// keys are literals of at least three bytes.
	keys []string
	// word says that the key begins a word: none of the letters, digits, _ and - comes before it. anyCase says that upper
	// and lower case are the same.
	word, anyCase bool
	// prefilter cheaply rejects places, nil rejects none.
	prefilter func(text []byte, at int) bool
	// cost is the cost of a place in units of about ten microseconds; 0 is 1.
	cost int
	// code and detail are those of a place that pattern or match confirms. Probes with several rules have find instead, which
	// returns "" if there is no match.
	code, detail string
	pattern      pattern
	match        func(text []byte, at int) bool
	find         func(text []byte, at int) (code, detail string)
}

// matcher finds the keys of all probes and chains in one pass, by a hash of their first three bytes.
type matcher struct {
	known  [1 << 10]uint64 // a bit for each hash of a group
	group  [1 << 16]uint16 // an index of groups, plus one
	groups [][]keyed
	chains []chain
}

// keyed is a key with its probe, or its step of a chain.
type keyed struct {
	key           []byte
	word, anyCase bool
	probe         *probe
	chain, step   int
}

// hash3 hashes three bytes, the first is the lowest.
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
	for n := range 8 { // upper and lower case of the first three bytes
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

// next returns the place of the first key from an offset on, -1 if there is none.
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

// The bounds of the work of one scan and of one text. Benign texts need at most a tenth of theirs.
const (
	maxWork     = 50_000
	minTextWork = 2000
)

// textWork returns the units of a text: a minimum, and one for each 128 bytes.
func textWork(text []byte) int { return minTextWork + len(text)/128 }

// search is the search of one text.
type search struct {
	canceled    func() error // of the context
	text        []byte
	hits        []hit
	counts      map[string]int // of hits, by code
	stopCalls   int            // of stop
	prefiltered int            // places
	left        int            // of the units of this text
	over        bool           // a bound was reached
}

// prefiltersPerUnit is how many prefilters cost one unit.
const prefiltersPerUnit = 16

// spend subtracts units, and reports whether there were enough.
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
		s.over = true // another hit could block where these do not
	}
}

// stop checks the context at every 64th call.
func (s *search) stop() bool {
	s.stopCalls++
	return s.stopCalls%64 == 0 && s.canceled() != nil
}

// searchFile returns the hits in a file by line, and whether all of it was searched. A file with a UTF-16 byte order mark is
// searched as UTF-16, and as the bytes that a shell reads.
func searchFile(ctx context.Context, path string, data []byte, o func() own, work *int) (hits []hit, all bool) {
	hits, all = searchText(ctx, path, data, o, work)
	if text, ok := fromUTF16(data); ok {
		more, allToo := searchText(ctx, path, text, o, work)
		hits, all = append(more, hits...), all && allToo
		slices.SortStableFunc(hits, byLine)
	}
	return hits, all
}

// searchText returns the hits in a text by line, as far as it got until ctx was done. Neither a NUL, which shells ignore,
// nor invalid UTF-8 hides commands and secrets. Characters and assignments are searched in texts only. Commands are searched
// in the folded text.
//
// all is false if a bound on work or hits was reached.
func searchText(ctx context.Context, path string, text []byte, o func() own, work *int) (hits []hit, all bool) {
	given := min(textWork(text), *work)
	s := &search{canceled: ctx.Err, text: text, counts: map[string]int{}, left: given}
	s.match(secretKeys)
	if bytes.IndexByte(head(text, 8000), 0) < 0 { // not a binary file, as git tells
		s.assignments()
		s.characters()
	}
	s.hits = slices.DeleteFunc(s.hits, func(h hit) bool { return isSecret(h.code) && isAllowed(text, h.at) })
	s.sort()
	number(s.hits, folded{text: text})
	for i, h := range s.hits {
		if isSecret(h.code) && rules[h.code].Blocking && isSample(path) {
			s.hits[i].code, s.hits[i].detail = sampledSecret, strings.TrimPrefix(h.code, "scan.secret.")
		}
	}

	plain := fold(text)
	c := &search{canceled: ctx.Err, text: plain.text, counts: map[string]int{}, left: s.left}
	c.match(commandKeys)
	c.sort()
	if len(c.hits) > 0 {
		p := newPassages(path, plain.text, o)
		for i := range c.hits {
			c.hits[i].code = p.codeOf(&c.hits[i])
		}
		number(c.hits, plain)
	}
	hits = append(s.hits, c.hits...)
	slices.SortStableFunc(hits, byLine)
	*work -= given - c.left
	return hits, !s.over && !c.over
}

func byLine(a, b hit) int { return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.code, b.code)) }

func (s *search) sort() {
	slices.SortStableFunc(s.hits, func(a, b hit) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.code, b.code)) })
}

// match evaluates the places of all keys, in one pass.
func (s *search) match(m *matcher) {
	if len(s.text) < 3 {
		return
	}
	state, line := slices.Repeat([]chainState{{-1, -1, -1, -1}}, len(m.chains)), 0
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
				s.evaluate(k.probe, i)
			} else {
				s.follow(m, k, state, i, line)
			}
		}
	}
}

func (s *search) evaluate(p *probe, at int) {
	if p.prefilter != nil {
		if s.prefiltered++; s.prefiltered%prefiltersPerUnit == 0 && !s.spend(1) {
			return
		}
		if s.over || !p.prefilter(s.text, at) {
			return
		}
	}
	if !s.spend(max(p.cost, 1)) {
		return
	}
	code, detail := p.code, p.detail
	switch {
	case p.find != nil:
		code, detail = p.find(s.text, at)
	case p.pattern != nil && !p.pattern().Match(window(s.text, at)), p.match != nil && !p.match(s.text, at):
		return
	}
	if code != "" {
		s.add(code, at, detail)
	}
}

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
		s.add(c.code, at, c.detail)
	}
}

// beginsWord reports whether a word begins at a place. A line end written as \n in a string ends a word too.
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
		hits[i].line = line + sort.SearchInts(f.joins, from+1)
	}
}

func isWord(c byte) bool {
	return c == '_' || c == '-' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// reach is how far after a key patterns are matched.
const reach = 600

// window returns the text from a place on within reach.
func window(text []byte, at int) []byte { return text[at:min(at+reach, len(text))] }

// lineAt returns the rest of the line within reach.
func lineAt(text []byte, at int) []byte {
	line, _, _ := bytes.Cut(window(text, at), []byte{'\n'})
	return line
}

// anchored compiles a pattern that must match at the key.
func anchored(pattern string) pattern { return compile(`^(?:` + pattern + `)`) }

// fromUTF16 converts UTF-16 with a byte order mark to UTF-8. PowerShell writes such scripts.
func fromUTF16(data []byte) ([]byte, bool) {
	text, err := utf16Text.NewDecoder().Bytes(data)
	return text, err == nil
}

var utf16Text = unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM)

// pattern returns a regular expression, which it compiles at the first call. All of them take some 14 ms, which a process that
// scans nothing saves, and a sidecar spends after its start.
type pattern func() *regexp.Regexp

// patterns are all there are, for a test that compiles them.
var patterns []pattern

// compile returns the pattern of a text. It panics when it is first called if the text is not a regular expression.
func compile(text string) pattern {
	p := pattern(sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) }))
	patterns = append(patterns, p)
	return p
}

// near returns the check for a pattern around a place, within distances before and after it.
func near(p pattern, before, after int) func(text []byte, at int) bool {
	return func(text []byte, at int) bool { return p().Match(text[max(0, at-before):min(len(text), at+after)]) }
}

// follows returns the check for a pattern on the line before a place.
func follows(p pattern, limit int) func(text []byte, at int) bool {
	return func(text []byte, at int) bool { return p().Match(lineBefore(text, at, limit)) }
}
