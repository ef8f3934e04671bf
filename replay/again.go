package replay

import (
	"context"
	"errors"
	"slices"

	"pannier"
	"pannier/loader/httpspec"
	"pannier/publish/client"
	"pannier/registry/resolve"
	"pannier/sidecar"
)

// replayer repeats recorded requests through the handler of the socket.
type replayer struct {
	*client.Client
	*sidecar.Directory
	history *History
	emitted []pannier.Event
}

// slugAt returns the slug of the skill at a path, empty where there is none.
func (a *replayer) slugAt(path string) string {
	for i := range a.Snapshot.Entries {
		if e := a.Snapshot.Entries[i]; e.Path == path {
			return e.Slug
		}
	}
	return ""
}

// again does once more what an event tells of, and returns how what is emitted differs from it.
func (a *replayer) again(ctx context.Context, e pannier.Event) ([]Difference, error) {
	if e.Type == pannier.EventSkillToolCalled {
		return a.decideCall(ctx, e)
	}
	a.emitted = nil
	subject, err := a.do(ctx, e)
	if refused, ok := errors.AsType[*client.Error](err); ok {
		return []Difference{{Seq: e.Seq, Type: e.Type, Subject: subject, Detail: refused.Detail}}, nil
	}
	if err != nil {
		return nil, err
	}
	for _, now := range a.emitted {
		if run, ok := now.Data.(pannier.SkillInvoked); ok && run.Slug != subject {
			continue // a turn can invoke several
		}
		if o, ok := now.Data.(pannier.SkillOverride); ok && overrideSubject(o) != subject {
			continue
		}
		if now.Type == e.Type {
			if now.Data, err = a.withResources(ctx, e, now.Data); err != nil {
				return nil, err
			}
			return differences(e, now.Data, subject)
		}
	}
	return []Difference{{Seq: e.Seq, Type: e.Type, Subject: subject, Detail: "the event does not occur again"}}, nil
}

// withResources adds the links and examples of now to a load, if the recorded load of a prompt has them.
func (a *replayer) withResources(ctx context.Context, recorded pannier.Event, now any) (any, error) {
	loaded, ok := now.(pannier.SkillLoaded)
	if !ok {
		return now, nil
	}
	before, err := dataOf[pannier.SkillLoaded](recorded)
	if err != nil || len(before.Resources) == 0 {
		return now, err
	}
	at := slices.IndexFunc(a.Snapshot.Entries, func(e *pannier.Entry) bool { return e.Path == loaded.Path })
	if at < 0 {
		return now, nil
	}
	found, err := a.Directory.Resources(ctx, a.Snapshot.Entries[at].Skill)
	loaded.Resources = found.Files()
	return loaded, err
}

// do asks for what an event tells of, and returns what that is about.
func (a *replayer) do(ctx context.Context, e pannier.Event) (subject string, err error) {
	switch e.Type {
	case pannier.EventSkillLoaded:
		at := pathOf(e)
		slug := a.slugAt(at)
		if slug == "" {
			return at, notFound("the skill does not exist any more")
		}
		_, err = a.Content(ctx, slug)
		return at, err
	case pannier.EventSkillFileRead:
		read, err := dataOf[pannier.SkillFileRead](e)
		if err == nil {
			_, _, err = a.File(ctx, read.Slug, read.Path)
		}
		return read.Slug + "/" + read.Path, err
	case pannier.EventTurnResolved:
		recorded, err := dataOf[pannier.TurnResolved](e)
		if err == nil {
			err = a.resolve(ctx, recorded)
		}
		return recorded.TurnDigest.String(), err
	case pannier.EventSkillOverride:
		o, err := dataOf[pannier.SkillOverride](e)
		if err == nil {
			err = a.resolve(ctx, a.history.turns[o.TurnDigest])
		}
		return overrideSubject(o), err
	}
	run, err := dataOf[pannier.SkillInvoked](e)
	switch {
	case err != nil:
	case run.TurnDigest.IsZero() && run.Mode == pannier.InvokedAutomatically:
		_, err = a.Service.Activate(ctx, run.Slug)
		if refusal, ok := errors.AsType[*pannier.Refusal](err); ok {
			err = notFound(refusal.Message)
		}
	case run.TurnDigest.IsZero():
		name := "skill:" + run.Slug
		for _, c := range resolve.Commands(a.Snapshot) {
			if c.Slug == run.Slug && c.Command == run.Command {
				name = c.Name
				break
			}
		}
		_, err = a.RunCommand(ctx, name, run.Args)
	default:
		turn, ok := a.history.turns[run.TurnDigest]
		if !ok { // the turn was not recorded itself: one that invokes the skill by name
			turn.Turn = &pannier.Turn{Capabilities: []pannier.Capability{{Slug: run.Slug}}}
			if run.Args != "" {
				turn.Turn.Text = "/skill:" + run.Slug + " " + run.Args
			}
		}
		err = a.resolve(ctx, turn)
	}
	return run.Slug, err
}

func (a *replayer) resolve(ctx context.Context, recorded pannier.TurnResolved) error {
	turn := *recorded.Turn
	turn.Verbose = recorded.Verbose
	_, err := a.Resolve(ctx, turn)
	return err
}

func overrideSubject(o pannier.SkillOverride) string { return o.Slug + " " + o.Part + "." + o.Key }

func notFound(detail string) error {
	return &client.Error{ErrorDocument: pannier.ErrorDocument{Detail: detail}}
}

// decideCall compares a recorded call of a tool with what would be decided about it now: whether the tool is offered, as which kind,
// whether the files of the skill are those that were checked, and whether its programs may run. It runs nothing.
func (a *replayer) decideCall(ctx context.Context, recorded pannier.Event) ([]Difference, error) {
	call, err := dataOf[pannier.SkillToolCalled](recorded)
	if err != nil {
		return nil, err
	}
	differ := func(d Difference) []Difference {
		d.Seq, d.Type, d.Subject = recorded.Seq, recorded.Type, call.Name
		return []Difference{d}
	}
	offered, excluded := a.Directory.Tools(a.Snapshot)
	at := slices.IndexFunc(offered, func(t pannier.RuntimeTool) bool { return t.Name == call.Name })
	if at < 0 {
		for _, x := range excluded {
			if x.Name == call.Name {
				return differ(Difference{Detail: "the tool is not offered any more: " + x.Reason + ": " + x.Detail}), nil
			}
		}
		return differ(Difference{Detail: "there is no such tool any more"}), nil
	}
	if kind := offered[at].Kind; kind != call.Kind {
		return differ(Difference{Field: "kind", Recorded: call.Kind, Now: kind}), nil
	}
	e, ok := a.Snapshot.Lookup(call.Slug)
	if !ok || call.Fingerprint.IsZero() { // the output policy of the tool keeps it out of the event
		return nil, nil
	}
	now, err := a.Fingerprint(ctx, e.Skill)
	switch {
	case err != nil:
		return differ(Difference{Detail: "the files of the skill cannot be read as a whole: " + err.Error()}), ctx.Err()
	case now != call.Fingerprint:
		return differ(Difference{Field: "fingerprint", Recorded: call.Fingerprint, Now: now}), nil
	case !e.MayCall(&offered[at], httpspec.SendsSecret(offered[at].Config), now):
		return differ(Difference{Detail: "tools of the skill are not allowed to run any more; run \"pannier tool allow " + call.Slug + "\""}), nil
	}
	return nil, nil
}
