package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"pannier"
)

// escapes are what a terminal obeys: a title, a cleared screen, a C1 control, an overwritten line and a turned direction. forged is a
// line that could be taken for one of the command.
const (
	escapes = "\x1b]0;pwned\x07\x1b[2J\u009b31m\r\u202e\u2066\r\n" + forged + "\n" + forged + "\r" + forged
	forged  = "pannier: forged"
)

// hostile adds [escapes] to every text of a JSON value, but to those of a form that the client checks.
func hostile(v any) any {
	switch v := v.(type) {
	case string:
		if _, err := time.Parse(time.RFC3339, v); err == nil || strings.HasPrefix(v, "sha256:") {
			return v
		}
		return v + escapes
	case []any:
		for i := range v {
			v[i] = hostile(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = hostile(v[key])
		}
	}
	return v
}

func hostileJSON(text []byte) []byte {
	var v any
	if json.Unmarshal(text, &v) != nil {
		return text
	}
	changed, err := json.Marshal(hostile(v))
	if err != nil {
		return text
	}
	return changed
}

// hostileServer passes on what a sidecar answers, with [escapes] in every text.
func hostileServer(t *testing.T, s *sidecarUnderTest) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		target := url.URL{Scheme: "http", Host: "pannier", Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: strings.ReplaceAll(r.URL.RawQuery, "follow=1", "")}
		req, err := http.NewRequestWithContext(r.Context(), r.Method, target.String(), r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		for _, name := range []string{"Content-Type", "Accept", "Last-Event-ID"} {
			req.Header.Set(name, r.Header.Get(name))
		}
		res, err := s.HTTP.Do(req)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer res.Body.Close()
		text, _ := io.ReadAll(res.Body)
		kind := res.Header.Get("Content-Type")
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(res.StatusCode)
		switch {
		case strings.Contains(kind, "json") && json.Valid(text):
			text = hostileJSON(text)
		default: // lines of JSON, or of an event stream
			var out bytes.Buffer
			lines := bufio.NewScanner(bytes.NewReader(text))
			lines.Buffer(nil, 1<<20)
			for lines.Scan() {
				line := lines.Bytes()
				if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
					line = append([]byte("data: "), hostileJSON(data)...)
				} else if bytes.HasPrefix(line, []byte("{")) {
					line = hostileJSON(line)
				}
				out.Write(append(line, '\n'))
			}
			text = out.Bytes()
		}
		_, _ = w.Write(text)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// checkNothingObeyed fails where a terminal would obey anything of an output.
func checkNothingObeyed(t *testing.T, what, text string) {
	t.Helper()
	for _, r := range text {
		if r != '\n' && r != '\t' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			t.Errorf("%s prints %U:\n%q", what, r, text)
			return
		}
	}
	if !strings.HasPrefix(what, "prompt") && !strings.HasPrefix(what, "command run") && strings.Contains("\n"+text, "\n"+forged) { // which are texts of lines
		t.Errorf("%s prints a line that a server made:\n%q", what, text)
	}
}

// TestHostileServer asks a server that has terminal escapes in every text of its answers.
func TestHostileServer(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	writeIn(t, w, skillScript("own", "Is not ours.")+`mkdir skills/bad; printf -- '---\nname: [\n---\n' > skills/bad/SKILL.md
mkdir skills/needy; printf -- '---\nname: needy\ndescription: d\ndependencies:\n  bins: no-such-program\ncommands:\n- name: go\n  description: goes\n---\nx\n' > skills/needy/SKILL.md`)
	s := startSidecar(t, w, "--platform-url", "off", "--state-dir", t.TempDir())
	off := pannier.PolicyChange{Enabled: pannier.Toggle{Given: true, To: new(bool)}}
	must(s.SetPolicy(t.Context(), "needy", pannier.SourceWorkspace, off))(t)
	server, dir := hostileServer(t, s), t.TempDir()
	good := filepath.Join(dir, "it.tgz")
	need(t, os.WriteFile(good, archiveOf("own", "1"), 0o600))
	token := tokenFile(t)
	for _, args := range [][]string{
		{"list"},
		{"show", "own"},
		{"show", "bad"},
		{"show", "needy"},
		{"show", "none"},
		{"health"},
		{"health", "needy"},
		{"health", "acknowledge", "audit_broken"},
		{"events"},
		{"audit-log", "list"},
		{"prompt"},
		{"prompt", "--format", "molecule"},
		{"resolve", "use $own"},
		{"command", "list"},
		{"command", "run", "own", "x"},
		{"command", "run", "none"},
		{"policy", "list"},
		{"scan", "own"},
		{"scan", "none"},
		{"environment", "--show"},
		{"environment", "--put"},
		{"card"},
		{"install", good},
		{"update", "own", good},
		{"uninstall", "own"},
		{"uninstall", "none"},
		{"rollback", "own"},
		{"publish", "own", "--to", filepath.Join(dir, "out")},
		{"list", "--json"},
		{"show", "own", "--json"},
		{"health", "--json"},
		{"events", "--json"},
	} {
		r := runPlain(t, append(args, "--url", server, "--token-file", token)...)
		what := strings.Join(args, " ")
		checkNothingObeyed(t, what, r.out)
		checkNothingObeyed(t, what, r.err)
		if r.out+r.err == "" {
			t.Errorf("%s prints nothing", what)
		}
	}
}

