package dev

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"pannier/publish/molecule"
)

// fault is an error whose text a client gets. The real server says no more than these texts.
type fault struct {
	status int
	text   string
}

func (f *fault) Error() string { return f.text }

var (
	errInvalidBody  = &fault{http.StatusBadRequest, "invalid request body"}
	errInvalidType  = &fault{http.StatusBadRequest, "invalid activity type"}
	errMissingToken = &fault{http.StatusUnauthorized, "missing workspace auth token"}
	errInvalidToken = &fault{http.StatusUnauthorized, "invalid workspace auth token"}
	errNotOwn       = &fault{http.StatusForbidden, "source_id must match workspace"}
	errUnknown      = &fault{http.StatusNotFound, "workspace not found"}
	errTooLarge     = &fault{http.StatusRequestEntityTooLarge, "request body too large"}

	// The bounds of the package documentation.
	errBusy    = &fault{http.StatusServiceUnavailable, "too many bytes are in flight: retry in a second"}
	errCrowded = &fault{http.StatusServiceUnavailable, "the development platform is full"}
	errFull    = &fault{http.StatusInsufficientStorage, "the development platform is full"}
)

// errNotStored stands for every error that the real server's database would have.
var errNotStored = errors.New("cannot be stored")

func (p *Platform) route() {
	post(p, molecule.PathRegister, "registration failed", p.register)
	post(p, molecule.PathUpdateCard, "failed to update card", p.updateCard)
	post(p, molecule.PathHeartbeat, "heartbeat failed", p.heartbeat)
	post(p, "/workspaces/{id}/activity", "failed to log activity", p.logActivity)
	p.handle("GET /registry/{id}/peers", "failed to list peers", p.peers)
	p.handle("GET /workspaces/{id}", textLookupFailed, p.info)
	p.handle("DELETE /workspaces/{id}", textLookupFailed, p.remove)
	p.handle("GET /health", "", func(*http.Request) (any, error) { return statusResponse{"ok"}, nil })
	p.mux.HandleFunc("GET "+molecule.PathEvents, p.serveEvents)
	// Without it a wrong method would be a 405, which the wire does not have.
	p.mux.HandleFunc("/", http.NotFound)
}

const textLookupFailed = "failed to look up workspace"

// handle answers a route with what do returns. text is told of errors that the real server keeps to itself.
func (p *Platform) handle(pattern, text string, do func(*http.Request) (any, error)) {
	p.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		value, err := do(r)
		if err == nil {
			err = p.whileReserved(int64(sizeOf(value)), func() error {
				answer(w, http.StatusOK, value)
				return nil
			})
		}
		if err != nil {
			refuse(w, err, text)
		}
	})
}

// post is handle for a POST: it decodes the first JSON value of the body, whatever follows it.
func post[B any](p *Platform, path, text string, do func(*http.Request, B) (any, error)) {
	p.mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
		size := r.ContentLength
		if size < 0 {
			size = maxBodyBytes
		}
		err := p.whileReserved(min(size, maxBodyBytes), func() error {
			var body B
			err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBodyBytes)).Decode(&body)
			if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
				return errTooLarge
			} else if err != nil {
				return errInvalidBody
			}
			value, err := do(r, body)
			if err == nil {
				answer(w, http.StatusOK, value)
			}
			return err
		})
		if err != nil {
			refuse(w, err, text)
		}
	})
}

// whileReserved runs do and counts bytes that a request holds in memory meanwhile. It fails with [errBusy] where others
// hold too many.
func (p *Platform) whileReserved(bytes int64, do func() error) error {
	bytes = min(bytes, maxInFlightBytes)
	if !p.inFlight.TryAcquire(bytes) {
		return errBusy
	}
	defer p.inFlight.Release(bytes)
	return do()
}

func (p *Platform) updateCard(r *http.Request, req molecule.UpdateCardRequest) (any, error) {
	if req.WorkspaceID == "" || req.AgentCard == nil {
		return nil, errInvalidBody
	}
	f, err := newFrame(molecule.FrameCardUpdated, req.WorkspaceID, cardUpdatedPayload{AgentCard: req.AgentCard})
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.authorizeLocked(req.WorkspaceID, r.Header); err != nil {
		return nil, err
	}
	if _, ok := molecule.ParseUUID(req.WorkspaceID); !ok || !storable(req.AgentCard) {
		return nil, errNotStored
	}
	if ws := p.lookupLocked(req.WorkspaceID); ws != nil {
		next := ws.content
		next.card = compact(req.AgentCard)
		if err := p.storeLocked(ws, next); err != nil {
			return nil, err
		}
		ws.updates++
	}
	p.broadcastLocked(f)
	p.log.Info("card updated", "workspace", req.WorkspaceID, "bytes", len(req.AgentCard))
	return statusResponse{"updated"}, nil
}

