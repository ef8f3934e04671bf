package replay

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"

	"pannier"
)

// History is what recorded events come to at their end.
type History struct {
	*Recording
	// catalog is the last one that was recorded, seq its number, and slugs the skills in it; nil where the events do not
	// begin with a whole catalog.
	catalog pannier.CatalogUpdated
	seq     uint64
	slugs   map[string]bool
	// policies are what clients had set.
	policies map[pannier.PolicyKey]pannier.PolicyEntry
	// environment is what skills were judged by; nil where that never changed.
	environment *pannier.EnvironmentChanged
	// blocked are the skills that a scan blocked, by path.
	blocked map[string]bool
	// slugOf has the slugs that events tell of paths.
	slugOf map[string]string
	// turns are the turns that were recorded themselves in the last catalog, by digest.
	turns    map[pannier.Digest]pannier.TurnResolved
	requests int // loads, invocations, reads, calls of tools, and turns that were recorded themselves
}

// History goes through the events. An error says that they may be of another version of pannier.
func (r *Recording) History() (*History, error) {
	h := &History{
		Recording: r, policies: map[pannier.PolicyKey]pannier.PolicyEntry{},
		blocked: map[string]bool{}, slugOf: map[string]string{}, turns: map[pannier.Digest]pannier.TurnResolved{},
	}
	for _, e := range r.events {
		if err := h.record(e); err != nil {
			return nil, fmt.Errorf("event %d, %s: %w", e.Seq, e.Type, err)
		}
	}
	if h.seq == 0 {
		return nil, errors.New("no skill_catalog_updated event found")
	}
	return h, nil
}

func dataOf[T any](e pannier.Event) (data T, err error) {
	err = json.Unmarshal(e.Data.(json.RawMessage), &data)
	return data, err
}

func pathOf(e pannier.Event) string {
	loaded, _ := dataOf[struct {
		Path string `json:"path"`
	}](e)
	return loaded.Path
}

// repeatable reports whether an event records a request that can be made again.
func repeatable(e pannier.Event) bool {
	switch e.Type {
	case pannier.EventSkillLoaded, pannier.EventSkillInvoked, pannier.EventSkillFileRead, pannier.EventSkillToolCalled, pannier.EventSkillOverride:
		return true
	case pannier.EventTurnResolved:
		turn, err := dataOf[pannier.TurnResolved](e)
		return err == nil && turn.Turn != nil
	}
	return false
}

func (h *History) record(e pannier.Event) (err error) {
	if repeatable(e) {
		h.requests++
	}
	switch e.Type {
	case pannier.EventCatalogUpdated:
		if h.catalog, err = dataOf[pannier.CatalogUpdated](e); err != nil {
			return err
		}
		h.seq = e.Seq
		clear(h.turns)
		if isWhole(h.catalog) {
			h.slugs = map[string]bool{}
		}
		if h.slugs == nil {
			return nil
		}
		for _, slug := range h.catalog.Added {
			h.slugs[slug] = true
		}
		for _, slug := range h.catalog.Removed {
			delete(h.slugs, slug)
		}
	case pannier.EventTurnResolved:
		turn, err := dataOf[pannier.TurnResolved](e)
		if err != nil || turn.Turn == nil {
			return err
		}
		h.turns[turn.TurnDigest] = turn
	case pannier.EventPolicyChanged:
		c, err := dataOf[pannier.PolicyChanged](e)
		if err != nil {
			return err
		}
		if h.policies[c.PolicyKey] = c.After; c.After.IsZero() {
			delete(h.policies, c.PolicyKey)
		}
	case pannier.EventEnvironmentChanged:
		c, err := dataOf[pannier.EnvironmentChanged](e)
		h.environment = &c
		return err
	case pannier.EventSkillScanned:
		c, err := dataOf[pannier.SkillScanned](e)
		h.blocked[c.Path] = c.Decision == pannier.ScanBlock
		return err
	case pannier.EventSkillStateChanged:
		c, err := dataOf[pannier.SkillStateChanged](e)
		h.slugOf[c.Path] = c.Slug
		return err
	}
	return nil
}

// isWhole reports whether a catalog was told as a whole, as it is at each start.
func isWhole(c pannier.CatalogUpdated) bool {
	return len(c.Changed)+len(c.Removed) == 0 && len(c.Added) == c.Count-len(c.Collisions)
}

// unsuperseded returns the events of what was done with skills that did not change afterwards, and of turns in the catalog as
// it is; digest is that of its snapshot. slugAt tells the slug of the skill that is at a path now, empty where there is none.
func (h *History) unsuperseded(digest pannier.Digest, slugAt func(string) string) []pannier.Event {
	var current []pannier.Event
	for _, e := range h.events {
		if repeatable(e) {
			current = append(current, e)
			continue
		}
		c, err := dataOf[pannier.CatalogUpdated](e)
		if e.Type != pannier.EventCatalogUpdated || err != nil {
			continue
		}
		moved := slices.Concat(c.Added, c.Changed, c.Removed)
		current = slices.DeleteFunc(current, func(e pannier.Event) bool {
			return isWhole(c) || slices.Contains(moved, h.slug(e, slugAt))
		})
	}
	// A turn cannot be resolved again in another snapshot, nor if it matched a skill and was not recorded itself.
	return slices.DeleteFunc(current, func(e pannier.Event) bool {
		switch e.Type {
		case pannier.EventTurnResolved:
			turn, _ := dataOf[pannier.TurnResolved](e)
			return turn.Digest != digest
		case pannier.EventSkillOverride: // of a turn that was not recorded itself, nothing is known
			o, _ := dataOf[pannier.SkillOverride](e)
			return h.turns[o.TurnDigest].Digest != digest
		case pannier.EventSkillInvoked:
			run, _ := dataOf[pannier.SkillInvoked](e)
			return run.Mode == pannier.InvokedAutomatically && h.turns[run.TurnDigest].Digest != digest
		}
		return false
	})
}

// slug returns the slug of the skill that an event is about, empty for a turn.
func (h *History) slug(e pannier.Event, slugAt func(string) string) string {
	switch e.Type {
	case pannier.EventTurnResolved:
		return ""
	case pannier.EventSkillLoaded:
		at := pathOf(e)
		if slug := slugAt(at); slug != "" {
			return slug
		}
		if slug, ok := h.slugOf[at]; ok {
			return slug
		}
		return path.Base(at)
	}
	named, _ := dataOf[pannier.SkillInvoked](e) // a file that was read, or a tool, is of a slug too
	return named.Slug
}
