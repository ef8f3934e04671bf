package api

import (
	"sync"
	"time"

	"pannier"
)

// bodyCache are the bodies that prompts have shown lately, by the digest of the SKILL.md that they are the end of, so that
// a prompt with a thousand of them is not a thousand files to read each time. What has a digest of the snapshot is the text
// of the snapshot, whatever the disk says by now: a prompt shows what is served. The zero
// value keeps nothing yet.
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
func (k *bodyCache) begin() (pass uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.idle == nil {
		k.idle = time.AfterFunc(keepBodies, k.drop)
	}
	k.idle.Reset(keepBodies)
	k.pass++
	return k.pass
}

func (k *bodyCache) drop() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.bodies, k.bytes = nil, 0
}

func (k *bodyCache) of(s *pannier.Skill, pass uint64) (pannier.Document, bool) {
	if !cacheable(s) {
		return pannier.Document{}, false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	kept, ok := k.bodies[s.Digest]
	if !ok {
		return pannier.Document{}, false
	}
	kept.pass = pass
	return kept.doc, true
}

// store stores a document that was read for a prompt. Where there is no room, those go that neither this prompt nor the one
// before had; without such ones the body is not kept, so that those that are stay of use to the next prompt.
func (k *bodyCache) store(s *pannier.Skill, doc pannier.Document, pass uint64) {
	if !cacheable(s) {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	size := documentSize(doc)
	if k.bytes+size > maxKeptBytes && k.swept != pass {
		k.makeRoomLocked(pass)
	}
	if _, there := k.bodies[s.Digest]; there || k.bytes+size > maxKeptBytes {
		return
	}
	if k.bodies == nil {
		k.bodies = map[pannier.Digest]*cachedBody{}
	}
	k.bodies[s.Digest] = &cachedBody{pannier.Document{Frontmatter: doc.Frontmatter, Body: doc.Body}, pass}
	k.bytes += size
}

func (k *bodyCache) makeRoomLocked(pass uint64) {
	k.swept = pass
	for digest, kept := range k.bodies {
		if kept.pass+1 < pass {
			delete(k.bodies, digest)
			k.bytes -= documentSize(kept.doc)
		}
	}
}

// cacheable reports whether the digest of a skill identifies its text. It does not for a skill that is served as it last was: its
// text on disk has changed or is missing.
func cacheable(s *pannier.Skill) bool {
	return !s.Digest.IsZero() && !s.Broken && !s.LastGood && !s.Deleting && !s.ToolsOnly
}
