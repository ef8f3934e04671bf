package api

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"math/bits"
	"slices"
	"strconv"
	"unicode/utf8"

	"pannier"
	"pannier/publish/api/rpc"
	"pannier/publish/prompt"
)

// The functions in this file append the JSON of an answer to a turn, the same that encoding/json gives, to the byte. With
// a thousand skills an answer has 200 kB, which delays each turn of a model.

func (a *turnAnswer) appendJSON(dst []byte) []byte {
	kept := a.automatic
	if kept == nil {
		kept = &automatic{}
	}
	dst = slices.Grow(dst, a.promptSize()+len(kept.skills.text)+400*(len(a.Active)+len(a.Rejected)+1))
	dst = strconv.AppendUint(append(dst, `{"snapshot_version":`...), a.SnapshotVersion, 10)
	dst = appendDigest(append(dst, `,"digest":`...), a.Digest)
	dst = append(dst, `,"active":`...)
	from := len(dst)
	for i := range a.Active {
		dst = appendActive(append(dst, ','), &a.Active[i])
	}
	for _, s := range a.spans {
		dst = append(dst, kept.skills.span(s.From, s.To)...)
	}
	dst = closeList(dst, from)
	dst = append(dst, `,"rejected":`...)
	from = len(dst)
	for i := range a.Rejected {
		dst = appendRejected(append(dst, ','), &a.Rejected[i])
	}
	dst = closeList(dst, from)
	if len(a.Suggestions) > 0 {
		dst = appendTool(append(dst, `,"suggestions":`...), a.Suggestions)
	}
	dst = a.appendTools(append(dst, `,"tools":`...), kept.tools)
	dst = appendExcluded(append(dst, `,"excluded_tools":`...), &kept.without, a.ExcludedTools)
	dst = appendAllowed(append(dst, `,"allowed_tools":`...), &a.AllowedTools)
	dst = appendSection(append(dst, `,"prompt":`...), &a.section)
	return append(dst, "}\n"...)
}

// appendTools appends tools that are kept, and what of them can be called now, with those of the turn between, ordered by slug.
func (a *turnAnswer) appendTools(dst []byte, kept []keptTool) []byte {
	from, named := len(dst), a.Tools
	for _, k := range kept {
		for ; len(named) > 0 && named[0].Skill < k.Skill; named = named[1:] {
			dst = appendTool(append(dst, ','), &named[0])
		}
		dst = append(append(dst, ','), k.text[:len(k.text)-1]...)
		if why := a.permit(k.RuntimeTool); why != nil {
			dst = appendTool(append(dst, `,"callable":false,"why":`...), why)
		} else {
			dst = append(dst, `,"callable":true`...)
		}
		dst = append(dst, '}')
	}
	for i := range named {
		dst = appendTool(append(dst, ','), &named[i])
	}
	return closeList(dst, from)
}

// appendExcluded appends a list that is kept, with others between that are ordered by their slugs too.
func appendExcluded(dst []byte, kept *keptList, others []pannier.ExcludedTool) []byte {
	from, told := len(dst), 0
	for i := range others {
		at := kept.before(others[i].Skill)
		dst = append(dst, kept.span(told, at)...)
		dst, told = appendTool(append(dst, ','), &others[i]), at
	}
	dst = append(dst, kept.span(told, len(kept.slugs))...)
	return closeList(dst, from)
}

// appendTool appends a tool. Skills that declare any are few, so what it takes does not show.
func appendTool(dst []byte, tool any) []byte {
	text, err := rpc.Encode(tool)
	if err != nil { // it was read from JSON, so it never fails
		text = []byte("null")
	}
	return append(dst, text...)
}

