package client

import (
	"bytes"
	"io"
	"net/http"
)

// inProcess answers requests by calling a handler.
type inProcess struct{ handler http.Handler }

// RoundTrip implements [http.RoundTripper].
func (t inProcess) RoundTrip(req *http.Request) (*http.Response, error) {
	a := &answer{header: http.Header{}, status: http.StatusOK}
	if req.Body == nil {
		req.Body = http.NoBody
	}
	t.handler.ServeHTTP(a, req)
	return &http.Response{
		Status: http.StatusText(a.status), StatusCode: a.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: a.header, Body: io.NopCloser(&a.body), ContentLength: int64(a.body.Len()), Request: req,
	}, nil
}

// answer keeps what a handler writes.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements [http.ResponseWriter].
func (a *answer) Header() http.Header { return a.header }

// Write implements [http.ResponseWriter].
func (a *answer) Write(b []byte) (int, error) { return a.body.Write(b) }

// WriteHeader implements [http.ResponseWriter].
func (a *answer) WriteHeader(status int) { a.status = status }
