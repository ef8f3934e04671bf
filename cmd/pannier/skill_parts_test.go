package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pannier"
	"pannier/internal/testbench/realskills"
)

// TestSkillParts follows Molecule's "How skills reach the agent" over a sidecar: "Tools from tools/ are registered as MCP tools
// available to the agent", "Examples from examples/ are injected as few-shot context", "Links from links.yaml are included as
// reference material".
func TestSkillParts(t *testing.T) {
	t.Parallel()
	workspace := newWorkspace(t)
	writeIn(t, workspace, `
mkdir -p skills/calc/tools skills/seo/examples
printf 'from langchain_core.tools import tool\n\n@tool\ndef add(a: int, b: int) -> int:\n    """Adds two numbers."""\n    return a + b\n' > skills/calc/tools/calc.py
printf -- '---\nname: seo\n---\n\n# Write pages\n' > skills/seo/SKILL.md
printf 'In: renovation\n' > skills/seo/examples/one.md
printf -- '- https://a.example/guide\n' > skills/seo/links.yaml`)
	s := startFault(t, workspace)
	s.serves(t, "calc", "Adds two numbers.")
	s.serves(t, "seo", "Write pages")
	s.promptHas(t, "molecule", "### calc\nAdds two numbers.\nTools: `add`\n", "- https://a.example/guide\n", "Example `examples/one.md`:\n\nIn: renovation\n")
	s.promptHas(t, "compact", "- calc\n  Tools, without instructions to read: `add`\n  Use when: Adds two numbers.\n")
	card, err := s.Card(t.Context())
	if err != nil || !strings.Contains(string(card), "Adds two numbers.") {
		t.Errorf("card %s, %v", card, err)
	}
	r, err := s.Resolve(t.Context(), pannier.Turn{})
	if err != nil || len(r.ExcludedTools) != 1 || r.ExcludedTools[0].Name != "skill.calc.add" || r.ExcludedTools[0].Kind != pannier.RuntimePython {
		t.Errorf("excluded %+v, %v", r.ExcludedTools, err)
	}

	writeIn(t, workspace, `printf 'changed\n' > skills/seo/examples/one.md; printf -- '- https://a.example/other\n' > skills/seo/links.yaml`)
	s.promptHas(t, "skills_xml", `<link href="https://a.example/other">`, "changed")
	writeIn(t, workspace, `mkdir skills/calc/examples; printf 'from langchain_core.tools import tool\n\n@tool\ndef mul() -> int:\n    """Multiplies."""\n' > skills/calc/tools/more.py`)
	s.serves(t, "calc", "Adds two numbers. Multiplies.")
	var alone pannier.List
	list, err := s.Skills(t.Context(), "", false)
	out, _ := runCommand(t, cleanEnviron(), "list", "--json", "--workspace", workspace, "--socket", filepath.Join(t.TempDir(), "none"))
	if err := errors.Join(err, json.Unmarshal([]byte(out), &alone)); err != nil || alone.Skills[0].Description != list.Skills[0].Description {
		t.Errorf("%v: a bare directory has %q, the sidecar %q", err, alone.Skills[0].Description, list.Skills[0].Description)
	}
}

// TestRealParts shows the examples of skills as people publish them: all of them without a limit, and those of the skill that fits
// within the default one.
func TestRealParts(t *testing.T) {
	corpus := realskills.Dir(t)
	workspace := workspaceWith(t, fmt.Sprintf("cp -r %[1]s/wshobson+agents/plugins/startup-business-analyst/skills/market-sizing-analysis %[1]s/obra+superpowers/skills/writing-skills skills; chmod -R u+w skills", corpus))
	s := startFault(t, workspace)
	s.promptHas(t, "molecule", "Example `examples/saas-market-sizing.md`:\n", "verifying skills work before deployment\nThe instructions are not shown here.")
	unlimited, err := s.AutomaticPrompt(t.Context(), "molecule", new(int))
	for _, text := range []string{"Example `examples/saas-market-sizing.md`:\n", "Example `examples/CLAUDE_MD_TESTING.md`:\n"} {
		if err != nil || !strings.Contains(unlimited.Text, text) {
			t.Errorf("no %q without a limit: %v\n%s", text, err, unlimited.Text)
		}
	}
}

