package devplatform

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"pannier/publish/platform"
)

// The error texts of the wire. The real server tells no more than these, and neither may this one.
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
	answer(w, http.StatusOK, platform.StatusResponse{Status: "ok"})
}

func (p *Platform) serveUpdateCard(w http.ResponseWriter, r *http.Request) {
	var req platform.UpdateCardRequest
	if !read(w, r, &req) {
		return
	}
	if req.WorkspaceID == "" || req.AgentCard == nil {
		refuse(w, http.StatusBadRequest, textInvalidBody)
		return
	}
	err := p.updateCard(req, r.Header)
	if err != nil {
		refuseFor(w, err, textUpdateFailed)
		return
	}
	answer(w, http.StatusOK, platform.StatusResponse{Status: "updated"})
}

// errNotStored stands for every error that the real server's database would have.
var errNotStored = errors.New("can not be stored")

func (p *Platform) updateCard(req platform.UpdateCardRequest, h http.Header) error {
	f, err := newFrame(platform.FrameCardUpdated, req.WorkspaceID, platform.CardUpdatedPayload{AgentCard: req.AgentCard})
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
		if err := p.storeLocked(ws, compact(req.AgentCard)); err != nil {
			return err
		}
		ws.updates++
	}
	p.broadcastLocked(f)
	p.log.Info("card updated", "workspace", req.WorkspaceID, "bytes", len(req.AgentCard))
	return nil
}

func (p *Platform) serveRegister(w http.ResponseWriter, r *http.Request) {
	var req platform.RegisterRequest
	if !read(w, r, &req) {
		return
	}
	if req.ID == "" || req.URL == "" || req.AgentCard == nil || !mayRegister(req.URL) {
		refuse(w, http.StatusBadRequest, textInvalidBody)
		return
	}
	token, err := p.register(req, r.Header)
	if err != nil {
		refuseFor(w, err, textRegisterFailed)
		return
	}
	answer(w, http.StatusOK, platform.RegisterResponse{AuthToken: token, Status: "registered"})
}

// register stores the row and returns the new token, empty where the workspace has one already.
func (p *Platform) register(req platform.RegisterRequest, h http.Header) (string, error) {
	f, err := newFrame(platform.FrameOnline, req.ID, platform.OnlinePayload{AgentCard: req.AgentCard, URL: req.URL})
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
	if err := p.storeLocked(ws, compact(req.AgentCard)); err != nil {
		return "", err
	}
	ws.url, ws.status = req.URL, statusOnline
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
	var req platform.HeartbeatRequest
	if !read(w, r, &req) {
		return
	}
	if req.WorkspaceID == "" {
		refuse(w, http.StatusBadRequest, textInvalidBody)
		return
	}
	if err := p.heartbeat(req, r.Header); err != nil {
		refuseFor(w, err, textBeatFailed)
		return
	}
	answer(w, http.StatusOK, platform.StatusResponse{Status: "ok"})
}

func (p *Platform) heartbeat(req platform.HeartbeatRequest, h http.Header) error {
	task, err := newFrame(platform.FrameTaskUpdated, req.WorkspaceID,
		platform.TaskUpdatedPayload{ActiveTasks: req.ActiveTasks, CurrentTask: req.CurrentTask})
	if err != nil {
		return err
	}
	beat, err := newFrame(platform.FrameHeartbeat, req.WorkspaceID,
		platform.HeartbeatPayload{ActiveTasks: req.ActiveTasks, UptimeSeconds: req.UptimeSeconds})
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
	if ws := p.lookupLocked(req.WorkspaceID); ws != nil && ws.beat(req) {
		p.broadcastLocked(task)
	}
	p.broadcastLocked(beat)
	return nil
}

// beat stores a heartbeat and reports whether the task has changed.
func (ws *workspace) beat(req platform.HeartbeatRequest) bool {
	changed := ws.currentTask != req.CurrentTask
	ws.currentTask, ws.activeTasks = req.CurrentTask, req.ActiveTasks
	return changed
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
	answer(w, http.StatusOK, info)
}

func (p *Platform) info(id string) (platform.WorkspaceInfo, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	ws := p.lookupLocked(id)
	if ws == nil {
		return platform.WorkspaceInfo{}, false
	}
	return ws.info(), true
}

func (p *Platform) servePeers(w http.ResponseWriter, r *http.Request) {
	peers, err := p.peers(r.PathValue("id"), r.Header)
	if err != nil {
		refuseFor(w, err, textPeersFailed)
		return
	}
	answer(w, http.StatusOK, peers)
}

var errUnknown = errors.New(textUnknown)

// peers returns every workspace but the one that asks, ordered by id. There may be none, but never null.
func (p *Platform) peers(id string, h http.Header) ([]platform.Peer, error) {
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
	peers := []platform.Peer{}
	for other, ws := range p.workspaces {
		if other != key {
			peers = append(peers, ws.peer())
		}
	}
	slices.SortFunc(peers, func(a, b platform.Peer) int { return strings.Compare(a.ID, b.ID) })
	return peers, nil
}

// read decodes the first JSON value of a body, whatever follows it, and answers itself where that can not be done.
func read(w http.ResponseWriter, r *http.Request, v any) bool {
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBodyBytes)).Decode(v)
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		refuse(w, http.StatusRequestEntityTooLarge, textTooLarge)
		return false
	}
	if err != nil {
		refuse(w, http.StatusBadRequest, textInvalidBody)
		return false
	}
	return true
}

// refuseFor answers an error; text is what is told of those that the real server keeps to itself.
func refuseFor(w http.ResponseWriter, err error, text string) {
	switch {
	case errors.Is(err, errMissingToken), errors.Is(err, errInvalidToken):
		refuse(w, http.StatusUnauthorized, err.Error())
	case errors.Is(err, errUnknown):
		refuse(w, http.StatusNotFound, err.Error())
	case errors.Is(err, errFull):
		refuse(w, http.StatusInsufficientStorage, err.Error())
	default:
		refuse(w, http.StatusInternalServerError, text)
	}
}

func refuse(w http.ResponseWriter, status int, text string) {
	answer(w, status, platform.ErrorResponse{Error: text})
}

func answer(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that went away has nobody to tell
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
