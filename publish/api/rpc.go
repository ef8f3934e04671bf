package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"pannier"
	"pannier/publish/answer"
)

// RPC answers JSON-RPC 2.0.
type RPC interface {
	// Answer returns the answer to a text, nil where there is none because nothing in it asks for one. Release takes
	// it back.
	Answer(r *http.Request, text []byte) []byte
	Release([]byte)
	// Accept makes a WebSocket of a request and serves it until its peer leaves or stop is done. Where it fails
	// nothing was written; an error with a method Status() int says with which HTTP status.
	Accept(w http.ResponseWriter, r *http.Request, stop context.Context) error
}

func hasRPC(o *Options) bool { return o.RPC != nil }

var streamRoutes = []route{
	{
		pattern: "GET /v1/events", endpoint: endpoint{serve: (*Handler).events}, early: true, untagged: true,
		id:      "followEvents",
		summary: "The events as server-sent events; the data of each is an Event of the components.",
		texts:   []string{"text/event-stream"},
		parameters: []parameter{
			queryList("types", pannier.EventType(""), "Only events of these types."),
			query("follow", "boolean", "With 0 the stream ends with the newest event there is."),
			{"Last-Event-ID", "header", "The number of the event to begin behind.", uint64(0)},
		},
		has: func(o *Options) bool { return o.Events != nil },
	},
	{
		pattern: "GET /v1/rpc", endpoint: endpoint{serve: (*Handler).socket}, early: true, untagged: true,
		id: "openRPC", summary: "Makes a WebSocket (RFC 6455) that carries JSON-RPC 2.0.",
		parameters: []parameter{query("ticket", "string", "One of POST /v1/tickets, in the place of a token.")},
		others:     map[string]string{"101": "The connection is a WebSocket from here on."}, has: hasRPC,
	},
	{
		pattern:  "POST /v1/rpc",
		endpoint: endpoint{(*Handler).call, singleOrBatch{rpcCall{}}, singleOrBatch{rpcAnswer{}}}, early: true,
		id: "callRPC", summary: "Answers single calls of JSON-RPC 2.0, or a batch.",
		others: map[string]string{"204": "There were notifications only, which have no answer."}, has: hasRPC,
	},
}

// CallEnvelope and AnswerEnvelope are those of JSON-RPC 2.0, as the body and the answer of a [Route].
var CallEnvelope, AnswerEnvelope any = rpcCall{}, rpcAnswer{}

// rpcCall and rpcAnswer are the envelopes of JSON-RPC 2.0, as the OpenAPI document has them.
type (
	rpcCall struct {
		Version string `json:"jsonrpc"`
		ID      any    `json:"id,omitempty"`
		Method  string `json:"method"`
		Params  any    `json:"params,omitempty"`
	}
	rpcAnswer struct {
		Version string    `json:"jsonrpc"`
		ID      any       `json:"id"`
		Result  any       `json:"result,omitempty"`
		Error   *rpcError `json:"error,omitempty"`
	}
	rpcError struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Data    any    `json:"data,omitempty"`
	}
)

func (h *Handler) call(w http.ResponseWriter, r *http.Request, _ *pannier.Snapshot) error {
	text, err := readText(r)
	if err != nil {
		return err
	}
	text = h.RPC.Answer(r, text)
	if text == nil {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	writeEncoded(w, r, "application/json", answer.Encoded{Body: text})
	h.RPC.Release(text)
	return nil
}

func (h *Handler) socket(w http.ResponseWriter, r *http.Request, _ *pannier.Snapshot) error {
	if hasTicket(r) {
		var err error
		if r, _, err = h.redeem(r, nil); err != nil {
			return h.deny(r, err)
		}
	}
	leave, ok := TrackUpgraded(r.Context())
	if !ok {
		return http.ErrServerClosed
	}
	defer leave()
	stop, cancel := UntilShutdown(r.Context())
	defer cancel()
	err := h.RPC.Accept(w, r, stop)
	e, ok := errors.AsType[interface {
		error
		Status() int
	}](err)
	if !ok {
		return err
	}
	if e.Status() == http.StatusServiceUnavailable {
		endConnection(w)
		return &statusError{
			e.Status(), "too_many_sockets", fmt.Sprintf("%d WebSockets are open already", h.capacity.WebSockets),
			"close one that is not used",
		}
	}
	return &statusError{
		e.Status(), "no_websocket", e.Error(), "GET makes a WebSocket (RFC 6455); POST takes single calls",
	}
}
