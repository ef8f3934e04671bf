package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/elastic/go-seccomp-bpf"
	"golang.org/x/sys/unix"

	"pannier/tools/egress"
)

var update = flag.Bool("update", false, "write the table of docs/SECURITY.md")

// attempt tries to get out of the sandbox. It runs in a program inside.
type attempt struct {
	name string
	// alone is what stops the attempt where there is no other layer; empty where nothing does.
	alone string
	// try returns nil if the attempt got out.
	try func(v *victim) error
	// limits are those of the program; judge looks at its end from outside, in the place of what try returned.
	limits Limits
	judge  func(exit Exit, out string) error
}

// attempts are all attempts.
func attempts() []attempt {
	return slices.Concat(fileAttempts, metadataAttempts, procAttempts, programAttempts, processAttempts, socketAttempts, proxyAttempts, sharedAttempts,
		namespaceAttempts, kernelAttempts, limitAttempts)
}

// variant is a sandbox with some of its layers.
type variant struct{ landlock, seccomp, namespaces, forked bool }

var (
	whole  = variant{true, true, true, false}
	noNS   = variant{true, true, false, false}
	warmed = variant{true, true, true, true}
	single = map[string]variant{"Landlock": {landlock: true}, "seccomp": {seccomp: true}, "namespaces": {namespaces: true}, "none": {}}
)

// TestEscapes tries to get out as an ordinary user, who could read and change everything that the sidecar can, and as root. It
// compares the layers that stop each attempt alone with the table of docs/SECURITY.md.
func TestEscapes(t *testing.T) {
	needSandbox(t)
	if detecting {
		t.Skip("the race detector maps more memory than the sandbox allows to a program")
	}
	if os.Getenv("ESCAPES_OF_USER") != "" {
		measured := tryAll(t, append([]variant{whole, noNS, warmed}, single["Landlock"], single["seccomp"], single["namespaces"], single["none"]))
		_ = json.NewEncoder(os.NewFile(3, "results")).Encode(layersThatStop(t, measured))
		return
	}
	var stopped map[string]string
	if os.Getuid() == 0 {
		tryAll(t, []variant{whole, noNS, warmed})
		stopped = tryAsUser(t)
	} else {
		stopped = layersThatStop(t, tryAll(t, append([]variant{whole, noNS, warmed}, single["Landlock"], single["seccomp"], single["namespaces"], single["none"])))
	}
	compareTable(t, stopped)
}

// tryAsUser runs this test again as an ordinary user.
func tryAsUser(t *testing.T) map[string]string {
	dir := openDir(t)
	program := filepath.Join(dir, "test")
	copyProgram(t, program, 0o755)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := exec.Command(program, "-test.run", "^TestEscapes$", "-test.v")
	cmd.Env = append(os.Environ(), "ESCAPES_OF_USER=1", "ESCAPES_SETUID="+setuidProgram(t), "TMPDIR="+dir)
	cmd.Dir = dir
	cmd.ExtraFiles = []*os.File{w}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
	out, err := cmd.CombinedOutput()
	w.Close()
	if err != nil {
		t.Fatalf("as an ordinary user: %v\n%s", err, out)
	}
	var stopped map[string]string
	if err := json.NewDecoder(r).Decode(&stopped); err != nil {
		t.Fatal(err)
	}
	return stopped
}

// tryAll makes each attempt in each variant and returns what got out. It is an error if anything gets out of the first three.
func tryAll(t *testing.T, variants []variant) map[string]map[variant]error {
	v := newVictim(t)
	results := map[string]map[variant]error{}
	var mu sync.Mutex
	var wait sync.WaitGroup
	slots := make(chan struct{}, 4)
	for _, a := range attempts() {
		of := map[variant]error{}
		results[a.name] = of
		for _, in := range variants {
			slots <- struct{}{}
			wait.Go(func() {
				defer func() { <-slots }()
				err := v.attempt(t, &a, in)
				mu.Lock()
				defer mu.Unlock()
				of[in] = err
				if err == nil && (in == whole || in == noNS || in == warmed) {
					t.Errorf("user %d, %+v: %q got out", os.Getuid(), in, a.name)
				}
				if a.alone == "proxy" && (in == whole || in == warmed) && Support().Loopback && !strings.Contains(fmt.Sprint(err), "HTTP/1.1 40") {
					t.Errorf("user %d, %+v: %q did not get to the proxy: %v", os.Getuid(), in, a.name, err)
				}
			})
		}
	}
	wait.Wait()
	return results
}

// layersThatStop says for each attempt which layers stop it without the others.
func layersThatStop(t *testing.T, results map[string]map[variant]error) map[string]string {
	stopped := map[string]string{}
	for _, a := range attempts() {
		of := results[a.name]
		t.Logf("%s: %v", a.name, of[whole])
		var names []string
		if of[single["none"]] != nil {
			names = append(names, a.alone)
			if a.alone == "" {
				t.Errorf("%q is stopped without a layer: %v", a.name, of[single["none"]])
			}
		} else {
			for _, name := range []string{"Landlock", "seccomp", "namespaces"} {
				if of[single[name]] != nil {
					names = append(names, name)
				}
			}
		}
		stopped[a.name] = strings.Join(names, ", ")
	}
	return stopped
}

