package client_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	"pannier"
	"pannier/publish/client"
)

func TestNoSidecar(t *testing.T) {
	path := socketPath(t)
	c := client.New(path)
	defer c.Close()
	if _, err := c.Health(t.Context()); !errors.Is(err, client.ErrNoSidecar) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	if err := c.Rescan(t.Context()); !errors.Is(err, client.ErrNoSidecar) {
		t.Errorf("refused: %v", err)
	}
}

func TestForbiddenSocket(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may connect to everything")
	}
	path := socketPath(t)
	serve(t, path, newHandler())
	if err := os.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}
	c := client.New(path)
	defer c.Close()
	if _, err := c.Health(t.Context()); errors.Is(err, client.ErrNoSidecar) || !errors.Is(err, fs.ErrPermission) {
		t.Error(err)
	}
}

// TestHangingSidecar takes connections and never answers.
func TestHangingSidecar(t *testing.T) {
	path := socketPath(t)
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if conn, err := l.Accept(); err == nil {
			conn.Read(make([]byte, 1))
			cancel()
			io.Copy(io.Discard, conn) // until the client closes it: an end before that could come first
			conn.Close()
		}
	}()
	c := client.New(path)
	defer c.Close()
	if _, err := c.Health(ctx); !errors.Is(err, context.Canceled) || errors.Is(err, client.ErrNoSidecar) {
		t.Error(err)
	}
	<-ended
}

func TestError(t *testing.T) {
	both(t, newHandler(), func(t *testing.T, c *client.Client) {
		_, notFound := c.Skill(t.Context(), "nope", "")
		_, unusable := c.Content(t.Context(), "off")
		_, badState := c.Skills(t.Context(), "good", false)
		_, badFormat := c.Prompt(t.Context(), pannier.Turn{Format: "x"})
		for _, tt := range []struct {
			err    error
			status int
			code   string
		}{
			{notFound, 404, "skill_not_found"},
			{unusable, 409, "skill_ineligible"},
			{badState, 400, "invalid_parameter.state"},
			{badFormat, 400, "invalid_parameter.format"},
		} {
			e, ok := errors.AsType[*client.Error](tt.err)
			if !ok || e.Status != tt.status || e.Code != tt.code || e.Hint == "" || e.Title != http.StatusText(tt.status) || e.Error() != e.Detail {
				t.Errorf("%+v, want %d %s", tt.err, tt.status, tt.code)
			}
		}
	})
}

// TestForeignAnswers come from something that is no sidecar.
func TestForeignAnswers(t *testing.T) {
	for _, tt := range []struct {
		name, body string
		status     int
		want       string
	}{
		{"text", "go away\n", 502, "go away"},
		{"nothing", "", 502, "502 Bad Gateway"},
		{"other JSON", `{"error":"x"}`, 500, `{"error":"x"}`},
		{"JSON of other types", `{"detail":1}`, 500, `{"detail":1}`},
		{"document without status", `{"detail":"d","code":"c"}`, 404, "d"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(tt.status)
				w.Write([]byte(tt.body))
			})
			both(t, h, func(t *testing.T, c *client.Client) {
				_, err := c.Health(t.Context())
				if e, ok := errors.AsType[*client.Error](err); !ok || e.Detail != tt.want || e.Status != tt.status {
					t.Errorf("%+v", err)
				}
			})
		})
	}
}

func TestNoJSON(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("hello")) })
	both(t, h, func(t *testing.T, c *client.Client) {
		if _, err := c.Health(t.Context()); err == nil || !strings.Contains(err.Error(), "/v1/health") {
			t.Error(err)
		}
	})
}

func TestAnswerBound(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(`"` + strings.Repeat("x", 98) + `"`)) })
	both(t, h, func(t *testing.T, c *client.Client) {
		c.SetMaxAnswer(100)
		if got, err := c.Card(t.Context()); err != nil || len(got) != 100 {
			t.Errorf("as long as it may be: %d bytes, %v", len(got), err)
		}
		c.SetMaxAnswer(99)
		if _, err := c.Card(t.Context()); err == nil || !strings.Contains(err.Error(), "more than 99 bytes") {
			t.Errorf("a byte more: %v", err)
		}
	})
}

// TestCutAnswer is not taken for a whole one.
func TestCutAnswer(t *testing.T) {
	path := socketPath(t)
	serve(t, path, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		w.Write([]byte("{}"))
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}))
	c := client.New(path)
	defer c.Close()
	if _, err := c.Health(t.Context()); err == nil || !strings.Contains(err.Error(), "read answer") {
		t.Error(err)
	}
}

// TestConnectionLost asks again on a new connection, where the sidecar restarted under an old one.
func TestConnectionLost(t *testing.T) {
	path := socketPath(t)
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for range 2 {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			requests := bufio.NewReader(conn)
			if _, err := http.ReadRequest(requests); err == nil {
				io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
			}
			http.ReadRequest(requests) // and no answer
			conn.Close()
		}
	}()
	c := client.New(path)
	for range 2 {
		if _, err := c.Resolve(t.Context(), pannier.Turn{}); err != nil {
			t.Error(err)
		}
	}
	c.Close()
	l.Close()
	<-ended
}
