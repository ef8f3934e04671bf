package bridge

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// The headers of MCP over HTTP.
const (
	headerVersion = "Mcp-Protocol-Version"
	headerSession = "Mcp-Session-Id"
	headerMethod  = "Mcp-Method"
	headerName    = "Mcp-Name"
)

// errEnded says that a stream has ended without the answer.
var errEnded = errors.New("the stream has ended without an answer")

// call forwards a call and what the server says to it.
func (b *bridge) call(ctx context.Context, m *message) error {
	res, err := b.post(ctx, m)
	if err != nil {
		return err
	}
	b.legacy.remember(m)
	return b.receive(res, func(got *message) { b.write(got.text) })
}

// notify forwards a notification, or an answer of the host.
func (b *bridge) notify(ctx context.Context, m *message) error {
	res, err := b.post(ctx, m)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode >= http.StatusMultipleChoices {
		return refusalOf(res)
	}
	b.legacy.remember(m)
	if m.Method == notificationReady {
		b.legacy.begin(ctx, b)
	}
	return nil
}

// post sends a message, and waits for a while where no server listens or one is starting. Where the server has forgotten the
// session, it opens another one first.
func (b *bridge) post(ctx context.Context, m *message) (*http.Response, error) {
	deadline := time.Now().Add(reachTimeout)
	for wait := minWait; ; wait = min(2*wait, maxWait) {
		s := b.legacy.sessionFor(m)
		res, err := b.send(ctx, http.MethodPost, m, s)
		switch {
		case err != nil && !wasNotSent(err):
			return nil, b.broken(err)
		case err == nil && isSessionLost(res, s):
			res.Body.Close()
			if err := b.renew(ctx, s); err != nil {
				return nil, err
			}
		case err == nil && res.StatusCode != http.StatusServiceUnavailable:
			return res, nil
		}
		if err == nil && res.StatusCode == http.StatusServiceUnavailable {
			err = refusalOf(res)
			res.Body.Close()
		}
		if time.Now().After(deadline) {
			return nil, b.unavailable(err)
		}
		if err := sleep(ctx, wait); err != nil {
			return nil, err
		}
	}
}

// send makes one request. The session is nil for messages without one.
func (b *bridge) send(ctx context.Context, method string, m *message, s *session) (*http.Response, error) {
	var body io.Reader = http.NoBody
	if m != nil {
		body = bytes.NewReader(m.text)
	}
	req, err := http.NewRequestWithContext(ctx, method, b.Endpoint, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "text/event-stream")
	if m != nil {
		req.Header.Set("Accept", "application/json, text/event-stream")
		req.Header.Set("Content-Type", "application/json")
		setMessageHeaders(req.Header, m)
		if m.Method != methodCallTool {
			req.Header["Idempotency-Key"] = nil // not sent: allows the transport to retry on a connection that the server has closed
		}
	}
	if s != nil {
		setHeader(req.Header, headerVersion, s.version)
		setHeader(req.Header, headerSession, s.id)
	}
	return b.HTTP.Do(req)
}

func setMessageHeaders(h http.Header, m *message) {
	if !m.isModern() {
		return
	}
	h.Set(headerVersion, m.params.version)
	h.Set(headerMethod, m.Method)
	switch m.Method {
	case methodCallTool, "prompts/get":
		setHeader(h, headerName, m.params.name)
	case "resources/read":
		setHeader(h, headerName, m.params.uri)
	}
}

func setHeader(h http.Header, name, value string) {
	if value != "" {
		h.Set(name, value)
	}
}

// isSessionLost reports whether the server has forgotten a session, such as one that was restarted.
func isSessionLost(res *http.Response, s *session) bool {
	return s != nil && s.id != "" && res.StatusCode == http.StatusNotFound
}

// receive hands on the messages of a response up to the answer, and closes it.
func (b *bridge) receive(res *http.Response, take func(*message)) error {
	defer res.Body.Close()
	if res.StatusCode >= http.StatusMultipleChoices {
		return refusalOf(res)
	}
	if mediaType(res) == "text/event-stream" {
		err := readStream(res.Body, func(got *message) bool {
			take(got)
			return got.isAnswer()
		})
		if errors.Is(err, errEnded) {
			return b.broken(err)
		}
		return err
	}
	text, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err != nil {
		return b.broken(err)
	}
	if len(text) > maxAnswer {
		return errTooLarge
	}
	got := &message{text: text}
	if err := json.Unmarshal(text, got); err != nil || !got.isAnswer() {
		return fmt.Errorf("%s did not answer with a message of MCP", b.Server)
	}
	take(got)
	return nil
}

var errTooLarge = fmt.Errorf("the answer is larger than %d bytes", maxAnswer)

// readStream reads the messages of a stream of server-sent events until take returns true.
func readStream(r io.Reader, take func(*message) (last bool)) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxAnswer)
	var data []byte
	for lines.Scan() {
		if value, ok := bytes.CutPrefix(lines.Bytes(), []byte("data:")); ok {
			if data != nil {
				data = append(data, '\n')
			}
			data = append(data, bytes.TrimPrefix(value, []byte(" "))...)
			if len(data) > maxAnswer {
				return errTooLarge
			}
			continue
		}
		if len(lines.Bytes()) > 0 || len(data) == 0 {
			continue
		}
		got := &message{text: data}
		data = nil
		if err := json.Unmarshal(got.text, got); err != nil {
			return fmt.Errorf("an event of the stream is not a message of JSON-RPC: %w", err)
		}
		if take(got) {
			return nil
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return errTooLarge
	}
	return errEnded
}

// maxRefusal bounds what is read of a response that is an error.
const maxRefusal = 64 << 10

// refusalOf returns the error of a response. The body is an error of JSON-RPC, a problem document or a text.
func refusalOf(res *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(res.Body, maxRefusal))
	var said struct {
		Error  *rpcError `json:"error"`
		Detail string    `json:"detail"`
	}
	if json.Unmarshal(text, &said) == nil && said.Error != nil {
		return said.Error
	}
	return &rpcError{Code: codeUnavailable, Message: fmt.Sprintf("the message was refused (%d): %s", res.StatusCode, cmp.Or(said.Detail, strings.TrimSpace(string(text)), res.Status))}
}

// wasNotSent reports whether no connection was made, so that a message can be sent again.
func wasNotSent(err error) bool {
	failed, ok := errors.AsType[*net.OpError](err)
	return ok && failed.Op == "dial"
}

func (b *bridge) unavailable(err error) error {
	if fault, ok := errors.AsType[*rpcError](err); ok {
		return fault
	}
	return &rpcError{Code: codeUnavailable, Message: fmt.Sprintf("%s does not answer; start it, then call again", b.Server)}
}

// broken is the error of a call that the server may have carried out.
func (b *bridge) broken(err error) error {
	for _, ended := range []error{io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, io.ErrClosedPipe, syscall.ECONNRESET, syscall.EPIPE, errEnded} {
		if errors.Is(err, ended) {
			return &rpcError{Code: codeUnavailable, Message: fmt.Sprintf("%s ended or restarted before it answered; call again", b.Server)}
		}
	}
	if failed, ok := errors.AsType[*url.Error](err); ok {
		err = failed.Err // without the address, which is the same for all sockets
	}
	return &rpcError{Code: codeUnavailable, Message: fmt.Sprintf("%s cannot be asked: %v", b.Server, err)}
}

func mediaType(res *http.Response) string {
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	return kind
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
