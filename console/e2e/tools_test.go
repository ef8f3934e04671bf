package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"pannier/internal/testbench/browser"
	"pannier/internal/testbench/fixture"
)

// toolSkill is the script that makes a skill with a tool that writes its arguments back.
const toolSkill = `mkdir -p skills/echoes; cat > skills/echoes/SKILL.md <<'END'
---
name: echoes
description: Writes back what it gets.
runtime:
  tools:
    - tool_slug: echo
      kind: shell
      description: Writes its arguments back.
      config: {command: [cat]}
      parameters:
        type: object
        additionalProperties: false
        required: [days]
        properties: {days: {type: integer, description: Number of days.}, note: {type: string}, kind: {type: string, enum: [sum, mean]}}
      output_policy: {llm: {mode: full}, storage: {mode: full}, timeline: {mode: full}}
    - tool_slug: make
      kind: shell
      description: Leaves a file.
      config: {command: [sh, -c, 'echo apples > "$PANNIER_ARTIFACTS/report.txt"']}
---
Echo.
END`

// TestToolIsAllowedAndRun: a tool says that it needs a permission; the page shows what that covers, gives it, and runs the tool.
func TestToolIsAllowedAndRun(t *testing.T) {
	b := browser.Start(t)
	w := newWorld(t, "--tools-enabled", "--tools-runner=self")
	w.write(t, toolSkill)
	p := w.open(t, b)
	p.Wait(t, "the skill is there", rowSays("echoes", "Offered"))
	p.Go(t, at(t, p, "#/skills/echoes?tab=tools"))
	p.Wait(t, "the tool cannot be called", `document.querySelector("[data-tool='skill.echoes.echo'][data-callable=false]")`)
	p.WaitText(t, "These tools need a permission")
	p.ClickText(t, "Allow the tools…")
	p.Wait(t, "the dialog shows what is covered", says("dialog[open]", "1 file")+" && "+says("dialog[open]", "cat")+" && "+says("dialog[open]", "No network")+" && "+says("dialog[open]", "No findings"))
	checkAxeIfThere(t, p, "allow dialog")
	p.ClickText(t, "Allow")
	p.Wait(t, "the tool can be called", `document.querySelector("[data-tool='skill.echoes.echo'][data-callable=true]")`)

	openForm(t, p, "make")
	p.Click(t, `[data-tool='skill.echoes.make'] form button[type=submit]`)
	p.Wait(t, "the file of the call is shown", `document.querySelector("[data-artifact='report.txt']")`)
	p.ClickText(t, "Download")
	fixture.Eventually(t, "the file is read", func() error {
		for _, address := range p.Requests() {
			if strings.HasSuffix(address, "/artifacts/report.txt") {
				return nil
			}
		}
		return fmt.Errorf("%q", p.Requests())
	})

	openForm(t, p, "echo")
	p.Click(t, "#parameter-days")
	p.Type(t, "many")
	p.Click(t, `[data-tool='skill.echoes.echo'] form button[type=submit]`)
	p.WaitText(t, "This is not a number.")
	p.Click(t, "#parameter-days")
	p.Type(t, "\b\b\b\b7")
	p.Click(t, "#parameter-note")
	p.Type(t, "apples")
	p.Click(t, `[data-tool='skill.echoes.echo'] form button[type=submit]`)
	p.Wait(t, "the result has the arguments", `document.querySelector("[data-tool='skill.echoes.echo'] [data-result=true]")?.innerText.replace(/\s/g, "").includes('"days":7,"note":"apples"')`)
	checkAxeIfThere(t, p, "result of a tool")
	p.ClickText(t, "Take the permission back")
	p.Wait(t, "the tool cannot be called", `document.querySelector("[data-tool='skill.echoes.echo'][data-callable=false]")`)
}

// openForm opens the form of a tool. It clicks without the mouse, because messages move the page.
func openForm(t *testing.T, p *browser.Page, tool string) {
	t.Helper()
	article := "document.querySelector(\"[data-tool='skill.echoes." + tool + "'][data-callable=true]\")"
	p.Wait(t, "the tool can be called", article+"?.querySelector('div.line .button')")
	browser.Eval[any](t, p, article+".querySelector('div.line .button').click()")
	p.Wait(t, "the form is open", article+"?.querySelector('form')")
}
