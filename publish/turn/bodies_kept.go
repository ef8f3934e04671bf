package turn

import (
	"sync"
	"time"

	"pannier"
)

// bodyCache are the bodies that prompts have shown lately, by the digest of the SKILL.md that they are the end of, so
// that a prompt with a thousand of them is not a thousand files to read each time. What has a digest of the snapshot
// is the text of the snapshot, whatever the disk says by now: a prompt shows what is served. The zero value keeps
// nothing yet.
type bodyCache struct {
	mu     sync.Mutex
	bodies map[pannier.Digest]*cachedBody
	bytes  int
	pass   uint64      // counts the prompts
	swept  uint64      // the pass that room was last made in
	idle   *time.Timer // drops everything; nil before the first
}

type cachedBody struct {
	doc  pannier.Document // without warnings
	pass uint64           // that of the last prompt with it
}

func documentSize(doc pannier.Document) int { return len(doc.Body) + len(doc.Frontmatter) }

const (
	// maxKeptBytes bounds the bodies that are kept together.
	maxKeptBytes = 8 << 20
	// keepBodies is how long they are kept after the last prompt with bodies: an agent that idles wants the memory.
	keepBodies = 2 * time.Minute
)

// begin counts a prompt. What is kept goes a while after the last one.
func (c *bodyCache) begin() (pass uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.idle == nil {
		c.idle = time.AfterFunc(keepBodies, func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.bodies, c.bytes = nil, 0
		})
	}
	c.idle.Reset(keepBodies)
	c.pass++
	return c.pass
}

func (c *bodyCache) of(s *pannier.Skill, pass uint64) (pannier.Document, bool) {
	if !cacheable(s) {
		return pannier.Document{}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	kept, ok := c.bodies[s.Digest]
	if !ok {
		return pannier.Document{}, false
	}
	kept.pass = pass
	return kept.doc, true
}

// store stores a document that was read for a prompt. Where there is no room, those go that neither this prompt nor
// the one before had; without such ones the body is not kept, so that those that are stay of use to the next prompt.
func (c *bodyCache) store(s *pannier.Skill, doc pannier.Document, pass uint64) {
	if !cacheable(s) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	size := documentSize(doc)
	if c.bytes+size > maxKeptBytes && c.swept != pass {
		c.swept = pass
		for digest, kept := range c.bodies {
			if kept.pass+1 < pass {
				delete(c.bodies, digest)
				c.bytes -= documentSize(kept.doc)
			}
		}
	}
	if _, there := c.bodies[s.Digest]; there || c.bytes+size > maxKeptBytes {
		return
	}
	if c.bodies == nil {
		c.bodies = map[pannier.Digest]*cachedBody{}
	}
	c.bodies[s.Digest] = &cachedBody{pannier.Document{Frontmatter: doc.Frontmatter, Body: doc.Body}, pass}
	c.bytes += size
}

// cacheable reports whether the digest of a skill identifies its text. It does not for a skill that is served as it
// last was: its text on disk has changed or is missing.
func cacheable(s *pannier.Skill) bool {
	return !s.Digest.IsZero() && !s.Broken && !s.LastGood && !s.Deleting && !s.ToolsOnly
}
