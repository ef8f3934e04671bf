package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pannier"
	"pannier/service"
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
		Skills []*skillEntry `json:"skills"`
	}
	skillResult struct {
		page
		Skill *skillEntry `json:"skill"`
	}
	directoryPage struct {
		page
		Resources []*sdk.Resource `json:"resources"`
	}
	skillEntry struct {
		URI         string          `json:"uri"`
		Frontmatter json.RawMessage `json:"frontmatter"`
		// Resources are [skillFile], or the text "dynamic".
		Resources any `json:"resources"`
	}
	skillFile struct {
		URI    string `json:"uri"`
		Digest string `json:"digest"`
		Size   int64  `json:"size"`
	}
)

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
	result.Skills, result.NextCursor, err = paginate(s, cursor, v.served, slugOf,
		func(e *pannier.Entry) (*skillEntry, int, error) {
			shown, err := s.listed(ctx, e)
			return shown.entry, shown.bytes, err
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
		if err := service.CheckInstructions(e); err != nil {
			return err
		}
		if !inside || path != e.File {
			return refuse("skill_not_found", fmt.Sprintf("no skill at %.100q", params.URI),
				"the URI of this skill is "+fileURI(e, e.File))
		}
		shown, err := s.entry(ctx, e, 0)
		result.Skill = shown.entry
		return err
	})
	if err != nil {
		return nil, err
	}
	return result, nil
}

// fresh calls answer with the newest view. While answer fails with [pannier.ErrChanged] it scans again and retries.
func (s *Server) fresh(ctx context.Context, answer func(*view) error) error {
	v, err := s.current(ctx)
	if err != nil {
		return err
	}
	return s.Service.Fresh(ctx, v.snapshot, func(snapshot *pannier.Snapshot) error { return answer(s.viewOf(snapshot)) })
}

// maxListedAge is how long ago the files of a listed skill were compared with the disk at most. skills/get compares
// them again.
const maxListedAge = 10 * time.Second

// listed returns what lists show of a skill. Its files were compared with the disk since the last change that was
// noticed; what is noticed later is in the manifest of skills/get at once. A skill that cannot be read is left out.
func (s *Server) listed(ctx context.Context, e *pannier.Entry) (shown, error) {
	age := min(maxListedAge, time.Since(time.Unix(0, s.changed.Load())))
	found, err := s.entry(ctx, e, age)
	if err != nil && ctx.Err() == nil { // it has changed or cannot be read: the next snapshot tells
		return shown{}, nil
	}
	return found, err
}

// shown is what lists have of a skill. It is never changed.
type shown struct {
	entry    *skillEntry
	resource *sdk.Resource
	bytes    int // about the size of the encoded entry
}

// entry returns what is shown of a skill by its manifest as it was at most maxAge ago.
func (s *Server) entry(ctx context.Context, e *pannier.Entry, maxAge time.Duration) (shown, error) {
	m, err := s.Manifest(ctx, e.Skill, maxAge)
	if err != nil {
		return shown{}, err
	}
	if kept, ok := s.entries.get(e.Slug); ok && kept.skill == e.Skill && kept.of == m.Digest {
		return kept.shown, nil
	}
	description, err := checkFrontmatter(e, m.Frontmatter)
	if err != nil {
		return shown{}, err
	}
	fresh := shown{
		entry:    &skillEntry{URI: fileURI(e, e.File), Frontmatter: m.Frontmatter, Resources: "dynamic"},
		resource: &sdk.Resource{URI: fileURI(e, e.File), Name: e.Name, Description: description, MIMEType: markdownType},
		bytes:    128 + len(m.Frontmatter),
	}
	if f, ok := fileIn(m, e.File); ok {
		fresh.resource.Size = f.Size
		fresh.resource.Annotations = &sdk.Annotations{LastModified: f.Modified.UTC().Format(time.RFC3339)}
	}
	if !m.Dynamic {
		files := make([]skillFile, 0, len(m.Files))
		for _, f := range m.Files {
			uri := fileURI(e, f.Path)
			if _, err := parseURI(uri, scheme); err != nil { // a newline in its name, for example: no host can read it
				continue
			}
			files = append(files, skillFile{uri, f.Digest.String(), f.Size})
			fresh.bytes += 128 + len(uri)
		}
		fresh.entry.Resources = files
	}
	s.entries.put(e, m, fresh)
	return fresh, nil
}

// checkFrontmatter refuses skills whose entry would break the extension: their name or description is not their own. It
// returns the description as the frontmatter has it, which hosts compare.
func checkFrontmatter(e *pannier.Entry, text json.RawMessage) (string, error) {
	var front struct {
		Name        any `json:"name"`
		Description any `json:"description"`
	}
	if err := json.Unmarshal(text, &front); err != nil {
		return "", refuse("frontmatter_invalid", "the frontmatter of "+e.Slug+" is not a mapping", "fix its SKILL.md")
	}
	description, _ := front.Description.(string)
	if front.Name != e.Name || strings.TrimSpace(description) == "" {
		return "", refuse(pannier.CodeMCPName, "the frontmatter of "+e.Slug+" has no name or no description",
			"add both to its SKILL.md, or use the tool activate_skill")
	}
	return description, nil
}

// maxCachedEntries bounds the bytes of the entries that are kept.
const maxCachedEntries = 16 << 20

// entryCache keeps what is shown of skills as long as skill and manifest are the same. It is for any number of callers.
type entryCache struct {
	mu     sync.Mutex
	bySlug map[string]cachedEntry
	total  int // bytes
}

type cachedEntry struct {
	skill *pannier.Skill
	of    pannier.Digest // of the manifest
	shown
}

func (c *entryCache) get(slug string) (cachedEntry, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	kept, ok := c.bySlug[slug]
	return kept, ok
}

func (c *entryCache) put(e *pannier.Entry, m pannier.Manifest, fresh shown) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.total -= c.bySlug[e.Slug].bytes
	delete(c.bySlug, e.Slug)
	if c.total+fresh.bytes <= maxCachedEntries {
		c.bySlug[e.Slug] = cachedEntry{e.Skill, m.Digest, fresh}
		c.total += fresh.bytes
	}
}

// keep drops what a snapshot does not have; nil has nothing.
func (c *entryCache) keep(s *pannier.Snapshot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s == nil || c.bySlug == nil {
		c.bySlug, c.total = map[string]cachedEntry{}, 0
		return
	}
	for slug, kept := range c.bySlug {
		if e, ok := s.Lookup(slug); !ok || e.Skill != kept.skill {
			c.total -= kept.bytes
			delete(c.bySlug, slug)
		}
	}
}
