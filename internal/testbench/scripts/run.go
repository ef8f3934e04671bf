package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"pannier"
)

// calls are scripts with the input that each is called with; inputs makes the files that they read.
var (
	//go:embed testdata/calls.txt
	calls string
	//go:embed testdata/inputs.py
	inputs string
)

// call is a block of calls.
type call struct {
	skill, script string
	argv          []string        // of the plain execution
	arguments     json.RawMessage // of the call; {"argv": argv} without a line that gives others
	stdin         string          // file on standard input of the plain execution
}

// readCalls reads calls: for each a line `skill script`, a line `$ words` or `$ ["word", …]`, `< file` if the script
// reads one, and the arguments of the call as JSON if they are not argv.
func readCalls(text string) (all []call, err error) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		var c *call
		if len(all) > 0 {
			c = &all[len(all)-1]
		}
		switch {
		case line == "", strings.HasPrefix(line, "#"):
		case c != nil && strings.HasPrefix(line, "$ ["):
			err = json.Unmarshal([]byte(line[2:]), &c.argv)
		case c != nil && strings.HasPrefix(line, "$"):
			c.argv = strings.Fields(line[1:])
		case c != nil && strings.HasPrefix(line, "< "):
			c.stdin = line[2:]
		case c != nil && strings.HasPrefix(line, "{") && json.Valid([]byte(line)):
			c.arguments = json.RawMessage(line)
		default:
			words := strings.Fields(line)
			if len(words) != 2 {
				err = fmt.Errorf("%q does not belong to a call", line)
			} else {
				all = append(all, call{skill: words[0], script: words[1]})
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// outcome is what an execution left.
type outcome struct {
	code   int // -1 if it did not run
	files  map[string]string
	output string
	err    *pannier.ToolError
}

// compared is a directory with two workspaces of the same skills: one for plain executions, one that a sidecar serves.
type compared struct {
	dir, binary string
	slugs       map[string]string // by path of the skill in the corpus
}

// runCalls executes the scripts of the calls plainly and by the sidecar, and prints where they agree. only chooses
// calls whose skill or script has it.
func runCalls(ctx context.Context, root, binary, only string) error {
	all, err := readCalls(calls)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(c call) bool { return !strings.Contains(c.skill+" "+c.script, only) })
	dir, err := os.MkdirTemp("", "scripts")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	c := &compared{dir: dir, binary: binary, slugs: map[string]string{}}
	if err := c.prepare(ctx, root, all); err != nil {
		return err
	}
	stop, err := c.start(ctx)
	if err != nil {
		return err
	}
	defer stop()
	if err := c.allow(ctx); err != nil {
		return err
	}
	equal, succeeded := 0, 0
	for i, one := range all {
		first, got := c.plain(ctx, one, fmt.Sprint(i, "a")), c.call(ctx, one, fmt.Sprint(i, "b"))
		second := c.plain(ctx, one, fmt.Sprint(i, "c")) // last, since files can have the time
		if difference := differ(first, second, got); difference != "" {
			fmt.Printf("%s %s: %s\n", one.skill, one.script, difference)
			continue
		}
		equal++
		if first.code == 0 {
			succeeded++
		}
	}
	fmt.Printf("| | calls |\n|---|---|\n| made | %d |\n| exit code and files as by plain execution | %d |\n", len(all), equal)
	fmt.Printf("| of these with exit code 0 | %d |\n", succeeded)
	return nil
}

// prepare copies the skills of the calls, and makes the files that scripts read.
func (c *compared) prepare(ctx context.Context, root string, all []call) error {
	for _, one := range all {
		if c.slugs[one.skill] != "" {
			continue
		}
		c.slugs[one.skill] = "?"
		for _, sub := range []string{"plain", "served/skills"} {
			to := filepath.Join(c.dir, sub, folder(one.skill))
			if err := os.CopyFS(to, os.DirFS(filepath.Join(root, one.skill))); err != nil {
				return err
			}
		}
	}
	for _, sub := range []string{"inputs", "project", "home"} {
		if err := os.MkdirAll(filepath.Join(c.dir, sub), 0o777); err != nil {
			return err
		}
	}
	make := exec.CommandContext(ctx, "/usr/bin/env", "python3", "-c", inputs) // env searches the PATH below
	make.Dir, make.Env, make.Stderr = filepath.Join(c.dir, "inputs"), c.environment(), os.Stderr
	if err := make.Run(); err != nil {
		return fmt.Errorf("make the inputs: %w", err)
	}
	return exec.CommandContext(ctx, "chmod", "-R", "a+rwX", c.dir).Run()
}

// folder returns the name of the copy of a skill; names in the corpus differ.
func folder(skill string) string { return path.Base(skill) }

func (c *compared) environment() []string {
	return []string{
		"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + filepath.Join(c.dir, "home"), "LANG=C.UTF-8", "TERM=dumb",
		"NO_COLOR=1", "PYTHONDONTWRITEBYTECODE=1",
	}
}

const settings = `roots: [{path: skills, trust: internal}]
scan: report
tools: {enabled: true, kinds: [script], runner: self, timeout: 2m, project_dirs: [%q]}
`

// start starts a sidecar, and returns what stops it.
func (c *compared) start(ctx context.Context) (stop func(), err error) {
	text := fmt.Sprintf(settings, filepath.Join(c.dir, "project"))
	if err := os.WriteFile(filepath.Join(c.dir, "pannier.yaml"), []byte(text), 0o600); err != nil {
		return nil, err
	}
	sidecar := exec.CommandContext(ctx, c.binary, "run", "--workspace", filepath.Join(c.dir, "served"),
		"--config", filepath.Join(c.dir, "pannier.yaml"), "--socket", filepath.Join(c.dir, "socket"),
		"--state-dir", filepath.Join(c.dir, "state"), "--log-level", "error")
	sidecar.Env, sidecar.Stderr = c.environment(), os.Stderr
	if err := sidecar.Start(); err != nil {
		return nil, err
	}
	return func() {
		_ = sidecar.Process.Signal(os.Interrupt)
		_ = sidecar.Wait()
	}, nil
}

// pannier runs a command of the client, and decodes what it prints.
func (c *compared) pannier(ctx context.Context, value any, arguments ...string) error {
	var out, failed bytes.Buffer
	client := exec.CommandContext(ctx, c.binary, append(arguments, "--socket", filepath.Join(c.dir, "socket"))...)
	client.Env, client.Stdout, client.Stderr = c.environment(), &out, &failed
	err := client.Run()
	if value == nil || json.Unmarshal(out.Bytes(), value) != nil {
		if err == nil && value != nil {
			err = errors.New("the output is not JSON")
		}
		if err != nil {
			return fmt.Errorf("%s: %w: %s", strings.Join(arguments, " "), err, failed.String())
		}
	}
	return nil
}

// allow waits for the skills, accepts what scans find, and allows the tools.
func (c *compared) allow(ctx context.Context) error {
	var list pannier.List
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Second) {
		err := c.pannier(ctx, &list, "list", "--json")
		if err == nil && len(list.Skills) >= len(c.slugs) {
			break
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d of %d skills are served: %w", len(list.Skills), len(c.slugs), err)
		}
	}
	for skill := range c.slugs {
		for _, e := range list.Skills {
			if path.Base(e.Path) == folder(skill) {
				c.slugs[skill] = e.Slug
			}
		}
		slug := c.slugs[skill]
		for range 8 {
			var verdict struct {
				Decision string   `json:"decision"`
				Blocking []string `json:"blocking"`
			}
			if err := c.pannier(ctx, &verdict, "scan", slug, "--json"); err != nil || len(verdict.Blocking) == 0 {
				break
			}
			accept := []string{"scan", slug, "--reason", "for a comparison", "--json"}
			for _, rule := range verdict.Blocking {
				accept = append(accept, "--accept", rule)
			}
			_ = c.pannier(ctx, &verdict, accept...) // another scan says whether that was enough
		}
		if err := c.pannier(ctx, nil, "tool", "allow", slug); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	return nil
}

// project makes the directory that one execution works in.
func (c *compared) project(name string) string {
	dir := filepath.Join(c.dir, "project", name)
	_ = os.CopyFS(dir, os.DirFS(filepath.Join(c.dir, "inputs")))
	_ = exec.Command("chmod", "-R", "a+rwX", dir).Run()
	return dir
}

var interpreters = map[string]string{
	".py": "python3", ".sh": "bash", ".bash": "bash", ".js": "node", ".mjs": "node", ".cjs": "node", ".ts": "node",
}

// plain starts a script as its documents do.
func (c *compared) plain(ctx context.Context, one call, name string) outcome {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	dir := c.project(name)
	file := filepath.Join(c.dir, "plain", folder(one.skill), one.script)
	command := exec.CommandContext(ctx, "/usr/bin/env", append([]string{interpreters[path.Ext(file)], file}, one.argv...)...)
	command.Dir, command.Env = dir, c.environment()
	if one.stdin != "" {
		text, err := os.ReadFile(filepath.Join(dir, one.stdin))
		if err != nil {
			return outcome{code: -1, output: err.Error()}
		}
		command.Stdin = bytes.NewReader(text)
	}
	output, err := command.CombinedOutput()
	if command.ProcessState == nil {
		return outcome{code: -1, output: err.Error()}
	}
	return outcome{code: command.ProcessState.ExitCode(), files: filesIn(dir), output: string(output)}
}

// call calls the tool of a script.
func (c *compared) call(ctx context.Context, one call, name string) outcome {
	dir := c.project(name)
	arguments := one.arguments
	if arguments == nil {
		given := map[string]any{"argv": append([]string{}, one.argv...)}
		if one.stdin != "" {
			text, _ := os.ReadFile(filepath.Join(dir, one.stdin)) // the plain execution says that it is missing
			given["stdin"] = string(text)
		}
		arguments, _ = json.Marshal(given)
	}
	var list pannier.ToolList
	if err := c.pannier(ctx, &list, "tool", "list", "--json"); err != nil {
		return outcome{code: -1, output: err.Error()}
	}
	i := slices.IndexFunc(list.Tools, func(t pannier.ListedTool) bool {
		var config struct{ File string }
		_ = json.Unmarshal(t.Config, &config) // the planner wrote it
		return t.Skill == c.slugs[one.skill] && config.File == one.script
	})
	if i < 0 {
		return outcome{code: -1, output: "no tool stands for the script"}
	}
	var result pannier.ToolResult
	if err := c.pannier(ctx, &result, "tool", "call", list.Tools[i].Name, string(arguments), "--project-dir", dir, "--json"); err != nil {
		return outcome{code: -1, output: err.Error()}
	}
	got := outcome{code: -1, files: filesIn(dir), output: result.Output, err: result.Error}
	if result.ExitCode != nil {
		got.code = *result.ExitCode
	}
	return got
}

// computed matches times and random parts of names.
var computed = regexp.MustCompile(`\d{4}-?\d\d-?\d\d[-_T]?[\d-]*Z?|[0-9a-f]{12,}`)

// filesIn returns the digests of the files in a directory, by name.
func filesIn(dir string) map[string]string {
	files := map[string]string{}
	_ = fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			text, _ := os.ReadFile(filepath.Join(dir, name)) // an unreadable file has no text
			text = bytes.ReplaceAll(text, []byte(dir), []byte("DIR"))
			files[computed.ReplaceAllString(name, "#")] = fmt.Sprintf("%x", sha256.Sum256(text))
		}
		return nil
	})
	return files
}

// differ says how a call differs from a plain execution; empty for nothing. The bytes of a file that two plain
// executions write differently are not compared.
func differ(first, second, got outcome) string {
	var what []string
	if first.code != got.code {
		what = append(what, fmt.Sprintf("exit code %d, not %d", got.code, first.code))
	}
	for name, text := range first.files {
		if now, there := got.files[name]; !there {
			what = append(what, "no file "+name)
		} else if now != text && second.files[name] == text {
			what = append(what, "another file "+name)
		}
	}
	for name := range got.files {
		if _, there := first.files[name]; !there && got.files != nil {
			what = append(what, "a further file "+name)
		}
	}
	if len(what) == 0 {
		return ""
	}
	slices.Sort(what)
	if len(what) > 4 {
		what = append(what[:4], "…")
	}
	if got.err != nil {
		what = append(what, fmt.Sprintf("%s: %s; %s", got.err.Code, got.err.Message, got.err.Hint))
	}
	tail := func(text string) string {
		return pannier.Truncate(strings.Join(strings.Fields(text[max(0, len(text)-400):]), " "), 400)
	}
	return strings.Join(what, ", ") + "\n    plain: " + tail(first.output) + "\n    call: " + tail(got.output)
}
