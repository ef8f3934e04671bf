// Package card makes the agent card from a snapshot: what peer agents and the canvas learn of an agent's skills.
//
// The card has the six keys that Molecule's registry knows, and `examples` on each skill. It is pure: same snapshot and
// options, same bytes. It is never poisonous: every id and name is a non-empty text, every list is a list of texts, and
// no text holds a NUL or bytes that are not UTF-8, because a consumer that meets one loses every peer it has. Texts are cleaned
// as those of a prompt are.
//
// A card over [Options.MaxBytes] is trimmed: examples go first, then tags, then descriptions are cut to 200 and to 80
// characters, and at last skills go, each from the last skill backwards and no further than is needed. Name, version, url
// and the ids and names of the skills that stay are never cut, so that a card without skills may still be over the limit.
package card

import (
	"encoding/json"
	"fmt"
	"strings"

	"pannier"
)

// Defaults of config.yaml's fields, as Molecule's runtime has them.
const (
	defaultName    = "Workspace"
	defaultVersion = "1.0.0"
)

// Options are what the card needs beside the snapshot.
type Options struct {
	// URL is where the agent can be reached; empty leaves it out of the card.
	URL string
	// MaxBytes is the most that the JSON may have; 0 means that there is no limit.
	MaxBytes int
}

// Card is an agent card, ready to be sent. It is immutable.
type Card struct {
	// JSON is the card as it is pushed and served.
	JSON json.RawMessage
	// Digest is that of JSON.
	Digest pannier.Digest
	// SnapshotVersion is that of the snapshot that it was made from.
	SnapshotVersion uint64
	// Trimmed says what was left out because of [Options.MaxBytes], in the order in which it was, in words.
	Trimmed []string
	// Problem is the "card.trimmed" that says so; nil where the card had room for everything. It must not be changed.
	Problem *pannier.Problem
}

// document is the wire form. The order of its fields is that of the platform's own.
type document struct {
	Name         string       `json:"name"`
	Description  string       `json:"description"`
	Version      string       `json:"version"`
	URL          string       `json:"url,omitempty"`
	Skills       []skill      `json:"skills"`
	Capabilities capabilities `json:"capabilities"`
}

type skill struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Tags        []string `json:"tags"`
	Examples    []string `json:"examples"`
}

type capabilities struct {
	Streaming         bool `json:"streaming"`
	PushNotifications bool `json:"pushNotifications"`
}

// Build returns the card of a snapshot: every usable skill, in the order of config.yaml.
func Build(s *pannier.Snapshot, o Options) (Card, error) {
	w := s.Workspace
	doc := document{
		Name:         orElse(line(w.Name), defaultName),
		Description:  lines(w.Description),
		Version:      orElse(line(w.Version), defaultVersion),
		URL:          line(o.URL),
		Skills:       []skill{},
		Capabilities: capabilities{Streaming: w.Streaming, PushNotifications: w.PushNotifications},
	}
	for _, e := range s.Ranked() {
		id := orElse(line(e.ID), e.Slug)
		doc.Skills = append(doc.Skills, skill{
			ID:          id,
			Name:        orElse(line(e.Name), id),
			Description: lines(e.Description),
			Tags:        cleanAll(e.Tags, line),
			Examples:    cleanAll(e.Examples, lines),
		})
	}
	c := Card{SnapshotVersion: s.Version}
	if o.MaxBytes > 0 {
		var err error
		if c.Trimmed, c.Problem, err = trim(&doc, o.MaxBytes); err != nil {
			return Card{}, err
		}
	}
	text, err := json.Marshal(doc)
	if err != nil {
		return Card{}, fmt.Errorf("encode card: %w", err)
	}
	c.JSON, c.Digest = text, pannier.DigestOf(text)
	return c, nil
}

func orElse(text, fallback string) string {
	if text == "" {
		return fallback
	}
	return text
}

// line and lines clean a text as prompts do, because peers show it to their models, and trim blanks, so that a text of blanks counts
// as empty.
func line(text string) string  { return strings.TrimSpace(pannier.CleanLine(text)) }
func lines(text string) string { return strings.TrimSpace(pannier.CleanLines(text)) }

func cleanAll(texts []string, clean func(string) string) []string {
	kept := make([]string, 0, len(texts))
	for _, t := range texts {
		if t = clean(t); t != "" {
			kept = append(kept, t)
		}
	}
	return kept
}
