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

// The error texts of the wire. The real server says no more than these.
const (
	textInvalidBody    = "invalid request body"
	textTooLarge       = "request body too large"
	textUpdateFailed   = "failed to update card"
	textRegisterFailed = "registration failed"
	textBeatFailed     = "heartbeat failed"
	textPeersFailed    = "failed to list peers"
	textLookupFailed   = "failed to look up workspace"
	textUnknown        = "workspace not found"
)

func (p *Platform) serveHealth(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, statusResponse{Status: "ok"})
}

func (p *Platform) serveUpdateCard(w http.ResponseWriter, r *http.Request) {
	var req molecule.UpdateCardRequest
	release, ok := p.read(w, r, &req)
	if !ok {
		return
	}
	defer release()
	if req.WorkspaceID == "" || req.AgentCard == nil {
		refuse(w, http.StatusBadRequest, textInvalidBody)
		return
	}
	err := p.updateCard(req, r.Header)
	if err != nil {
		refuseFor(w, err, textUpdateFailed)
		return
	}
	answer(w, http.StatusOK, statusResponse{Status: "updated"})
}

// errNotStored stands for every error that the real server's database would have.
var errNotStored = errors.New("cannot be stored")

func (p *Platform) updateCard(req molecule.UpdateCardRequest, h http.Header) error {
	f, err := newFrame(molecule.FrameCardUpdated, req.WorkspaceID, cardUpdatedPayload{AgentCard: req.AgentCard})
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.authorizeLocked(req.WorkspaceID, h); err != nil {
		return err
	}
	if _, ok := parseUUID(req.WorkspaceID); !ok || !storable(req.AgentCard) {
		return errNotStored
	}
	if ws := p.lookupLocked(req.WorkspaceID); ws != nil {
		next := ws.content
		next.card = compact(req.AgentCard)
		if err := p.storeLocked(ws, next); err != nil {
			return err
		}
		ws.updates++
	}
	p.broadcastLocked(f)
	p.log.Info("card updated", "workspace", req.WorkspaceID, "bytes", len(req.AgentCard))
	return nil
}

func (p *Platform) serveRegister(w http.ResponseWriter, r *http.Request) {
	var req registerRequest
	release, ok := p.read(w, r, &req)
	if !ok {
		return
	}
	defer release()
	if req.ID == "" || req.URL == "" || req.AgentCard == nil || !mayRegister(req.URL) {
		refuse(w, http.StatusBadRequest, textInvalidBody)
		return
	}
	token, err := p.register(req, r.Header)
	if err != nil {
		refuseFor(w, err, textRegisterFailed)
		return
	}
	answer(w, http.StatusOK, RegisterResponse{AuthToken: token, Status: "registered"})
}

