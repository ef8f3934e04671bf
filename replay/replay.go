// Package replay repeats recorded requests on the workspace as it is, and reports what differs from the recorded events.
package replay

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"pannier"
	"pannier/config"
	"pannier/publish/client"
	"pannier/registry"
	"pannier/sidecar"
)

// Verdict is what a replay comes to.
type Verdict string

// The verdicts.
const (
	Equal   Verdict = "equal"
	Differs Verdict = "differs"
	Unknown Verdict = "unknown"
)

// Report is what `pannier replay --json` prints.
type Report struct {
	Verdict   Verdict `json:"verdict"`
	Journal   string  `json:"journal"`
	Workspace string  `json:"workspace"`
	// Events counts those that were recorded, First and Last are their numbers.
	Events int    `json:"events"`
	First  uint64 `json:"first"`
	Last   uint64 `json:"last"`
	// RecordedDigest is that of the last catalog that was recorded, Digest that of the workspace as it is.
	RecordedDigest pannier.Digest `json:"recorded_digest"`
	Digest         pannier.Digest `json:"digest"`
	// Replayed counts the events that were made again and compared, by type. Superseded are those that could not be: the
	// skill that they are about changed afterwards, or another process went on.
	Replayed    map[pannier.EventType]int `json:"replayed"`
	Superseded  int                       `json:"superseded"`
	Differences []Difference              `json:"differences"`
	// Unknown says what could not be found out.
	Unknown []string `json:"unknown"`
}

// Difference is one thing that was recorded otherwise than it is.
type Difference struct {
	// Seq and Type are those of the event.
	Seq  uint64            `json:"seq"`
	Type pannier.EventType `json:"type"`
	// Subject is what the event is about: the path of a skill, or of a file.
	Subject string `json:"subject"`
	// Field is the part of the event that differs; empty where the event does not come about again.
	Field    string `json:"field,omitempty"`
	Recorded any    `json:"recorded,omitempty"`
	Now      any    `json:"now,omitempty"`
	Detail   string `json:"detail,omitempty"`
}

// Compare repeats recorded requests through the handler of the socket, with the policy that clients had set, and compares the
// catalogs. The caller fills in where the events and the workspace are.
func (h *History) Compare(ctx context.Context, s config.Settings, environ []string) (Report, error) {
	a := &replayer{history: h}
	d, err := sidecar.ReadDirectory(ctx, sidecar.DirectoryOptions{
		Settings: s, Environ: environ, Policies: h.policies,
		Emit: func(kind pannier.EventType, data any) {
			a.emitted = append(a.emitted, pannier.Event{Type: kind, Data: data})
		},
	})
	if err != nil {
		return Report{}, err
	}
	a.Directory, a.Client = d, client.InProcess(d.Handler)
	defer a.Close()
	current := h.unsuperseded(a.Snapshot.Digest, a.slugAt)
	r := Report{
		Events: len(h.events), First: h.first(), Last: h.last(), RecordedDigest: h.catalog.Digest, Digest: a.Snapshot.Digest,
		Replayed: map[pannier.EventType]int{}, Superseded: h.requests - len(current), Differences: []Difference{}, Unknown: []string{},
	}
	for _, e := range current {
		found, err := a.again(ctx, e)
		if err != nil {
			return Report{}, err
		}
		r.Replayed[e.Type]++
		r.Differences = append(r.Differences, found...)
	}
	r.compareCatalog(h, a)
	switch {
	case len(r.Differences) > 0:
		r.Verdict = Differs
	case len(r.Unknown) > 0:
		r.Verdict = Unknown
	default:
		r.Verdict = Equal
	}
	return r, nil
}

// differences compares the data of a recorded event with that of the one that came about again, field by field.
func differences(recorded pannier.Event, now any, subject string) ([]Difference, error) {
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
			continue
		}
		for _, list := range []string{"skills", "excluded_tools"} { // each item is a field of its own, so that the one that differs is named
			items, _ := fields[list].([]any)
			delete(fields, list)
			for _, item := range items {
				item, _ := item.(map[string]any)
				name, ok := item["slug"].(string)
				if !ok {
					name, _ = item["name"].(string)
				}
				same, _ := fields[list+"."+name].([]any)
				fields[list+"."+name] = append(same, item)
			}
		}
	}
	names := maps.Clone(before)
	maps.Copy(names, after)
	var found []Difference
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if !reflect.DeepEqual(before[name], after[name]) {
			found = append(found, Difference{
				Seq: recorded.Seq, Type: recorded.Type, Subject: subject, Field: name, Recorded: before[name], Now: after[name],
			})
		}
	}
	return found, nil
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
func (r *Report) compareCatalog(h *History, a *replayer) {
	now := registry.Diff(nil, a.Snapshot, a.Rules)
	r.Replayed[pannier.EventCatalogUpdated]++
	differ := func(field string, recorded, now any) {
		r.Differences = append(r.Differences, Difference{Seq: h.seq, Type: pannier.EventCatalogUpdated, Subject: "catalog", Field: field, Recorded: recorded, Now: now})
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
	if r.Unknown = append(r.Unknown, h.unknowns(a.Snapshot)...); len(r.Unknown) == 0 {
		differ("digest", h.catalog.Digest, now.Digest)
	}
}

// without returns what is in one sorted list and not in another.
func without(list, others []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool {
		_, ok := slices.BinarySearch(others, s)
		return ok
	})
}

// unknowns returns why a snapshot may have another digest though the tree is the same: what counted then and is in no event.
func (h *History) unknowns(s *pannier.Snapshot) []string {
	var why []string
	if h.environment != nil && *h.environment != s.Environment.Changed() {
		why = append(why, fmt.Sprintf("requirements were checked against another environment, that of the %s; name it with PANNIER_ENVIRONMENT_FILE", h.environment.Source))
	}
	if h.gap {
		why = append(why, "events are missing in between; they may contain changes by clients")
	} else if h.first() != 1 {
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
