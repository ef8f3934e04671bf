package prompt

import "math"

// tier is a skill in a format that shows its body: whole, or short, with a line how to read it in the place of the body.
//
// Over a limit, a skill becomes short first and is left out last: the short form of every skill that fits is set aside, in
// the order of the resolution, so that what the turn names comes before what it does not; then bodies are put in, in the
// same order, as far as there is room. A skill whose body is not shown counts as omitted, though it is in the text.
type tier struct {
	item
	short     string
	shortSize int
	complete  bool   // the short form has the whole body
	text      string // what is shown
}

// hintSize is about what telling how to read a skill takes. A body of more than that is never shorter.
const hintSize = 200

func tiers(bodies map[string]string, into *Section, short func(item) string, whole func(*tier) string) []*tier {
	var skills []*tier
	for _, e := range into.items {
		t := &tier{item: e}
		body, ok := bodies[e.Slug]
		switch {
		case e.toolsOnly:
			t.short, t.complete = short(e), true
			t.shortSize = runes(t.short)
			skills = append(skills, t)
			continue
		case !ok:
			continue
		}
		t.short = short(e)
		if t.shortSize = runes(t.short); !exceeds(body, hintSize) {
			if text := whole(t); runes(text) <= t.shortSize {
				t.short, t.shortSize, t.complete = text, runes(text), true
			}
		}
		skills = append(skills, t)
	}
	return skills
}

// keepShort sets the short forms aside, and returns what is used with them.
func keepShort(skills []*tier, used int, into *Section) int {
	for _, t := range skills {
		if into.fits(used + t.shortSize) {
			used += t.shortSize
			if t.text, into.shown[t.place] = t.short, t.complete; t.complete && !t.toolsOnly {
				into.Bodies = append(into.Bodies, t.slug)
			}
		}
	}
	return used
}

// showWhole puts the bodies in, and returns what is used with them. A body that cannot fit is not written.
func showWhole(skills []*tier, used int, bodies map[string]string, into *Section, whole func(*tier) string) int {
	for _, t := range skills {
		room := into.room(used - t.shortSize)
		if t.text == "" || t.toolsOnly || exceeds(bodies[t.Slug], room) {
			continue
		}
		text := whole(t)
		if size := runes(text); size <= room {
			used += size - t.shortSize
			if t.text, into.shown[t.place] = text, true; !t.complete {
				into.Bodies = append(into.Bodies, t.slug)
			}
		}
	}
	return used
}

func (s *Section) room(used int) int {
	if s.maxChars <= 0 {
		return math.MaxInt
	}
	return s.maxChars - used
}

// exceeds reports whether a text has surely more than so many code points, whatever it is cleaned of: what is visible and
// ASCII is never dropped. It looks no further than it must.
func exceeds(text string, size int) bool {
	if len(text) <= size {
		return false
	}
	for i := range len(text) {
		if '!' <= text[i] && text[i] <= '~' {
			if size--; size < 0 {
				return true
			}
		}
	}
	return false
}
