package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pannier"
)

// example is a client below examples that shows how an agent's runtime speaks to the sidecar.
type example struct {
	interpreter, dir, agent string
	check                   []string // what the interpreter needs to check a file and leave nothing behind
	files                   []string
	calls                   string // a program that calls the whole client
	turn, tools             string
}

var examples = []example{
	{
		interpreter: "python3", dir: "examples/python", agent: "agent.py", turn: "turn.py", tools: "tools.py", files: []string{"pannier.py", "agent.py", "turn.py", "tools.py", "many.py"},
		check: []string{"-c", "import sys; compile(open(sys.argv[1]).read(), sys.argv[1], 'exec')"},
		calls: `
from pannier import Pannier, PannierError, default_socket
pannier = Pannier()
print("skills", [s["slug"] for s in pannier.skills()])
print("prompt", "Is asked for." in pannier.prompt())
print("content", pannier.content("asked")["body"].strip())
print("resolve", pannier.resolve("/skill:asked now", capabilities=[{"id": "c", "slug": "none"}])["rejected"][0]["reason"])
print("file", list(pannier.file("asked", "refs/a b.bin")))
for path in ("none", "../asked/SKILL.md", "refs"):
    try:
        pannier.file("asked", path)
    except PannierError as e:
        print("error", e.status, e.code, bool(e.detail), bool(e.hint))
for slug in ("nope", "../card"):
    try:
        pannier.content(slug)
    except PannierError as e:
        print("error", e.status, e.code, bool(e.detail), bool(e.hint))
try:
    Pannier("/nowhere/at/all").skills()
except PannierError as e:
    print("error", e.status, e.code, bool(e.detail), bool(e.hint))
for after in (0, 1 << 40):
    for event in pannier.events(after):
        if event["type"] != "connected":
            print("event", event["type"], event["data"]["added"], str(event["gap"]).lower())
            break
try:
    next(pannier.events(-1))
except PannierError as e:
    print("error", e.status, e.code, bool(e.detail), bool(e.hint))
`,
	},
	{
		interpreter: "node", dir: "examples/node", agent: "agent.mjs", turn: "turn.mjs", tools: "tools.mjs", files: []string{"pannier.mjs", "agent.mjs", "turn.mjs", "tools.mjs"},
		check: []string{"--check"},
		calls: `
const { Pannier } = await import(process.cwd() + "/examples/node/pannier.mjs");
const list = (all) => "[" + all.map((s) => "'" + s + "'").join(", ") + "]";
const yes = (v) => (v ? "True" : "False");
const told = (e) => console.log("error", e.status, e.code, yes(e.detail), yes(e.hint));
const pannier = new Pannier();
console.log("skills", list((await pannier.skills()).map((s) => s.slug)));
console.log("prompt", yes((await pannier.prompt()).includes("Is asked for.")));
console.log("content", (await pannier.content("asked")).body.trim());
console.log("resolve", (await pannier.resolve("/skill:asked now", { capabilities: [{ id: "c", slug: "none" }] })).rejected[0].reason);
console.log("file", "[" + [...(await pannier.file("asked", "refs/a b.bin"))].join(", ") + "]");
for (const path of ["none", "../asked/SKILL.md", "refs"]) await pannier.file("asked", path).catch(told);
for (const slug of ["nope", "../card"]) await pannier.content(slug).catch(told);
await new Pannier("/nowhere/at/all").skills().catch(told);
for (const after of [0, 2 ** 40]) {
  const stop = new AbortController();
  for await (const event of pannier.events(after, { signal: stop.signal })) {
    if (event.type === "connected") continue;
    console.log("event", event.type, list(event.data.added), event.gap);
    stop.abort();
  }
}
await pannier.events(-1).next().catch(told);
`,
	},
}

// forEachExample runs a test for each example whose interpreter is there.
func forEachExample(t *testing.T, test func(*testing.T, example)) {
	for _, e := range examples {
		t.Run(filepath.Base(e.dir), func(t *testing.T) {
			if _, err := exec.LookPath(e.interpreter); err != nil {
				t.Skip(err)
			}
			test(t, e)
		})
	}
}

// command returns a run of the interpreter at the root of the repository.
func (e example) command(socket string, args ...string) *exec.Cmd {
	cmd := exec.Command(e.interpreter, args...)
	cmd.Dir = "../.."
	cmd.Env = append(cleanEnviron(), "PANNIER_SOCKET="+socket, "PYTHONPATH=examples/python", "PYTHONDONTWRITEBYTECODE=1")
	return cmd
}