// promptHas waits until a prompt has some texts.
func (s *sidecarUnderTest) promptHas(t *testing.T, format string, texts ...string) {
	t.Helper()
	eventually(t, format+" has the texts", func() error {
		p, err := s.AutomaticPrompt(t.Context(), format, nil)
		if err != nil {
			return err
		}
		for _, text := range texts {
			if !strings.Contains(p.Text, text) {
				return fmt.Errorf("no %q in\n%s", text, p.Text)
			}
		}
		return nil
	})
}

// TestEditedPartsAreLive edits files that turns and prompts show beside SKILL.md. Each edit makes a snapshot that an event announces,
// long before all files are read again, whether the kernel reports changes or directories are polled.
func TestEditedPartsAreLive(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"inotify", "poll"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			workspace := newWorkspace(t)
			writeIn(t, workspace, toolFile("skills/calc/tools/calc.py", "add")+`mkdir -p skills/seo/examples skills/.store/linked
for skill in seo .store/linked; do printf -- '---\nname: %s\ndescription: Is one.\n---\nDo it.\n' ${skill##*/} > skills/$skill/SKILL.md; done
ln -s .store/linked skills/linked
printf 'one\n' > skills/seo/examples/one.md
`+toolFile("skills/seo/tools/seo.py", "rank"))
			s := startFault(t, workspace, "--watch", mode)
			s.offers(t, "skill.calc.add", "skill.seo.rank")
			for _, edit := range []struct{ slug, script, tool string }{
				{"seo", toolFile("skills/seo/tools/u.py", "added"), "skill.seo.added"},
				{"seo", toolFile("skills/seo/tools/seo.py", "edited"), "skill.seo.edited"},
				{"seo", toolFile("skills/seo/scripts/s.py", "scripted"), "skill.seo.scripted"},
				{"calc", toolFile("skills/calc/tools/calc.py", "subtract"), "skill.calc.subtract"},
				{"linked", toolFile("skills/linked/tools/l.py", "linked"), "skill.linked.linked"},
				{"linked", toolFile("skills/.store/linked/tools/l.py", "again"), "skill.linked.again"},
				{"seo", "printf 'two\\n' > skills/seo/examples/one.md", ""},
				{"seo", "printf 'three\\n' > skills/seo/examples/three.md", ""},
				{"seo", "printf -- '- https://a.example/guide\\n' > skills/seo/links.yaml", ""},
				{"seo", "rm skills/seo/links.yaml", ""},
				{"seo", "rm -r skills/seo/tools", ""},
				{"seo", toolFile("skills/seo/tools/seo.py", "back"), "skill.seo.back"},
				{"seo", toolFile("skills/seo/tools/seo.py", "later"), "skill.seo.later"},
			} {
				before := must(s.Skills(t.Context(), "", false))(t)
				began := time.Now()
				s.write(t, edit.script)
				eventually(t, edit.script+" is announced", func() error {
					for _, e := range s.all(t) {
						text, err := compactJSON(e.Data)
						if err != nil {
							return err
						}
						if e.Type == pannier.EventCatalogUpdated && e.SnapshotVersion > before.SnapshotVersion && strings.Contains(string(text), `"changed":["`+edit.slug+`"]`) {
							return nil
						}
					}
					return errors.New("no event")
				})
				t.Logf("%s after %s", edit.script[max(0, len(edit.script)-40):], time.Since(began))
				if edit.tool != "" {
					s.offers(t, edit.tool)
				}
			}
		})
	}
}

// toolFile returns a script that writes a Python file with one tool.
func toolFile(path, name string) string {
	return fmt.Sprintf("mkdir -p %s; printf '@tool\\ndef %s() -> int:\\n    \"\"\"Does it.\"\"\"\\n' > %s\n", filepath.Dir(path), name, path)
}

