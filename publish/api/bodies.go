package api

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"pannier"
	"pannier/publish/prompt"
	"pannier/service"
)

// Bounds of what is read for one prompt. Skills beyond them have no body, and so are omitted.
const (
	maxBodies     = 1000
	maxBodyBytes  = 32 << 20 // of all bodies together
	promptRescans = 1
	// maxResourceBytes bounds the links and examples of all skills together.
	maxResourceBytes = 8 << 20
)

// answer fills in what is active in a turn, and the prompt of that. Where the format shows bodies and the disk has moved on
// from one, it looks again once, and both are of the new snapshot.
func (h *Handler) answer(ctx context.Context, s *pannier.Snapshot, turn pannier.Turn, into *turnAnswer) error {
	start := time.Now()
	defer func() { h.metrics.resolve.Observe(time.Since(start).Seconds()) }()
	for rescans := 0; ; rescans++ {
		t := h.shared.turnsOf(s, h.Options, &h.Service.Activity)
		into.resolve(t, turn)
		clear(into.read)
		into.snapshot, into.read = s, into.read[:0]
		bodies, err := h.bodies(ctx, wanted(s, turn, into.active()), rescans == promptRescans, into)
		if errors.Is(err, pannier.ErrChanged) {
			if s, err = h.Rescan(ctx, true); err == nil {
				continue
			}
		}
		if err != nil {
			return err
		}
		resources, err := h.resources(ctx, s, turn.Format, bodies)
		if err != nil {
			return err
		}
		for i, b := range into.read {
			into.read[i].resources = resources[b.Slug]
		}
		h.withPeers(t.sections).WithResources(resources).RenderActive(into.active(), bodies, turn.Format, h.budget(turn), &into.section)
		into.keepShown()
		return nil
	}
}

func wanted(s *pannier.Snapshot, turn pannier.Turn, active prompt.Active) []string {
	limit := maxBodies
	if n := turn.Limits.MaxBodies; n != nil {
		limit = min(limit, *n)
	}
	slugs := slices.DeleteFunc(prompt.Bodies(turn.Format, active), func(slug string) bool {
		e, ok := s.Lookup(slug)
		return ok && service.CheckInstructions(e) != nil // has no body that could count; its problems say why
	})
	return slugs[:min(len(slugs), limit)]
}

// bodies reads those of some skills of the answer's snapshot, by slug, and lists what it read in the answer. One that cannot be
// read is left out: the others are still worth having. With settle that is so for one that has changed too, else it is
// [pannier.ErrChanged].
func (h *Handler) bodies(ctx context.Context, slugs []string, settle bool, into *turnAnswer) (map[string]string, error) {
	if len(slugs) == 0 {
		return nil, nil
	}
	bodies := map[string]string{}
	size, pass := 0, h.bodyCache.begin()
	for _, slug := range slugs {
		e, ok := into.snapshot.Lookup(slug)
		if !ok {
			continue
		}
		doc, err := h.document(ctx, e, pass)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.Is(err, pannier.ErrChanged) && !settle:
			return nil, err
		case err != nil:
			h.Logger.Warn("prompt omits a skill: its text cannot be read", "skill", e.Slug, "error", err)
			continue
		}
		if size += len(doc.Body); size > maxBodyBytes {
			break
		}
		bodies[e.Slug] = doc.Body
		into.read = append(into.read, readBody{Entry: e, frontmatter: doc.Frontmatter})
	}
	return bodies, nil
}

// resources reads the links and examples of the skills that have a body, by slug. What cannot be read is left out, and counts
// as incomplete.
func (h *Handler) resources(ctx context.Context, s *pannier.Snapshot, format string, bodies map[string]string) (map[string]pannier.Resources, error) {
	if h.Resources == nil || !prompt.NeedsBodies(format) {
		return nil, nil
	}
	resources := map[string]pannier.Resources{}
	size := 0
	for _, slug := range slices.Sorted(maps.Keys(bodies)) {
		e, ok := s.Lookup(slug)
		if !ok {
			continue
		}
		found, err := h.Resources(ctx, e.Skill)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			h.Logger.Warn("a prompt omits the links and examples of a skill", "skill", slug, "error", err)
		}
		if size += sizeOf(found); err != nil || size > maxResourceBytes {
			found = pannier.Resources{Incomplete: true}
		}
		if len(found.Links)+len(found.Examples) > 0 || found.Incomplete {
			resources[slug] = found
		}
	}
	return resources, nil
}

func sizeOf(r pannier.Resources) int {
	size := 0
	for _, l := range r.Links {
		size += len(l.URL) + len(l.Title) + len(l.Description)
	}
	for _, e := range r.Examples {
		size += len(e.Text)
	}
	return size
}

func (h *Handler) document(ctx context.Context, e *pannier.Entry, pass uint64) (pannier.Document, error) {
	if doc, ok := h.bodyCache.of(e.Skill, pass); ok {
		return doc, nil
	}
	doc, err := h.Service.Text(ctx, e)
	if err == nil {
		h.bodyCache.store(e.Skill, doc, pass)
	}
	return doc, err
}