func TestExampleFiles(t *testing.T) {
	t.Parallel()
	forEachExample(t, func(t *testing.T, e example) {
		for _, name := range e.files {
			if out, err := e.command("", append(e.check, e.dir+"/"+name)...).CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", name, err, out)
			}
		}
		readme, err := os.ReadFile("../../" + e.dir + "/README.md")
		run := fmt.Sprintf("\n    PANNIER_SOCKET=/tmp/pannier.sock %s %s/%s\n", e.interpreter, e.dir, e.agent)
		if err != nil || !strings.Contains(string(readme), run) {
			t.Errorf("the README does not say %q (%v)", run, err)
		}
	})
}

func TestExampleCalls(t *testing.T) {
	t.Parallel()
	forEachExample(t, func(t *testing.T, e example) {
		w := workspaceWith(t, skillScript("asked", "Is asked for.")+"mkdir skills/asked/refs; printf '\\001~' > 'skills/asked/refs/a b.bin'")
		s := startSidecar(t, w, "--platform-url", "off")
		flag := map[string]string{"python3": "-c", "node": "--eval"}[e.interpreter]
		args := []string{flag, e.calls}
		if e.interpreter == "node" {
			args = append([]string{"--input-type=module"}, args...)
		}
		out, err := e.command(s.socket, args...).CombinedOutput()
		const want = `skills ['asked']
prompt True
content Do it.
resolve not_found
file [1, 126]
error 404 file_not_found True True
error 403 file_outside True True
error 404 file_is_directory True True
error 404 skill_not_found True True
error 404 skill_not_found True True
error 0 no_answer True True
event skill_catalog_updated ['asked'] false
event skill_catalog_updated ['asked'] true
error 400 invalid_last_event_id True True
`
		if err != nil || string(out) != want {
			t.Errorf("printed (%v)\n%s\nwant\n%s", err, out, want)
		}
	})
}

// TestExampleTurn prints what an agent needs for one turn.
func TestExampleTurn(t *testing.T) {
	t.Parallel()
	forEachExample(t, func(t *testing.T, e example) {
		w := workspaceWith(t, skillScript("asked", "Is asked for.")+"printf '12345' > skills/asked/notes.md")
		s := startSidecar(t, w, "--platform-url", "off")
		out, err := e.command(s.socket, e.dir+"/"+e.turn, "/skill:asked for Monday").CombinedOutput()
		want := fmt.Sprintf("--- asked in %s/skills/asked, for 'for Monday'\nDo it.\n\n--- notes.md: 5 bytes\n", w)
		if err != nil || !strings.HasSuffix(string(out), want) || !strings.Contains(string(out), "Is asked for.") {
			t.Errorf("printed (%v)\n%s\nwant\n%s", err, out, want)
		}
		out, err = e.command(filepath.Join(t.TempDir(), "none"), e.dir+"/"+e.turn).CombinedOutput()
		if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 1 || !strings.Contains(string(out), "hint: is `pannier run` up") {
			t.Errorf("without a sidecar (%v):\n%s", err, out)
		}
	})
}

// TestExampleTurnReaderEnds closes the pipe that a turn is printed to: that is no error, and prints no stack.
func TestExampleTurnReaderEnds(t *testing.T) {
	t.Parallel()
	forEachExample(t, func(t *testing.T, e example) {
		s := startSidecar(t, workspaceWith(t, skillScript("asked", "Is asked for.")), "--platform-url", "off")
		r, out, err := os.Pipe()
		need(t, err)
		r.Close()
		defer out.Close()
		var noted strings.Builder
		cmd := e.command(s.socket, e.dir+"/"+e.turn, "/skill:asked")
		cmd.Stdout, cmd.Stderr = out, &noted
		if err := cmd.Run(); err != nil || noted.Len() > 0 {
			t.Errorf("ended with %v and noted\n%s", err, &noted)
		}
	})
}

// startExample runs the agent of an example until the test ends. Prompts come to the first buffer.
func startExample(t *testing.T, e example, socket string) (p *process, prompts *lockedBuffer) {
	t.Helper()
	prompts = &lockedBuffer{}
	p = &process{cmd: e.command(socket, e.dir+"/"+e.agent), done: make(chan error, 1), log: &lockedBuffer{}}
	p.cmd.Stdout, p.cmd.Stderr = prompts, p.log
	need(t, p.cmd.Start())
	go func() { p.done <- p.cmd.Wait() }()
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("%s printed:\n%s\nand noted:\n%s", e.agent, prompts, p.log)
		}
	})
	return p, prompts
}

