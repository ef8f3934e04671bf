package api

import (
	"context"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"pannier"
)

// Caller is the client of a connection: on the unix socket the user that connected (unix(7), SO_PEERCRED), over TCP the holder
// of a token.
//
// The ids are those of this process's user namespace. It has no process id, which means nothing between containers.
type Caller struct {
	// UID and GID are 0 with a token, and do not mean root.
	UID, GID uint32
	// Token is the name of the token, empty on the unix socket. Scope is what it allows.
	Token string
	Scope Scope
	// Own is set for a call of the handler within its own process.
	Own bool
	// Limit is the scope that the caller has bounded itself to with [ScopeHeader]; empty means unbounded.
	Limit Scope
}

// AsOwn answers requests that come from within this process as those of the user that it runs as.
func AsOwn(h http.Handler) http.Handler {
	caller := Caller{UID: uint32(os.Geteuid()), GID: uint32(os.Getegid()), Own: true}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, callerOrError{caller: caller})))
	})
}

type callerKey struct{}

// callerOrError is what the kernel said about a connection.
type callerOrError struct {
	caller Caller
	err    error
}

func withCaller(ctx context.Context, conn net.Conn) context.Context {
	caller, err := callerOf(conn)
	return context.WithValue(ctx, callerKey{}, callerOrError{caller, err})
}

func callerOf(conn net.Conn) (Caller, error) {
	if limited, ok := conn.(*limitedConn); ok {
		conn = limited.Conn
	}
	socket, ok := conn.(*net.UnixConn)
	if !ok {
		return Caller{}, net.UnknownNetworkError(conn.LocalAddr().Network())
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return Caller{}, err
	}
	var cred *unix.Ucred
	var credErr error
	if err := raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return Caller{}, err
	}
	if credErr != nil {
		return Caller{}, credErr
	}
	return Caller{UID: cred.Uid, GID: cred.Gid}, nil
}

// CallerFrom returns the client that sent a request; false if the handler was called without a connection.
func CallerFrom(ctx context.Context) (Caller, bool) {
	p, ok := ctx.Value(callerKey{}).(callerOrError)
	return p.caller, ok && p.err == nil
}

// admit refuses requests of browsers, which a page could be behind, and of clients whose user the kernel does not report.
// Every other client that can connect may read: the mode of the socket or a token has allowed it.
func admit(r *http.Request) error {
	if err := admitProgram(r); err != nil {
		return err
	}
	if p, ok := r.Context().Value(callerKey{}).(callerOrError); ok && p.err != nil {
		return &statusError{http.StatusForbidden, "peer_unknown", "the user of the client is not known: " + p.err.Error(), "connect to the unix socket"}
	}
	return nil
}

func admitProgram(r *http.Request) error {
	if r.Header.Get("Origin") != "" || r.Header.Get("Referer") != "" {
		return errBrowser
	}
	return nil
}

var errBrowser = &statusError{
	http.StatusForbidden, "browser_refused", "requests with an Origin or a Referer are refused",
	"call the socket from a program, or allow the page's origin over TCP with --api-allow-origins",
}

// scopeOf returns what a caller may do. On the socket it is everything for root, for the user that the sidecar runs as and for
// those whom the settings name; the others are members of the socket's group.
func (h *Handler) scopeOf(p Caller) Scope {
	scope := h.fullScopeOf(p)
	if p.Limit != "" && scope.Includes(p.Limit) {
		return p.Limit
	}
	return scope
}

func (h *Handler) fullScopeOf(p Caller) Scope {
	switch {
	case p.Token != "":
		return p.Scope
	case p.UID == 0, int64(p.UID) == int64(os.Geteuid()), slices.Contains(h.WriteUIDs, p.UID):
		return ScopeWrite
	}
	return ScopeEnvironment
}

// ScopeHeader names a scope. A request that has it may do no more than that scope allows, whatever its caller may do. It never
// gives a right.
const ScopeHeader = "Pannier-Scope"

// limitScope applies [ScopeHeader].
func limitScope(r *http.Request) (*http.Request, error) {
	values := r.Header[ScopeHeader]
	if values == nil {
		return r, nil
	}
	scope, err := ParseScope(strings.Join(values, ","))
	if err != nil {
		return r, &statusError{http.StatusBadRequest, "invalid_scope", "invalid " + ScopeHeader + ": " + err.Error(), "name one of read, environment, call and write, once"}
	}
	p, known := r.Context().Value(callerKey{}).(callerOrError)
	if !known {
		return r, nil // it may not write
	}
	p.caller.Limit = scope
	return r.WithContext(context.WithValue(r.Context(), callerKey{}, p)), nil
}

var errMayNotWrite = &statusError{
	http.StatusForbidden, "forbidden", "this user may read, and may not change anything",
	"ask as root or as the sidecar's user, or name the uid with --write-uids",
}

var errMayNotCall = &statusError{
	http.StatusForbidden, "forbidden", "this user may not call tools of skills",
	"ask as root or as the sidecar's user, or name the uid with --tools-call-uids",
}

// requireScope refuses callers whose scope does not include the needed one, and records that. what names the request.
func (h *Handler) requireScope(r *http.Request, what string, needed Scope) error {
	denied := h.checkScope(r, needed)
	if denied == nil {
		return nil
	}
	h.denials.record(r, denied, what, true)
	return denied
}

// checkScope returns why the scope of a caller does not include the needed one. A caller that is not known may not write.
func (h *Handler) checkScope(r *http.Request, needed Scope) *statusError {
	caller, ok := CallerFrom(r.Context())
	if !ok {
		if needed == ScopeWrite || needed == ScopeCall {
			return errMayNotWrite
		}
		return nil
	}
	scope := h.scopeOf(caller)
	if scope.Includes(needed) || needed == ScopeCall && caller.Token == "" && slices.Contains(h.CallUIDs, caller.UID) {
		return nil
	}
	if caller.Token == "" && needed == ScopeCall {
		return errMayNotCall
	}
	if caller.Token == "" {
		return errMayNotWrite
	}
	return &statusError{
		http.StatusForbidden, "forbidden", "the token " + caller.Token + " has the scope " + string(scope) + ", and this takes " + string(needed),
		"ask with a token of the scope " + string(needed),
	}
}

// ActorOf returns who sends a request, as the audit log and events have it.
func ActorOf(r *http.Request) pannier.Actor {
	caller, ok := CallerFrom(r.Context())
	if ok && caller.Token != "" {
		return pannier.Actor{Kind: "tcp", Name: caller.Token}
	}
	actor := pannier.Actor{Kind: "socket"}
	if caller.Own {
		actor.Kind = "command"
	}
	if ok {
		actor.UID, actor.GID = &caller.UID, &caller.GID
	}
	return actor
}
