package api

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"pannier"
	"pannier/service"
)

// AsOwn answers requests that come from within this process as those of the user that it runs as.
func AsOwn(h http.Handler) http.Handler {
	caller := service.Caller{UID: uint32(os.Geteuid()), GID: uint32(os.Getegid()), Own: true}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r.WithContext(service.WithCaller(r.Context(), caller)))
	})
}

// unknownKey is that of the error with which the kernel did not say who a connection is from.
type unknownKey struct{}

func withCaller(ctx context.Context, conn net.Conn) context.Context {
	caller, err := callerOf(conn)
	if err != nil {
		return context.WithValue(ctx, unknownKey{}, err)
	}
	return service.WithCaller(ctx, caller)
}

func callerOf(conn net.Conn) (service.Caller, error) {
	if limited, ok := conn.(*limitedConn); ok {
		conn = limited.Conn
	}
	socket, ok := conn.(*net.UnixConn)
	if !ok {
		return service.Caller{}, net.UnknownNetworkError(conn.LocalAddr().Network())
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return service.Caller{}, err
	}
	var cred *unix.Ucred
	var credErr error
	if err := raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return service.Caller{}, err
	}
	if credErr != nil {
		return service.Caller{}, credErr
	}
	return service.Caller{UID: cred.Uid, GID: cred.Gid}, nil
}

// admit refuses requests of browsers, which a page could be behind, and of clients whose user the kernel does not
// report. Every other client that can connect may read: the mode of the socket or a token has allowed it.
func admit(r *http.Request) error {
	if err := admitProgram(r); err != nil {
		return err
	}
	_, known := service.CallerFrom(r.Context())
	if err, failed := r.Context().Value(unknownKey{}).(error); failed && !known {
		return &pannier.Refusal{
			Code: "peer_unknown", Message: "the user of the client is not known: " + err.Error(),
			Hint: "connect to the unix socket",
		}
	}
	return nil
}

func admitProgram(r *http.Request) error {
	if r.Header.Get("Origin") != "" || r.Header.Get("Referer") != "" {
		return errBrowser
	}
	return nil
}

var errBrowser = &pannier.Refusal{
	Code: "browser_refused", Message: "requests with an Origin or a Referer are refused",
	Hint: "call the socket from a program, or allow the page's origin over TCP with --api-allow-origins",
}

// ScopeHeader names a scope. A request that has it may do no more than that scope allows, whatever its caller may do.
// It never gives a right.
const ScopeHeader = "Pannier-Scope"

// limitScope applies [ScopeHeader].
func limitScope(r *http.Request) (*http.Request, error) {
	values := r.Header[ScopeHeader]
	if values == nil {
		return r, nil
	}
	scope, err := service.ParseScope(strings.Join(values, ","))
	if err != nil {
		return r, &statusError{
			http.StatusBadRequest, "invalid_scope", "invalid " + ScopeHeader + ": " + err.Error(),
			"name one of read, environment, call and write, once",
		}
	}
	caller, known := service.CallerFrom(r.Context())
	if !known {
		return r, nil // it may not write
	}
	caller.Limit = scope
	return r.WithContext(service.WithCaller(r.Context(), caller)), nil
}

// requestOf names a request for records of its denial.
func requestOf(r *http.Request, name string) service.Request {
	return service.Request{Name: name, Slug: r.PathValue("slug")}
}

// deny reports a request that is denied before its handler is called, and returns its error.
func (h *Handler) deny(r *http.Request, err error) error {
	denied, ok := errors.AsType[*pannier.Refusal](err)
	if !ok {
		return err
	}
	_, pattern := h.mux.Handler(r)
	request := requestOf(r, cmp.Or(pattern, "no route"))
	request.Changes = h.routes[pattern].scope != ""
	return h.Service.Deny(r.Context(), request, denied)
}
