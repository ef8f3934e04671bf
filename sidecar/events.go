package sidecar

import (
	"bytes"
	"encoding/json"
	"slices"

	"pannier"
	"pannier/publish/api"
	"pannier/registry"
)

// EventFields returns the fields of an event's data as a logger takes them, in the order of its JSON.
func EventFields(data any) ([]any, error) {
	text, err := json.Marshal(data)
	if err != nil {
		return nil, err
	}
	var fields []any
	dec := json.NewDecoder(bytes.NewReader(text))
	for _, err := dec.Token(); dec.More() && err == nil; {
		name, err := dec.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, err
		}
		fields = append(fields, name, logValue(value))
	}
	return fields, nil
}

// unlogged are the fields of events that the log does not have: texts of users, which may hold secrets.
var unlogged = map[pannier.EventType]string{pannier.EventSkillInvoked: "args", pannier.EventTurnResolved: "turn"}

// logFields returns the fields of an event that are logged.
func logFields(e pannier.Event) ([]any, error) {
	fields, err := EventFields(e.Data)
	for i := 0; i < len(fields); i += 2 {
		if fields[i] == unlogged[e.Type] {
			return slices.Delete(fields, i, i+2), err
		}
	}
	return fields, err
}

// JSONText is an object of an event in a log record.
type JSONText string

// MarshalJSON implements [json.Marshaler]. A JSON log has the object as a string.
func (t JSONText) MarshalJSON() ([]byte, error) { return json.Marshal(string(t)) }

// logValue returns a value as the logger prints it best: an object stays the JSON that it is.
func logValue(value json.RawMessage) any {
	var v any
	if err := json.Unmarshal(value, &v); err != nil {
		return string(value)
	}
	if _, ok := v.(map[string]any); ok {
		return JSONText(value)
	}
	return v
}

// eventSource is what the event stream of the socket comes from.
func (c *core) eventSource() *api.EventSource {
	return &api.EventSource{
		Follow:      func(after uint64) api.EventReader { return c.state.journal.Follow(after) },
		Last:        c.events.last,
		Whole:       func(s *pannier.Snapshot) pannier.CatalogUpdated { return registry.Diff(nil, s, c.rules) },
		WorkspaceID: c.settings.WorkspaceID,
	}
}
