package molecule

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pannier"
)

// droppedKeys are the top-level keys of the registered card that the newest push had no room for.
type droppedKeys struct {
	keys  []string // sorted
	since time.Time
}

// The bounds of what is told of them: they are somebody else's texts.
const (
	droppedTold     = 10
	droppedKeyBytes = 64
)

const hintUnkept = "see what else writes so much into the workspace's card; where it is meant to be there, raise card_max_bytes, or shorten examples, tags and descriptions of the skills"

func (d *droppedKeys) set(keys []string) {
	if !slices.Equal(d.keys, keys) {
		*d = droppedKeys{keys, time.Now()}
	}
}

func (d *droppedKeys) conditions(subject string) []pannier.Condition {
	if len(d.keys) == 0 {
		return nil
	}
	return []pannier.Condition{{
		Code: "card_foreign_keys_dropped", Severity: pannier.SeverityWarning, Since: d.since, Subject: subject,
		Message: "the card has no room for what others have written beside it: " + d.words(), Hint: hintUnkept,
	}}
}

func (d *droppedKeys) words() string {
	var told []string
	for _, key := range d.keys[:min(len(d.keys), droppedTold)] {
		if len(key) > droppedKeyBytes {
			key = key[:droppedKeyBytes] + "..."
		}
		told = append(told, printable(strings.ToValidUTF8(key, "")))
	}
	if more := len(d.keys) - droppedTold; more > 0 {
		told = append(told, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(told, ", ")
}
