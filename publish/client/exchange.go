package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"pannier"
)

// Get returns what a GET of a path is answered with. parameters are names and values of the query; empty values are left out.
func Get[T any](ctx context.Context, c *Client, path string, parameters ...string) (T, error) {
	return send[T](ctx, c, http.MethodGet, target(path, parameters...), nil)
}

func target(path string, parameters ...string) string {
	query := url.Values{}
	for i := 0; i < len(parameters); i += 2 {
		if parameters[i+1] != "" {
			query.Set(parameters[i], parameters[i+1])
		}
	}
	if len(query) == 0 {
		return path
	}
	return path + "?" + query.Encode()
}

func flag(set bool) string {
	if set {
		return "1"
	}
	return ""
}

func post[T any](ctx context.Context, c *Client, target string, body any) (T, error) {
	return send[T](ctx, c, http.MethodPost, target, body)
}

func send[T any](ctx context.Context, c *Client, method, target string, body any) (answer T, err error) {
	var text []byte
	if body != nil {
		if text, err = json.Marshal(body); err != nil {
			return answer, fmt.Errorf("encode request: %w", err)
		}
	}
	req, err := newRequest(ctx, method, target, bytes.NewReader(text))
	if err != nil {
		return answer, err
	}
	return exchange[T](c, req)
}

func newRequest(ctx context.Context, method, target string, body io.Reader) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://pannier"+target, body)
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	req.Header.Set("Accept", "application/json")
	return req, nil
}

func exchange[T any](c *Client, req *http.Request) (answer T, err error) {
	_, text, err := c.read(req)
	if err != nil {
		return answer, err
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return answer, fmt.Errorf("decode answer of %s: %w", req.URL.RequestURI(), err)
	}
	return answer, nil
}

func (c *Client) getText(ctx context.Context, path, accept string) (http.Header, []byte, error) {
	req, err := newRequest(ctx, http.MethodGet, path, http.NoBody)
	if err != nil {
		return nil, nil, err
	}
	req.Header.Set("Accept", accept)
	return c.read(req)
}

func (c *Client) read(req *http.Request) (http.Header, []byte, error) {
	if req.GetBody != nil || req.Body == http.NoBody {
		// Not sent: it tells the transport that a request may be sent again, where a sidecar that restarted has closed the
		// connection.
		req.Header["Idempotency-Key"] = nil
	}
	res, err := c.open(req)
	if err != nil {
		return nil, nil, err
	}
	defer res.Body.Close()
	text, err := c.readAnswer(res)
	return res.Header, text, err
}

func (c *Client) open(req *http.Request) (*http.Response, error) {
	res, err := c.HTTP.Do(req)
	if err != nil {
		return nil, classify(err)
	}
	if res.StatusCode < http.StatusMultipleChoices {
		return res, nil
	}
	defer res.Body.Close()
	text, err := c.readAnswer(res)
	if err != nil {
		return nil, err
	}
	return nil, decodeError(res, text)
}

func (c *Client) withoutTimeout() *Client {
	unbounded := *c
	unbounded.HTTP.Timeout = 0
	return &unbounded
}

// large returns the client for an answer about all skills, or for a file.
func (c *Client) large() *Client {
	large := *c
	large.maxAnswer = cmp.Or(c.maxAnswer, maxCatalogBytes)
	return &large
}

func (c *Client) readAnswer(res *http.Response) ([]byte, error) {
	limit := cmp.Or(c.maxAnswer, maxAnswerBytes)
	text, err := io.ReadAll(io.LimitReader(res.Body, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("it has more than %d bytes", limit)
	}
	if err != nil {
		return nil, fmt.Errorf("read answer of %s: %w", res.Request.URL.RequestURI(), err)
	}
	return text, nil
}

// classify tells a sidecar that is not there from one that cannot be talked to.
func classify(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("%w: %w", ErrNoSidecar, err)
	}
	return fmt.Errorf("ask the sidecar: %w", err)
}

// decodeError returns the document of an answer, or its text where another program than a sidecar answered.
func decodeError(res *http.Response, text []byte) error {
	e := &Error{}
	if err := json.Unmarshal(text, &e.ErrorDocument); err != nil || e.Detail == "" {
		detail := cmp.Or(strings.TrimSpace(string(text)), res.Status)
		e.ErrorDocument = pannier.ErrorDocument{Title: http.StatusText(res.StatusCode), Detail: detail}
	}
	e.Status = res.StatusCode
	return e
}