func appendAllowed(dst []byte, t *pannier.AllowedTools) []byte {
	dst = appendStrings(append(dst, `{"effective":`...), t.Effective)
	dst = appendStrings(append(dst, `,"narrowed_by":`...), t.NarrowedBy)
	if len(t.WidenedBy) > 0 {
		dst = appendStrings(append(dst, `,"widened_by":`...), t.WidenedBy)
	}
	if t.Profile != "" {
		dst = appendString(append(dst, `,"profile":`...), t.Profile)
	}
	return append(dst, '}')
}

func appendStrings(dst []byte, list []string) []byte {
	from := len(dst)
	for _, text := range list {
		dst = appendString(append(dst, ','), text)
	}
	return closeList(dst, from)
}

// textBuffer is how many bytes of a prompt are written at a time.
const textBuffer = 32 << 10

// writeText writes the prompt, of which there is no copy as a whole: it can have many bodies.
func (a *turnAnswer) writeText(to io.Writer) {
	if a.buffered == nil {
		a.buffered = bufio.NewWriterSize(nil, textBuffer)
	}
	a.buffered.Reset(to)
	for _, part := range a.section.Parts {
		a.buffered.WriteString(part)
	}
	a.buffered.Flush() // an error means that the client has gone
}

// tag returns the ETag of the prompt: of body, or of the text.
func (a *turnAnswer) tag(asJSON bool) []string {
	if asJSON {
		return withTag(a.body).tag
	}
	sum := sha256.New()
	a.writeText(sum)
	return tagOf(sum.Sum(nil))
}

// promptSize returns about how many bytes the JSON of the prompt has, so that its memory is allocated once.
func (a *turnAnswer) promptSize() int {
	size := a.section.Size()*9/8 + 256
	for _, slug := range a.section.Omitted {
		size += len(slug) + len(`"",`)
	}
	return size
}

func (a *turnAnswer) appendPrompt(dst []byte, asJSON bool) []byte {
	if asJSON {
		return append(appendSection(slices.Grow(dst, a.promptSize()), &a.section), '\n')
	}
	dst = slices.Grow(dst, a.section.Size())
	for _, part := range a.section.Parts {
		dst = append(dst, part...)
	}
	return dst
}

// closeList makes a list of what was appended with a comma before each.
func closeList(dst []byte, from int) []byte {
	if len(dst) == from {
		return append(dst, "[]"...)
	}
	dst[from] = '['
	return append(dst, ']')
}

func appendActive(dst []byte, s *pannier.ActiveSkill) []byte {
	dst = appendString(append(dst, `{"slug":`...), s.Slug)
	dst = appendString(append(dst, `,"source_kind":`...), string(s.SourceKind))
	dst = appendString(append(dst, `,"name":`...), s.Name)
	dst = appendString(append(dst, `,"reason":`...), s.Reason)
	if !s.Digest.IsZero() {
		dst = appendDigest(append(dst, `,"digest":`...), s.Digest)
	}
	if s.Arguments != "" {
		dst = appendString(append(dst, `,"arguments":`...), s.Arguments)
	}
	if s.Relevance != nil {
		dst = strconv.AppendFloat(append(dst, `,"relevance":{"score":`...), s.Relevance.Score, 'f', -1, 64)
		dst = append(appendStrings(append(dst, `,"matched":`...), s.Relevance.Matched), '}')
	}
	return append(dst, '}')
}

func appendRejected(dst []byte, s *pannier.RejectedSkill) []byte {
	dst = append(dst, '{')
	if s.ID != "" {
		dst = append(appendString(append(dst, `"id":`...), s.ID), ',')
	}
	dst = appendString(append(dst, `"slug":`...), s.Slug)
	dst = appendString(append(dst, `,"reason":`...), s.Reason)
	dst = appendString(append(dst, `,"detail":`...), s.Detail)
	dst = append(dst, `,"diagnostics":`...)
	from := len(dst)
	for i := range s.Diagnostics {
		dst = appendReason(append(dst, ','), &s.Diagnostics[i])
	}
	return append(closeList(dst, from), '}')
}

