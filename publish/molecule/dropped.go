package molecule

import (
	"fmt"
	"strings"
	"time"

	"pannier"
)

// droppedKeys are the top-level keys of the registered card that the newest push had no room for. Without the
// condition, what another writer registers would vanish unexplained once our card grows towards its bound.
type droppedKeys struct {
	keys  []string // sorted
	since time.Time
}

const hintDropped = "see what else writes so much into the workspace's card; where it is meant to be there, shorten examples, tags and descriptions of the skills"

func (d *droppedKeys) conditions(subject string) []pannier.Condition {
	if len(d.keys) == 0 {
		return nil
	}
	return []pannier.Condition{{
		Code: "card_foreign_keys_dropped", Severity: pannier.SeverityWarning, Since: d.since, Subject: subject,
		Message: "the card has no room for what others have written beside it: " + d.words(), Hint: hintDropped,
	}}
}

// words lists the keys within bounds: they are texts of other writers.
func (d *droppedKeys) words() string {
	const maxKeys, maxBytes = 10, 64
	var words []string
	for _, key := range d.keys[:min(len(d.keys), maxKeys)] {
		if len(key) > maxBytes {
			key = key[:maxBytes] + "..."
		}
		words = append(words, printable(strings.ToValidUTF8(key, "")))
	}
	if more := len(d.keys) - maxKeys; more > 0 {
		words = append(words, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(words, ", ")
}
