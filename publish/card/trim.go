package card

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"pannier"
)

// The lengths in characters that descriptions are cut to, one after the other.
var descriptionLengths = []int{200, 80}

// trimmer cuts a document until its JSON has no more than most bytes. It counts what it cuts, because encoding the whole
// after each cut would take too long.
type trimmer struct {
	doc   *document
	most  int
	size  int   // of the document
	sizes []int // of each skill
	cuts  []string
}

// trim cuts what a document has too much of, in an order in which a peer misses the last of it most: examples, tags, long
// descriptions, skills. Each kind is cut from the last skill backwards and no further than is needed. It returns what was
// cut, and the problem that says so; nil where the document fits as it is.
func trim(doc *document, most int) ([]string, *pannier.Problem, error) {
	t := &trimmer{doc: doc, most: most}
	if err := t.measure(); err != nil {
		return nil, nil, err
	}
	was := t.size
	if t.fits() {
		return nil, nil, nil
	}
	t.cutLists("examples", func(s *skill) *[]string { return &s.Examples })
	t.cutLists("tags", func(s *skill) *[]string { return &s.Tags })
	for _, length := range descriptionLengths {
		t.cutDescriptions(length)
	}
	t.dropSkills()
	return t.cuts, t.problem(was), nil
}

func (t *trimmer) fits() bool { return t.size <= t.most }

// measure encodes everything once. What has been encoded once does not fail later.
func (t *trimmer) measure() error {
	text, err := json.Marshal(t.doc)
	if err != nil {
		return fmt.Errorf("encode card: %w", err)
	}
	t.size = len(text)
	for _, s := range t.doc.Skills {
		t.sizes = append(t.sizes, sizeOf(s))
	}
	return nil
}

// sizeOf returns the size of a value's JSON. Structs of texts always have one.
func sizeOf(v any) int {
	text, _ := json.Marshal(v)
	return len(text)
}

func (t *trimmer) cutLists(name string, list func(*skill) *[]string) {
	n := t.each(func(s *skill) { *list(s) = []string{} })
	t.note(n, "left out the %s of %s", name, count(n, "skill"))
}

func (t *trimmer) cutDescriptions(length int) {
	n := t.each(func(s *skill) { s.Description = shorten(s.Description, length) })
	t.note(n, "cut the descriptions of %s to %d characters", count(n, "skill"), length)
	if t.fits() {
		return
	}
	short := shorten(t.doc.Description, length)
	if saved := sizeOf(t.doc.Description) - sizeOf(short); saved > 0 {
		t.doc.Description = short
		t.size -= saved
		t.note(1, "cut the agent's own description to %d characters", length)
	}
}

// each cuts skills from the last one backwards until the document fits. It returns how many became smaller by that; the
// others stay as they are.
func (t *trimmer) each(cut func(*skill)) (n int) {
	for i, s := range slices.Backward(t.doc.Skills) {
		if t.fits() {
			return n
		}
		cut(&s)
		if saved := t.sizes[i] - sizeOf(s); saved > 0 {
			t.doc.Skills[i] = s
			t.sizes[i] -= saved
			t.size -= saved
			n++
		}
	}
	return n
}

func (t *trimmer) dropSkills() {
	all := t.doc.Skills
	for last := len(all) - 1; last >= 0 && !t.fits(); last-- {
		t.doc.Skills = all[:last]
		t.size -= t.sizes[last]
		if last > 0 {
			t.size-- // the comma before it
		}
	}
	dropped := all[len(t.doc.Skills):]
	t.note(len(dropped), "left out the last %s (%s)", count(len(dropped), "skill"), names(dropped))
}

// names lists the first few skills.
func names(skills []skill) string {
	const most = 5
	var ids []string
	for _, s := range skills[:min(len(skills), most)] {
		ids = append(ids, s.ID)
	}
	if more := len(skills) - most; more > 0 {
		ids = append(ids, fmt.Sprintf("%d more", more))
	}
	return strings.Join(ids, ", ")
}

// note remembers a cut that n things were the better for.
func (t *trimmer) note(n int, format string, args ...any) {
	if n > 0 {
		t.cuts = append(t.cuts, fmt.Sprintf(format, args...))
	}
}

func (t *trimmer) problem(was int) *pannier.Problem {
	message := fmt.Sprintf("the agent card has %d bytes and may have %d", was, t.most)
	if len(t.cuts) > 0 {
		message += ": " + strings.Join(t.cuts, "; ")
	}
	if !t.fits() {
		message += fmt.Sprintf("; it still has %d bytes, and there is nothing left to cut", t.size)
	}
	return &pannier.Problem{
		Code:     "card.trimmed",
		Severity: pannier.SeverityWarning,
		Path:     "config.yaml",
		Message:  message,
		Hint:     "raise card_max_bytes, or shorten the examples, tags and descriptions of the skills",
	}
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// shorten cuts a text to so many characters, the last of which then is an ellipsis.
func shorten(text string, length int) string {
	if utf8.RuneCountInString(text) <= length {
		return text
	}
	end, kept := 0, 0
	for end = range text {
		if kept == length-1 {
			break
		}
		kept++
	}
	return strings.TrimRight(text[:end], " \t\r\n") + "…"
}