// attempt makes an attempt in a sandbox with some layers.
func (v *victim) attempt(t *testing.T, a *attempt, in variant) error {
	of, err := v.forAttempt()
	if err != nil {
		t.Error(err)
		return err
	}
	scratch := of.Scratch
	defer os.RemoveAll(filepath.Dir(scratch))
	spec := Spec{
		Argv: []string{v.Program, "escape", a.name}, Env: []string{"PATH=/usr/bin:/bin", "ESCAPE=" + string(encode(of)), "TMPDIR=" + scratch},
		Dir: scratch, Scratch: scratch, Read: []string{v.Skill, filepath.Dir(v.Setuid)}, StdinFile: v.terminal, Level: BestEffort, Limits: a.limits, Grace: 100 * time.Millisecond,
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if in.landlock && in.seccomp && in.namespaces && Support().Loopback { // with a network by hosts, which is a loopback interface and a proxy
		spec.Serve = egress.NewProxy(egress.Rules{Hosts: v.listed()}).Start
	}
	var groups []seccomp.SyscallGroup
	if !in.landlock {
		groups = append(groups, seccomp.SyscallGroup{Action: absent, Names: []string{"landlock_create_ruleset"}})
	}
	if !in.seccomp {
		groups = append(groups, seccomp.SyscallGroup{Action: deny, Names: []string{"seccomp"}})
	}
	var out bytes.Buffer
	var exit Exit
	run := func() { exit, err = runIn(ctx, spec, &out, in) }
	if groups == nil {
		run()
	} else if failed := inThreadWithout(groups, run); failed != nil {
		err = failed
	}
	if err != nil {
		t.Errorf("%s in %+v: %v\n%s", a.name, in, err, &out)
		return err
	}
	if a.judge != nil {
		return a.judge(exit, out.String())
	}
	return verdict(exit, out.String())
}

// runIn runs a program as Run does, with namespaces or without.
func runIn(ctx context.Context, spec Spec, out io.Writer, in variant) (Exit, error) {
	spec.Limits = spec.Limits.withDefaults()
	l := layers{}
	if in.namespaces {
		l = supported()
	}
	// The layers alone are tried without a control group.
	var of *group
	if in == whole || in == noNS || in == warmed {
		var release func()
		var err error
		if of, release, err = acquireGroup(spec.Limits, in != warmed); err != nil {
			return Exit{}, err
		}
		defer release()
	}
	if in.forked && l.whole {
		p, err := startForked(&order{Spec: spec, Namespaces: l.namespaces, User: l.user, Proxy: spec.Serve != nil}, l, of)
		if err != nil {
			return Exit{}, err
		}
		p.group = of
		return p.follow(ctx, out)
	}
	p, err := startSupervisor(&order{Spec: spec, Namespaces: l.namespaces, User: l.user, Proxy: spec.Serve != nil}, l.attributes(&spec), of)
	if err != nil {
		return Exit{}, err
	}
	p.group = of
	return p.follow(ctx, out)
}

// verdict reads the last line of an attempt. A program that the kernel killed for what it did was stopped.
func verdict(exit Exit, out string) error {
	_, text, ok := strings.Cut(out, "VERDICT: ")
	text = strings.TrimSpace(text)
	switch {
	case ok && text == "out":
		return nil
	case ok:
		return errors.New(text)
	case exit.Signal != 0:
		return fmt.Errorf("killed by %s", syscall.Signal(exit.Signal))
	}
	return fmt.Errorf("no verdict: %+v: %s", exit, out)
}

// escape makes one attempt, inside.
func escape(name string) int {
	runtime.LockOSThread()
	var v victim
	if err := json.Unmarshal([]byte(os.Getenv("ESCAPE")), &v); err != nil {
		fmt.Println(err)
		return 1
	}
	for _, a := range attempts() {
		if a.name == name {
			if err := a.try(&v); err != nil {
				fmt.Printf("VERDICT: %s\n", strings.ReplaceAll(err.Error(), "\n", " "))
			} else {
				fmt.Println("VERDICT: out")
			}
			return 0
		}
	}
	return 1
}

// inThreadWithout runs a function in a thread in which the kernel refuses system calls, for what it starts as well.
func inThreadWithout(groups []seccomp.SyscallGroup, run func()) error {
	raw, err := assembleGroups(groups)
	if err != nil {
		return err
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // for good, so that the thread ends with the goroutine
		err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		if err == nil {
			err = installFilter(raw)
		}
		if err == nil {
			run()
		}
		done <- err
	}()
	return <-done
}

const tableHead = "| attempt | stopped by |\n|---|---|\n"

// compareTable compares the table of docs/SECURITY.md with what was measured.
func compareTable(t *testing.T, stopped map[string]string) {
	page := filepath.Join("..", "..", "docs", "SECURITY.md")
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), tableHead)
	if !ok {
		t.Fatalf("%s has no table %q", page, tableHead)
	}
	end := strings.Index(rest, "\n\n")
	if end < 0 {
		end = len(rest) - 1
	}
	var rows strings.Builder
	for _, a := range attempts() {
		fmt.Fprintf(&rows, "| %s | %s |\n", a.name, stopped[a.name])
	}
	have, after := rest[:end+1], rest[end+1:]
	if have == rows.String() {
		return
	}
	if *update {
		if err := os.WriteFile(page, []byte(before+tableHead+rows.String()+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	r := Support()
	if r.Landlock != 7 || len(r.Namespaces) == 0 || runtime.GOARCH != "amd64" {
		t.Logf("not compared: the table is of Landlock ABI 7 with namespaces on amd64, this is %+v", r)
		return
	}
	for line := range strings.Lines(rows.String()) {
		if !strings.Contains(have, line) {
			t.Errorf("%s has no row %q; run go test ./tools/sandbox -run TestEscapes -update", page, line)
		}
	}
	if strings.Count(have, "\n") != len(attempts()) {
		t.Errorf("%s has %d rows, there are %d attempts", page, strings.Count(have, "\n"), len(attempts()))
	}
}
