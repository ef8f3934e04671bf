package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"pannier"
	"pannier/config"
	"pannier/publish/client"
	"pannier/registry"
	"pannier/registry/resolve"
	"pannier/sidecar"
)

// replayer repeats recorded requests through the handler of the socket.
type replayer struct {
	*client.Client
	*sidecar.Directory
	emitted []pannier.Event
}

// begin looks at the workspace, with the policy that clients had set.
func (p *program) begin(ctx context.Context, s config.Settings, policies map[pannier.PolicyKey]pannier.PolicyEntry) (*replayer, error) {
	a := &replayer{}
	d, err := sidecar.ReadDirectory(ctx, sidecar.DirectoryOptions{
		Settings: s, Environ: p.environ, Policies: policies,
		Emit: func(kind pannier.EventType, data any) {
			a.emitted = append(a.emitted, pannier.Event{Type: kind, Data: data})
		},
	})
	if err != nil {
		return nil, err
	}
	a.Directory, a.Client = d, client.InProcess(d.Handler)
	return a, nil
}

func (a *replayer) close() { a.Close() }

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
func (a *replayer) again(ctx context.Context, h *history, e pannier.Event) ([]difference, error) {
	if e.Type == pannier.EventSkillToolCalled {
		return a.decideCall(ctx, e)
	}
	a.emitted = nil
	subject, err := a.do(ctx, h, e)
	if refused, ok := errors.AsType[*client.Error](err); ok {
		return []difference{{Seq: e.Seq, Type: e.Type, Subject: subject, Detail: refused.Detail}}, nil
	}
	if err != nil {
		return nil, err
	}
	for _, now := range a.emitted {
		if run, ok := now.Data.(pannier.SkillInvoked); ok && run.Slug != subject {
			continue // a turn can invoke several
		}
		if now.Type == e.Type {
			if now.Data, err = a.withResources(ctx, e, now.Data); err != nil {
				return nil, err
			}
			return differences(e, now.Data, subject)
		}
	}
	return []difference{{Seq: e.Seq, Type: e.Type, Subject: subject, Detail: "the event does not occur again"}}, nil
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
func (a *replayer) do(ctx context.Context, h *history, e pannier.Event) (subject string, err error) {
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
		_, err = a.RunCommand(ctx, a.commandOf(run), run.Args)
	default:
		err = a.resolve(ctx, h.turnOf(run))
	}
	return run.Slug, err
}

func (a *replayer) resolve(ctx context.Context, recorded pannier.TurnResolved) error {
	turn := *recorded.Turn
	turn.Verbose = recorded.Verbose
	_, err := a.Resolve(ctx, turn)
	return err
}

func notFound(detail string) error {
	return &client.Error{ErrorDocument: pannier.ErrorDocument{Detail: detail}}
}

// commandOf returns a name by which a command that was invoked is found.
func (a *replayer) commandOf(run pannier.SkillInvoked) string {
	for _, c := range resolve.Commands(a.Snapshot) {
		if c.Slug == run.Slug && c.Command == run.Command {
			return c.Name
		}
	}
	return "skill:" + run.Slug
}

// differences compares the data of a recorded event with that of the one that came about again, field by field.
func differences(recorded pannier.Event, now any, subject string) ([]difference, error) {
	text, err := json.Marshal(now)
	if err != nil {
		return nil, err
	}
	before, err := fieldsByName(recorded.Data.(json.RawMessage))
	if err != nil {
		return nil, fmt.Errorf("event %d: %w", recorded.Seq, err)
	}
	after, err := fieldsByName(text)
	if err != nil {
		return nil, err
	}
	for _, fields := range []map[string]any{before, after} { // neither is what a request led to
		delete(fields, "unrecorded")
		if recorded.Type != pannier.EventTurnResolved {
			delete(fields, "turn_digest")
		}
	}
	names := maps.Clone(before)
	maps.Copy(names, after)
	var found []difference
	for _, name := range slices.Sorted(maps.Keys(names)) {
		differ := func(field string, before, now any) {
			if !reflect.DeepEqual(before, now) {
				found = append(found, difference{Seq: recorded.Seq, Type: recorded.Type, Subject: subject, Field: field, Recorded: before, Now: now})
			}
		}
		if recorded.Type == pannier.EventTurnResolved && (name == "skills" || name == "excluded_tools") {
			before, now := byName(before[name]), byName(after[name])
			both := maps.Clone(before)
			maps.Copy(both, now)
			for _, item := range slices.Sorted(maps.Keys(both)) {
				differ(name+"."+item, before[item], now[item])
			}
			continue
		}
		differ(name, before[name], after[name])
	}
	return found, nil
}