// register stores the row and returns its first token, empty where the workspace has one already.
func (p *Platform) register(r *http.Request, req registerRequest) (any, error) {
	if req.ID == "" || req.URL == "" || req.AgentCard == nil || !mayRegister(req.URL) {
		return nil, errInvalidBody
	}
	f, err := newFrame(molecule.FrameOnline, req.ID, onlinePayload{AgentCard: req.AgentCard, URL: req.URL})
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.authorizeLocked(req.ID, r.Header); err != nil {
		return nil, err
	}
	key, ok := molecule.ParseUUID(req.ID)
	if !ok || !storable(req.AgentCard) {
		return nil, errNotStored
	}
	ws, err := p.upsertLocked(key)
	if err != nil {
		return nil, err
	}
	next := ws.content
	next.card, next.url = compact(req.AgentCard), req.URL
	if err := p.storeLocked(ws, next); err != nil {
		return nil, err
	}
	if ws.status != statusRemoved {
		ws.status = statusOnline
	}
	p.broadcastLocked(f)
	p.log.Info("workspace registered", "workspace", req.ID)
	answered := RegisterResponse{Status: "registered"}
	if len(ws.tokens) == 0 {
		answered.AuthToken = newToken()
		ws.tokens[hashToken(answered.AuthToken)] = struct{}{}
	}
	return answered, nil
}

func (p *Platform) heartbeat(r *http.Request, req molecule.HeartbeatRequest) (any, error) {
	if req.WorkspaceID == "" {
		return nil, errInvalidBody
	}
	task, err := newFrame(frameTaskUpdated, req.WorkspaceID,
		taskUpdatedPayload{ActiveTasks: req.ActiveTasks, CurrentTask: req.CurrentTask})
	if err != nil {
		return nil, err
	}
	beat, err := newFrame(frameHeartbeat, req.WorkspaceID,
		heartbeatPayload{ActiveTasks: req.ActiveTasks, UptimeSeconds: req.UptimeSeconds})
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.authorizeLocked(req.WorkspaceID, r.Header); err != nil {
		return nil, err
	}
	if _, ok := molecule.ParseUUID(req.WorkspaceID); !ok {
		return nil, errNotStored
	}
	if ws := p.lookupLocked(req.WorkspaceID); ws != nil {
		next, before := ws.content, ws.currentTask
		next.currentTask = req.CurrentTask
		if err := p.storeLocked(ws, next); err != nil {
			return nil, err
		}
		ws.activeTasks = req.ActiveTasks
		if ws.currentTask != before {
			p.broadcastLocked(task)
		}
	}
	p.broadcastLocked(beat)
	return statusResponse{"ok"}, nil
}

// activityTypes are those that the real server takes.
var activityTypes = []string{"a2a_send", "a2a_receive", "task_update", "agent_log", molecule.ActivityPromotion, "memory_write", "error"}

// logActivity logs an activity, and keeps nothing of it.
func (p *Platform) logActivity(r *http.Request, req molecule.ActivityRequest) (any, error) {
	id := r.PathValue("id")
	switch err := p.authorize(id, r.Header); {
	case err != nil:
		return nil, err
	case !slices.Contains(activityTypes, req.Type):
		return nil, errInvalidType
	case !strings.EqualFold(req.SourceID, id):
		return nil, errNotOwn
	}
	p.log.Info("activity", "workspace", id, "type", req.Type, "summary", req.Summary)
	return statusResponse{"logged"}, nil
}

func (p *Platform) info(r *http.Request) (any, error) {
	if _, ok := molecule.ParseUUID(r.PathValue("id")); !ok {
		return nil, errNotStored
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	ws := p.lookupLocked(r.PathValue("id"))
	if ws == nil {
		return nil, errUnknown
	}
	info := ws.row()
	info.Runtime = defaultRuntime
	return info, nil
}

func (p *Platform) remove(r *http.Request) (any, error) {
	id := r.PathValue("id")
	if err := p.authorize(id, r.Header); err != nil {
		return nil, err
	}
	if !p.Remove(id) {
		return nil, errUnknown
	}
	return statusResponse{statusRemoved}, nil
}

// Remove removes a workspace: its tokens end, and it is not a peer any more. Its row stays, with its card, as in the real
// server's database. It returns false for one that is not known.
func (p *Platform) Remove(id string) bool {
	f, err := newFrame(molecule.FrameRemoved, id, struct{}{})
	if err != nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	ws := p.lookupLocked(id)
	if ws == nil {
		return false
	}
	clear(ws.tokens)
	ws.status = statusRemoved
	p.broadcastLocked(f)
	p.log.Info("workspace removed", "workspace", id)
	return true
}

// peers returns every workspace but the one that asks, ordered by id. There may be none, but never null.
func (p *Platform) peers(r *http.Request) (any, error) {
	key, ok := molecule.ParseUUID(r.PathValue("id"))
	if !ok {
		return nil, errNotStored
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.authorizeLocked(key, r.Header); err != nil {
		return nil, err
	}
	if p.workspaces[key] == nil {
		return nil, errUnknown
	}
	peers := []row{}
	for other, ws := range p.workspaces {
		if other != key && ws.status != statusRemoved {
			peers = append(peers, ws.row())
		}
	}
	slices.SortFunc(peers, func(a, b row) int { return strings.Compare(a.ID, b.ID) })
	return peers, nil
}

// refuse answers an error; text is what is told of those that are not a [fault].
func refuse(w http.ResponseWriter, err error, text string) {
	f, ok := errors.AsType[*fault](err)
	if !ok {
		f = &fault{http.StatusInternalServerError, text}
	}
	if f == errBusy {
		w.Header().Set("Retry-After", "1")
	}
	answer(w, f.status, molecule.ErrorResponse{Error: f.text})
}

func answer(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client is gone
}

// compact returns the value without blanks.
func compact(card json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	b.Grow(len(card))
	if json.Compact(&b, card) != nil {
		return card
	}
	return b.Bytes()
}
