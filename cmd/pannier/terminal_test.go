package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"

	"pannier"
	"pannier/internal/plain"
)

// openTerminal returns a pseudo terminal of 80 columns, and what is written to it.
func openTerminal(t *testing.T) (terminal *os.File, shown *lockedBuffer) {
	t.Helper()
	screen, terminal := openScreen(t)
	shown = &lockedBuffer{}
	go io.Copy(shown, screen) // ends with the terminal
	return terminal, shown
}

// openScreen returns both ends of a pseudo terminal of 80 columns.
func openScreen(t *testing.T) (screen, terminal *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo terminal: %v", err)
	}
	t.Cleanup(func() { screen.Close() })
	need(t, unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0))
	n := must(unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN))(t)
	need(t, unix.IoctlSetWinsize(int(screen.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: 80}))
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	need(t, err)
	t.Cleanup(func() { terminal.Close() })
	return screen, terminal
}

// runOnTerminal runs a sidecar whose log goes to a terminal.
func runOnTerminal(t *testing.T, workspace string, environ []string, args ...string) (*sidecarUnderTest, *lockedBuffer) {
	t.Helper()
	terminal, shown := openTerminal(t)
	return startOnTerminal(t, terminal, nil, shown, workspace, environ, args...), shown
}

func startOnTerminal(t *testing.T, terminal *os.File, attr *syscall.SysProcAttr, shown *lockedBuffer, workspace string, environ []string, args ...string) *sidecarUnderTest {
	t.Helper()
	s := atSocket(t, workspace)
	s.process = &process{cmd: exec.Command(binary, append([]string{
		"run", "--workspace", workspace, "--workspace-id", testWorkspaceID, "--socket", s.socket, "--state-dir", "none",
		"--environment-own", "block", "--settle", "50ms", "--debounce", "100ms", "--delete-grace", "0",
	}, args...)...), done: make(chan error, 1), log: shown}
	s.cmd.Env, s.cmd.Stderr, s.cmd.SysProcAttr = append(cleanEnviron(), environ...), terminal, attr
	need(t, s.cmd.Start())
	go func() { s.done <- s.cmd.Wait() }()
	t.Cleanup(s.process.kill)
	return s
}

// TestClosedTerminal stops a sidecar whose own terminal is closed. On another terminal SIGHUP has it scan.
func TestClosedTerminal(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	screen, terminal := openScreen(t)
	const controlling = 2 // the descriptor of the child
	s := startOnTerminal(t, terminal, &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: controlling}, &lockedBuffer{}, w, []string{"TERM=dumb"})
	eventually(t, "the sidecar answers", func() error {
		_, err := s.Health(t.Context())
		return err
	})
	need(t, screen.Close())
	select {
	case err := <-s.done:
		s.done <- err
		if code := s.cmd.ProcessState.ExitCode(); code != exitYes {
			t.Errorf("exit code %d: %v", code, err)
		}
	case <-time.After(patience):
		t.Fatal("the sidecar goes on without its terminal")
	}
	if _, err := os.Lstat(s.socket); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket stays: %v", err)
	}

	other, shown := runOnTerminal(t, w, []string{"TERM=dumb"})
	shows(t, shown, `ready in `)
	need(t, other.cmd.Process.Signal(syscall.SIGHUP))
	shows(t, shown, `scanning everything again`)
	other.stops(t)
}

// shows waits until a terminal shows what a pattern matches.
func shows(t *testing.T, shown *lockedBuffer, pattern string) {
	t.Helper()
	want := regexp.MustCompile(pattern)
	eventually(t, "the terminal shows "+pattern, func() error {
		if text := shown.String(); !want.MatchString(text) {
			return fmt.Errorf("it shows\n%s", text)
		}
		return nil
	})
}

// TestRunOnATerminal prints short lines.
func TestRunOnATerminal(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	writeIn(t, w, skillScript("one", "The first.")+skillScript("two", "The second.")+
		"sed -i '2a requires: {bins: [no-such-program-here]}' skills/two/SKILL.md\n")
	s, shown := runOnTerminal(t, w, []string{"TERM=dumb"}, "--listen", "127.0.0.1:0")
	const at = `(?m)^\d\d:\d\d:\d\d `
	shows(t, shown, at+`pannier \S+.* /`)
	shows(t, shown, at+`ready in \d+ ms: 2 skills, [12] usable`)
	shows(t, shown, `socket +`+s.socket+`\r\n +metrics +http://127\.0\.0\.1:\d+/metrics\r\n +platform +embedded development platform\r\n`)
	shows(t, shown, at+`card pushed in \d+ ms to embedded development platform\r\n`)
	writeIn(t, w, skillScript("three", "The third."))
	shows(t, shown, at+`three added: eligible\r\n`)
	writeIn(t, w, "echo More. >> skills/one/SKILL.md")
	shows(t, shown, at+`one changed\r\n`)
	s.command(t, "policy", "set", "one", "--enabled=false")
	shows(t, shown, at+`one changed: eligible → disabled \(workspace policy\)\r\n`)
	writeIn(t, w, `printf -- '---\nname: three\ntags: [x\n---\n' > skills/three/SKILL.md`)
	shows(t, shown, at+`warning: skill is broken: skills/three/SKILL.md:3: .* \(skill three\)\r\n +hint: `)
	writeIn(t, w, "rm -r skills/three")
	shows(t, shown, at+`three removed\r\n`)
	s.stops(t)
	shows(t, shown, at+`stopped \(cause terminated.*\)\r\n`)
	if lines := strings.Count(shown.String(), "three/SKILL.md:3: "); lines != 1 {
		t.Errorf("%d lines on one problem:\n%s", lines, shown)
	}
	if text := shown.String(); strings.Contains(text, "\x1b") || strings.Contains(text, "sha256:") || strings.Contains(text, "[INFO]") {
		t.Errorf("it shows escapes, whole digests or lines of the text log:\n%s", text)
	}
}

