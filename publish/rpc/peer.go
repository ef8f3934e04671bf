package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"sync"

	"pannier/publish/answer"
)

// maxAsked bounds the calls to one peer that wait for its answer.
const maxAsked = 64

// The errors of [Peer.Call] beside those of its context and a [*PeerError].
var (
	ErrPeerGone = errors.New("the client has closed its connection")
	ErrPeerFull = errors.New("too many calls wait for the client")
)

// PeerError is an answer of a peer that is an error.
type PeerError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// Error implements error.
func (e *PeerError) Error() string { return e.Message }

// Peer is the client of a WebSocket, whom methods can call in turn.
type Peer struct {
	conn *conn
	gone <-chan struct{}

	mu    sync.Mutex
	last  uint64
	asked map[string]chan peerAnswer // by id
	leave []func()
}

type peerAnswer struct {
	result json.RawMessage
	err    error
}

type peerKey struct{}

// PeerOf returns the client of the WebSocket that a call came by, nil where it came by POST.
func PeerOf(ctx context.Context) *Peer {
	p, _ := ctx.Value(peerKey{}).(*Peer)
	return p
}

// OnLeave has a function called when the connection has ended and all calls that came by it have.
func (p *Peer) OnLeave(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leave = append(p.leave, f)
}

func (p *Peer) left() {
	p.mu.Lock()
	leave := p.leave
	p.leave = nil
	p.mu.Unlock()
	for _, f := range leave {
		f()
	}
}

// Call calls a method of the peer and waits for its answer.
func (p *Peer) Call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	encoded, err := answer.Encode(params)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	if len(p.asked) >= maxAsked {
		p.mu.Unlock()
		return nil, ErrPeerFull
	}
	p.last++
	id, answered := "s"+strconv.FormatUint(p.last, 10), make(chan peerAnswer, 1)
	p.asked[id] = answered
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.asked, id)
	}()
	text, err := answer.Encode(struct {
		Version string          `json:"jsonrpc"`
		ID      string          `json:"id"`
		Method  string          `json:"method"`
		Params  json.RawMessage `json:"params"`
	}{"2.0", id, method, encoded})
	if err != nil {
		return nil, err
	}
	p.conn.send(text)
	select {
	case a := <-answered:
		return a.result, a.err
	case <-p.gone:
		return nil, ErrPeerGone
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// take takes a text in that answers a call to the peer, and reports whether it is one. A late answer is dropped.
func (p *Peer) take(text []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last == 0 { // nothing was asked
		return false
	}
	text = bytes.TrimLeft(text, " \t\r\n")
	if len(text) == 0 || text[0] != '{' || !json.Valid(text) {
		return false
	}
	members, err := readObject(text)
	result, hasResult := members["result"]
	fault, hasFault := members["error"]
	if _, calls := members["method"]; err != nil || calls || hasResult == hasFault {
		return false
	}
	var id string
	_ = json.Unmarshal(members["id"], &id) // an id of another type was not sent to the peer
	answer := p.asked[id]
	delete(p.asked, id)
	if answer == nil {
		return true
	}
	a := peerAnswer{result: result}
	if hasFault {
		said := &PeerError{}
		if json.Unmarshal(fault, said) != nil || said.Message == "" {
			said.Message = "the client answered with an error without a message"
		}
		a.err = said
	}
	answer <- a // has room for the only one
	return true
}
