package turn

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

// Bounds of what is read for one prompt. Of skills beyond them the prompt has no body.
const (
	maxBodies     = 1000
	maxBodyBytes  = 32 << 20 // of all bodies together
	promptRescans = 1
	// maxResourceBytes bounds the links and examples of all skills together.
	maxResourceBytes = 8 << 20
)

// answer fills in what is active in a turn, and the prompt of that. Where the format shows bodies and the disk has
// moved on from one, it looks again once, and both are of the new snapshot.
func (t *Turns) answer(ctx context.Context, s *pannier.Snapshot, turn pannier.Turn, into *Answer) error {
	start := time.Now()
	defer func() { t.duration.Observe(time.Since(start).Seconds()) }()
	for rescans := 0; ; rescans++ {
		of := t.turnsOf(s)
		into.resolve(of, turn)
		clear(into.read)
		into.snapshot, into.read = s, into.read[:0]
		texts, err := t.bodies(ctx, turn, rescans == promptRescans, into)
		if errors.Is(err, pannier.ErrChanged) {
			if s, err = t.Service.Rescan(ctx, true); err == nil {
				continue
			}
		}
		if err != nil {
			return err
		}
		if texts.Resources, err = t.resources(ctx, s, turn.Format, texts.Bodies); err != nil {
			return err
		}
		for i, b := range into.read {
			into.read[i].resources = texts.Resources[b.Slug]
		}
		sections := of.sections
		if t.Peers != nil { // only formats that read bodies show them, and their answers are not kept
			sections = sections.WithPeers(t.Peers())
		}
		sections.RenderActive(into.active(), texts, turn.Format, t.budget(turn, into.Overrides), &into.section)
		into.keepShown()
		return nil
	}
}

// bodies reads those of the skills whose bodies the prompt of a turn can show, by slug, and lists in the answer what
// it read. One that cannot be read is unread: the others are still worth having. In the last try that is so for one
// that has changed too, else it is [pannier.ErrChanged].
func (t *Turns) bodies(ctx context.Context, turn pannier.Turn, lastTry bool, into *Answer) (prompt.Texts, error) {
	slugs := prompt.Bodies(turn.Format, into.active())
	if len(slugs) == 0 {
		return prompt.Texts{}, nil
	}
	texts := prompt.Texts{Bodies: map[string]string{}, Unread: map[string]bool{}}
	slugs = slices.DeleteFunc(slugs, func(slug string) bool {
		e, ok := into.snapshot.Lookup(slug)
		none := !ok || service.CheckInstructions(e) != nil // its problems say why
		if none {
			texts.Unread[slug] = true
		}
		return none
	})
	limit := maxBodies
	if n := turn.Limits.MaxBodies; n != nil {
		limit = min(limit, *n)
	}
	size, pass := 0, t.bodyCache.begin()
	for _, slug := range slugs[:min(len(slugs), limit)] {
		e, _ := into.snapshot.Lookup(slug)
		doc, kept := t.bodyCache.of(e.Skill, pass)
		var err error
		if !kept {
			if doc, err = t.Service.Text(ctx, e); err == nil {
				t.bodyCache.store(e.Skill, doc, pass)
			}
		}
		switch {
		case ctx.Err() != nil:
			return texts, ctx.Err()
		case errors.Is(err, pannier.ErrChanged) && !lastTry:
			return texts, err
		case err != nil:
			t.Service.Logger.Warn("a prompt has no text of a skill: it cannot be read", "skill", e.Slug, "error", err)
			texts.Unread[slug] = true
			continue
		}
		if size += len(doc.Body); size > maxBodyBytes {
			break
		}
		texts.Bodies[e.Slug] = doc.Body
		into.read = append(into.read, readBody{Entry: e, frontmatter: doc.Frontmatter})
	}
	return texts, nil
}

// resources reads the links and examples of the skills that have a body, by slug. What cannot be read is left out,
// and counts as incomplete.
func (t *Turns) resources(
	ctx context.Context, s *pannier.Snapshot, format string, bodies map[string]string,
) (map[string]pannier.Resources, error) {
	if t.Resources == nil || !prompt.NeedsBodies(format) {
		return nil, nil
	}
	resources := map[string]pannier.Resources{}
	size := 0
	for _, slug := range slices.Sorted(maps.Keys(bodies)) {
		e, ok := s.Lookup(slug)
		if !ok {
			continue
		}
		found, err := t.Resources(ctx, e.Skill)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			t.Service.Logger.Warn("a prompt omits the links and examples of a skill", "skill", slug, "error", err)
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
