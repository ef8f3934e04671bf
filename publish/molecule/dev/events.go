package dev

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/coder/websocket"

	"pannier/publish/molecule"
)

type client struct {
	// workspace is the UUID of the workspace that it speaks for; empty hears everything.
	workspace string
	queue     chan *frame
	// dropped counts the events that found the queue full. It is guarded by Platform.mu.
	dropped int
}

type frame struct {
	workspace string // UUID
	text      []byte
	// waiting counts the clients that have it in their queue or are being sent it. It is guarded by Platform.mu.
	waiting int
}

// outgoing is a [Frame] whose payload is encoded along with it. The outer field hides the inner one.
type outgoing struct {
	Frame
	Payload any `json:"payload"`
}

// newFrame encodes an event. A card in it comes out without blanks and with <, > and & escaped.
func newFrame(event, workspaceID string, payload any) (*frame, error) {
	text, err := json.Marshal(outgoing{
		Frame:   Frame{Event: event, WorkspaceID: workspaceID, Timestamp: time.Now().UTC()},
		Payload: payload,
	})
	key, _ := molecule.ParseUUID(workspaceID)
	return &frame{workspace: key, text: text}, err
}

// broadcastLocked queues an event for each client that may have it. It never waits: a client that is too slow misses it.
func (p *Platform) broadcastLocked(f *frame) {
	fits := p.queued+len(f.text) <= maxQueuedBytes
	for c := range p.clients {
		if !p.hearsLocked(c, f) {
			continue
		}
		if !fits || len(c.queue) == cap(c.queue) {
			c.dropped++
			continue
		}
		c.queue <- f // only with mu held, so there is room
		f.waiting++
	}
	if f.waiting > 0 {
		p.queued += len(f.text)
	}
}

// sentLocked gives back the bytes of an event that one client has been sent, or never will be.
func (p *Platform) sentLocked(f *frame) {
	if f.waiting--; f.waiting == 0 {
		p.queued -= len(f.text)
	}
}

// hearsLocked reports whether a client may have an event: its own, or, all workspaces being siblings, that of another
// workspace which is known, if its own is known too.
func (p *Platform) hearsLocked(c *client, f *frame) bool {
	if c.workspace == "" || c.workspace == f.workspace {
		return true
	}
	return p.workspaces[c.workspace] != nil && p.workspaces[f.workspace] != nil
}

func (p *Platform) serveEvents(w http.ResponseWriter, r *http.Request) {
	c := &client{queue: make(chan *frame, maxBacklog)}
	if err := p.admit(c, r.Header); err != nil {
		refuse(w, err, textLookupFailed)
		return
	}
	defer p.leave(c)
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		p.log.Debug("client of the event stream not accepted", "error", err)
		return
	}
	defer conn.CloseNow()
	p.stream(conn, c)
}

// admit adds a client. It comes before the handshake, so that a connected client misses nothing.
func (p *Platform) admit(c *client, h http.Header) error {
	id := h.Get(molecule.WorkspaceHeader)
	key, ok := molecule.ParseUUID(id)
	if id != "" && !ok {
		return errNotStored
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.authorizeLocked(id, h); err != nil {
		return err
	}
	if p.closed || len(p.clients) >= maxClients {
		return errCrowded
	}
	c.workspace = key
	p.clients[c] = struct{}{}
	p.serving.Add(1)
	return nil
}

func (p *Platform) leave(c *client) {
	p.mu.Lock()
	delete(p.clients, c)
	for len(c.queue) > 0 {
		p.sentLocked(<-c.queue)
	}
	dropped := c.dropped
	p.mu.Unlock()
	if dropped > 0 {
		p.log.Warn("a client of the event stream was too slow and missed events", "workspace", c.workspace, "missed", dropped)
	}
	p.serving.Done()
}

// stream writes events until the client goes away or the platform is closed. The wire has no pings and no deadlines, so
// a client that neither reads nor leaves stays, and costs its own queue only.
func (p *Platform) stream(conn *websocket.Conn, c *client) {
	ctx, cancel := context.WithCancel(p.ctx)
	defer cancel()
	p.serving.Go(func() {
		defer cancel()
		ignore(ctx, conn)
	})
	for {
		select {
		case <-ctx.Done():
			return
		case f := <-c.queue:
			err := conn.Write(ctx, websocket.MessageText, f.text)
			p.mu.Lock()
			p.sentLocked(f)
			p.mu.Unlock()
			if err != nil {
				return
			}
		}
	}
}

// ignore reads what a client sends, which means nothing, until it goes away. Without it pings would find no answer.
func ignore(ctx context.Context, conn *websocket.Conn) {
	for {
		if _, _, err := conn.Read(ctx); err != nil {
			return
		}
	}
}
