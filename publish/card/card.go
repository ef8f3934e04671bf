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
	"cmp"
	"encoding/json"
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
	// Members are the parts of JSON by key; nil for a card that was not built here. It must not be changed.
	Members map[string]json.RawMessage
	// SnapshotVersion is that of the snapshot that it was made from.
	SnapshotVersion uint64
	// Trimmed says what was left out because of [Options.MaxBytes], in the order in which it was, in words.
	Trimmed []string
	// Problem is the "card.trimmed" that says so; nil where the card had room for everything. It must not be changed.
	Problem *pannier.Problem
}

// head is the beginning of the wire form, up to the skills. The order of its fields is that of the platform's own.
type head struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Version     string `json:"version"`
	URL         string `json:"url,omitempty"`
}

// front returns the JSON of the card up to its first skill.
func (h head) front() []byte {
	text := encoded(h)
	return append(text[:len(text)-1], `,"skills":[`...)
}

type skill struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Tags        []string `json:"tags"`
	Examples    []string `json:"examples"`
}

// tail is the end of the wire form, after the skills.
type tail struct {
	Capabilities capabilities `json:"capabilities"`
}

type capabilities struct {
	Streaming         bool `json:"streaming"`
	PushNotifications bool `json:"pushNotifications"`
}

// Build returns the card of a snapshot: every usable skill, in the order of config.yaml.
func Build(s *pannier.Snapshot, o Options) Card { return NewBuilder(o).Build(s) }

// Builder makes the cards of snapshots that follow one another, so that a change of one skill encodes that skill alone. It is
// for one caller at a time.
type Builder struct {
	options Options
	pieces  map[*pannier.Entry]*piece // of the last card; snapshots share the entries of which nothing changed
}

// NewBuilder returns a builder without a card.
func NewBuilder(o Options) *Builder {
	return &Builder{options: o, pieces: map[*pannier.Entry]*piece{}}
}

// Build returns the card of a snapshot, as the function [Build] does.
func (b *Builder) Build(s *pannier.Snapshot) Card {
	w := s.Workspace
	d := draft{
		most: b.options.MaxBytes,
		head: head{
			Name: cmp.Or(line(w.Name), defaultName), Description: lines(w.Description),
			Version: cmp.Or(line(w.Version), defaultVersion), URL: line(b.options.URL),
		},
		end: append([]byte("],"), encoded(tail{capabilities{w.Streaming, w.PushNotifications}})[1:]...),
	}
	d.front = d.head.front()
	ranked := s.Ranked()
	d.pieces = make([]*piece, 0, len(ranked))
	for _, e := range ranked {
		d.pieces = append(d.pieces, b.piece(e))
	}
	if len(b.pieces) > 2*len(d.pieces)+1 {
		b.forget(d.pieces)
	}
	c := Card{SnapshotVersion: s.Version}
	if d.most > 0 {
		c.Trimmed, c.Problem = d.trim()
	}
	c.JSON = d.join()
	c.Digest = pannier.DigestOf(c.JSON)
	_ = json.Unmarshal(encoded(d.head), &c.Members) // texts alone
	skills, tail := len(d.front)-1, len(c.JSON)-len(d.end)+1
	c.Members["skills"] = c.JSON[skills:tail:tail]
	tail += len(`,"capabilities":`)
	c.Members["capabilities"] = c.JSON[tail : len(c.JSON)-1 : len(c.JSON)-1]
	return c
}

// piece returns the piece of a skill.
func (b *Builder) piece(e *pannier.Entry) *piece {
	p := b.pieces[e]
	if p == nil {
		p = &piece{entry: e}
		b.pieces[e] = p
	}
	return p
}

// forget keeps only the pieces of the newest card.
func (b *Builder) forget(newest []*piece) {
	b.pieces = make(map[*pannier.Entry]*piece, len(newest))
	for _, p := range newest {
		b.pieces[p.entry] = p
	}
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