// offers waits until turns show some tools, which are not offered while tools are off.
func (s *sidecarUnderTest) offers(t *testing.T, names ...string) {
	t.Helper()
	eventually(t, fmt.Sprintf("%q are there", names), func() error {
		r, err := s.Resolve(t.Context(), pannier.Turn{})
		if err != nil {
			return err
		}
		for _, name := range names {
			if !slices.ContainsFunc(r.ExcludedTools, func(tool pannier.ExcludedTool) bool { return tool.Name == name }) {
				return fmt.Errorf("no %s in %+v", name, r.ExcludedTools)
			}
		}
		return nil
	})
}

// TestInspectFiles looks at files of skills that are faulty, shadowed or switched off, as a person does who looks for the reason.
func TestInspectFiles(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	writeIn(t, w, `
mkdir -p skills/faulty skills/held skills/one skills/two
printf -- '---\nname: [faulty\n---\nText.\n' > skills/faulty/SKILL.md
printf -- '---\nname: held\ndescription: Good.\n---\nGood.\n' > skills/held/SKILL.md
printf -- '---\nname: one\nslug: same\ndescription: First.\n---\nFirst.\n' > skills/one/SKILL.md
printf -- '---\nname: two\nslug: same\ndescription: Second.\n---\nSecond.\n' > skills/two/SKILL.md
`)
	s := startSidecar(t, w, "--platform-url", "off")
	s.write(t, `printf -- '---\nname: [held\n---\nBroken.\n' > skills/held/SKILL.md`)
	need(t, s.Rescan(t.Context()))
	for target, want := range map[string]string{
		"/v1/skills/faulty/files/SKILL.md": "---\nname: [faulty\n---\nText.\n",
		"/v1/skills/held/files/SKILL.md":   "---\nname: [held\n---\nBroken.\n",
	} {
		if status := s.status(t, target); status != http.StatusConflict {
			t.Errorf("an agent reads %s: %d", target, status)
		}
		if got := s.answerTo(t, "GET", target+"?inspect=1", ""); string(got) != want {
			t.Errorf("%s: %q, want %q", target, got, want)
		}
	}
	req := must(http.NewRequestWithContext(t.Context(), "GET", "http://pannier/v1/skills/faulty/files/SKILL.md?inspect=1", nil))(t)
	req.Header.Set("Pannier-Scope", "read")
	if resp, err := s.HTTP.Do(req); err != nil {
		t.Fatal(err)
	} else if resp.Body.Close(); resp.StatusCode != http.StatusForbidden {
		t.Errorf("an inspection by a client that may only read: %d", resp.StatusCode)
	}
	const shadowed = "?inspect=1&skill_path=skills%2Ftwo"
	if got := s.answerTo(t, "GET", "/v1/skills/same/files/SKILL.md"+shadowed, ""); string(got) != "---\nname: two\nslug: same\ndescription: Second.\n---\nSecond.\n" {
		t.Errorf("shadowed: %q", got)
	}
	for target, want := range map[string]int{
		"/v1/skills/same/files/SKILL.md?skill_path=skills%2Ftwo":          http.StatusConflict,
		"/v1/skills/same/files/SKILL.md?inspect=1&skill_path=elsewhere":   http.StatusNotFound,
		"/v1/skills/same/files/..%2Ftwo%2FSKILL.md?inspect=1":             http.StatusForbidden,
		"/v1/skills/same/files/.git/config?inspect=1&skill_path=skills/1": http.StatusNotFound,
	} {
		if status := s.status(t, target); status != want {
			t.Errorf("%s: %d, want %d", target, status, want)
		}
	}
	s.answerTo(t, "GET", "/v1/skills/same/files/SKILL.md", "")
	loaded := 0
	for _, e := range s.all(t) {
		switch e.Type {
		case pannier.EventSkillLoaded:
			loaded++
		case pannier.EventSkillFileRead:
			t.Errorf("an inspection was recorded: %+v", e)
		}
	}
	if loaded != 1 {
		t.Errorf("%d texts were served, want the one that was no inspection", loaded)
	}
}
