package client

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io/fs"
	"net"
	"time"
)

// Endpoint is where a sidecar takes connections, for programs that forward requests of others.
type Endpoint struct {
	// Dial opens a connection, with TLS on it where the sidecar has that. It fails with [ErrNoSidecar] where none listens.
	Dial func(context.Context) (net.Conn, error)
	// Host is that of the requests.
	Host string
	// Token returns the token to come in with; nil is none.
	Token func() (string, error)
}

// SocketEndpoint returns that of a unix socket.
func SocketEndpoint(socket string) Endpoint {
	dialer := net.Dialer{Timeout: 2 * time.Second}
	return Endpoint{Host: "pannier", Dial: func(ctx context.Context) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, "unix", socket)
		return conn, classified(err)
	}}
}

// Endpoint returns that of a sidecar that is reached over TCP.
func (r Remote) Endpoint() (Endpoint, error) {
	base, err := r.base()
	if err != nil {
		return Endpoint{}, err
	}
	port, dial := "80", (&net.Dialer{Timeout: remoteTimeout}).DialContext
	if base.Scheme == "https" {
		config := r.tls()
		config.ServerName = base.Hostname()
		port, dial = "443", (&tls.Dialer{NetDialer: &net.Dialer{Timeout: remoteTimeout}, Config: config}).DialContext
	}
	address := net.JoinHostPort(base.Hostname(), cmp.Or(base.Port(), port))
	return Endpoint{Host: base.Host, Token: r.token, Dial: func(ctx context.Context) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, 2*remoteTimeout)
		defer cancel()
		conn, err := dial(ctx, "tcp", address)
		return conn, classified(err)
	}}, nil
}

func classified(err error) error {
	if errors.Is(err, fs.ErrPermission) || err == nil {
		return err
	}
	return classify(err)
}
