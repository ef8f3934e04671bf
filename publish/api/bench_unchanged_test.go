package api_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
)

// The benchmarks in this file ask for a prompt that has not changed, over several connections at once, and report how many
// answers come in a second. Whoever asks shares the processors with the socket.

// BenchmarkUnchangedPrompt has callers that cost next to nothing: they send the same bytes and look for the end of an answer.
func BenchmarkUnchangedPrompt(b *testing.B) {
	path, _ := serve(b, thousand().handler())
	request := fmt.Appendf(nil, "GET /v1/prompt HTTP/1.1\r\nHost: pannier\r\nIf-None-Match: %s\r\n\r\n", promptTag(b, path))
	for _, conns := range []int{1, 2, 8} {
		b.Run(fmt.Sprint(conns, "conns"), func(b *testing.B) {
			askAtOnce(b, conns, func() (func() error, func()) {
				conn, err := net.Dial("unix", path)
				if err != nil {
					b.Fatal(err)
				}
				in := bufio.NewReader(conn)
				return func() error {
					if _, err := conn.Write(request); err != nil {
						return err
					}
					return readUnchanged(in)
				}, func() { conn.Close() }
			})
		})
	}
}

// BenchmarkUnchangedPromptClient is the same with the client of net/http, as most programs in Go ask.
func BenchmarkUnchangedPromptClient(b *testing.B) {
	path, _ := serve(b, thousand().handler())
	tag := promptTag(b, path)
	for _, conns := range []int{1, 2, 8} {
		b.Run(fmt.Sprint(conns, "conns"), func(b *testing.B) {
			askAtOnce(b, conns, func() (func() error, func()) {
				c := caller(b, path)
				return func() error {
					req, err := http.NewRequest(http.MethodGet, "http://pannier/v1/prompt", nil)
					if err != nil {
						return err
					}
					req.Header.Set("If-None-Match", tag)
					res, err := c.Do(req)
					if err != nil {
						return err
					}
					defer res.Body.Close()
					if res.StatusCode != http.StatusNotModified {
						return fmt.Errorf("%s", res.Status)
					}
					_, err = io.Copy(io.Discard, res.Body)
					return err
				}, c.CloseIdleConnections
			})
		})
	}
}

// promptTag returns the tag of the prompt.
func promptTag(b *testing.B, path string) string {
	res, err := caller(b, path).Get("http://pannier/v1/prompt")
	if err != nil {
		b.Fatal(err)
	}
	defer res.Body.Close()
	return res.Header.Get("ETag")
}

// readUnchanged reads an answer without a body.
func readUnchanged(in *bufio.Reader) error {
	line, err := in.ReadSlice('\n')
	if err == nil && !bytes.HasPrefix(line, []byte("HTTP/1.1 304 ")) {
		err = fmt.Errorf("%s", line)
	}
	for err == nil && len(line) > 2 {
		line, err = in.ReadSlice('\n')
	}
	return err
}

// askAtOnce shares the requests out among callers, each with a connection of its own.
func askAtOnce(b *testing.B, callers int, connect func() (ask func() error, leave func())) {
	var asks []func() error
	for range callers {
		ask, leave := connect()
		defer leave()
		asks = append(asks, ask)
	}
	b.ReportAllocs()
	b.ResetTimer()
	var all sync.WaitGroup
	for i, ask := range asks {
		all.Go(func() {
			for n := i; n < b.N; n += callers {
				if err := ask(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
}
