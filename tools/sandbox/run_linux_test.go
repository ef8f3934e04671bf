package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// needSandbox skips a test where the kernel does not fulfil Required.
func needSandbox(t *testing.T) {
	t.Helper()
	if r := Support(); r.Level != Required {
		t.Skipf("no sandbox on this kernel: %s", strings.Join(r.Missing, "; "))
	}
}

// shell returns the order for a shell script.
func shell(script string) Spec {
	return Spec{Argv: []string{"/bin/sh", "-c", script}, Env: []string{"PATH=/usr/bin:/bin"}, Dir: "/", Level: Required}
}

// runs runs a program that has to start.
func runs(t *testing.T, spec Spec) (Exit, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var out bytes.Buffer
	exit, err := Run(ctx, spec, &out)
	if err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	return exit, out.String()
}

// withLayers runs a test with each set of namespaces that this process can have.
func withLayers(t *testing.T, run func(t *testing.T)) {
	needSandbox(t)
	whole := supported
	t.Cleanup(func() { supported = whole })
	for name, l := range map[string]layers{
		"forked": whole(), "forked, namespaces": {namespaces: true, whole: whole().whole},
		"user": {namespaces: true, user: true}, "namespaces": {namespaces: true}, "none": {},
	} {
		if l.namespaces && !whole().namespaces || l.namespaces && !l.user && os.Getuid() != 0 {
			continue
		}
		l.report = whole().report
		t.Run(name, func(t *testing.T) {
			supported = func() layers { return l }
			run(t)
		})
	}
}

// ownStarter gives a test a starter of its own, which begins in the thread that uses it first.
func ownStarter(t *testing.T) {
	before := warm
	warm = &starter{}
	t.Cleanup(func() {
		Release()
		warm = before
	})
}

// openDir returns a directory that every user can reach and write.
func openDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "sandbox-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestRun(t *testing.T) {
	withLayers(t, func(t *testing.T) {
		spec := shell("cat; echo error >&2; pwd; echo $A; exit 3")
		spec.Stdin, spec.Env, spec.Dir = []byte("input\n"), append(spec.Env, "A=b"), "/usr"
		exit, out := runs(t, spec)
		if want := "input\nerror\n/usr\nb\n"; out != want || exit.Code != 3 || exit.Signal != 0 || exit.OutputBytes != int64(len(want)) {
			t.Errorf("%q, %+v", out, exit)
		}
		if exit, _ := runs(t, shell("kill -9 $$")); exit.Signal != 9 || exit.Code != -1 || exit.TimedOut {
			t.Errorf("a signal: %+v", exit)
		}
		spec = shell("head -c 3000000 /dev/zero; echo end >&2")
		spec.Limits.OutputBytes = 1000
		if exit, out := runs(t, spec); len(out) != 1000 || !exit.Truncated || exit.OutputBytes != 3000004 || exit.Code != 0 {
			t.Errorf("much output: %d bytes, %+v", len(out), exit)
		}
		spec = shell("")
		spec.Argv = []string{"true"}
		if exit, _ := runs(t, spec); exit.Code != 0 {
			t.Errorf("a program in PATH: %+v", exit)
		}
		for name, cause := range map[string]error{"": nil, "no-such-program": nil, "/no/such/program": fs.ErrNotExist, "/etc/passwd": fs.ErrPermission} {
			spec.Argv = []string{name}[:min(1, len(name))]
			if _, err := Run(t.Context(), spec, &bytes.Buffer{}); !errors.Is(err, ErrNotStarted) || cause != nil && !errors.Is(err, cause) {
				t.Errorf("%q: %v", name, err)
			}
		}
	})
}

// TestIdentity asks the kernel what the program is.
func TestIdentity(t *testing.T) {
	withLayers(t, func(t *testing.T) {
		spec := shell("cat /proc/self/status; id -u; id -G; for f in $(seq 3 64); do [ -e /dev/fd/$f ] && echo open; done; cat /proc/sys/kernel/ostype")
		_, out := runs(t, spec)
		uid := os.Getuid()
		if uid == 0 {
			uid = unprivilegedID
		}
		if !strings.Contains(out, fmt.Sprintf("\n%d\n", uid)) && !strings.HasPrefix(out, fmt.Sprintf("%d\n", uid)) {
			t.Errorf("not user %d:\n%s", uid, out)
		}
		if supported().namespaces {
			for _, want := range []string{"CapPrm:\t0000000000000000", "CapEff:\t0000000000000000", "CapBnd:\t0000000000000000", "CapAmb:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2"} {
				if !strings.Contains(out, want) {
					t.Errorf("no %q in:\n%s", want, out)
				}
			}
		}
		if strings.Contains(out, "open\n") {
			t.Errorf("inherited descriptors:\n%s", out)
		}
	})
}

