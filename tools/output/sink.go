// Package output makes text of what a tool writes, for models, terminals and logs: valid UTF-8 without what a terminal acts
// on, without the values of secrets, and within a bound.
package output

import "unicode/utf8"

// Sink takes the output of a tool. It never blocks and never fails: output beyond its bound is dropped and counted. It is for one
// goroutine.
type Sink struct {
	bound   int64
	mask    *Mask
	out     func([]byte)
	cleaner cleaner
	cleaned []byte // what is not masked yet
	text    []byte
	dropped int64
}

// NewSink returns a sink that keeps so many bytes. out gets each piece of text that is kept, and must not keep the bytes; nil is
// not called.
func NewSink(bound int64, mask *Mask, out func([]byte)) *Sink {
	if mask == nil {
		mask = &Mask{}
	}
	if out == nil {
		out = func([]byte) {}
	}
	return &Sink{bound: bound, mask: mask, out: out}
}

// Write implements [io.Writer].
func (s *Sink) Write(b []byte) (int, error) {
	if s.dropped > 0 {
		s.dropped += int64(len(b))
		return len(b), nil
	}
	s.cleaned = s.cleaner.append(s.cleaned, b)
	s.flush(false)
	return len(b), nil
}

// Close takes what was held back, because more of a character or of a secret could have come.
func (s *Sink) Close() {
	s.cleaned = s.cleaner.end(s.cleaned)
	s.flush(true)
}

func (s *Sink) flush(end bool) {
	if len(s.cleaned) == 0 {
		return
	}
	from := len(s.text)
	var rest []byte
	s.text, rest = s.mask.append(s.text, s.cleaned, end)
	s.cleaned = append(s.cleaned[:0], rest...)
	if over := int64(len(s.text)) - s.bound; over > 0 {
		s.dropped += over + int64(len(s.cleaned))
		s.text, s.cleaned = cut(s.text, int(s.bound)), nil
	}
	if len(s.text) > from {
		s.out(s.text[from:])
	}
}

// cut returns the first bytes of a text, and no part of a character.
func cut(text []byte, length int) []byte {
	for length > 0 && !utf8.RuneStart(text[length]) {
		length--
	}
	return text[:length]
}

// Text returns what was kept.
func (s *Sink) Text() string { return string(s.text) }

// Truncated reports whether something was dropped.
func (s *Sink) Truncated() bool { return s.dropped > 0 }

// Dropped returns how many bytes were dropped.
func (s *Sink) Dropped() int64 { return s.dropped }
