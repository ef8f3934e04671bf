package main

import (
	"bufio"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"

	"pannier/internal/testbench/fixture"
)

// BenchmarkMCPStart measures from the start of the command to its answer to initialize, on a workspace of 100 skills.
func BenchmarkMCPStart(b *testing.B) {
	w := b.TempDir()
	var script strings.Builder
	for i := range 100 {
		script.WriteString(skillScript(fmt.Sprint("skill-", i), "Does a thing."))
	}
	fixture.WriteIn(b, w, script.String())
	for b.Loop() {
		cmd := exec.Command(binary, "mcp", "--workspace", w)
		cmd.Env = append(cleanEnviron(), "HOME="+w, "XDG_RUNTIME_DIR="+w)
		in := must(cmd.StdinPipe())(b)
		out := must(cmd.StdoutPipe())(b)
		need(b, cmd.Start())
		io.WriteString(in, mcpInitialize)
		answer, err := bufio.NewReader(out).ReadString('\n')
		if err != nil || !strings.Contains(answer, "skill-99") {
			b.Fatalf("%q %v", answer, err)
		}
		b.StopTimer()
		in.Close()
		need(b, cmd.Wait())
		b.StartTimer()
	}
}