// TestEndlessAnswers asks a server whose answers have no end. A command fails in little memory.
func TestEndlessAnswers(t *testing.T) {
	t.Parallel()
	chunk := bytes.Repeat([]byte("a"), 1<<20)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, err := io.WriteString(w, `{"status":"`)
		for range 1024 { // which is more than any bound, and ends where there is none
			if err == nil {
				_, err = w.Write(chunk)
			}
		}
	}))
	t.Cleanup(server.Close)
	token := tokenFile(t)
	for _, tt := range []struct {
		mebibytes int64
		args      []string
	}{{120, []string{"health"}}, {120, []string{"policy", "list"}}, {120, []string{"card"}}, {120, []string{"show", "own"}}, {120, []string{"audit-log", "list"}}, {300, []string{"list"}}} {
		cmd := command(append(tt.args, "--url", server.URL, "--token-file", token)...)
		var output bytes.Buffer
		cmd.Stdout, cmd.Stderr = &output, &output
		need(t, cmd.Start())
		// Maxrss of the usage would be that of this test, if that is larger: the kernel counts what was there before exec(2).
		ended, peak := make(chan struct{}), make(chan int64)
		go func() { peak <- peakMemory(cmd.Process.Pid, ended) }()
		err := cmd.Wait()
		close(ended)
		out, used := output.Bytes(), <-peak>>10
		if err == nil || !strings.Contains(string(out), "has more than") || used == 0 || used > tt.mebibytes {
			t.Errorf("%v: %d MiB, want %d; %v, %.300s", tt.args, used, tt.mebibytes, err, out)
		}
	}
}

// peakMemory returns the most memory that a process had at a time, in KiB, as far as it is seen before the process ends.
func peakMemory(pid int, ended <-chan struct{}) (peak int64) {
	for {
		if status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)); err == nil {
			if _, rest, ok := strings.Cut(string(status), "VmHWM:"); ok {
				var now int64
				if _, err := fmt.Sscan(rest, &now); err == nil {
					peak = max(peak, now)
				}
			}
		}
		select {
		case <-ended:
			return peak
		case <-time.After(time.Millisecond):
		}
	}
}

// TestColourIsAllThatIsObeyed prints what is hostile in colour.
func TestColourIsAllThatIsObeyed(t *testing.T) {
	var out bytes.Buffer
	s := streams{out: &out, err: &out, paint: palette{on: true}, complain: palette{on: true}}
	s.printFault("p"+escapes, pannier.SeverityWarning, "m"+escapes, "code"+escapes, "h"+escapes)
	s.printFault("p", pannier.Severity("odd"+escapes), "m", "c", "h")
	s.printError(&exitError{message: "m" + escapes, hint: "h" + escapes})
	need(t, s.fields([][]string{{"status", "s" + escapes}}, "status", s.paint.verdict))
	text := out.String()
	for _, colour := range []string{red, green, yellow, bold, faint, "0"} {
		text = strings.ReplaceAll(text, "\x1b["+colour+"m", "")
	}
	checkNothingObeyed(t, "colour", text)
}
