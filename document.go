package pannier

import (
	"encoding/json"
	"errors"
)

// ErrChanged says that a file is not what the snapshot says any more. The answer to it is to look again.
var ErrChanged = errors.New("the file has changed since it was last looked at")

// ErrNotServable says that there is no text to serve of a skill: it cannot be read, or it is held as it last was while
// the disk has moved on.
var ErrNotServable = errors.New("the skill has no readable text")

// Document is the whole of a SKILL.md.
type Document struct {
	// Frontmatter is typed JSON in source order, unknown fields included; nil where there is none.
	Frontmatter json.RawMessage
	// Body is the text behind the frontmatter, with bytes that are not UTF-8 replaced.
	Body string
	// Warnings tell what was changed of the body.
	Warnings []string
}
