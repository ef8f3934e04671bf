package service

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"

	"pannier"
)

// Scope is what a caller may do.
type Scope string

// The scopes. All include read, and write includes all.
const (
	ScopeRead        Scope = "read"        // whatever changes nothing
	ScopeEnvironment Scope = "environment" // and to put the environment of the agent
	ScopeCall        Scope = "call"        // read, and to call tools of skills
	ScopeWrite       Scope = "write"       // everything
)

// Scopes returns the scopes, the smallest first.
func Scopes() []Scope { return []Scope{ScopeRead, ScopeEnvironment, ScopeCall, ScopeWrite} }

// ParseScope returns the scope of that name, or fails with a [*pannier.Refusal].
func ParseScope(text string) (Scope, error) {
	if slices.Contains(Scopes(), Scope(text)) {
		return Scope(text), nil
	}
	return "", refuse(
		"token.scope", fmt.Sprintf("unknown scope %.80q", text), "the scopes are read, environment, call and write",
	)
}

// Includes reports whether a scope allows what another one does. One that is none allows nothing.
func (s Scope) Includes(needed Scope) bool {
	if !slices.Contains(Scopes(), s) || !slices.Contains(Scopes(), needed) {
		return false
	}
	return s == needed || s == ScopeWrite || needed == ScopeRead
}

// Caller is the client of a connection: on the unix socket the user that connected (unix(7), SO_PEERCRED), over TCP
// the holder of a token.
//
// The ids are those of this process's user namespace. It has no process id, which means nothing between containers.
type Caller struct {
	// UID and GID are 0 with a token, and do not mean root.
	UID, GID uint32
	// Token is the name of the token, empty on the unix socket. Scope is what it allows.
	Token string
	Scope Scope
	// Own is set for a call from within this process.
	Own bool
	// Limit is the scope that the caller has bounded itself to; empty means unbounded.
	Limit Scope
}

// Name is what people call a caller: the name of its token, or its user id.
func (c Caller) Name() string {
	if c.Token != "" {
		return c.Token
	}
	return "uid " + strconv.FormatUint(uint64(c.UID), 10)
}

type callerKey struct{}

// WithCaller returns the context of what a caller asks for.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerFrom returns the client that sent a request; false if no client of a connection did.
func CallerFrom(ctx context.Context) (Caller, bool) {
	c, ok := ctx.Value(callerKey{}).(Caller)
	return c, ok
}

type moduleKey struct{}

// WithModule returns the context of what a module does by itself, not for a client.
func WithModule(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, moduleKey{}, name)
}

// ActorFrom returns the client that sent a request, or the module that acts by itself, as the audit log names it.
func ActorFrom(ctx context.Context) pannier.Actor {
	c, ok := CallerFrom(ctx)
	switch {
	case !ok:
		if module, ok := ctx.Value(moduleKey{}).(string); ok {
			return pannier.Actor{Kind: pannier.ActorModule, Name: module}
		}
		return pannier.Actor{Kind: "socket"}
	case c.Token != "":
		return pannier.Actor{Kind: "tcp", Name: c.Token}
	case c.Own:
		return pannier.Actor{Kind: "command", UID: &c.UID, GID: &c.GID}
	}
	return pannier.Actor{Kind: "socket", UID: &c.UID, GID: &c.GID}
}

// Rights name the users of the unix socket that may do more than its group, beside root and the user of this process.
type Rights struct {
	// WriteUIDs may do everything, CallUIDs may call tools of skills.
	WriteUIDs, CallUIDs []uint32
}

// ScopeOf returns what a caller may do. On the socket it is everything for root, for the user that the sidecar runs
// as and for those whom the settings name; the others are members of the socket's group.
func (s *Service) ScopeOf(c Caller) Scope {
	scope := ScopeEnvironment
	switch {
	case c.Token != "":
		scope = c.Scope
	case c.UID == 0, int64(c.UID) == int64(os.Geteuid()), slices.Contains(s.Rights.WriteUIDs, c.UID):
		scope = ScopeWrite
	}
	if c.Limit != "" && scope.Includes(c.Limit) {
		return c.Limit
	}
	return scope
}

// CodeForbidden is that of what the scope of a caller does not allow.
const CodeForbidden = "forbidden"

var (
	errMayNotWrite = refuse(
		CodeForbidden, "this user may read, and may not change anything",
		"ask as root or as the sidecar's user, or name the uid with --write-uids",
	)
	errMayNotCall = refuse(
		CodeForbidden, "this user may not call tools of skills",
		"ask as root or as the sidecar's user, or name the uid with --tools-call-uids",
	)
)

// Require refuses callers whose scope does not include the needed one, and records that.
func (s *Service) Require(ctx context.Context, r Request, needed Scope) error {
	if denied := s.check(ctx, needed); denied != nil {
		r.Changes = true
		return s.Deny(ctx, r, denied)
	}
	return nil
}

// May reports whether the scope of a caller includes the needed one.
func (s *Service) May(ctx context.Context, needed Scope) bool { return s.check(ctx, needed) == nil }

// check returns why the scope of a caller does not include the needed one. A caller that is not known may not write.
func (s *Service) check(ctx context.Context, needed Scope) *pannier.Refusal {
	c, ok := CallerFrom(ctx)
	if !ok {
		if needed == ScopeWrite || needed == ScopeCall {
			return errMayNotWrite
		}
		return nil
	}
	scope := s.ScopeOf(c)
	switch {
	case scope.Includes(needed),
		needed == ScopeCall && c.Token == "" && slices.Contains(s.Rights.CallUIDs, c.UID) &&
			(c.Limit == "" || c.Limit.Includes(ScopeCall)):
		return nil
	case c.Token != "":
		return refuse(
			CodeForbidden, "the token "+c.Token+" has the scope "+string(scope)+", and this takes "+string(needed),
			"ask with a token of the scope "+string(needed),
		)
	case needed == ScopeCall:
		return errMayNotCall
	}
	return errMayNotWrite
}
