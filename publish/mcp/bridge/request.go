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
	"maps"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// errEnded says that a stream has ended without the answer.
var errEnded = errors.New("the stream has ended without an answer")

// forward sends a message and hands on what the server says to it.
func (b *bridge) forward(ctx context.Context, m *message) error {
	res, err := b.post(ctx, m)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if m.isCall() {
		b.remember(m)
		return b.receive(res, func(got *message) { b.write(got.text) })
	}
	if res.StatusCode >= http.StatusMultipleChoices {
		return refusalOf(res)
	}
	b.remember(m)
	if m.Method == notificationReady && b.current() != nil {
		b.follows.Do(func() { b.tasks.Go(func() { b.follow(ctx) }) })
	}
	return nil
}

// post sends a message, and waits for a while where no server listens or one is starting. Where the server has
// forgotten the session, it opens another one first.
func (b *bridge) post(ctx context.Context, m *message) (res *http.Response, err error) {
	deadline := time.Now().Add(reachTimeout)
	repeat(ctx, func() bool {
		s := b.current()
		if m.isModern() || m.Method == methodInitialize {
			s = nil
		}
		res, err = b.send(ctx, http.MethodPost, m, s)
		switch {
		case err != nil:
			sent := !wasNotSent(err)
			if err = b.broken(err); sent {
				return true
			}
		case isSessionLost(res, s):
			res.Body.Close()
			if err = b.renew(ctx, s); err != nil {
				return true
			}
			err = b.broken(errEnded)
		case res.StatusCode == http.StatusServiceUnavailable:
			err = refusalOf(res)
			res.Body.Close()
		default:
			return true
		}
		return time.Now().After(deadline)
	})
	return res, err
}

// repeat calls try until that is done or ctx is. It waits ever longer, but hardly after a try that lasted, such as a
// stream that has ended.
func repeat(ctx context.Context, try func() (done bool)) {
	for wait := minWait; ; wait = min(2*wait, maxWait) {
		began := time.Now()
		if try() {
			return
		}
		if time.Since(began) > maxWait {
			wait = minWait
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// send makes one request. The message is nil for a request without one, and the session for a message without one.
func (b *bridge) send(ctx context.Context, method string, m *message, s *session) (*http.Response, error) {
	headers := http.Header{"Accept": {"text/event-stream"}}
	var body io.Reader = http.NoBody
	if m != nil {
		body = bytes.NewReader(m.text)
		headers.Set("Accept", "application/json, text/event-stream")
		headers.Set("Content-Type", "application/json")
		if m.Method != methodCallTool {
			headers["Idempotency-Key"] = nil // not sent: the transport may retry where the server has closed a connection
		}
		if m.isModern() {
			headers.Set("Mcp-Protocol-Version", m.params.Meta.Version)
			headers.Set("Mcp-Method", m.Method)
			switch m.Method {
			case methodCallTool, "prompts/get":
				headers.Set("Mcp-Name", m.params.Name)
			case "resources/read":
				headers.Set("Mcp-Name", m.params.URI)
			}
		}
	}
	if s != nil {
		headers.Set("Mcp-Protocol-Version", s.version)
		headers.Set("Mcp-Session-Id", s.id)
	}
	maps.DeleteFunc(headers, func(_ string, values []string) bool { return len(values) == 1 && values[0] == "" })
	req, err := http.NewRequestWithContext(ctx, method, b.Endpoint, body)
	if err != nil {
		return nil, err
	}
	req.Header = headers
	return b.HTTP.Do(req)
}

// isSessionLost reports whether the server has forgotten a session, such as one that was restarted.
func isSessionLost(res *http.Response, s *session) bool {
	return s != nil && s.id != "" && res.StatusCode == http.StatusNotFound
}

func isStream(res *http.Response) bool {
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	return kind == "text/event-stream"
}

// receive hands on the messages of a response up to the answer, and closes it.
func (b *bridge) receive(res *http.Response, take func(*message)) error {
	defer res.Body.Close()
	if res.StatusCode >= http.StatusMultipleChoices {
		return refusalOf(res)
	}
	if isStream(res) {
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
		Error  *jsonrpc.Error `json:"error"`
		Detail string         `json:"detail"`
	}
	if json.Unmarshal(text, &said) == nil && said.Error != nil {
		return said.Error
	}
	why := cmp.Or(said.Detail, strings.TrimSpace(string(text)), res.Status)
	return unavailable("the message was refused (%d): %s", res.StatusCode, why)
}

// wasNotSent reports whether no connection was made, so that a message can be sent again.
func wasNotSent(err error) bool {
	failed, ok := errors.AsType[*net.OpError](err)
	return ok && failed.Op == "dial"
}

// broken is the error of a call that the server has not answered. It may have carried it out.
func (b *bridge) broken(err error) error {
	if wasNotSent(err) {
		return unavailable("%s does not answer; start it, then call again", b.Server)
	}
	ends := []error{
		io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, io.ErrClosedPipe, syscall.ECONNRESET, syscall.EPIPE, errEnded,
	}
	for _, ended := range ends {
		if errors.Is(err, ended) {
			return unavailable("%s ended or restarted before it answered; call again", b.Server)
		}
	}
	if failed, ok := errors.AsType[*url.Error](err); ok {
		err = failed.Err // without the address, which is the same for all sockets
	}
	return unavailable("%s cannot be asked: %v", b.Server, err)
}