// seen waits until a text has been printed.
func seen(t testing.TB, b *lockedBuffer, text string) {
	t.Helper()
	until(t, text+" is printed", func() bool { return strings.Contains(b.String(), text) })
}

// TestExampleAgents follows an agent over two lives of the sidecar: one that keeps its events, and one that begins with
// the numbers anew.
func TestExampleAgents(t *testing.T) {
	t.Parallel()
	forEachExample(t, func(t *testing.T, e example) {
		for name, stateDir := range map[string]string{"events kept": t.TempDir(), "events lost": "none"} {
			t.Run(name, func(t *testing.T) {
				w := workspaceWith(t, skillScript("first", "Is there before."))
				s := startSidecar(t, w, "--platform-url", "off", "--state-dir", stateDir)
				agent, prompts := startExample(t, e, s.socket)
				seen(t, prompts, "Is there before.")

				s.write(t, skillScript("second", "Comes while all run."))
				seen(t, prompts, "Comes while all run.")
				if code := s.terminate(t); code != exitYes {
					t.Errorf("exit code %d of the sidecar", code)
				}
				seen(t, agent.log, "the sidecar is lost, trying again: ")
				writeIn(t, w, skillScript("third", "Comes while no sidecar runs."))
				start(t, s.cmd.Args[1:]...)
				seen(t, prompts, "Comes while no sidecar runs.")
				s.write(t, skillScript("fourth", "Comes to the next sidecar."))
				seen(t, prompts, "Comes to the next sidecar.")

				if code := agent.terminate(t); code != 0 {
					t.Errorf("exit code %d", code)
				}
			})
		}
	})
}

// TestExampleAgentsMayBeFirst starts an agent that has no sidecar yet, and ends it as Ctrl-C does.
func TestExampleAgentsMayBeFirst(t *testing.T) {
	t.Parallel()
	forEachExample(t, func(t *testing.T, e example) {
		s := &sidecarUnderTest{workspace: newWorkspace(t), socket: filepath.Join(shortDir(t), "s")}
		s.write(t, skillScript("first", "Is there before."))
		agent, prompts := startExample(t, e, s.socket)
		seen(t, agent.log, "hint: is `pannier run` up")
		start(t, "run", "--workspace", s.workspace, "--socket", s.socket, "--state-dir", "none", "--environment-own", "block", "--platform-url", "off")
		seen(t, prompts, "Is there before.")
		need(t, agent.cmd.Process.Signal(os.Interrupt))
		err := <-agent.done
		agent.done <- err
		if err != nil {
			t.Errorf("ended with %v", err)
		}
	})
}

// TestExampleMany runs a conversation with 300 skills: the right one is first in the prompt and in what find_skills returns, and a turn
// about nothing has the skills first that were read before it, then one that the messages before it are about.
func TestExampleMany(t *testing.T) {
	t.Parallel()
	e := examples[0]
	if _, err := exec.LookPath(e.interpreter); err != nil {
		t.Skip(err)
	}
	verbs := strings.Fields("archive audit compare convert export merge review schedule sort translate")
	things := strings.Fields("agenda badge budget calendar contract diagram email forecast glossary invoice itinerary label ledger memo newsletter " +
		"payroll photo poll quote receipt recipe refund roster survey ticket timesheet transcript video voucher warranty")
	departments := strings.Fields("finance legal research sales support travel")
	var script strings.Builder
	for i, verb := range verbs {
		for j, thing := range things {
			script.WriteString(skillScript(verb+"-"+thing, fmt.Sprintf("Helps to %s each %s of the %s department, asks before it changes anything, and writes a summary of its work.",
				verb, thing, departments[(i+j)%len(departments)])))
		}
	}
	// Only people may call this one: find returns it, and the example must not show it to the model.
	script.WriteString("mkdir skills/hidden; printf -- '---\\nname: hidden\\ndescription: Helps to convert each invoice of the finance department to CSV.\\ndisable-model-invocation: true\\n---\\nHidden.\\n' > skills/hidden/SKILL.md\n")
	w := workspaceWith(t, script.String())
	s := startSidecar(t, w, "--platform-url", "off")

	cmd := e.command(s.socket, e.dir+"/many.py", "convert the invoices of finance to CSV", "archive the receipts of legal", "thanks", "")
	var out, notes bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &notes
	if err := cmd.Run(); err != nil || !strings.Contains(notes.String(), "a stub model") {
		t.Fatalf("%v\n%s%s", err, &out, &notes)
	}
	const budget = `prompt: (1\d{3}|2000) tokens, shortened: {'description_end': \d+, 'description': \d+}, omitted: 0\n`
	want := regexp.MustCompile(`(?s)\Afirst: convert-invoice, matched: \['invoices', 'convert', 'finance'\]\n.*` + budget +
		`find_skills\('convert the invoices of finance to CSV'\):\nconvert-invoice: Helps to convert .*\nread_skill\('convert-invoice'\):\nDo it\.\n` +
		`first: archive-receipt, matched: \['receipts', 'archive', 'legal'\]\n.*` + budget +
		`find_skills\('archive the receipts of legal'\):\narchive-receipt: Helps to archive .*\nread_skill\('archive-receipt'\):\nDo it\.\n` +
		`first: archive-receipt, matched: no relevance\nfirst: convert-invoice, matched: no relevance\nfirst: \w+-(receipt|invoice), matched: no relevance\n` + budget + `find_skills\('thanks'\):\n\n` +
		`first: archive-receipt, .*find_skills\(''\):\nrefused: the text is empty .*\n\z`)
	if !want.MatchString(out.String()) || strings.Contains(out.String(), "hidden") {
		t.Errorf("printed\n%s\nwant\n%s", &out, want)
	}
}

