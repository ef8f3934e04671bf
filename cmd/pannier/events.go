package main

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/hashicorp/go-hclog"

	"pannier"
	"pannier/internal/journal"
)

// eventLog takes events in: they go to the journal, which numbers them, and to the log.
type eventLog struct {
	log         hclog.Logger
	workspaceID string
	current     func() *pannier.Snapshot
	journal     *journal.Journal
}

// emit takes an event in. data is one of the values that the root package has for the type.
func (l *eventLog) emit(kind pannier.EventType, data any) {
	e := pannier.Event{Time: time.Now().UTC(), Type: kind, WorkspaceID: l.workspaceID, Data: data}
	if s := l.current(); s != nil {
		e.SnapshotVersion = s.Version
	}
	e, err := l.journal.Append(e)
	if err != nil {
		l.log.Error("event not kept", "type", kind, "error", err)
		return
	}
	fields, err := fieldsOf(e.Data)
	if err != nil {
		l.log.Error("event can not be encoded", "type", e.Type, "error", err)
		return
	}
	l.log.Info(string(e.Type), append([]any{"seq", e.Seq, "snapshot_version", e.SnapshotVersion}, fields...)...)
}

// fieldsOf returns the fields of an event's data as a logger takes them, in the order of its JSON.
func fieldsOf(data any) ([]any, error) {
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

// logValue returns a value as the logger prints it best: an object stays the JSON that it is.
func logValue(value json.RawMessage) any {
	var v any
	if err := json.Unmarshal(value, &v); err != nil {
		return string(value)
	}
	if _, ok := v.(map[string]any); ok {
		return string(value)
	}
	return v
}
