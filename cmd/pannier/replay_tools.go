package main

import (
	"context"
	"slices"

	"pannier"
	"pannier/tools/httptool"
)

// decideCall compares a recorded call of a tool with what would be decided about it now: whether the tool is offered, as which kind,
// whether the files of the skill are those that were checked, and whether its programs may run. It runs nothing.
func (a *replayer) decideCall(ctx context.Context, recorded pannier.Event) ([]difference, error) {
	call, err := dataOf[pannier.SkillToolCalled](recorded)
	if err != nil {
		return nil, err
	}
	differ := func(d difference) []difference {
		d.Seq, d.Type, d.Subject = recorded.Seq, recorded.Type, call.Name
		return []difference{d}
	}
	offered, excluded := a.Directory.Tools(a.Snapshot)
	at := slices.IndexFunc(offered, func(t pannier.RuntimeTool) bool { return t.Name == call.Name })
	if at < 0 {
		for _, x := range excluded {
			if x.Name == call.Name {
				return differ(difference{Detail: "the tool is not offered any more: " + x.Reason + ": " + x.Detail}), nil
			}
		}
		return differ(difference{Detail: "there is no such tool any more"}), nil
	}
	if kind := offered[at].Kind; kind != call.Kind {
		return differ(difference{Field: "kind", Recorded: call.Kind, Now: kind}), nil
	}
	e, ok := a.Snapshot.Lookup(call.Slug)
	if !ok || call.Fingerprint.IsZero() { // the output policy of the tool keeps it out of the event
		return nil, nil
	}
	now, err := a.Fingerprint(ctx, e.Skill)
	switch {
	case err != nil:
		return differ(difference{Detail: "the files of the skill cannot be read as a whole: " + err.Error()}), ctx.Err()
	case now != call.Fingerprint:
		return differ(difference{Field: "fingerprint", Recorded: call.Fingerprint, Now: now}), nil
	case !e.MayCall(call.Kind, httptool.SendsSecret(offered[at].Config), now):
		return differ(difference{Detail: "tools of the skill are not allowed to run any more; run \"pannier tool allow " + call.Slug + "\""}), nil
	}
	return nil, nil
}
