package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pannier"
)

const (
	versionHeader = "MCP-Protocol-Version"
	methodHeader  = "Mcp-Method"
	sessionHeader = "Mcp-Session-Id"
)

// maxRequestBytes bounds a request. It is for handlers that are not called through one with a bound of its own.
const maxRequestBytes = 1 << 20

type callerKey struct{}

// Handler returns the handler of both eras: that of the protocol without sessions for requests that name its version,
// else that of the older versions. Both share the server, so every host gets every notification.
func (s *Server) Handler() http.Handler {
	server := func(*http.Request) *sdk.Server { return s.sdk }
	options := sdk.StreamableHTTPOptions{
		JSONResponse: true, MaxRequestBodyBytes: maxRequestBytes,
		// Origins are refused and TCP needs a token, so a rebound name reaches nothing; a proxy on the loopback keeps its
		// Host.
		DisableLocalhostProtection: true,
	}
	legacy := sdk.NewStreamableHTTPHandler(server, &options)
	options.Stateless, options.PropagateRequestCancellation = true, true
	modern := sdk.NewStreamableHTTPHandler(server, &options)
	options.JSONResponse = false
	progress := sdk.NewStreamableHTTPHandler(server, &options)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out := &errorWriter{ResponseWriter: w, stall: s.answers.stall}
		defer out.end()
		caller := ""
		if s.Caller != nil {
			caller = s.Caller(r)
		}
		r = r.WithContext(context.WithValue(r.Context(), callerKey{}, caller))
		serveModern := modern.ServeHTTP
		if r.Method == http.MethodPost {
			defer s.answers.begin(r)()
			body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequestBytes))
			if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
				out.fail(http.StatusRequestEntityTooLarge, jsonrpc.CodeInvalidRequest,
					fmt.Sprintf("the body has more than %d bytes: send a smaller request", maxRequestBytes), nil)
				return
			}
			if err != nil {
				out.fail(http.StatusBadRequest, jsonrpc.CodeParseError, "the body cannot be read: send all of it", nil)
				return
			}
			var refused *jsonrpc.Error
			if out.id, refused = checkMessage(body); refused != nil {
				out.fail(http.StatusBadRequest, refused.Code, refused.Message, nil)
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			if s.SkillTools { // the call of a tool may take longer than a request may
				_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // not supported by recorders
			}
			if s.wantsProgress(body) {
				serveModern = progress.ServeHTTP
			}
			if r.Header.Get(versionHeader) == "" && r.Header.Get(methodHeader) == "" &&
				bytes.Contains(body, []byte(sdk.MetaKeyProtocolVersion)) {
				modern.ServeHTTP(out, r) // which asks for the header
				return
			}
		}
		version := r.Header.Get(versionHeader)
		switch {
		case version >= modernVersion || version == "" && r.Header.Get(methodHeader) != "":
			serveModern(out, r)
		case version != "" && !slices.Contains(sdk.SupportedProtocolVersions(), version):
			supported := sdk.SupportedProtocolVersions()
			out.fail(http.StatusBadRequest, sdk.CodeUnsupportedProtocolVersion,
				fmt.Sprintf("protocol version %.40q is not supported: use one of %s", version, strings.Join(supported, ", ")),
				encode(sdk.UnsupportedProtocolVersionData{Supported: supported, Requested: version}))
		default:
			s.serveLegacy(legacy, out, r)
		}
	})
}

func (s *Server) serveLegacy(h http.Handler, w *errorWriter, r *http.Request) {
	caller, _ := r.Context().Value(callerKey{}).(string)
	id := r.Header.Get(sessionHeader)
	leave, ok := func() {}, true
	if id != "" {
		if leave, ok = s.sessions.enter(id, caller); !ok { // not told apart from one that does not exist
			w.fail(http.StatusNotFound, jsonrpc.CodeInvalidRequest, "session not found", nil)
			return
		}
	} else if r.Method == http.MethodPost {
		if leave, ok = s.sessions.admit(caller); !ok {
			w.Header().Set("Retry-After", "1")
			w.fail(http.StatusServiceUnavailable, jsonrpc.CodeInternalError,
				fmt.Sprintf("%d sessions are in use already, or %d of this user or token: end unused ones with DELETE, "+
					"or use version %s, which has none", maxSessions, maxSessions/2, modernVersion), nil)
			return
		}
	}
	defer leave()
	h.ServeHTTP(w, r)
}

// connected gives the instructions to a host that begins to use the server, and records it.
func (s *Server) connected(ctx context.Context, method string, req sdk.Request, result sdk.Result) error {
	ss, ok := req.GetSession().(*sdk.ServerSession)
	if !ok || method != "initialize" && method != "server/discover" {
		return nil
	}
	v, err := s.current(ctx)
	if err != nil {
		return err
	}
	host := pannier.MCPSession{Method: method}
	var client *sdk.Implementation
	switch r := req.(type) {
	case *sdk.ServerRequest[*sdk.InitializeParams]:
		client = r.ClientInfo()
		if negotiated, ok := result.(*sdk.InitializeResult); ok {
			negotiated.Instructions, host.Protocol = v.instructions(), negotiated.ProtocolVersion
		}
		if caller, overHTTP := ctx.Value(callerKey{}).(string); overHTTP && ss.ID() != "" {
			s.sessions.begin(ss, caller)
		}
	case *sdk.ServerRequest[*sdk.DiscoverParams]:
		client, host.Protocol = r.ClientInfo(), r.ProtocolVersion()
		if discovered, ok := result.(*sdk.DiscoverResult); ok {
			discovered.Instructions = v.instructions()
		}
	}
	if client != nil {
		host.Client, host.Version = client.Name, client.Version
	}
	if s.OnSession != nil {
		s.OnSession(host)
	}
	return nil
}

// errorWriter writes what the SDK answers as plain text as an error of JSON-RPC.
type errorWriter struct {
	http.ResponseWriter
	id     json.RawMessage // of the request
	stall  time.Duration   // how long one chunk of the answer may take
	failed int             // the status of an error whose text is collected, or 0
	text   bytes.Buffer
}

// Unwrap gives [http.ResponseController] the writer underneath.
func (w *errorWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader implements [http.ResponseWriter].
func (w *errorWriter) WriteHeader(status int) {
	if status >= http.StatusBadRequest && strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
		w.failed = status
		return
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (w *errorWriter) Write(b []byte) (int, error) {
	if w.failed != 0 {
		return w.text.Write(b)
	}
	return w.writeAnswer(b)
}

func (w *errorWriter) end() {
	if w.failed == 0 {
		return
	}
	status, code := w.failed, int64(jsonrpc.CodeInvalidRequest)
	if status == http.StatusInternalServerError {
		code = jsonrpc.CodeInternalError
	}
	w.failed = 0
	w.fail(status, code, strings.TrimSpace(w.text.String()), nil)
}

func (w *errorWriter) fail(status int, code int64, message string, data json.RawMessage) {
	id := w.id
	if id == nil {
		id = nullID
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.ResponseWriter.WriteHeader(status)
	_, _ = w.ResponseWriter.Write(encode(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   *jsonrpc.Error  `json:"error"`
	}{"2.0", id, &jsonrpc.Error{Code: code, Message: message, Data: data}}))
}
