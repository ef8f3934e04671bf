// Package dev is a platform for development and tests: the registry of Molecule's platform, in memory, in one
// [http.Handler].
//
//	POST /registry/register       registers a workspace, replaces its card, returns its token
//	POST /registry/update-card    replaces the card of a workspace
//	POST /registry/heartbeat      reports that an agent is alive
//	GET  /registry/{id}/peers     lists the other workspaces
//	GET  /workspaces/{id}         shows what is stored, without a token
//	DELETE /workspaces/{id}       removes a workspace, with its token
//	GET  /ws                      streams events over a WebSocket
//	GET  /health                  answers
//
// Statuses, bodies and the order of effects are those of the real server, with their quirks: a workspace without a
// live token needs none, an update for an unknown workspace is answered with 200 and broadcast but stored nowhere, and
// what a database could not store (NUL, half a surrogate pair, bytes that are not UTF-8) is a 500. A workspace that was
// removed keeps its card, and accepts another one; only its status says so. With [Options.RateLimit] the requests of each
// address are limited, as by the real server.
//
// # What differs
//
// All workspaces are roots, and so siblings of one another. Cards are kept as they came, without blanks, where the
// real server's database orders keys and drops repeated ones: compare cards as values. The host of a registration's URL
// is checked by itself and never looked up. UUIDs are accepted in their usual form only. A heartbeat does not change the
// status, peers come ordered by id and `?q=` is ignored, and no workspace times out. A workspace is removed with its own
// token; the real server requires an administrator's. The texts of errors are the real ones for tokens, registration and
// cards.
//
// # What is refused
//
// Workspaces without a token are open to each program that reaches the platform, so web pages must not reach it: a request
// with an Origin or a Referer is 403, and so is one that came in on a loopback address with a Host that is neither
// localhost nor a loopback address. On another address, which an operator has chosen, each Host is taken. The body of a
// POST must be application/json (415).
//
// # Bounds
//
// A body may have 8 MiB (413 beyond). All cards, URLs and tasks together may have 32 MiB, and the workspaces number 10000
// (507 beyond). Bodies and answers in flight may have 16 MiB together (503 beyond). 256 clients may listen at a time (503
// beyond), each may fall 256 events behind and all together 32 MiB, after which a client misses events.
//
// # Ownership
//
// Each client of /ws has two goroutines, the handler's own, which writes, and one that reads. [Platform.Close] ends and
// awaits them all.
//
// It is not for production: it keeps everything in memory, and /ws is open, as in the real server.
package dev

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sync/semaphore"

	"pannier/publish/molecule"
)

// The bounds of the package documentation.
const (
	maxBodyBytes     = 8 << 20
	maxStoredBytes   = 32 << 20
	maxInFlightBytes = 16 << 20
	maxQueuedBytes   = 32 << 20
	maxWorkspaces    = 10000
	maxClients       = 256
	maxBacklog       = 256
)

// Options are what a [Platform] needs.
type Options struct {
	// Logger gets what happens to workspaces; nil means none.
	Logger hclog.Logger
	// RateLimit is how many requests one address may make in a minute, event streams included; 0 for no limit. The real
	// server has [RateLimit].
	RateLimit int
}

// RateLimit is the real server's default: requests in a minute, for each address.
const RateLimit = 600

// Platform is a development platform. Its methods may be called from any goroutine.
type Platform struct {
	log hclog.Logger
	mux *http.ServeMux

	// ctx ends with Close. It is the platform's and no request's, because a client of /ws outlives its request.
	ctx    context.Context
	cancel context.CancelFunc
	// serving counts the clients of /ws. It only grows with mu held and closed unset.
	serving sync.WaitGroup

	rate rate

	// inFlight counts the bytes of bodies and answers, up to maxInFlightBytes.
	inFlight *semaphore.Weighted

	// mu guards the fields that follow. Events are queued with it held, so that their order is that of the changes.
	mu         sync.Mutex
	closed     bool
	workspaces map[string]*workspace
	stored     int // bytes of all cards, URLs and tasks
	maxStored  int // maxStoredBytes, but in tests
	queued     int // bytes of the events that clients have not been sent yet, each event counted once
	clients    map[*client]struct{}
}

// New returns a platform without workspaces.
func New(o Options) *Platform {
	ctx, cancel := context.WithCancel(context.Background())
	p := &Platform{
		log:        cmp.Or(o.Logger, hclog.NewNullLogger()).Named("devplatform"),
		mux:        http.NewServeMux(),
		ctx:        ctx,
		cancel:     cancel,
		rate:       rate{most: o.RateLimit},
		inFlight:   semaphore.NewWeighted(maxInFlightBytes),
		workspaces: map[string]*workspace{},
		maxStored:  maxStoredBytes,
		clients:    map[*client]struct{}{},
	}
	p.route()
	return p
}

// ServeHTTP implements [http.Handler].
func (p *Platform) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := guard(r); err != nil {
		refuse(w, err, "")
		return
	}
	if p.rate.admit(w, r, time.Now()) {
		p.mux.ServeHTTP(w, r)
	}
}

// Close ends every client of /ws, waits for them, and lets no new one in. The other routes go on.
func (p *Platform) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.cancel()
	p.serving.Wait()
}

// Seed makes a workspace known, as far as it is not, and gives it one more live token: token, or a new one where that is
// empty. It returns the token. id must be a UUID.
func (p *Platform) Seed(id, token string) (string, error) {
	key, ok := molecule.ParseUUID(id)
	if !ok {
		return "", fmt.Errorf("seed workspace: %q is not a UUID", id)
	}
	if token == "" {
		token = newToken()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	ws, err := p.upsertLocked(key)
	if err != nil {
		return "", fmt.Errorf("seed workspace: %w", err)
	}
	ws.tokens[hashToken(token)] = struct{}{}
	return token, nil
}

// Revoke ends all tokens of a workspace, as the real platform does before it starts an agent again.
func (p *Platform) Revoke(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if ws := p.lookupLocked(id); ws != nil {
		clear(ws.tokens)
	}
}

// Card returns the stored card of a workspace, and false where there is none. The caller must not change it.
func (p *Platform) Card(id string) (json.RawMessage, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	ws := p.lookupLocked(id)
	if ws == nil || ws.card == nil {
		return nil, false
	}
	return ws.card, true
}

// Updates returns how many cards update-card has stored for a workspace. Registrations are not counted.
func (p *Platform) Updates(id string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if ws := p.lookupLocked(id); ws != nil {
		return ws.updates
	}
	return 0
}
