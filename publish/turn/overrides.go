package turn

import (
	"encoding/json"

	"pannier"
)

// maxTurnOverrides counts the events skill_override of one turn.
const maxTurnOverrides = 64

// overrides returns what became of each override that a skill of the turn proposed, in their order.
func (a *Answer) overrides() (all []pannier.SkillOverride) {
	if a.Overrides == nil {
		return nil
	}
	decision := pannier.OverrideSuggested
	if a.Overrides.Mode == pannier.OverridesApply {
		decision = pannier.OverrideApplied
	}
	refused := a.Overrides.Refused // in the order of the proposals
	for _, p := range a.Overrides.Proposed {
		o := pannier.SkillOverride{Slug: p.Slug, Part: p.Part, Key: p.Key, Value: p.Value, Decision: decision}
		if len(refused) > 0 && refused[0].Slug == p.Slug && refused[0].Part == p.Part && refused[0].Key == p.Key {
			o.Decision, o.Reason, refused = pannier.OverrideRefused, refused[0].Reason, refused[1:]
		}
		all = append(all, o)
	}
	return all
}

func (t *Turns) emitOverrides(overrides []pannier.SkillOverride, turn pannier.Digest) (emitted int) {
	for _, o := range overrides[:min(len(overrides), maxTurnOverrides)] {
		o.TurnDigest = turn
		if t.Events.Mask != nil && !t.Events.Text {
			if o.Value = json.RawMessage(t.Events.Mask(string(o.Value))); !json.Valid(o.Value) {
				o.Value = nil // the mask took a quote with it
			}
		}
		if !t.Events.Emit(pannier.EventSkillOverride, o) {
			break
		}
		emitted++
	}
	return emitted
}
