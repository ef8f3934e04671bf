package api

import (
	"context"
	"net"
	"net/http"

	"golang.org/x/sys/unix"
)

// Peer is who is at the other end of a connection, as the kernel told when it was made (unix(7), SO_PEERCRED).
//
// The ids are those of this process's user namespace. There is no process id: between containers it says nothing.
type Peer struct {
	UID, GID uint32
}

type peerKey struct{}

// peerOrError is what the kernel said about a connection.
type peerOrError struct {
	peer Peer
	err  error
}

// withPeer asks the kernel once for each connection.
func withPeer(ctx context.Context, conn net.Conn) context.Context {
	peer, err := peerOf(conn)
	return context.WithValue(ctx, peerKey{}, peerOrError{peer, err})
}

func peerOf(conn net.Conn) (Peer, error) {
	if limited, ok := conn.(*limitedConn); ok {
		conn = limited.Conn
	}
	socket, ok := conn.(*net.UnixConn)
	if !ok {
		return Peer{}, net.UnknownNetworkError(conn.LocalAddr().Network())
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return Peer{}, err
	}
	var cred *unix.Ucred
	var credErr error
	if err := raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return Peer{}, err
	}
	if credErr != nil {
		return Peer{}, credErr
	}
	return Peer{UID: cred.Uid, GID: cred.Gid}, nil
}

// PeerFrom returns who sent a request. There is nobody where the handler is called within its own process.
func PeerFrom(ctx context.Context) (Peer, bool) {
	p, ok := ctx.Value(peerKey{}).(peerOrError)
	return p.peer, ok && p.err == nil
}

// admit refuses requests of browsers, which a page could be behind, and of callers that the kernel does not name. Whoever
// else could connect may read: the mode of the socket has decided that.
func admit(r *http.Request) error {
	if r.Header.Get("Origin") != "" || r.Header.Get("Referer") != "" {
		return &statusError{http.StatusForbidden, "browser_refused", "requests with an Origin or a Referer are refused", "call the socket from a program, not from a page"}
	}
	if p, ok := r.Context().Value(peerKey{}).(peerOrError); ok && p.err != nil {
		return &statusError{http.StatusForbidden, "peer_unknown", "the kernel does not tell who is calling: " + p.err.Error(), "connect to the unix socket"}
	}
	return nil
}
