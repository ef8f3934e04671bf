package rpc

import (
	"context"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/coder/websocket"
)

func (c *conn) next(ctx context.Context) ([]byte, error) {
	for {
		kind, frame, err := c.socket.Reader(ctx)
		switch {
		case err != nil:
			return nil, err
		case kind == websocket.MessageText:
			return c.text(ctx, frame)
		}
		if err := c.receiveBinary(ctx, frame); err != nil {
			return nil, err
		}
	}
}

// text reads a text frame. The bound of the socket is that of binary frames, which may be larger.
func (c *conn) text(ctx context.Context, frame io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(frame, MaxFrame+1))
	if err != nil || len(text) <= MaxFrame {
		return text, err
	}
	c.end(
		ending{
			code:   websocket.StatusMessageTooBig,
			reason: fmt.Sprintf("a text frame has more than %d bytes", MaxFrame),
		},
	)
	for err == nil { // until the peer has taken the reason in
		if err = skip(frame); err == nil {
			_, frame, err = c.socket.Reader(ctx)
		}
	}
	return nil, err
}

func (c *conn) receiveBinary(ctx context.Context, frame io.Reader) error {
	if c.server.Binary == nil {
		c.send(appendError(nil, nil, newError(CodeInvalidRequest, "rpc.binary_refused", "a frame is text")))
		return skip(frame)
	}
	c.working.Store(true)
	defer func() {
		c.wire.reads.Add(1)
		c.working.Store(false)
	}()
	frame = &countedFrame{frame, c}
	answered, err := c.callBinary(frame)
	if err != nil {
		return err
	}
	text, err := answered.text()
	if err != nil {
		return err
	}
	for !c.queue.push(text) { // a peer that sends frames faster than it is answered is not dropped, but slowed down
		select {
		case <-ctx.Done():
			return nil
		case <-c.queue.space:
		}
	}
	return skip(frame)
}

// callBinary passes a binary frame to the server's function. A panic ends the connection, since the frame may be half
// read.
func (c *conn) callBinary(frame io.Reader) (answer Notification, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			c.server.Logger.Error(
				"what takes in binary frames panicked", "cause", cause, "stack", string(debug.Stack()),
			)
			err = fmt.Errorf("a binary frame was not taken in: %v", cause)
		}
	}()
	return c.server.Binary(c.request, frame), nil
}

func skip(frame io.Reader) error {
	_, err := io.Copy(io.Discard, frame)
	return err
}

// countedFrame reads a frame, and notes of each part that it came. In between it is worked on. What the socket hands
// over with an error is dropped: it has not undone the mask of that part (RFC 6455, section 5.3), so that those are
// not the peer's bytes.
type countedFrame struct {
	frame io.Reader
	conn  *conn
}

func (f *countedFrame) Read(b []byte) (int, error) {
	f.conn.wire.reads.Add(1) // what was worked on is a sign of life too
	f.conn.working.Store(false)
	defer f.conn.working.Store(true)
	n, err := f.frame.Read(b)
	if err != nil && err != io.EOF {
		return 0, err
	}
	return n, err
}
