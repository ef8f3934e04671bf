package turn

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"slices"
	"strconv"

	"pannier"
	"pannier/publish/answer"
	"pannier/publish/prompt"
)

// The functions in this file append the JSON of an answer to a turn, the same that encoding/json gives, to the byte.
// With a thousand skills an answer has 200 kB, which delays each turn of a model.

// JSON returns the answer as JSON, with a line feed. It belongs to the answer.
func (a *Answer) JSON() []byte {
	a.body = a.AppendJSON(a.body[:0])
	return a.body
}

// PromptJSON returns the prompt as JSON, with a line feed. It belongs to the answer.
func (a *Answer) PromptJSON() []byte {
	a.body = a.AppendPrompt(a.body[:0], true)
	return a.body
}

// TextSize returns how many bytes the prompt has.
func (a *Answer) TextSize() int { return a.section.Size() }

// AppendJSON appends the answer as JSON, with a line feed.
func (a *Answer) AppendJSON(dst []byte) []byte {
	kept := a.automatic
	if kept == nil {
		kept = &automaticSkills{}
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
	dst = answer.CloseList(dst, from)
	dst = append(dst, `,"rejected":`...)
	from = len(dst)
	for i := range a.Rejected {
		dst = appendRejected(append(dst, ','), &a.Rejected[i])
	}
	dst = answer.CloseList(dst, from)
	if len(a.Suggestions) > 0 {
		dst = appendJSON(append(dst, `,"suggestions":`...), a.Suggestions)
	}
	dst = a.appendTools(append(dst, `,"tools":`...), kept.tools)
	dst = appendExcluded(append(dst, `,"excluded_tools":`...), &kept.without, a.ExcludedTools)
	dst = appendAllowed(append(dst, `,"allowed_tools":`...), &a.AllowedTools)
	if a.Overrides != nil {
		dst = appendJSON(append(dst, `,"overrides":`...), a.Overrides)
	}
	dst = appendSection(append(dst, `,"prompt":`...), &a.section)
	return append(dst, "}\n"...)
}

// appendTools appends tools that are kept, and what of them can be called now, with those of the turn between,
// ordered by slug.
func (a *Answer) appendTools(dst []byte, kept []keptTool) []byte {
	from, named := len(dst), a.Tools
	for _, k := range kept {
		for ; len(named) > 0 && named[0].Skill < k.Skill; named = named[1:] {
			dst = appendJSON(append(dst, ','), &named[0])
		}
		dst = append(append(dst, ','), k.text[:len(k.text)-1]...)
		if why := a.permit(k.RuntimeTool); why != nil {
			dst = appendJSON(append(dst, `,"callable":false,"why":`...), why)
		} else {
			dst = append(dst, `,"callable":true`...)
		}
		dst = append(dst, '}')
	}
	for i := range named {
		dst = appendJSON(append(dst, ','), &named[i])
	}
	return answer.CloseList(dst, from)
}

// appendExcluded appends a list that is kept, with others between that are ordered by their slugs too.
func appendExcluded(dst []byte, kept *keptList, others []pannier.ExcludedTool) []byte {
	from, told := len(dst), 0
	for i := range others {
		at, _ := slices.BinarySearch(kept.slugs, others[i].Skill)
		dst = append(dst, kept.span(told, at)...)
		dst, told = appendJSON(append(dst, ','), &others[i]), at
	}
	dst = append(dst, kept.span(told, len(kept.slugs))...)
	return answer.CloseList(dst, from)
}

// appendJSON appends the JSON of a value that few answers have, so what reflection takes does not show.
func appendJSON(dst []byte, tool any) []byte {
	text, err := answer.Encode(tool)
	if err != nil { // it was read from JSON, so it never fails
		text = []byte("null")
	}
	return append(dst, text...)
}

func appendAllowed(dst []byte, t *pannier.AllowedTools) []byte {
	dst = answer.AppendStrings(append(dst, `{"effective":`...), t.Effective)
	dst = answer.AppendStrings(append(dst, `,"narrowed_by":`...), t.NarrowedBy)
	if len(t.WidenedBy) > 0 {
		dst = answer.AppendStrings(append(dst, `,"widened_by":`...), t.WidenedBy)
	}
	if t.Profile != "" {
		dst = answer.AppendString(append(dst, `,"profile":`...), t.Profile)
	}
	return append(dst, '}')
}

// textBuffer is how many bytes of a prompt are written at a time.
const textBuffer = 32 << 10

// WriteText writes the prompt, of which there is no copy as a whole: it can have many bodies.
func (a *Answer) WriteText(to io.Writer) {
	if a.buffered == nil {
		a.buffered = bufio.NewWriterSize(nil, textBuffer)
	}
	a.buffered.Reset(to)
	for _, part := range a.section.Parts {
		a.buffered.WriteString(part)
	}
	a.buffered.Flush() // an error means that the client has gone
}

// TextTag returns the ETag of the text of the prompt.
func (a *Answer) TextTag() []string {
	sum := sha256.New()
	a.WriteText(sum)
	return answer.TagOf(sum.Sum(nil))
}

// promptSize returns about how many bytes the JSON of the prompt has, so that its memory is allocated once.
func (a *Answer) promptSize() int {
	size := a.section.Size()*9/8 + 256
	for _, slug := range a.section.Omitted {
		size += len(slug) + len(`"",`)
	}
	return size
}

// AppendPrompt appends the prompt: its text, or JSON with a line feed that also lists what was omitted.
func (a *Answer) AppendPrompt(dst []byte, asJSON bool) []byte {
	if asJSON {
		dst = appendSection(slices.Grow(dst, a.promptSize()), &a.section)
		if a.Overrides != nil {
			dst = append(appendJSON(append(dst[:len(dst)-1], `,"overrides":`...), a.Overrides), '}')
		}
		return append(dst, '\n')
	}
	dst = slices.Grow(dst, a.section.Size())
	for _, part := range a.section.Parts {
		dst = append(dst, part...)
	}
	return dst
}

func appendActive(dst []byte, s *pannier.ActiveSkill) []byte {
	dst = answer.AppendString(append(dst, `{"slug":`...), s.Slug)
	dst = answer.AppendString(append(dst, `,"source_kind":`...), string(s.SourceKind))
	dst = answer.AppendString(append(dst, `,"name":`...), s.Name)
	dst = answer.AppendString(append(dst, `,"reason":`...), s.Reason)
	if !s.Digest.IsZero() {
		dst = appendDigest(append(dst, `,"digest":`...), s.Digest)
	}
	if s.Arguments != "" {
		dst = answer.AppendString(append(dst, `,"arguments":`...), s.Arguments)
	}
	if s.Relevance != nil {
		dst = strconv.AppendFloat(append(dst, `,"relevance":{"score":`...), s.Relevance.Score, 'f', -1, 64)
		dst = append(answer.AppendStrings(append(dst, `,"matched":`...), s.Relevance.Matched), '}')
	}
	return append(dst, '}')
}

func appendRejected(dst []byte, s *pannier.RejectedSkill) []byte {
	dst = append(dst, '{')
	if s.ID != "" {
		dst = append(answer.AppendString(append(dst, `"id":`...), s.ID), ',')
	}
	dst = answer.AppendString(append(dst, `"slug":`...), s.Slug)
	dst = answer.AppendString(append(dst, `,"reason":`...), s.Reason)
	dst = answer.AppendString(append(dst, `,"detail":`...), s.Detail)
	dst = append(dst, `,"diagnostics":`...)
	from := len(dst)
	for i := range s.Diagnostics {
		r := &s.Diagnostics[i]
		dst = answer.AppendString(append(dst, `,{"code":`...), r.Code)
		dst = answer.AppendString(append(dst, `,"subject":`...), r.Subject)
		dst = append(answer.AppendString(append(dst, `,"remedy":`...), r.Remedy), '}')
	}
	return append(answer.CloseList(dst, from), '}')
}

func appendSection(dst []byte, s *prompt.Section) []byte {
	dst = answer.AppendString(append(dst, `{"format":`...), s.Format)
	dst = append(dst, `,"text":"`...)
	for _, part := range s.Parts {
		dst = answer.AppendEscaped(dst, part)
	}
	dst = answer.AppendStrings(append(dst, `","omitted":`...), s.Omitted)
	dst = strconv.AppendBool(append(dst, `,"truncated":`...), s.Truncated())
	if len(s.Shortened) > 0 {
		dst = append(dst, `,"shortened":`...)
		from := len(dst)
		for i := range s.Shortened {
			x := &s.Shortened[i]
			dst = answer.AppendString(append(dst, `,{"slug":`...), x.Slug)
			dst = answer.AppendString(append(dst, `,"left_out":`...), x.LeftOut)
			dst = append(answer.AppendString(append(dst, `,"why":`...), x.Why), '}')
		}
		dst = answer.CloseList(dst, from)
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
