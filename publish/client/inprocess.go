package client

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
)

type inProcess struct{ handler http.Handler }

func (t inProcess) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		defer req.Body.Close()
	}
	served := req.Clone(req.Context()) // a handler may change what it gets
	if served.Body == nil {
		served.Body = http.NoBody
	}
	a := &answer{header: http.Header{}, status: http.StatusOK}
	t.handler.ServeHTTP(a, served)
	if err := req.Context().Err(); err != nil {
		return nil, err // a handler need not answer who does not wait
	}
	if req.Method == http.MethodHead {
		a.body.Reset()
	}
	return &http.Response{
		Status: fmt.Sprintf("%d %s", a.status, http.StatusText(a.status)), StatusCode: a.status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: a.header, Body: io.NopCloser(&a.body), ContentLength: int64(a.body.Len()), Request: req,
	}, nil
}

type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header { return a.header }

func (a *answer) Write(b []byte) (int, error) { return a.body.Write(b) }

func (a *answer) WriteHeader(status int) { a.status = status }
