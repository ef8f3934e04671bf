package card

import (
	"fmt"
	"slices"
	"strings"

	"pannier"
	"pannier/internal/plain"
)

// draft is a card before it is joined.
type draft struct {
	most       int // bytes of JSON; 0: no limit
	head       head
	front, end []byte // the JSON before and after the skills
	pieces     []*piece
	levels     []level // of each piece; nil while all are whole
	size       int     // of the JSON
	cuts       []string
}

// join returns the JSON of the card.
func (d *draft) join() []byte {
	text := append(make([]byte, 0, max(d.size, len(d.front)+len(d.end))), d.front...)
	for i, p := range d.pieces {
		if i > 0 {
			text = append(text, ',')
		}
		text = p.appendTo(text, d.level(i))
	}
	return append(text, d.end...)
}

func (d *draft) level(i int) level {
	if d.levels == nil {
		return whole
	}
	return d.levels[i]
}

// trim cuts what a card has too much of, in an order in which a peer misses the last of it most: examples, tags, long
// descriptions, skills. Each kind is cut from the last skill backwards and no further than is needed. It returns what was
// cut, and the problem that says so; nil where the card fits as it is.
func (d *draft) trim() ([]string, *pannier.Problem) {
	d.size = len(d.front) + len(d.end) + max(0, len(d.pieces)-1) // with the commas
	for _, p := range d.pieces {
		d.size += p.size(whole)
	}
	was := d.size
	if d.fits() {
		return nil, nil
	}
	d.levels = make([]level, len(d.pieces))
	n := d.cut(noExamples)
	d.note(n, "left out the examples of %s", plain.Count(n, "skill"))
	n = d.cut(noTags)
	d.note(n, "left out the tags of %s", plain.Count(n, "skill"))
	d.cutDescriptions(cutTo200)
	d.cutDescriptions(cutTo80)
	d.dropSkills()
	return d.cuts, d.problem(was)
}

func (d *draft) fits() bool { return d.size <= d.most }

func (d *draft) cutDescriptions(l level) {
	length := descriptionLengths[l]
	n := d.cut(l)
	d.note(n, "cut the descriptions of %s to %d characters", plain.Count(n, "skill"), length)
	if d.fits() {
		return
	}
	short := d.head
	short.Description = pannier.Truncate(short.Description, length)
	if saved := len(d.front) - len(short.front()); saved > 0 {
		d.head, d.front = short, short.front()
		d.size -= saved
		d.note(1, "cut the agent's own description to %d characters", length)
	}
}

// cut brings skills to a level, from the last one backwards, until the card fits. It returns how many became smaller by that.
func (d *draft) cut(l level) (n int) {
	for i, p := range slices.Backward(d.pieces) {
		if d.fits() {
			return n
		}
		if saved := p.size(l-1) - p.size(l); saved > 0 {
			d.size -= saved
			n++
		}
		d.levels[i] = l
	}
	return n
}

func (d *draft) dropSkills() {
	all := d.pieces
	for last := len(all) - 1; last >= 0 && !d.fits(); last-- {
		d.pieces = all[:last]
		d.size -= all[last].size(d.levels[last])
		if last > 0 {
			d.size-- // the comma before it
		}
	}
	dropped := all[len(d.pieces):]
	dropText(dropped)
	d.note(len(dropped), "left out the last %s (%s)", plain.Count(len(dropped), "skill"), names(dropped))
}

// names lists the first few skills.
func names(skills []*piece) string {
	const most = 5
	var ids []string
	for _, s := range skills[:min(len(skills), most)] {
		ids = append(ids, s.id())
	}
	if more := len(skills) - most; more > 0 {
		ids = append(ids, fmt.Sprintf("%d more", more))
	}
	return strings.Join(ids, ", ")
}

// note remembers a cut that n things were the better for.
func (d *draft) note(n int, format string, args ...any) {
	if n > 0 {
		d.cuts = append(d.cuts, fmt.Sprintf(format, args...))
	}
}

func (d *draft) problem(was int) *pannier.Problem {
	message := fmt.Sprintf("the agent card has %d bytes and may have %d", was, d.most)
	if len(d.cuts) > 0 {
		message += ": " + strings.Join(d.cuts, "; ")
	}
	if !d.fits() {
		message += fmt.Sprintf("; it still has %d bytes, and there is nothing left to cut", d.size)
	}
	return &pannier.Problem{
		Code:     "card.trimmed",
		Severity: pannier.SeverityWarning,
		Path:     "config.yaml",
		Message:  message,
		Hint:     "shorten the examples, tags and descriptions of the skills",
	}
}
