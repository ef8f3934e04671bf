package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pannier"
)

// The parameters and results of the methods of the extension.
type (
	cursorParams struct {
		sdk.ParamsBase
		Cursor string `json:"cursor,omitempty"`
	}
	uriParams struct {
		sdk.ParamsBase
		URI    string `json:"uri"`
		Cursor string `json:"cursor,omitempty"`
	}
	skillsPage struct {
		page
		Skills []json.RawMessage `json:"skills"`
	}
	skillResult struct {
		page
		Skill json.RawMessage `json:"skill"`
	}
	directoryPage struct {
		page
		Resources []json.RawMessage `json:"resources"`
	}
	skillEntry struct {
		URI         string          `json:"uri"`
		Frontmatter json.RawMessage `json:"frontmatter"`
		// Resources are [skillFile], or the text "dynamic".
		Resources any `json:"resources"`
	}
	skillFile struct {
		URI    string         `json:"uri"`
		Digest pannier.Digest `json:"digest"`
		Size   int64          `json:"size"`
	}
)

func (s *Server) addMethods() {
	for _, err := range []error{
		sdk.AddReceivingCustomMethod(s.sdk, "skills/list", s.listSkills),
		sdk.AddReceivingCustomMethod(s.sdk, "skills/get", s.getSkill),
		sdk.AddReceivingCustomMethod(s.sdk, "resources/directory/read", s.readDirectory),
	} {
		if err != nil {
			panic(err) // a later SDK has the method: serve it by that
		}
	}
}

func (s *Server) listSkills(ctx context.Context, _ *sdk.ServerSession, params *cursorParams) (*skillsPage, error) {
	v, err := s.current(ctx)
	if err != nil {
		return nil, err
	}
	cursor := ""
	if params != nil {
		cursor = params.Cursor
	}
	result := &skillsPage{page: newPage(ctx)}
	result.Skills, result.NextCursor, err = paginate(s, cursor, v.served, slugOf, func(e *pannier.Entry) (json.RawMessage, error) {
		_, text, err := s.entry(ctx, e, listedAge)
		if err != nil && ctx.Err() == nil { // it has changed or cannot be read: the next snapshot tells
			return nil, nil
		}
		return text, err
	})
	if err != nil {
		return nil, err
	}
	return result, nil
}

func (s *Server) getSkill(ctx context.Context, _ *sdk.ServerSession, params *uriParams) (*skillResult, error) {
	if params == nil || params.URI == "" {
		return nil, refuse("uri_missing", "the parameter uri is missing", "name the URI of a SKILL.md")
	}
	result := &skillResult{page: newPage(ctx)}
	err := s.fresh(ctx, func(v *view) error {
		e, path, inside, err := s.locate(v, params.URI)
		if err != nil {
			return err
		}
		if !inside || path != e.File {
			return refuse("skill_not_found", fmt.Sprintf("no skill at %.100q", params.URI), "the URI of this skill is "+fileURI(e, e.File))
		}
		_, result.Skill, err = s.entry(ctx, e, 0)
		return s.held(e, err)
	})
	if err != nil {
		return nil, err
	}
	return result, nil
}

// held explains why a usable skill has no text.
func (s *Server) held(e *pannier.Entry, err error) error {
	if !errors.Is(err, pannier.ErrNotServable) {
		return err
	}
	hint := "fix its SKILL.md"
	if len(e.Problems) > 0 {
		hint = e.Problems[0].String() + "; " + e.Problems[0].Hint
	}
	return refuse("skill_held", e.Slug+" is listed as it last was; its text on disk can no longer be read", hint)
}

// freshTries bounds how often a skill that changes while it is read is read.
const freshTries = 3