// TestWhatIsLeft ends programs that do not want to end, and looks for what they started.
func TestWhatIsLeft(t *testing.T) {
	scripts := map[string]string{
		"in the background": "sleep %[1]d & exit 0",
		"in a session":      "setsid sleep %[1]d & exit 0",
		"daemon":            "(setsid sh -c '(sleep %[1]d & sleep %[1]d & sleep %[1]d) &' &) ; exit 0",
		"ignoring SIGTERM":  "trap '' TERM HUP INT; setsid sh -c 'trap \"\" TERM; sleep %[1]d & wait; sleep %[1]d' & sleep %[1]d; sleep %[1]d",
		"closed output":     "exec >/dev/null 2>&1; sleep %[1]d",
		"stopped":           "sh -c 'kill -STOP $$' & kill -STOP $$; sleep %[1]d",
	}
	withLayers(t, func(t *testing.T) {
		for name, script := range scripts {
			// A number that no other process has in its arguments.
			mark := 1_000_000 + int(time.Now().UnixNano()%1_000_000_000)
			spec := shell(fmt.Sprintf(script, mark))
			spec.Grace = 50 * time.Millisecond
			ends := strings.Contains(script, "exit 0")
			timeout := time.Second
			if ends {
				timeout = time.Minute
			}
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			start := time.Now()
			exit, err := Run(ctx, spec, &bytes.Buffer{})
			cancel()
			if err != nil || exit.TimedOut == ends || ends && exit.Code != 0 {
				t.Errorf("%s: %+v, %v", name, exit, err)
			}
			if time.Since(start) > 30*time.Second {
				t.Errorf("%s: took %s", name, time.Since(start))
			}
			if left := processesWith("sleep\x00" + strconv.Itoa(mark)); len(left) > 0 {
				t.Errorf("%s: left %q", name, left)
			}
		}
	})
}