func appendReason(dst []byte, r *pannier.Reason) []byte {
	dst = appendString(append(dst, `{"code":`...), r.Code)
	dst = appendString(append(dst, `,"subject":`...), r.Subject)
	dst = appendString(append(dst, `,"remedy":`...), r.Remedy)
	return append(dst, '}')
}

func appendSection(dst []byte, s *prompt.Section) []byte {
	dst = appendString(append(dst, `{"format":`...), s.Format)
	dst = append(dst, `,"text":"`...)
	for _, part := range s.Parts {
		dst = appendEscaped(dst, part)
	}
	dst = appendStrings(append(dst, `","omitted":`...), s.Omitted)
	dst = strconv.AppendBool(append(dst, `,"truncated":`...), s.Truncated())
	if len(s.Shortened) > 0 {
		dst = append(dst, `,"shortened":`...)
		from := len(dst)
		for i := range s.Shortened {
			x := &s.Shortened[i]
			dst = appendString(append(dst, `,{"slug":`...), x.Slug)
			dst = appendString(append(dst, `,"left_out":`...), x.LeftOut)
			dst = append(appendString(append(dst, `,"why":`...), x.Why), '}')
		}
		dst = closeList(dst, from)
	}
	chars, tokens := s.Length()
	dst = strconv.AppendInt(append(dst, `,"chars":`...), int64(chars), 10)
	dst = strconv.AppendInt(append(dst, `,"tokens_estimate":`...), int64(tokens), 10)
	return append(dst, '}')
}

func appendDigest(dst []byte, d pannier.Digest) []byte {
	if d.IsZero() {
		return append(dst, `""`...)
	}
	dst = append(dst, `"sha256:`...)
	return append(hex.AppendEncode(dst, d[:]), '"')
}

func appendString(dst []byte, text string) []byte {
	return append(appendEscaped(append(dst, '"'), text), '"')
}

// appendEscaped appends a text as it stands between quotes; what is not UTF-8 becomes U+FFFD.
func appendEscaped(dst []byte, text string) []byte {
	from := 0
	for i := 0; ; {
		i += plainPrefix(text[i:])
		if i == len(text) {
			return append(dst, text[from:]...)
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		if size > 1 && r != '\u2028' && r != '\u2029' {
			i += size
			continue
		}
		dst = appendEscape(append(dst, text[from:i]...), r)
		i += size
		from = i
	}
}

// plainPrefix returns how many bytes at the start of a text are ASCII that stands in a JSON string as it is. It looks at
// eight at a time.
func plainPrefix(text string) int {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; len(text)-i >= 8; i += 8 {
		t := text[i : i+8]
		eight := uint64(t[0]) | uint64(t[1])<<8 | uint64(t[2])<<16 | uint64(t[3])<<24 |
			uint64(t[4])<<32 | uint64(t[5])<<40 | uint64(t[6])<<48 | uint64(t[7])<<56
		quote, slash := eight^(ones*'"'), eight^(ones*'\\')
		// The high bit of a byte is set where the byte is less than a blank, one of the two, or not ASCII. A borrow can only
		// set more of them, after the first.
		if special := ((eight - ones*' ') | (quote - ones) | (slash - ones) | eight) & high; special != 0 {
			return i + bits.TrailingZeros64(special)/8
		}
	}
	for i < len(text) && ' ' <= text[i] && text[i] < utf8.RuneSelf && text[i] != '"' && text[i] != '\\' {
		i++
	}
	return i
}

// appendEscape appends a character that a JSON string must escape, or that some readers do not accept.
func appendEscape(dst []byte, r rune) []byte {
	switch r {
	case '"', '\\':
		return append(dst, '\\', byte(r))
	case '\b':
		return append(dst, `\b`...)
	case '\f':
		return append(dst, `\f`...)
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	}
	return hex.AppendEncode(append(dst, `\u`...), []byte{byte(r >> 8), byte(r)})
}