// fresh calls answer with the newest view. While answer fails with [pannier.ErrChanged] it scans again and retries.
func (s *Server) fresh(ctx context.Context, answer func(*view) error) error {
	v, err := s.current(ctx)
	if err != nil {
		return err
	}
	for try := 1; ; try++ {
		if err = answer(v); !errors.Is(err, pannier.ErrChanged) || try == freshTries {
			return err
		}
		snapshot, err := s.Rescan(ctx)
		if err != nil {
			return err
		}
		v = s.viewOf(snapshot)
	}
}

// listedAge is how long ago the files of a listed skill were compared with the disk at most. skills/get compares them again.
const listedAge = ttl * time.Millisecond

// entry returns the manifest of a skill as it was at most maxAge ago and its encoded entry, which belong together.
func (s *Server) entry(ctx context.Context, e *pannier.Entry, maxAge time.Duration) (pannier.Manifest, json.RawMessage, error) {
	m, err := s.Manifest(ctx, e.Skill, maxAge)
	if err != nil {
		return m, nil, err
	}
	if text, ok := s.entries.get(e, m); ok {
		return m, text, nil
	}
	if err := checkFrontmatter(e, m.Frontmatter); err != nil {
		return m, nil, err
	}
	entry := skillEntry{URI: fileURI(e, e.File), Frontmatter: m.Frontmatter, Resources: "dynamic"}
	if !m.Dynamic {
		files := make([]skillFile, len(m.Files))
		for i, f := range m.Files {
			files[i] = skillFile{fileURI(e, f.Path), f.Digest, f.Size}
		}
		entry.Resources = files
	}
	text := encode(entry)
	s.entries.put(e, m, text)
	return m, text, nil
}

// checkFrontmatter refuses skills whose entry would break the extension: their name or description is not their own.
func checkFrontmatter(e *pannier.Entry, text json.RawMessage) error {
	var front struct {
		Name        any `json:"name"`
		Description any `json:"description"`
	}
	if err := json.Unmarshal(text, &front); err != nil {
		return refuse("frontmatter_invalid", "the frontmatter of "+e.Slug+" is not a mapping", "fix its SKILL.md")
	}
	if description, _ := front.Description.(string); front.Name != e.Name || strings.TrimSpace(description) == "" {
		return refuse(codeName, "the frontmatter of "+e.Slug+" has no name or no description", "add both to its SKILL.md, or use the tool activate_skill")
	}
	return nil
}

// maxCachedEntries bounds the bytes of the encoded entries that are kept.
const maxCachedEntries = 16 << 20

// entryCache keeps encoded entries as long as skill and manifest are the same. It is for any number of callers.
type entryCache struct {
	mu     sync.Mutex
	bySlug map[string]cachedEntry
	bytes  int
}

type cachedEntry struct {
	skill *pannier.Skill
	of    pannier.Digest // of the manifest
	text  json.RawMessage
}

func (c *entryCache) get(e *pannier.Entry, m pannier.Manifest) (json.RawMessage, bool) {
	c.mu.Lock()
	kept, ok := c.bySlug[e.Slug]
	c.mu.Unlock()
	return kept.text, ok && kept.skill == e.Skill && kept.of == m.Digest
}

func (c *entryCache) put(e *pannier.Entry, m pannier.Manifest, text json.RawMessage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bySlug == nil {
		c.bySlug = map[string]cachedEntry{}
	}
	c.bytes -= len(c.bySlug[e.Slug].text)
	delete(c.bySlug, e.Slug)
	if c.bytes+len(text) <= maxCachedEntries {
		c.bySlug[e.Slug] = cachedEntry{e.Skill, m.Digest, text}
		c.bytes += len(text)
	}
}

// keep drops what a view does not serve.
func (c *entryCache) keep(v *view) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for slug, kept := range c.bySlug {
		if e, ok := v.snapshot.Lookup(slug); !ok || e.Skill != kept.skill {
			c.bytes -= len(kept.text)
			delete(c.bySlug, slug)
		}
	}
}

func (c *entryCache) drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bySlug, c.bytes = nil, 0
}
