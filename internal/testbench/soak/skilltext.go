package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
)

// token names one content of one skill: its writer and a number. A text tells it in several places, so that a mix of two
// contents shows.
type token string

func newToken(writer, number int) token { return token(fmt.Sprintf("w%d-%d", writer, number)) }

// text returns a SKILL.md that tells the token. pad is how many bytes its body has beside that.
func (t token) text(pad int) string {
	body := strings.Repeat("Do it again, and again.\n", pad/24)
	return fmt.Sprintf("---\nname: %[1]s\ndescription: begins %[1]s and ends %[1]s\ntags: [%[1]s]\n---\nDo %[1]s.\n%[2]sDone %[1]s.\n", t, body)
}

// broken returns a SKILL.md whose frontmatter is none.
func (t token) broken() string { return fmt.Sprintf("---\nname: %s\ntags: [open\n---\nDo it.\n", t) }

// padding returns a length, mostly small.
func padding(r *rand.Rand) int {
	if r.IntN(10) == 0 {
		return r.IntN(60 << 10)
	}
	return r.IntN(2 << 10)
}

// cardSkill is what a card tells of a skill.
type cardSkill struct {
	ID, Name, Description string
	Tags                  []string
}

var errMixed = errors.New("mixed from two contents")

// whole returns nil where all that a card tells of a skill is of one token. One of tools only tells nothing but its folder.
func (s cardSkill) whole() error {
	if s.Name == s.ID && s.Description == "" {
		return nil
	}
	if s.Description != fmt.Sprintf("begins %[1]s and ends %[1]s", s.Name) || len(s.Tags) != 1 || s.Tags[0] != s.Name {
		return fmt.Errorf("skill %s: %w: name %q, description %q, tags %q", s.ID, errMixed, s.Name, s.Description, s.Tags)
	}
	return nil
}
