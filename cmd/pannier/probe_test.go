package main

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"pannier"
	"pannier/publish/api"
	"pannier/service"
)

// checkProbe runs `pannier probe` and compares its exit code and what it says on stderr.
func checkProbe(t *testing.T, socket string, code int, says string, flags ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, append([]string{"probe", "--socket", socket}, flags...)...)
	cmd.Env = cleanEnviron()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		t.Fatal(err)
	}
	if got := cmd.ProcessState.ExitCode(); got != code {
		t.Errorf("probe %v: exit code %d, want %d\n%s", flags, got, code, &stderr)
	}
	if stdout.Len() > 0 || !strings.Contains(stderr.String(), says) || (says == "") != (stderr.Len() == 0) {
		t.Errorf("probe %v: said %q and %q, want %q on stderr", flags, &stdout, &stderr, says)
	}
}

// serveUnready answers on a socket as a sidecar does that has not looked yet and whose loop stands.
func serveUnready(t *testing.T) (socket string) {
	t.Helper()
	socket = filepath.Join(shortDir(t), "s")
	ctx, cancel := context.WithCancel(context.Background())
	ln := must(api.Listen(ctx, socket, 0o600))(t)
	h := api.New(api.Options{
		Service: service.New(service.Options{Snapshot: func() *pannier.Snapshot { return nil }}),
		Reports: api.Reports{Alive: func() error { return errors.New("the loop stands") }},
	})
	ended := make(chan error)
	go func() { ended <- api.Serve(ctx, ln, h, hclog.NewNullLogger()) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return socket
}

func TestProbe(t *testing.T) {
	t.Parallel()
	s := startSidecar(t, newWorkspace(t), "--resync", "10s")
	for _, flags := range [][]string{nil, {"--startup"}, {"--ready"}, {"--live"}} {
		checkProbe(t, s.socket, exitYes, "", flags...)
	}
	checkProbe(t, s.socket, exitUnknown, "only one of --startup, --ready, --live can be given", "--ready", "--live")
	s.stops(t)
	checkProbe(t, s.socket, exitNoSidecar, "no sidecar answers at "+s.socket)
}

func TestProbeSaysNo(t *testing.T) {
	t.Parallel()
	socket := serveUnready(t)
	for _, flags := range [][]string{nil, {"--startup"}, {"--ready"}} {
		checkProbe(t, socket, exitNo, "the first scan of the workspace has not ended", flags...)
	}
	checkProbe(t, socket, exitNo, "the loop stands", "--live")
}

func TestProbeWithoutSidecar(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	checkProbe(t, filepath.Join(dir, "none"), exitNoSidecar, "\nhint: ", "--live")

	left := filepath.Join(dir, "left") // by a process that was killed
	ln := must(net.ListenUnix("unix", &net.UnixAddr{Name: left, Net: "unix"}))(t)
	ln.SetUnlinkOnClose(false)
	ln.Close()
	checkProbe(t, left, exitNoSidecar, "no sidecar answers")
}

func TestProbeOfSidecarThatHangs(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(shortDir(t), "s")
	ln, err := net.Listen("unix", socket) // it takes connections and never answers
	need(t, err)
	defer ln.Close()
	checkProbe(t, socket, exitNo, "has not answered within 2s", "--live")
}