// byName returns what a turn says of each skill or tool in a list, so that the one that differs is named.
func byName(list any) map[string]any {
	items, _ := list.([]any)
	named := make(map[string]any, len(items))
	for _, item := range items {
		fields, _ := item.(map[string]any)
		name, ok := fields["slug"].(string)
		if !ok {
			name, _ = fields["name"].(string)
		}
		same, _ := named[name].([]any)
		named[name] = append(same, fields)
	}
	return named
}

// fieldsByName reads an object without losing a digit. What is null is as if it were not there.
func fieldsByName(text []byte) (map[string]any, error) {
	var fields map[string]any
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	err := dec.Decode(&fields)
	maps.DeleteFunc(fields, func(_ string, value any) bool { return value == nil })
	return fields, err
}

// compareCatalog compares the last catalog that was recorded with the workspace as it is.
func (r *replayReport) compareCatalog(h *history, a *replayer) {
	now := registry.Diff(nil, a.Snapshot, a.Rules)
	r.RecordedDigest = h.catalog.Digest
	r.Replayed[pannier.EventCatalogUpdated]++
	differ := func(field string, recorded, now any) {
		r.Differences = append(r.Differences, difference{Seq: h.seq, Type: pannier.EventCatalogUpdated, Subject: "catalog", Field: field, Recorded: recorded, Now: now})
	}
	if h.catalog.Count != now.Count {
		differ("count", h.catalog.Count, now.Count)
	}
	if !slices.Equal(h.catalog.Roots, now.Roots) {
		differ("roots", h.catalog.Roots, now.Roots)
	}
	if !slices.EqualFunc(h.catalog.Collisions, now.Collisions, func(was, is pannier.Collision) bool {
		was.Rule = cmp.Or(was.Rule, is.Rule) // an earlier version recorded none
		return was == is
	}) {
		differ("collisions", h.catalog.Collisions, now.Collisions)
	}
	if recorded := slices.Sorted(maps.Keys(h.slugs)); h.slugs != nil && !slices.Equal(recorded, now.Added) {
		differ("skills", without(recorded, now.Added), without(now.Added, recorded))
	}
	if h.catalog.Digest == now.Digest {
		return
	}
	if h.catalog.DigestForm != now.DigestForm {
		r.Unknown = append(r.Unknown, "the digest was computed by another version of pannier in another way")
		return
	}
	if why := h.unknowns(a.Snapshot); len(why) > 0 {
		r.Unknown = append(r.Unknown, why...)
		return
	}
	differ("digest", h.catalog.Digest, now.Digest)
}

// without returns what is in one sorted list and not in another.
func without(list, others []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool {
		_, ok := slices.BinarySearch(others, s)
		return ok
	})
}

// unknowns returns why a snapshot may have another digest though the tree is the same: what counted then and is in no event.
func (h *history) unknowns(s *pannier.Snapshot) []string {
	var why []string
	if h.environment != nil && *h.environment != s.Environment.Changed() {
		why = append(why, fmt.Sprintf("requirements were checked against another environment, that of the %s; name it with PANNIER_ENVIRONMENT_FILE", h.environment.Source))
	}
	if h.recording.gap {
		why = append(why, "events are missing in between; they may contain changes by clients")
	} else if !h.whole {
		why = append(why, "the first events are no longer recorded; they may contain changes by clients")
	}
	for _, path := range slices.Sorted(maps.Keys(h.blocked)) {
		if h.blocked[path] {
			why = append(why, "a scan blocked "+path+"; the events do not have the rules")
		}
	}
	for i := range s.Entries {
		if e := s.Entries[i]; e.Broken {
			why = append(why, e.Path+" is not readable now; the sidecar may have served its last readable version")
		}
	}
	return why
}