// TestExampleTools runs an agent that calls a tool of a skill: not offered before it is allowed, answered from the sandbox
// afterwards, and told to the model when it fails.
func TestExampleTools(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	forEachExample(t, func(t *testing.T, e example) {
		w := reportWorkspace(t)
		// Another skill with a tool, before this one by its name: the named skill comes first.
		skills := filepath.Join(w, "skills")
		need(t, os.CopyFS(filepath.Join(skills, "a-review"), os.DirFS(filepath.Join(skills, "repo-review"))))
		need(t, os.WriteFile(filepath.Join(skills, "a-review", "SKILL.md"), []byte(strings.ReplaceAll(runReport, "repo-review", "a-review")), 0o644))
		s := startSidecar(t, w, "--tools-enabled", "--tools-runner=self", "--scan=report", "--state-dir", t.TempDir())
		turn := func(text string) (said, noted string) {
			t.Helper()
			cmd := e.command(s.socket, e.dir+"/"+e.tools, text)
			var out, notes bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &notes
			if err := cmd.Run(); err != nil {
				t.Fatalf("%v\n%s%s", err, &out, &notes)
			}
			return out.String(), notes.String()
		}
		s.refusedBy(t, pannier.ToolNotAllowed)
		if said, _ := turn("/skill:repo-review now"); said != "there is no tool for this turn\n" {
			t.Errorf("before it is allowed: %s", said)
		}
		s.runs(t, exitYes, "sha256:", "tool", "allow", "repo-review")
		s.refusedBy(t, "")
		s.runs(t, exitYes, "sha256:", "tool", "allow", "a-review")
		if said, _ := turn("/skill:repo-review {\"days\": 7}"); !strings.Contains(said, "additional properties 'days' not allowed") {
			t.Errorf("with arguments that the tool does not take: %s", said)
		}
		said, noted := turn("/skill:repo-review now")
		if said != "the tool answered: report\n{}\n" || !strings.Contains(noted, "# offered: skill__repo-review__run-report\n# offered: skill__a-review__run-report\n# called: skill__repo-review__run-report\n") {
			t.Errorf("said %q, noted\n%s", said, noted)
		}
		if !strings.Contains(noted, "a stub model") {
			t.Errorf("it does not say that its model is none:\n%s", noted)
		}
		s.runs(t, exitYes, "tools of a-review are", "tool", "allow", "a-review", "--remove")
		writeReport(t, w, "echo broken; exit 3\n")
		if said, _ := turn("/skill:repo-review now"); strings.Contains(said, "broken") || strings.Contains(said, "report\n") {
			t.Errorf("a changed script has run: %s", said)
		}
		s.refusedBy(t, pannier.ToolNotAllowed)
		s.runs(t, exitYes, "sha256:", "tool", "allow", "repo-review")
		s.refusedBy(t, "")
		if said, _ := turn("/skill:repo-review now"); !strings.HasPrefix(said, "the tool answered: failed: ") || !strings.Contains(said, pannier.ToolFailed) || !strings.Contains(said, "broken") {
			t.Errorf("a tool that fails: %s", said)
		}
	})
}
