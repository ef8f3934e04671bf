package dev

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"

	"pannier/publish/molecule"
)

// What a new row has, as the real server's database fills it in.
const (
	defaultRuntime = "langgraph"
	defaultTier    = 1
	statusNew      = "provisioning"
	statusOnline   = "online"
	statusRemoved  = "removed"
)

// workspace is a row. It is guarded by Platform.mu.
type workspace struct {
	id     string
	status string
	// tokens are the SHA-256 sums of those that are live.
	tokens map[[sha256.Size]byte]struct{}
	content
	updates     int
	activeTasks int
}

// content is what clients fill a row with, and what the bound of stored bytes counts.
type content struct {
	// card is nil before the first. It is replaced and never changed, so it may be read without the lock.
	card             json.RawMessage
	url, currentTask string
}

func (c content) bytes() int { return len(c.card) + len(c.url) + len(c.currentTask) }

func (p *Platform) lookupLocked(id string) *workspace {
	key, ok := molecule.ParseUUID(id)
	if !ok {
		return nil
	}
	return p.workspaces[key]
}

func (p *Platform) upsertLocked(key string) (*workspace, error) {
	if ws := p.workspaces[key]; ws != nil {
		return ws, nil
	}
	if len(p.workspaces) >= maxWorkspaces {
		return nil, errFull
	}
	ws := &workspace{id: key, status: statusNew, tokens: map[[sha256.Size]byte]struct{}{}}
	p.workspaces[key] = ws
	return ws, nil
}

func (p *Platform) storeLocked(ws *workspace, next content) error {
	stored := p.stored - ws.bytes() + next.bytes()
	if stored > p.maxStored {
		return errFull
	}
	p.stored, ws.content = stored, next
	return nil
}

func (p *Platform) authorize(id string, h http.Header) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.authorizeLocked(id, h)
}

// authorizeLocked says whether a request may act for a workspace. A workspace without live tokens lets everybody in, and
// so does one that is unknown: that rule kept old agents working when the real server got tokens.
func (p *Platform) authorizeLocked(id string, h http.Header) error {
	ws := p.lookupLocked(id)
	if ws == nil || len(ws.tokens) == 0 {
		return nil
	}
	token, ok := strings.CutPrefix(h.Get("Authorization"), "Bearer ")
	if !ok || token == "" {
		return errMissingToken
	}
	if _, live := ws.tokens[hashToken(token)]; !live {
		return errInvalidToken
	}
	return nil
}

func hashToken(token string) [sha256.Size]byte { return sha256.Sum256([]byte(token)) }

func newToken() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

func (ws *workspace) row() row {
	return row{
		ActiveTasks: ws.activeTasks, AgentCard: ws.card, ID: ws.id, Name: ws.id, Status: ws.status, Tier: defaultTier, URL: ws.url,
	}
}
