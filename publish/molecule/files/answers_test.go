package files_test

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"pannier/publish/molecule/files"
)

func TestAnswers(t *testing.T) {
	for _, tt := range []struct {
		name   string
		answer http.HandlerFunc
		want   string
	}{
		{"401", status(401), "platform.unauthorized"},
		{"403", status(403), "platform.forbidden"},
		{"404", status(404), "platform.not_found"},
		{"500", status(500), "platform.answer"},
		{"redirect", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusPermanentRedirect)
		}, "platform.redirect"},
		{"another protocol", switches, "platform.answer"},
		{"no JSON", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }, "platform.answer"},
		{"too large", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"content":"`+strings.Repeat("x", 9<<20)+`"}`)
		}, "platform.answer"},
		{"breaks off", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, `{"content":`)
		}, "platform.unreachable"},
		{"says secrets", func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			tell(w, map[string]string{"error": r.Header.Get("Authorization") + r.Header.Get("X-Molecule-Org-Id") + "\x1b[31m\nx"})
		}, "platform.answer"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := clientOf(t, tt.answer).Read(t.Context(), "config.yaml")
			if code(err) != tt.want || strings.Contains(err.Error(), token) || strings.Contains(err.Error(), "the-tenant") {
				t.Error(err)
			}
		})
	}
	c, err := files.New(files.Options{URL: "http://127.0.0.1:1", WorkspaceID: workspace, Token: func() (string, error) { return token, nil }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(t.Context(), "a"); code(err) != "platform.unreachable" {
		t.Error(err)
	}
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// switches hands over the bare connection, and keeps it open until the client closes it.
func switches(w http.ResponseWriter, _ *http.Request) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	_, _ = io.Copy(io.Discard, conn)
}

func TestNoToken(t *testing.T) {
	for _, text := range []string{"", "two words", "a\nb"} {
		c, err := files.New(files.Options{URL: "http://127.0.0.1:1", WorkspaceID: workspace, Token: func() (string, error) { return text, nil }})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(t.Context(), "a"); code(err) != "platform.token" {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A request that is one too many is sent again when the platform says, and not for ever.
func TestBusy(t *testing.T) {
	for _, tt := range []struct {
		refusals int
		after    string
		waits    []time.Duration
		want     string
	}{
		{1, "7", []time.Duration{7 * time.Second}, ""},
		{2, "", []time.Duration{time.Second, time.Second}, ""},
		{3, "99999999999999", []time.Duration{time.Minute, time.Minute}, "platform.busy"},
	} {
		asked := 0
		c := clientOf(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if asked++; asked <= tt.refusals {
				w.Header().Set("Retry-After", tt.after)
				w.WriteHeader(http.StatusTooManyRequests)
				return
			}
			tell(w, map[string]string{"content": "text"})
		}))
		var waits []time.Duration
		c.Waiting(func(d time.Duration) { waits = append(waits, d) })
		text, err := c.Read(t.Context(), "a")
		if tt.want == "" && (text != "text" || err != nil) || tt.want != "" && code(err) != tt.want {
			t.Errorf("%d refusals: %q %v", tt.refusals, text, err)
		}
		if !slices.Equal(waits, tt.waits) {
			t.Errorf("%d refusals: waits %v", tt.refusals, waits)
		}
	}
}

// A platform that tells of paths that lead out is not asked for them.
func TestPathsThatLeadOut(t *testing.T) {
	var asked []string
	c := clientOf(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.Path)
		switch {
		case r.URL.Query().Has("depth"):
			tell(w, []files.Entry{{Path: "../../../secret", Size: 1}, {Path: "../x/1/2/../3", Dir: true}, {Path: "/etc", Size: 1}})
		default:
			w.WriteHeader(http.StatusForbidden)
		}
	}))
	if got, err := c.Fetch(t.Context(), "a"); code(err) != "files.not_found" {
		t.Errorf("%+v %v", got, err)
	}
	if _, _, err := c.RemoveAll(t.Context(), "skills/a", func(string) bool { return false }); code(err) != "files.name" {
		t.Error(err)
	}
	for _, request := range asked {
		if strings.Contains(request, "secret") || strings.Contains(request, "etc") || strings.HasPrefix(request, "DELETE") {
			t.Errorf("asked for %s", request)
		}
	}
}

// A directory that is not there has nothing in it, whatever a platform answers; one that is there and is not told is no answer.
func TestMissingDirectory(t *testing.T) {
	for _, tt := range []struct {
		code int
		root []files.Entry
		want string
	}{
		{404, nil, ""},
		{500, nil, ""},
		{404, []files.Entry{{Path: "skills", Dir: true}}, ""},
		{403, nil, "platform.forbidden"},
	} {
		c := clientOf(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch at := r.FormValue("path"); {
			case at == "":
				tell(w, tt.root)
			case at == "skills" && len(tt.root) > 0:
				tell(w, []files.Entry{{Path: "other", Dir: true}})
			default:
				w.WriteHeader(tt.code)
			}
		}))
		entries, err := c.Tree(t.Context(), "skills/a")
		if len(entries) > 0 || err != nil && code(err) != tt.want || err == nil && tt.want != "" {
			t.Errorf("%d: %v %v", tt.code, entries, err)
		}
	}
	if _, err := clientOf(t, status(404)).Tree(t.Context(), "skills/a"); code(err) != "platform.not_found" {
		t.Errorf("no workspace: %v", err)
	}
}
