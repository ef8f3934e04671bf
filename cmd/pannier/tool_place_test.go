package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"pannier"
	"pannier/publish/client"
)

// TestToolsInOddPlaces has the workspace, or one of what a tool must not read, in a directory of the system. A tool finds none of it,
// or does not run, and health says why.
func TestToolsInOddPlaces(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can mount a workspace there")
	}
	needsSandbox(t)
	for name, tt := range map[string]struct {
		mount     string   // on which the test has a directory of its own
		workspace string   // where the workspace is bound; empty is where it was made
		args      []string // of the sidecar
		exposed   string   // what the message names; empty if the tool runs
	}{
		"usr-src":       {mount: "/usr/src", workspace: "/usr/src/app"},
		"usr-local-src": {mount: "/usr/local/src", workspace: "/usr/local/src/app"},
		"usr-local-etc": {mount: "/usr/local/etc", workspace: "/usr/local/etc/app"},
		"usr-share":     {mount: "/usr/local/share", workspace: "/usr/local/share/app", exposed: "/usr/local/share/app"},
		"usr-include":   {mount: "/usr/include", workspace: "/usr/include", exposed: "/usr/include"},
		"usr-libexec":   {mount: "/usr/libexec", workspace: "/usr/libexec/a/b", exposed: "/usr/libexec/a/b"},
		"link":          {mount: "/usr/local/share", workspace: "/usr/local/src/app", args: []string{"--root", "linked"}, exposed: "linked"},
		"state":         {mount: "/usr/local/share", args: []string{"--state-dir", "/usr/local/share/state/new"}, exposed: "/usr/local/share/state/new"},
		"token":         {mount: "/usr/local/share", args: []string{"--platform-token-file", "/usr/local/share/token"}, exposed: "/usr/local/share/token"},
		"secret":        {mount: "/usr/local/share", args: []string{"--tools-secret", "KEY@api.example/repo-review=@/usr/local/share/secret"}, exposed: "/usr/local/share/secret"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := reportWorkspace(t)
			at := tt.workspace
			if at == "" {
				at = w
			}
			writeReport(t, w, fmt.Sprintf(`cat %[1]s/.env %[1]s/config.yaml "$@" 2>/dev/null; ls %[1]s 2>/dev/null
node -e 'console.log("node")'; python3 -c 'print("python")'; bash -c 'echo bash'; ls / > /dev/null 2>&1; perl -e 'print "perl\n"'; date > /dev/null && sed s/a/b/ < /dev/null && echo done
`, at))
			writeIn(t, w, "echo THE-SECRET > .env; chmod 644 .env; mkdir ../state; chmod -R a+rX ..; ln -s /usr/local/share linked")
			script := fmt.Sprintf("mount -t tmpfs t %s; mkdir -p %[2]s\n", tt.mount, at)
			if tt.workspace != "" {
				script += fmt.Sprintf("mount --bind %s %s\n", w, at)
			}
			if try, err := exec.Command("unshare", "-m", "sh", "-euc", script).CombinedOutput(); err != nil {
				t.Skipf("this machine does not let a test mount: %v\n%s", err, try)
			}
			socket := filepath.Join(shortDir(t), "s")
			cmd := exec.Command("unshare", append([]string{
				"-m", "sh", "-euc", script + `exec "$0" "$@"`, binary, "run", "--workspace", at, "--workspace-id", testWorkspaceID, "--socket", socket,
				"--state-dir", filepath.Join(filepath.Dir(w), "state"), "--scan", "report", "--environment-own", "block", "--log-level", "debug", "--platform-url", "off",
				"--tools-enabled", "--tools-runner=self",
			}, tt.args...)...)
			s := &sidecarUnderTest{workspace: at, socket: socket, Client: client.New(socket), process: startProcess(t, cmd)}
			t.Cleanup(s.Close)
			awaitReady(t, s.Client)
			if tt.exposed == "" {
				s.toldNoMore(t, "tools_private_exposed")
				s.refusedBy(t, pannier.ToolNotAllowed)
				s.runs(t, exitYes, "sha256:", "tool", "allow", "repo-review")
				s.runs(t, exitYes, "node\npython\nbash\nperl\ndone\n", "tool", "call", reportTool)
				if out, _ := s.run("tool", "call", reportTool); strings.Contains(out, "THE-SECRET") || strings.Contains(out, "Test desk") || strings.Contains(out, "config.yaml") {
					t.Errorf("the tool reads the workspace: %s", out)
				}
				return
			}
			if c := s.tellsOf(t, "tools_private_exposed"); !strings.Contains(c.Message, tt.exposed) || c.Severity != pannier.SeverityWarning {
				t.Errorf("condition %+v", c)
			}
			if name == "link" {
				return // the root has no skills
			}
			s.run("tool", "allow", "repo-review")
			s.runs(t, exitUnknown, tt.exposed, "tool", "call", reportTool)
			s.refusedBy(t, pannier.ToolSandboxUnavailable)
		})
	}
}

// TestToolsReadNoAttributes has a tool ask for the extended attributes of files. Programs that copy attributes do without.
func TestToolsReadNoAttributes(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	w := reportWorkspace(t)
	env := filepath.Join(w, ".env")
	writeIn(t, w, "echo x > .env; chmod 644 .env; chmod -R a+rX ..")
	if err := unix.Setxattr(env, "user.secret", []byte("THE-SECRET"), 0); err != nil {
		t.Skipf("the file system has no attributes: %v", err)
	}
	writeReport(t, w, `cat > "$TMPDIR/a.py" <<'END'
import errno, os, sys
own = os.open(sys.argv[2], os.O_RDONLY)
for call in (os.listxattr, lambda path: os.getxattr(path, "user.secret")):
    for path in (sys.argv[1], own):
        try:
            print("read", call(path))
        except OSError as e:
            print(errno.errorcode[e.errno])
END
python3 "$TMPDIR/a.py" `+env+` "$0"
cp -a "$0" "$TMPDIR/copy" && ls -l "$TMPDIR/copy" > /dev/null && python3 -c 'import shutil, sys; shutil.copy2(*sys.argv[1:])' "$0" "$TMPDIR/again" && echo copied
`)
	s := startSidecar(t, w, "--tools-enabled", "--tools-runner=self", "--scan=report", "--state-dir", t.TempDir())
	s.refusedBy(t, pannier.ToolNotAllowed)
	s.runs(t, exitYes, "sha256:", "tool", "allow", "repo-review")
	s.runs(t, exitYes, strings.Repeat("ENOTSUP\n", 4)+"copied\n", "tool", "call", reportTool)
}
