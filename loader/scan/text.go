package scan

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"regexp"
	"slices"
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

// probe looks for one thing in a text. keys are literals of two bytes or more that it begins with, which are much faster to
// find than a pattern is to match; find then judges each place that a key is at.
type probe struct {
	keys []string
	// word says that the key begins a word: none of the letters, digits, _ and - comes before it.
	word bool
	// stride is the least distance between two places that are judged, for a probe that looks far and is slow.
	stride int
	// find returns the code of the rule for what stands at a place, and a detail for the message; "" where it is nothing.
	find func(text []byte, at int) (code, detail string)
}

// matcher finds the keys of many probes in one pass, by their first two bytes.
type matcher struct {
	group  [1 << 16]uint16 // an index of groups, plus one
	groups [][]keyed
}

type keyed struct {
	id    int // of the probe
	key   []byte
	probe probe
}

func newMatcher(probes []probe) *matcher {
	m := &matcher{}
	for id, p := range probes {
		for _, key := range p.keys {
			first := int(key[0])<<8 | int(key[1])
			if m.group[first] == 0 {
				m.groups = append(m.groups, nil)
				m.group[first] = uint16(len(m.groups))
			}
			g := &m.groups[m.group[first]-1]
			*g = append(*g, keyed{id: id, key: []byte(key), probe: p})
		}
	}
	return m
}

var (
	secretKeys  = newMatcher(secretProbes)
	commandKeys = newMatcher(commandProbes)
)

// search is one search of one text.
type search struct {
	ctx    context.Context
	text   []byte
	hits   []hit
	counts map[string]int // of hits, by code
	judged int            // places, to ask ctx now and then
	places *int           // how many a probe may still judge, in this text and those after it
}

// maxHits bounds the hits of one rule in one text. It bounds memory only: whatever else is in the text is still found.
const maxHits = 1000

func (s *search) add(code string, at int, detail string) {
	if s.counts[code]++; s.counts[code] <= maxHits {
		s.hits = append(s.hits, hit{code: code, at: at, detail: detail})
	}
}

// stop reports, every so many places, whether nobody waits any more. A text can be made so that it is slow to search.
func (s *search) stop() bool {
	s.judged++
	return s.judged%64 == 0 && s.ctx.Err() != nil
}

// searchFile returns what is found in a file, by line. A file that begins as UTF-16 does is searched as that, and as the
// bytes that a shell reads.
func searchFile(ctx context.Context, path string, data []byte, places *int) []hit {
	hits := searchText(ctx, path, data, places)
	if text, ok := fromUTF16(data); ok {
		hits = append(searchText(ctx, path, text, places), hits...)
		slices.SortStableFunc(hits, byLine)
	}
	return hits
}

// searchText returns what is found in a text, by line, as far as it came until ctx was done. Nothing in a file keeps
// commands and secrets from being found: not a NUL, which a shell reads over, nor bytes that are no UTF-8. Characters and
// assignments count in texts only. Commands are searched in the folded text, everything else in the text as it is.
//
// places is how many keys are judged at most; less than zero afterwards means that there were more.
func searchText(ctx context.Context, path string, text []byte, places *int) []hit {
	s := &search{ctx: ctx, text: text, counts: map[string]int{}, places: places}
	s.match(secretKeys)
	s.sort()
	if !isBinary(text) {
		s.assignments()
		s.characters()
		s.sort()
	}
	s.hits = slices.DeleteFunc(s.hits, func(h hit) bool { return isSecret(h.code) && isAllowed(text, h.at) })
	number(s.hits, folded{text: text})

	plain := fold(text)
	c := &search{ctx: ctx, text: plain.text, counts: map[string]int{}, places: places}
	c.match(commandKeys)
	c.sort()
	c.hits = newPassages(path, plain.text).judge(c.hits)
	number(c.hits, plain)
	hits := append(s.hits, c.hits...)
	slices.SortStableFunc(hits, byLine)
	return hits
}

func byLine(a, b hit) int { return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.code, b.code)) }

func (s *search) sort() {
	slices.SortStableFunc(s.hits, func(a, b hit) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.code, b.code)) })
}

// match judges each place that a key is at, in one pass.
func (s *search) match(m *matcher) {
	next := map[int]int{} // of a probe with a stride, the first place that is judged again
	for i := 0; i+1 < len(s.text); i++ {
		g := m.group[int(s.text[i])<<8|int(s.text[i+1])]
		if g == 0 {
			continue
		}
		for _, k := range m.groups[g-1] {
			if !bytes.HasPrefix(s.text[i:], k.key) || k.probe.word && !beginsWord(s.text, i) {
				continue
			}
			if k.probe.stride > 0 {
				if i < next[k.id] {
					continue
				}
				next[k.id] = i + k.probe.stride
			}
			if s.stop() {
				return
			}
			if *s.places--; *s.places < 0 {
				return
			}
			if code, detail := k.probe.find(s.text, i); code != "" {
				s.add(code, i, detail)
			}
		}
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