// TestColourOfTheLog is on terminals that have it, unless the user does not want it.
func TestColourOfTheLog(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		environ []string
		want    bool
	}{
		{[]string{"TERM=xterm", "NO_COLOR="}, true}, {[]string{"TERM=xterm", "NO_COLOR=1"}, false},
	} {
		_, shown := runOnTerminal(t, newWorkspace(t), tt.environ, "--platform-url", "off")
		shows(t, shown, `ready.* in \d+ ms: 0 skills, 0 usable`)
		if got := strings.Contains(shown.String(), "\x1b[32mready\x1b[0m"); got != tt.want {
			t.Errorf("%v: colour %t:\n%s", tt.environ, got, shown)
		}
	}
}

// TestLogFormatOnATerminal is what the setting says.
func TestLogFormatOnATerminal(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]string{"text": `\[INFO\]  pannier: serving: workspace=`, "json": `"@message":"serving"`} {
		_, shown := runOnTerminal(t, newWorkspace(t), nil, "--platform-url", "off", "--log-format", format)
		shows(t, shown, want)
	}
}

// TestEventsOnATerminal are one line each, whatever a skill says; JSON lines elsewhere.
func TestEventsOnATerminal(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	s := startSidecar(t, w, "--platform-url", "off")
	writeIn(t, w, `mkdir skills/bad; printf -- '---\nname: bad\ndescription: d\n"\\e[31mred\\u202e %s": 1\n---\nDo it.\n' `+
		strings.Repeat("long", 50)+` > skills/bad/SKILL.md`+"\n"+skillScript("good", "Good."))
	s.servesCount(t, 2)
	terminal, shown := openTerminal(t)
	cmd := exec.Command(binary, "events", "--socket", s.socket, "--workspace", w)
	cmd.Env, cmd.Stdout = append(cleanEnviron(), "TERM=dumb"), terminal
	need(t, cmd.Run())
	shows(t, shown, `(?m)^ +\d+ \d\d:\d\d:\d\d skill_state_changed +good added: eligible\r\n`)
	for line := range strings.Lines(shown.String()) {
		if line = strings.TrimSuffix(line, "\r\n"); plain.Cells(line) > 80 || strings.ContainsAny(line, "\x1b\u202e") {
			t.Errorf("%d columns: %q", plain.Cells(line), line)
		}
	}
	piped := lines[pannier.Event](t, s.command(t, "events"))
	if len(piped) == 0 || piped[0].Seq == 0 || piped[0].Type != pannier.EventCatalogUpdated {
		t.Errorf("through a pipe: %v", piped)
	}
}

// TestEverySummary has each type of event, and no text of a skill reaches the terminal as it is.
func TestEverySummary(t *testing.T) {
	for _, kind := range pannier.EventTypes() {
		if summaries[kind] == nil {
			t.Errorf("event_summary.go has no summary of %s", kind)
			continue
		}
		s, err := summaries[kind](json.RawMessage(`{}`))
		if err != nil || s.text == "" {
			t.Errorf("%s: %+v, %v", kind, s, err)
		}
	}
	for _, tt := range []struct {
		kind       pannier.EventType
		data, want string
	}{
		{pannier.EventCardPushed, `{"platform":"https://p.example","duration_ms":12}`, "card pushed in 12 ms to https://p.example"},
		{pannier.EventSkillStateChanged, `{"slug":"pdf","from":"eligible","to":"ineligible","cause":"missing_binary: tool"}`, "pdf changed: eligible → ineligible (missing_binary: tool)"},
		{pannier.EventSkillWarning, `{"name":"pdf","kind":"code","detail":"\u001b[2J\nred"}`, "pdf warning: [2J red (code)"},
		{pannier.EventCatalogUpdated, `{"count":9,"added":["a","b","c","d","e","f"],"removed":["z"]}`, "9 skills; added a, b, c, d and 2 more; removed z"},
		{"turn_done", `{"slug":"pdf","digest":"sha256:` + strings.Repeat("0123456789abcdef", 4) + `","count":2}`, "pdf turn done, digest 0123456789ab, count 2"},
		{
			pannier.EventSkillToolCalled, `{"slug":"pdf","name":"skill.pdf.x","code":"runtime.failed","duration_ms":3,"network":[{"host":"a:443"},{"host":"b:443","refused":"not_listed"}],"artifacts":[{"name":"a"},{"name":"b"}]}`,
			"pdf tool called: skill.pdf.x, runtime.failed after 3 ms, b:443: not_listed, 2 artifacts",
		},
		{pannier.EventSkillLoaded, `[1]`, "skill loaded: [1]"},
	} {
		if got := (palette{}).summary(summarize(tt.kind, json.RawMessage(tt.data)), 0); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.kind, got, tt.want)
		}
	}
}

