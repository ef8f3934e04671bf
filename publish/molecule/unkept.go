package molecule

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pannier"
)

// unkept are the top-level keys of the registered card that the newest push had no room for.
type unkept struct {
	keys  []string // sorted
	since time.Time
}

// The bounds of what is told of them: they are somebody else's texts.
const (
	unkeptTold     = 10
	unkeptKeyBytes = 64
)

const hintUnkept = "see what else writes so much into the workspace's card; where it is meant to be there, raise card_max_bytes, or shorten examples, tags and descriptions of the skills"

// noteUnkept takes over what a push has left out.
func (p *Publisher) noteUnkept(keys []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if slices.Equal(p.unkept.keys, keys) {
		return
	}
	p.unkept = unkept{keys, time.Now()}
}

func (u *unkept) condition(subject string) []pannier.Condition {
	if len(u.keys) == 0 {
		return nil
	}
	return []pannier.Condition{{
		Code: "card_foreign_keys_dropped", Severity: pannier.SeverityWarning, Since: u.since, Subject: subject,
		Message: "the card has no room for what others have written beside it: " + u.words(), Hint: hintUnkept,
	}}
}

func (u *unkept) words() string {
	var told []string
	for _, key := range u.keys[:min(len(u.keys), unkeptTold)] {
		if len(key) > unkeptKeyBytes {
			key = key[:unkeptKeyBytes] + "..."
		}
		told = append(told, printable(strings.ToValidUTF8(key, "")))
	}
	if more := len(u.keys) - unkeptTold; more > 0 {
		told = append(told, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(told, ", ")
}
