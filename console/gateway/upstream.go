package gateway

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"pannier"
	"pannier/publish/api"
	"pannier/publish/client"
)

const (
	// identifyTimeout is how long a sidecar may take to say who it is.
	identifyTimeout = 5 * time.Second
	// maxIdentity bounds that answer, in bytes.
	maxIdentity = 64 << 10
	// maxIdle bounds the idle connections to the sidecar. The others are as many as the gateway has itself.
	maxIdle = 16
)

// upstream is the sidecar that a gateway forwards to.
type upstream struct {
	client.Endpoint
	scope string // that requests are limited to; empty means unlimited
	who   pannier.Session
	known bool // of who, which is set once, before the gateway serves
}

var (
	errOld            = &problem{http.StatusBadGateway, "sidecar_too_old", "the sidecar is older than this command", "update the sidecar"}
	errOtherWorkspace = &problem{http.StatusBadGateway, "workspace_changed", "the sidecar serves another workspace than when this page was opened", "run `pannier console` again for the other workspace"}
)

// authorize sets what the sidecar decides by.
func (u *upstream) authorize(header http.Header) {
	if u.scope != "" {
		header.Set(api.ScopeHeader, u.scope)
	}
	if u.Token == nil {
		return
	}
	if text, err := u.Token(); err == nil { // without it the sidecar refuses
		header.Set("Authorization", "Bearer "+text)
	}
}

// connect opens a connection to the workspace that was served at first.
func (u *upstream) connect(ctx context.Context) (conn net.Conn, who pannier.Session, err error) {
	if conn, err = u.Dial(ctx); err != nil {
		return nil, who, err
	}
	end := context.AfterFunc(ctx, func() { conn.Close() })
	who, err = u.ask(conn)
	if !end() && err == nil {
		err = ctx.Err()
	}
	if err == nil && u.known && (who.Workspace != u.who.Workspace || who.WorkspaceID != u.who.WorkspaceID) {
		err = errOtherWorkspace
	}
	if err != nil {
		conn.Close()
		return nil, who, err
	}
	return conn, who, nil
}

// ask sends one request on a new connection, and leaves the connection ready for others.
func (u *upstream) ask(conn net.Conn) (who pannier.Session, err error) {
	if err := conn.SetDeadline(time.Now().Add(identifyTimeout)); err != nil {
		return who, err
	}
	req, err := http.NewRequest(http.MethodGet, "http://"+u.Host+"/v1/session", http.NoBody)
	if err != nil {
		return who, err
	}
	u.authorize(req.Header)
	if err := req.Write(conn); err != nil {
		return who, err
	}
	// Nothing but the answer can be in the buffer: the sidecar sends no more before the next request.
	res, err := http.ReadResponse(bufio.NewReader(conn), req)
	if err != nil {
		return who, fmt.Errorf("ask the sidecar who the user is: %w", err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxIdentity))
	if err != nil {
		return who, fmt.Errorf("ask the sidecar who the user is: %w", err)
	}
	if res.StatusCode != http.StatusOK {
		return who, refusal(res.StatusCode, text)
	}
	if err := json.Unmarshal(text, &who); err != nil {
		return who, fmt.Errorf("ask the sidecar who the user is: %w", err)
	}
	return who, conn.SetDeadline(time.Time{})
}

// refusal returns what the sidecar refused a request with.
func refusal(status int, text []byte) error {
	if status == http.StatusNotFound {
		return errOld
	}
	var document pannier.ErrorDocument
	if json.Unmarshal(text, &document) != nil || document.Detail == "" {
		document = pannier.ErrorDocument{Code: "no_sidecar", Detail: http.StatusText(status), Hint: "check that the address is that of a sidecar"}
	}
	return &problem{status, document.Code, document.Detail, document.Hint}
}
