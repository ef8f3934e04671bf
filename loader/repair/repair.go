// Package repair reads a frontmatter that is not YAML, if its author's intent is certain. Of published skills one in fifty is not
// YAML, and nearly all of these for one of a few slips, which other agents read.
//
// A repair reads one top-level field of free text as text, joins JSON surrogate pairs, or ends the frontmatter at a closing fence
// with text on its line. Each is reported with its line. YAML is never changed, and no line is moved. If one other field is the
// only one that is not YAML, it is left out; name, description, slug and every field that restricts the skill never are
// ([restricts]). YAML that is refused (anchors, aliases, tags, merge keys, the bounds) stays refused.
package repair

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"pannier/internal/yamldoc"
	"pannier/loader/fields"
)

// MaxRepairs is how many repairs one frontmatter gets. More are not slips.
const MaxRepairs = 3

// Result is what a frontmatter says.
type Result struct {
	Value yamldoc.Value
	// Repeated are the keys that stand there more than once.
	Repeated []yamldoc.Fault
	// Repairs are in the order of their lines; there are none where the text is YAML as it is.
	Repairs []Repair
	// Glued says that the frontmatter ends before the end of the text, at the line that [Fence] finds.
	Glued bool
	// Guess is what can still be told of a text that no repair helps.
	Guess Guess
}

// Repair is a place that is read otherwise than it is written.
type Repair struct {
	// Line and Column count from 1 in the text, Column in characters.
	Line, Column int
	// Field is the top-level key, or nothing.
	Field string
	// Message says how the place is read and why, Hint how to write it.
	Message, Hint string
	// Dropped says that the field is left out.
	Dropped bool
}

// Parse reads what stands between the fences, with LF as line ends: strictly by [yamldoc.Parse], and if that fails, with
// repairs. The error is the [*yamldoc.Fault] of the strict reading; then only Guess is set. text is not kept.
func Parse(text []byte) (Result, error) {
	v, repeated, err := yamldoc.Parse(text)
	if err == nil {
		return Result{Value: v, Repeated: repeated}, nil
	}
	return lenient(text, err)
}

func lenient(text []byte, strict error) (Result, error) {
	if !utf8.Valid(text) {
		return Result{}, strict
	}
	s := newSheet(text)
	if isRefusal(strict) {
		return Result{Guess: s.guess()}, strict
	}
	if r, ok := s.read(MaxRepairs); ok {
		return r, nil
	}
	front, _, ok := Fence(text)
	if !ok || len(front) == 0 {
		return Result{Guess: s.guess()}, strict
	}
	head := newSheet(front)
	r, ok := head.read(MaxRepairs - 1)
	if !ok {
		return Result{Guess: head.guess()}, strict
	}
	r.Glued = true
	r.Repairs = append(r.Repairs, Repair{
		Line: bytes.Count(front, []byte("\n")) + 1, Column: 1,
		Message: "text follows the closing `---`; the frontmatter ends here, and the text belongs to the instructions",
		Hint:    "put `---` into a line of its own",
	})
	return r, nil
}

// isRefusal reports whether an error of the strict reading is about something that is YAML and refused all the same.
// Only what was read has a column; syntax errors come without one.
func isRefusal(err error) bool {
	f, ok := errors.AsType[*yamldoc.Fault](err)
	return ok && f.Column > 0
}

// read mends the blocks that are no YAML by themselves and reads the whole. Whether a block is, its own text decides: the
// line in an error of the YAML library is that of the place where it gave up, often another block.
func (s *sheet) read(limit int) (Result, bool) {
	if len(s.blocks) > yamldoc.MaxNodes {
		return Result{}, false
	}
	var repairs []Repair
	for _, b := range s.blocks {
		r, ok := s.mend(b)
		if !ok {
			continue
		}
		if len(repairs) == limit {
			return Result{}, false
		}
		repairs = append(repairs, r)
	}
	v, repeated, err := yamldoc.Parse(bytes.Join(s.mended, []byte("\n")))
	dropped := ""
	if err != nil && !isRefusal(err) && len(repairs) < limit {
		if b, f, ok := s.broken(); ok {
			for i := b.line; i < b.end; i++ {
				s.mended[i] = nil
			}
			v, repeated, err = yamldoc.Parse(bytes.Join(s.mended, []byte("\n")))
			if err == nil && !s.canMiss(b, v) {
				return Result{}, false
			}
			dropped = b.key
			r := Repair{
				Line: b.line + max(1, f.Line), Column: 1, Field: b.key, Dropped: true,
				Message: "the field " + b.key + " cannot be read and is left out: " + f.Message,
				Hint:    f.Hint,
			}
			if s.allowsAll(b) {
				r.Dropped, r.Message, r.Hint = false, b.key+" is *, which restricts nothing, and counts as absent", "leave the field out, or name the tools"
			}
			repairs = append(repairs, r)
		}
	}
	if err != nil || !s.keepsKeys(v, dropped) {
		return Result{}, false
	}
	slices.SortStableFunc(repairs, func(a, b Repair) int { return a.Line - b.Line })
	return Result{Value: v, Repeated: repeated, Repairs: repairs}, true
}

// mend puts what a block was meant to say in its place. It returns false where it leaves the block as it is.
func (s *sheet) mend(b block) (Repair, bool) {
	source := s.source(b)
	mayMend := fields.ProseOf(b.key) > 0 || bytes.Contains(source, []byte(`\u`))
	if !mayMend || !isFaulty(source) {
		return Repair{}, false
	}
	if joined, at := joinPairs(source); at >= 0 {
		copy(s.mended[b.line:b.end], bytes.Split(bytes.TrimSuffix(joined, []byte("\n")), []byte("\n")))
		if s.record {
			s.edits = append(s.edits, Edit{
				First: b.line, End: b.end, Lines: toStrings(s.mended[b.line:b.end]),
				What: "wrote the characters of " + b.key + " in place of their escapes",
			})
		}
		before := source[:at]
		r, _ := pairAt(source[at:])
		return Repair{
			Line: b.line + bytes.Count(before, []byte("\n")) + 1, Column: utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1,
			Field:   b.key,
			Message: fmt.Sprintf("`%s` is JSON's way to write %c, not YAML's; it is read as that character", source[at:at+pairLength], r),
			Hint:    "write the character itself in place of its escapes",
		}, true
	}
	if fields.ProseOf(b.key) == 0 {
		return Repair{}, false
	}
	p, ok := s.prose(b)
	if !ok {
		return Repair{}, false
	}
	line := append([]byte{}, s.lines[p.first][:p.at]...)
	if p.at == 0 {
		line = append(line, ' ') // at column 0 it would be a key
	}
	s.mended[p.first] = appendQuoted(line, p.text)
	for i := p.first + 1; i < b.end; i++ {
		s.mended[i] = nil
	}
	s.recordProse(b, p)
	return s.describe(b, p), true
}

func isFaulty(source []byte) bool {
	_, _, err := yamldoc.Parse(source)
	return err != nil && !isRefusal(err)
}

// keepsKeys reports whether every top-level key that stands in the text, but the dropped one, is in what was read.
func (s *sheet) keepsKeys(v yamldoc.Value, dropped string) bool {
	read := map[string]bool{}
	for pair := range v.Pairs() {
		read[pair.Key] = true
	}
	for _, b := range s.blocks {
		if b.key != "" && b.key != dropped && !read[b.key] {
			return false
		}
	}
	return true
}
