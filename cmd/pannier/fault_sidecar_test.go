package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"pannier"
	"pannier/publish/client"
)

// stressEnv makes the tests of faults as long as they are meant to be on a machine of their own.
const stressEnv = "PANNIER_STRESS"

// often returns few, or many where the tests may take long.
func often(few, many int) int {
	if os.Getenv(stressEnv) != "" {
		return many
	}
	return few
}

// startFault runs a sidecar without resyncs: what it finds, the kernel told of.
func startFault(t *testing.T, workspace string, args ...string) *sidecarUnderTest {
	t.Helper()
	return startSidecar(t, workspace, append([]string{"--platform-url", "off", "--settle", "50ms", "--debounce", "100ms", "--delete-grace", "2s"}, args...)...)
}

// oneSkill is the workspace of most faults: one skill, number 0.
func oneSkill(t *testing.T) (workspace, file string) {
	t.Helper()
	workspace = newWorkspace(t)
	writeIn(t, workspace, "mkdir skills/one; printf '%s' '"+numbered("one", 0)+"' > skills/one/SKILL.md")
	return workspace, filepath.Join(workspace, "skills/one/SKILL.md")
}

// serves waits until a skill is served as it says, held by nothing.
func (s *sidecarUnderTest) serves(t *testing.T, slug, description string) {
	t.Helper()
	eventually(t, slug+" is served as "+description, func() error {
		e, err := s.entry(t, slug)
		switch {
		case err != nil:
			return err
		case e.Description != description || e.LastGood || e.Deleting || !e.Usable:
			return fmt.Errorf("%q, last good %t, deleting %t, %s", e.Description, e.LastGood, e.Deleting, e.State)
		}
		return nil
	})
}

func number(n int) string { return fmt.Sprintf("number %d", n) }

// servesSlugs waits until exactly these skills are served.
func (s *sidecarUnderTest) servesSlugs(t *testing.T, want ...string) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d skills are served", len(want)), func() error {
		list, err := s.Skills(t.Context(), "", false)
		if err != nil {
			return err
		}
		var got []string
		for _, e := range list.Skills {
			got = append(got, e.Slug)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) || len(list.Held.Deleting) > 0 {
			return fmt.Errorf("%q with %q held", got, list.Held.Deleting)
		}
		return nil
	})
}

// gone waits until a skill is not listed any more.
func (s *sidecarUnderTest) gone(t *testing.T, slug string) {
	t.Helper()
	eventually(t, slug+" is gone", func() error {
		if _, err := s.entry(t, slug); err == nil {
			return errors.New("it is still listed")
		}
		return nil
	})
}

// metric returns a series of the metrics, 0 where there is none.
func (s *sidecarUnderTest) metric(t *testing.T, series string) float64 {
	t.Helper()
	text := must(s.Metrics(t.Context()))(t)
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, series+" "); ok {
			v := must(strconv.ParseFloat(strings.TrimSpace(rest), 64))(t)
			return v
		}
	}
	return 0
}

// metricIs waits until a series of the metrics has a value.
func (s *sidecarUnderTest) metricIs(t *testing.T, series string, want float64) {
	t.Helper()
	eventually(t, fmt.Sprintf("%s is %v", series, want), func() error {
		if got := s.metric(t, series); got != want {
			return fmt.Errorf("it is %v", got)
		}
		return nil
	})
}

// heard checks that the kernel told of everything: no resync found anything. One that follows a jump of the machine's clock may
// have, because it can come before the event does.
func (s *sidecarUnderTest) heard(t *testing.T) {
	t.Helper()
	n := s.metric(t, "pannier_resync_found_changes_total")
	if jumps := strings.Count(s.log.String(), "the clock was set"); n > float64(jumps) {
		t.Errorf("%v changes were found by resyncs alone, after %d jumps of the clock", n, jumps)
	}
}

// hears edits the skill one until an event tells of it. A resync may find an edit before its event comes.
func (s *sidecarUnderTest) hears(t *testing.T, what string, edit func(script string)) {
	t.Helper()
	n := 1
	eventually(t, what, func() error {
		n++
		before := s.metric(t, "pannier_resync_found_changes_total")
		edit(fmt.Sprintf("sed -i 's/number [0-9]*/number %d/' skills/one/SKILL.md", n))
		s.serves(t, "one", number(n))
		if found := s.metric(t, "pannier_resync_found_changes_total") - before; found > 0 {
			return fmt.Errorf("%v edits were found by resyncs alone", found)
		}
		return nil
	})
}

// found waits until a resync has found what nothing told of.
func (s *sidecarUnderTest) found(t *testing.T) {
	t.Helper()
	until(t, "it was a resync that found the change", func() bool { return s.metric(t, "pannier_resync_found_changes_total") != 0 })
}

// tellsOf waits until health tells of a condition.
func (s *sidecarUnderTest) tellsOf(t *testing.T, code string) pannier.Condition {
	t.Helper()
	var found pannier.Condition
	eventually(t, "health tells of "+code, func() error {
		h, err := s.Health(t.Context())
		if err != nil {
			return err
		}
		at := slices.IndexFunc(h.Conditions, func(c pannier.Condition) bool { return c.Code == code })
		if at < 0 {
			return fmt.Errorf("conditions %+v", h.Conditions)
		}
		found = h.Conditions[at]
		return nil
	})
	if found.Message == "" || found.Hint == "" {
		t.Errorf("condition %+v", found)
	}
	return found
}