// processesWith returns the command lines that contain a text.
func processesWith(text string) (found []string) {
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range paths {
		if line, _ := os.ReadFile(path); strings.Contains(string(line), text) {
			found = append(found, path+": "+strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}

// A program with the right to write can replace a project directory by a link while another call begins.
func TestWritableLink(t *testing.T) {
	withLayers(t, func(t *testing.T) {
		victim, project := openDir(t), openDir(t)
		link := filepath.Join(project, "sub")
		if err := os.Symlink(victim, link); err != nil {
			t.Fatal(err)
		}
		spec := shell("touch " + link + "/out")
		spec.Write = []string{link}
		var out bytes.Buffer
		if _, err := Run(t.Context(), spec, &out); err == nil {
			t.Errorf("the program started with a link as a writable path: %s", &out)
		}
		if entries, err := os.ReadDir(victim); err != nil || len(entries) != 0 {
			t.Errorf("behind the link are %v, %v", entries, err)
		}
	})
}

func TestCancel(t *testing.T) {
	needSandbox(t)
	ctx, cancel := context.WithCancel(t.Context())
	first := writerFunc(func([]byte) { cancel() })
	spec := shell("trap 'echo bye; exit 5' TERM; echo start; while :; do sleep 0.01; done")
	spec.Grace = time.Minute // for the trap
	exit, err := Run(ctx, spec, first)
	if err != nil || !exit.Canceled || exit.TimedOut || exit.Code != 5 {
		t.Errorf("%+v, %v", exit, err)
	}
}

type writerFunc func([]byte)

func (f writerFunc) Write(b []byte) (int, error) { f(b); return len(b), nil }

// withoutCalls runs a function in a thread in which the kernel lacks system calls, for what it starts as well.
func withoutCalls(t *testing.T, groups []seccomp.SyscallGroup, run func()) {
	t.Helper()
	if err := inThreadWithout(groups, run); err != nil {
		t.Fatal(err)
	}
}

// assembleGroups returns the filter that allows everything but groups.
func assembleGroups(groups []seccomp.SyscallGroup) ([]bpf.RawInstruction, error) {
	policy := seccomp.Policy{DefaultAction: seccomp.ActionAllow, Syscalls: groups}
	listed, err := policy.Assemble()
	if err != nil {
		return nil, err
	}
	return bpf.Assemble(listed)
}

// TestRequired takes layers away from the kernel. A program must not start without them.
func TestRequired(t *testing.T) {
	needSandbox(t)
	started := filepath.Join(openDir(t), "started")
	spec := shell("touch " + started)
	spec.Write = []string{filepath.Dir(started)}
	missing := map[string][]seccomp.SyscallGroup{
		"Landlock": {{Action: absent, Names: []string{"landlock_create_ruleset"}}},
		"rules":    {{Action: deny, Names: []string{"landlock_add_rule"}}},
		"domain":   {{Action: deny, Names: []string{"landlock_restrict_self"}}},
		"seccomp":  {{Action: deny, Names: []string{"seccomp"}}},
		"privs":    {{Action: deny, NamesWithCondtions: []seccomp.NameWithConditions{{Name: "prctl", Conditions: equal32(0, unix.PR_SET_NO_NEW_PRIVS)}}}},
	}
	whole := supported
	defer func() { supported = whole }()
	for name, groups := range missing {
		withoutCalls(t, groups, func() {
			ownStarter(t)
			for _, forked := range []bool{whole().whole, false} {
				l := whole()
				l.whole = forked
				supported = func() layers { return l }
				// The parent believes that all is there, so this is the check of the supervisor.
				exit, err := Run(context.Background(), spec, &bytes.Buffer{})
				if err == nil {
					t.Errorf("without %s: %+v", name, exit)
				}
				if (name == "Landlock" || name == "seccomp") && !errors.Is(err, ErrUnavailable) {
					t.Errorf("without %s: %v", name, err)
				}
			}
			supported = whole
			found := probe()
			if found.report.Level == Required || len(found.report.Missing) == 0 {
				t.Errorf("without %s: reported %+v", name, found.report)
			}
		})
		if _, err := os.Stat(started); err == nil {
			t.Fatalf("the program ran without %s", name)
		}
	}
	withoutCalls(t, missing["Landlock"], func() {
		best := spec
		best.Level = BestEffort
		ownStarter(t)
		if exit, err := Run(context.Background(), best, &bytes.Buffer{}); err != nil || exit.Code != 0 {
			t.Errorf("best effort: %+v, %v", exit, err)
		}
	})
	supported = func() layers {
		return layers{report: Report{Level: BestEffort, Missing: []string{"the kernel has no Landlock"}}}
	}
	if _, err := Run(t.Context(), shell("true"), &bytes.Buffer{}); !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "no Landlock") {
		t.Errorf("refused by the report: %v", err)
	}
}

// TestWithoutNamespaces is a container that may not create any.
func TestWithoutNamespaces(t *testing.T) {
	needSandbox(t)
	groups := []seccomp.SyscallGroup{{Action: deny, NamesWithCondtions: []seccomp.NameWithConditions{{Name: "clone", Conditions: anyBit(0, newNamespaces)}}}}
	withoutCalls(t, groups, func() {
		found := probe()
		if found.namespaces || found.report.Level != Required || len(found.report.Namespaces) > 0 || len(found.report.Missing) != 1 {
			t.Errorf("%+v", found)
		}
	})
}

// TestFilterNames finds names that no architecture has: a typing error would leave a call allowed.
func TestFilterNames(t *testing.T) {
	names := slices.Concat(deniedCalls, metadataCalls, schedulingCalls, absentCalls, networkCalls)
	for _, name := range names {
		_, amd64 := arch.X86_64.SyscallNames[name]
		_, arm64 := arch.AARCH64.SyscallNames[name]
		if !amd64 && !arm64 {
			t.Errorf("no architecture has the call %q", name)
		}
	}
	native, err := arch.GetInfo("")
	if err != nil {
		t.Fatal(err)
	}
	if native.SyscallNames["mseal"] != newestCall {
		t.Errorf("mseal is %d, the newest call %d", native.SyscallNames["mseal"], newestCall)
	}
}
