package main

import (
	"encoding/json"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"pannier"
)

// eventLog numbers events and writes them to the log.
type eventLog struct {
	log         hclog.Logger
	workspaceID string
	current     func() *pannier.Snapshot

	mu  sync.Mutex // orders the events as they are numbered
	seq uint64
}

// emit takes an event in. data is one of the values that the root package has for the type.
func (l *eventLog) emit(kind pannier.EventType, data any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seq++
	e := pannier.Event{Seq: l.seq, Time: time.Now().UTC(), Type: kind, WorkspaceID: l.workspaceID, Data: data}
	if s := l.current(); s != nil {
		e.SnapshotVersion = s.Version
	}
	text, err := json.Marshal(e.Data)
	if err != nil {
		l.log.Error("event can not be encoded", "type", e.Type, "error", err)
		return
	}
	l.log.Info(string(e.Type), "seq", e.Seq, "snapshot_version", e.SnapshotVersion, "data", string(text))
}