// register stores the row and returns the new token, empty where the workspace has one already.
func (p *Platform) register(req registerRequest, h http.Header) (string, error) {
	f, err := newFrame(molecule.FrameOnline, req.ID, onlinePayload{AgentCard: req.AgentCard, URL: req.URL})
	if err != nil {
		return "", err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.authorizeLocked(req.ID, h); err != nil {
		return "", err
	}
	key, ok := parseUUID(req.ID)
	if !ok || !storable(req.AgentCard) {
		return "", errNotStored
	}
	ws, err := p.upsertLocked(key)
	if err != nil {
		return "", err
	}
	next := ws.content
	next.card, next.url = compact(req.AgentCard), req.URL
	if err := p.storeLocked(ws, next); err != nil {
		return "", err
	}
	if ws.status != statusRemoved {
		ws.status = statusOnline
	}
	p.broadcastLocked(f)
	p.log.Info("workspace registered", "workspace", req.ID)
	return ws.firstToken(), nil
}

// firstToken gives the workspace a token if it has none.
func (ws *workspace) firstToken() string {
	if len(ws.tokens) > 0 {
		return ""
	}
	token := newToken()
	ws.tokens[hashToken(token)] = struct{}{}
	return token
}

func (p *Platform) serveHeartbeat(w http.ResponseWriter, r *http.Request) {
	var req molecule.HeartbeatRequest
	release, ok := p.read(w, r, &req)
	if !ok {
		return
	}
	defer release()
	if req.WorkspaceID == "" {
		refuse(w, http.StatusBadRequest, textInvalidBody)
		return
	}
	if err := p.heartbeat(req, r.Header); err != nil {
		refuseFor(w, err, textBeatFailed)
		return
	}
	answer(w, http.StatusOK, statusResponse{Status: "ok"})
}

func (p *Platform) heartbeat(req molecule.HeartbeatRequest, h http.Header) error {
	task, err := newFrame(frameTaskUpdated, req.WorkspaceID,
		taskUpdatedPayload{ActiveTasks: req.ActiveTasks, CurrentTask: req.CurrentTask})
	if err != nil {
		return err
	}
	beat, err := newFrame(frameHeartbeat, req.WorkspaceID,
		heartbeatPayload{ActiveTasks: req.ActiveTasks, UptimeSeconds: req.UptimeSeconds})
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.authorizeLocked(req.WorkspaceID, h); err != nil {
		return err
	}
	if _, ok := parseUUID(req.WorkspaceID); !ok {
		return errNotStored
	}
	if ws := p.lookupLocked(req.WorkspaceID); ws != nil {
		next, before := ws.content, ws.currentTask
		next.currentTask = req.CurrentTask
		if err := p.storeLocked(ws, next); err != nil {
			return err
		}
		ws.activeTasks = req.ActiveTasks
		if ws.currentTask != before {
			p.broadcastLocked(task)
		}
	}
	p.broadcastLocked(beat)
	return nil
}

func (p *Platform) serveWorkspace(w http.ResponseWriter, r *http.Request) {
	if _, ok := parseUUID(r.PathValue("id")); !ok {
		refuse(w, http.StatusInternalServerError, textLookupFailed)
		return
	}
	info, ok := p.info(r.PathValue("id"))
	if !ok {
		refuse(w, http.StatusNotFound, textUnknown)
		return
	}
	p.answerLarge(w, len(info.AgentCard)+len(info.URL), info)
}

func (p *Platform) info(id string) (workspaceInfo, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	ws := p.lookupLocked(id)
	if ws == nil {
		return workspaceInfo{}, false
	}
	return ws.info(), true
}

func (p *Platform) serveRemove(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	err := p.authorizeLocked(r.PathValue("id"), r.Header)
	p.mu.Unlock()
	if err == nil && !p.Remove(r.PathValue("id")) {
		err = errUnknown
	}
	if err != nil {
		refuseFor(w, err, textLookupFailed)
		return
	}
	answer(w, http.StatusOK, statusResponse{Status: statusRemoved})
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

func (p *Platform) servePeers(w http.ResponseWriter, r *http.Request) {
	peers, err := p.peers(r.PathValue("id"), r.Header)
	if err != nil {
		refuseFor(w, err, textPeersFailed)
		return
	}
	bytes := 0
	for _, peer := range peers {
		bytes += len(peer.AgentCard) + len(peer.URL)
	}
	p.answerLarge(w, bytes, peers)
}

// answerLarge answers with a value that holds cards of so many bytes, unless too much is in flight.
func (p *Platform) answerLarge(w http.ResponseWriter, bytes int, v any) {
	release, err := p.reserve(int64(bytes))
	if err != nil {
		refuseFor(w, err, "")
		return
	}
	defer release()
	answer(w, http.StatusOK, v)
}

var errUnknown = errors.New(textUnknown)

// peers returns every workspace but the one that asks, ordered by id. There may be none, but never null.
func (p *Platform) peers(id string, h http.Header) ([]peer, error) {
	key, ok := parseUUID(id)
	if !ok {
		return nil, errNotStored
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.authorizeLocked(id, h); err != nil {
		return nil, err
	}
	if p.workspaces[key] == nil {
		return nil, errUnknown
	}
	peers := []peer{}
	for other, ws := range p.workspaces {
		if other != key && ws.status != statusRemoved {
			peers = append(peers, ws.peer())
		}
	}
	slices.SortFunc(peers, func(a, b peer) int { return strings.Compare(a.ID, b.ID) })
	return peers, nil
}

// read decodes the first JSON value of a body, whatever follows it, and answers itself where it fails. The caller releases
// the memory of the body once it is done with v.
func (p *Platform) read(w http.ResponseWriter, r *http.Request, v any) (release func(), ok bool) {
	release, err := p.reserveBody(r)
	if err != nil {
		refuseFor(w, err, "")
		return nil, false
	}
	err = json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBodyBytes)).Decode(v)
	if err == nil {
		return release, true
	}
	release()
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		refuse(w, http.StatusRequestEntityTooLarge, textTooLarge)
		return nil, false
	}
	refuse(w, http.StatusBadRequest, textInvalidBody)
	return nil, false
}

// refuseFor answers an error; text is what is told of those that the real server keeps to itself.
func refuseFor(w http.ResponseWriter, err error, text string) {
	switch {
	case errors.Is(err, errMissingToken), errors.Is(err, errInvalidToken):
		refuse(w, http.StatusUnauthorized, err.Error())
	case errors.Is(err, errUnknown):
		refuse(w, http.StatusNotFound, err.Error())
	case errors.Is(err, errBusy):
		w.Header().Set("Retry-After", "1")
		refuse(w, http.StatusServiceUnavailable, err.Error())
	case errors.Is(err, errFull):
		refuse(w, http.StatusInsufficientStorage, err.Error())
	default:
		refuse(w, http.StatusInternalServerError, text)
	}
}

func refuse(w http.ResponseWriter, status int, text string) {
	answer(w, status, molecule.ErrorResponse{Error: text})
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