// TestTerminalLog prints errors with their hints, and nothing below its level.
func TestTerminalLog(t *testing.T) {
	var out bytes.Buffer
	l := &terminalLog{to: &out, level: hclog.Info}
	digest := pannier.DigestOf([]byte("card"))
	l.Accept("pannier.platform", hclog.Warn, "card refused", "digest", digest.String(), "error", io.ErrUnexpectedEOF, "hint", "check the token", "took", 3*time.Second)
	l.Accept("pannier.platform", hclog.Error, "\x1b[2Jlost\n")
	l.Accept("pannier", hclog.Warn, "skill is broken", "skill", "pdf", "at", "skills/pdf/SKILL.md:3", "problem", "no mapping", "hint", "mend it")
	for range 2 { // a record stands for one event
		l.Accept("pannier.event", hclog.Info, "skill_warning", "seq", 1, "name", "pdf", "kind", "k", "detail", "skills/pdf/SKILL.md:3: no mapping")
	}
	l.Accept("pannier", hclog.Debug, "scanned")
	got := slices.Collect(strings.Lines(regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d `).ReplaceAllString(out.String(), "")))
	want := []string{
		"warning: card refused: unexpected EOF (digest " + digest.String()[7:19] + ", took 3s)\n", "         hint: check the token\n", "error: [2Jlost\n",
		"warning: skill is broken: skills/pdf/SKILL.md:3: no mapping (skill pdf)\n", "         hint: mend it\n",
		"pdf warning: skills/pdf/SKILL.md:3: no mapping (k)\n", "         hint: run `pannier health pdf` to see what to do\n",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestTableIsAligned(t *testing.T) {
	var out bytes.Buffer
	s := streams{out: &out}
	rows := [][]string{{"SLUG", "VERSION", "ABOUT"}, {"a", "日本", "x"}, {"e\u0301t", "", "x"}, {"a\tb\x1b[31m", "1.0", "x"}}
	need(t, s.table(rows))
	want := "SLUG     VERSION  ABOUT\n" +
		"a        日本     x\n" +
		"e\u0301t" + strings.Repeat(" ", 16) + "x\n" +
		"a b[31m  1.0      x\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

// Colour says nothing that the words do not, and takes no room.
func TestColour(t *testing.T) {
	paint := palette{on: true}
	for plain, coloured := range map[string]string{
		"eligible": paint.state("eligible"), "eligible (last good)": paint.state("eligible (last good)"), "shadowed": paint.state("shadowed"),
		"error": paint.severity("error"), "info": paint.severity("info"), "ok": paint.verdict("ok"), "failing": paint.verdict("failing"),
	} {
		bare := coloured
		for _, code := range []string{red, green, yellow, bold, faint, "0"} {
			bare = strings.ReplaceAll(bare, "\x1b["+code+"m", "")
		}
		if bare != plain {
			t.Errorf("%q is %q", plain, coloured)
		}
	}
	if got := (palette{}).state("eligible"); got != "eligible" {
		t.Errorf("without colour: %q", got)
	}
	var out bytes.Buffer
	s := streams{out: &out, paint: paint}
	need(t, s.paintedTable([][]string{{"a", "b"}, {"aaa", "b"}}, func(_, _ int, cell string) string { return paint.bad(cell) }))
	if want := "\x1b[31ma\x1b[0m    \x1b[31mb\x1b[0m\n\x1b[31maaa\x1b[0m  \x1b[31mb\x1b[0m\n"; out.String() != want {
		t.Errorf("got %q", out.String())
	}
}

// TestFitWidth cuts the last column alone, by the cells that it takes, and nothing without a terminal.
func TestFitWidth(t *testing.T) {
	table := func() [][]string {
		return [][]string{{"SLUG", "ABOUT"}, {"pdf-forms", "Fills in the fields of a form, and says which are left."}, {"x", strings.Repeat("日本", 12)}}
	}
	for width, want := range map[int][2]string{
		0:   {table()[1][1], table()[2][1]},
		100: {table()[1][1], table()[2][1]},
		40:  {"Fills in the fields of a for…", strings.Repeat("日本", 7) + "…"},
		5:   {"Fills in the fields…", strings.Repeat("日本", 4) + "日…"},
	} {
		rows := table()
		if fitWidth(rows, width); rows[1][1] != want[0] || rows[2][1] != want[1] || rows[1][0] != "pdf-forms" {
			t.Errorf("width %d: %q", width, rows)
		}
	}
	if width := columns(&bytes.Buffer{}); width != 0 {
		t.Errorf("a buffer has %d cells", width)
	}
}
