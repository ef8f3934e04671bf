package api

import (
	"context"
	"errors"

	"pannier"
	"pannier/publish/prompt"
)

// Bounds of what is read for one prompt. Skills beyond them have no body, and so are omitted.
const (
	maxBodies     = 1000
	maxBodyBytes  = 32 << 20 // of all bodies together
	promptRescans = 1
)

// answerWithBodies fills in which skills are active in a turn, and the prompt of that with their bodies. Where the disk has
// moved on from a body, it looks again once, and both are of the new snapshot.
func (h *Handler) answerWithBodies(ctx context.Context, s *pannier.Snapshot, turn pannier.Turn, into *turnAnswer) error {
	for rescans := 0; ; rescans++ {
		r := h.Resolve(s, turn)
		bodies, err := h.bodies(ctx, s, r, rescans == promptRescans)
		if errors.Is(err, pannier.ErrChanged) {
			if s, err = h.Rescan(ctx, true); err == nil {
				continue
			}
		}
		if err != nil {
			return err
		}
		into.Resolution, into.named = r, len(r.Active)
		prompt.NewRenderer(s, h.AgentWorkspace).Render(r, bodies, turn.Format, h.maxChars(turn), &into.section)
		return nil
	}
}

// bodies reads those of the active skills, by slug. One that can not be read is left out: the others are still worth
// having. With settle that is so for one that has changed too, else it is [pannier.ErrChanged].
func (h *Handler) bodies(ctx context.Context, s *pannier.Snapshot, r pannier.Resolution, settle bool) (map[string]string, error) {
	bodies := map[string]string{}
	size := 0
	for _, a := range r.Active[:min(len(r.Active), maxBodies)] {
		e, ok := s.Lookup(a.Slug)
		if !ok {
			continue
		}
		doc, err := h.Texts.Read(ctx, e.Skill)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.Is(err, pannier.ErrChanged) && !settle:
			return nil, err
		case errors.Is(err, pannier.ErrNotServable): // its problems say why
			continue
		case err != nil:
			h.Logger.Warn("a prompt omits a skill whose text can not be read", "skill", e.Slug, "error", err)
			continue
		}
		if size += len(doc.Body); size > maxBodyBytes {
			break
		}
		bodies[e.Slug] = doc.Body
	}
	return bodies, nil
}
