package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestClientsFindTheSocket compares the rule of the example clients with the cases that the rule of the sidecar is tested with, and
// what they find in an environment with what `pannier socket` prints in it.
func TestClientsFindTheSocket(t *testing.T) {
	t.Parallel()
	cases := must(filepath.Abs("../../config/testdata/sockets.json"))(t)
	programs := map[string]string{
		"python3": `
import json, sys
from pannier import default_socket
for c in json.load(open(sys.argv[1])):
    got = default_socket(c["environ"], c["uid"])
    if got != c["want"]:
        print(c["name"], repr(got))
print(default_socket())
`,
		"node": `
const { readFileSync } = await import("node:fs");
const { defaultSocket } = await import(process.cwd() + "/examples/node/pannier.mjs");
for (const c of JSON.parse(readFileSync(process.argv[1]))) {
  const got = defaultSocket(c.environ, c.uid);
  if (got !== c.want) console.log(c.name, got);
}
console.log(defaultSocket());
`,
	}
	environs := map[string][]string{
		"own socket":        {"PANNIER_SOCKET=/own.sock", "XDG_RUNTIME_DIR=/run/user/7", "HOME=/h"},
		"runtime directory": {"PANNIER_SOCKET=", "XDG_RUNTIME_DIR=/run/user/7", "HOME=/h"},
		"home":              {"PANNIER_SOCKET=", "HOME=/h"},
	}
	forEachExample(t, func(t *testing.T, e example) {
		flag := map[string][]string{"python3": {"-c"}, "node": {"--input-type=module", "--eval"}}[e.interpreter]
		for name, environ := range environs {
			ours := exec.Command(binary, "socket")
			ours.Env = append([]string{"PATH=" + os.Getenv("PATH")}, environ...)
			want, err := ours.CombinedOutput()
			if err != nil || !strings.HasPrefix(string(want), "/") {
				t.Errorf("%s: pannier socket: %v %s", name, err, want)
			}
			theirs := e.command("", append(flag, programs[e.interpreter], cases)...)
			theirs.Env = append(append(ours.Env, "PYTHONPATH=examples/python", "PYTHONDONTWRITEBYTECODE=1"), environ...)
			if got, err := theirs.CombinedOutput(); err != nil || string(got) != string(want) {
				t.Errorf("%s: printed (%v) %s, and pannier socket printed %s", name, err, got, want)
			}
		}
	})
}

// TestHealthShowsTheSocket finds the address that was asked in what health prints.
func TestHealthShowsTheSocket(t *testing.T) {
	t.Parallel()
	s := startSidecar(t, newWorkspace(t), "--platform-url", "off")
	cmd := command("health", "--socket", s.socket)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "socket        "+s.socket+"\n") {
		t.Errorf("printed (%v)\n%s", err, out)
	}
}