// toldNoMore waits until health does not tell of a condition any more.
func (s *sidecarUnderTest) toldNoMore(t *testing.T, code string) {
	t.Helper()
	eventually(t, "health tells no more of "+code, func() error {
		h, err := s.Health(t.Context())
		if err == nil && slices.ContainsFunc(h.Conditions, func(c pannier.Condition) bool { return c.Code == code }) {
			err = fmt.Errorf("%+v", h.Conditions)
		}
		return err
	})
}

// healthy waits until health tells of no condition.
func (s *sidecarUnderTest) healthy(t *testing.T) {
	t.Helper()
	eventually(t, "health is good", func() error {
		h, err := s.Health(t.Context())
		if err != nil {
			return err
		}
		if h.Status != pannier.HealthOK || len(h.Conditions) > 0 {
			return fmt.Errorf("%s with %+v", h.Status, h.Conditions)
		}
		return nil
	})
}

// loggedOnce waits until a line of the log holds all of the words, and checks that it is the only one.
func (s *sidecarUnderTest) loggedOnce(t *testing.T, words ...string) {
	t.Helper()
	lines := 0
	until(t, fmt.Sprintf("a line of the log holds %q", words), func() bool {
		lines = 0
		for line := range strings.Lines(s.log.String()) {
			if !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(line, word) }) {
				lines++
			}
		}
		return lines > 0
	})
	if lines != 1 {
		t.Errorf("%d lines of the log hold %q, want one", lines, words)
	}
}

// watching asks for the list again and again until its end is called, and returns every snapshot that it saw.
func (s *sidecarUnderTest) watching(t *testing.T) (end func() []pannier.List) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var (
		seen []pannier.List
		wg   sync.WaitGroup
	)
	c := client.New(s.socket)
	wg.Go(func() {
		defer c.Close()
		for ctx.Err() == nil {
			list, err := c.Skills(ctx, "", true)
			if err == nil && (len(seen) == 0 || list.SnapshotVersion != seen[len(seen)-1].SnapshotVersion) {
				seen = append(seen, list)
			}
		}
	})
	stopped := false
	stop := func() []pannier.List {
		if !stopped {
			stopped = true
			cancel()
			wg.Wait()
			if len(seen) == 0 { // every check of what was seen would hold
				t.Error("no snapshot was seen")
			}
		}
		return seen
	}
	t.Cleanup(func() { stop() })
	return stop
}

// inNamespace is a sidecar whose user and mounts are its own.
type inNamespace struct{ *sidecarUnderTest }

// startIsolated runs a sidecar in namespaces of its own, after a shell script ran there. The test is skipped where that is
// not allowed.
func startIsolated(t *testing.T, workspace, script string, args ...string) *inNamespace {
	t.Helper()
	try := exec.Command("unshare", "-Urm", "sh", "-euc", script)
	try.Dir = workspace
	if out, err := try.CombinedOutput(); err != nil {
		t.Skipf("this machine does not let a test have namespaces, or do in them what it has to: %v\n%s", err, out)
	}
	s := atSocket(t, workspace)
	line := append([]string{
		"-Urm", "sh", "-euc", script + "\nexec \"$0\" \"$@\"", binary, "run", "--workspace", workspace, "--workspace-id", testWorkspaceID,
		"--socket", s.socket, "--state-dir", "none", "--environment-own", "block", "--log-level", "debug", "--platform-url", "off",
		"--settle", "50ms", "--debounce", "100ms",
	}, args...)
	s.process = startCommand(t, workspace, "unshare", line...)
	awaitReady(t, s.Client)
	return &inNamespace{s}
}

// startCommand is start for a command that becomes the sidecar.
func startCommand(t *testing.T, dir, name string, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(name, args...), done: make(chan error, 1), log: &lockedBuffer{}}
	p.cmd.Dir, p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = dir, cleanEnviron(), p.log, p.log
	if err := p.cmd.Start(); err != nil {
		t.Skipf("%s: %v", name, err)
	}
	go func() { p.done <- p.cmd.Wait() }()
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("output of %s %s:\n%s", name, strings.Join(args, " "), p.log)
		}
	})
	return p
}

// enter runs a script in the namespaces of the sidecar.
func (s *inNamespace) enter(t *testing.T, script string) {
	t.Helper()
	cmd := exec.Command("nsenter", "-t", fmt.Sprint(s.cmd.Process.Pid), "-U", "-m", "--preserve-credentials", "sh", "-euc", "cd "+s.workspace+"; "+script)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
}

// status asks the socket for a path and returns the status of the answer.
func (s *sidecarUnderTest) status(t *testing.T, path string) int {
	t.Helper()
	res := must(s.HTTP.Get("http://pannier" + path))(t)
	defer res.Body.Close()
	return res.StatusCode
}
