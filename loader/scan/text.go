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

// probe looks for one thing in a text. keys are literals that it begins with, which are much faster to find than a pattern
// is to match; find then judges each place that a key is at.
type probe struct {
	keys []string
	// word says that the key begins a word: none of the letters, digits, _ and - comes before it.
	word bool
	// find returns the code of the rule for what stands at a place, and a detail for the message; "" where it is nothing.
	find func(text []byte, at int) (code, detail string)
}

var probes = slices.Concat(commandProbes, secretProbes)

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

// searchText returns what is found in a text, by place, as far as it came until ctx was done. Nothing in a file keeps
// commands and secrets from being found: not a NUL, which a shell reads over, nor bytes that are no UTF-8. Characters and
// assignments count in texts only.
//
// places is how many keys are judged at most; less than zero afterwards means that there were more.
func searchText(ctx context.Context, text []byte, places *int) []hit {
	s := &search{ctx: ctx, text: text, counts: map[string]int{}, places: places}
	for _, p := range probes {
		for _, key := range p.keys {
			s.probe(p, []byte(key))
		}
	}
	s.sort()
	if !isBinary(text) {
		s.assignments()
		s.characters()
		s.sort()
	}
	s.hits = slices.DeleteFunc(s.hits, func(h hit) bool { return isSecret(h.code) && isAllowed(text, h.at) })
	number(s.hits, text)
	return s.hits
}

func (s *search) sort() {
	slices.SortStableFunc(s.hits, func(a, b hit) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.code, b.code)) })
}

// probe judges each place that a key of a probe is at. It goes on right behind the key, so that a find hides no other.
func (s *search) probe(p probe, key []byte) {
	for from := 0; !s.stop(); {
		i := bytes.Index(s.text[from:], key)
		if i < 0 {
			return
		}
		at := from + i
		from = at + len(key)
		if p.word && at > 0 && isWord(s.text[at-1]) {
			continue
		}
		if *s.places--; *s.places < 0 {
			return
		}
		if code, detail := p.find(s.text, at); code != "" {
			s.add(code, at, detail)
		}
	}
}

// number sets the lines of hits, which are in order.
func number(hits []hit, text []byte) {
	line, from := 1, 0
	for i := range hits {
		line += bytes.Count(text[from:hits[i].at], []byte{'\n'})
		from = hits[i].at
		hits[i].line = line
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

// toUTF8 returns a text in UTF-16 that begins with a byte order mark as UTF-8, and any other as it is. PowerShell writes
// scripts so.
func toUTF8(data []byte) []byte {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}):
		order = binary.LittleEndian
	case bytes.HasPrefix(data, []byte{0xfe, 0xff}):
		order = binary.BigEndian
	default:
		return data
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
	return text
}
