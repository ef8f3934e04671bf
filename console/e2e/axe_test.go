package e2e_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"pannier/internal/testbench/browser"
	"pannier/internal/testbench/fixture"
)

// axeScript returns the program axe-core. .ci/console/check names it by PANNIER_AXE; else it is that of `npm ci` in console.
func axeScript(t *testing.T) string {
	t.Helper()
	name := os.Getenv("PANNIER_AXE")
	if name == "" {
		name = "../node_modules/axe-core/axe.min.js"
		if _, err := os.Stat(name); err != nil {
			t.Skip("axe-core is not installed: run `npm ci` in console")
		}
	}
	return readFile(t, name)
}

// violation is one of the rules of axe-core that a page does not keep.
type violation struct {
	ID, Impact, Help string
	Nodes            []struct{ HTML string }
}

// violationsOf returns what axe-core reports in what the page shows. The script runs by the protocol of the
// browser, which the policy of the page does not stop.
func violationsOf(t *testing.T, p *browser.Page, script string) (found []violation) {
	t.Helper()
	if !browser.Eval[bool](t, p, "typeof axe === 'object'") {
		browser.Eval[any](t, p, script+"\n;null")
	}
	text := browser.Eval[string](t, p, `axe.run(document, {resultTypes: ["violations"]}).then((r) => JSON.stringify(r.violations.map((v) => ({id: v.id, impact: v.impact, help: v.help, nodes: v.nodes.map((n) => ({html: n.html}))}))))`)
	if err := json.Unmarshal([]byte(text), &found); err != nil {
		t.Fatal(err)
	}
	return found
}

// checkAxe fails where the page has a violation in one of the looks. It ends with the first look, so that the page is used wide.
func checkAxe(t *testing.T, p *browser.Page, script, what string) {
	t.Helper()
	for i := range looks {
		look := looks[len(looks)-1-i]
		p.Show(t, browser.Look(look))
		for _, v := range violationsOf(t, p, script) {
			var nodes []string
			for _, n := range v.Nodes {
				nodes = append(nodes, n.HTML)
			}
			t.Errorf("%s, %s: %s (%s, %s): %.600s", what, look.name(), v.Help, v.ID, v.Impact, strings.Join(nodes, "\n"))
		}
	}
}

// checkPlanted fails where faults that are put into the page are not reported: then the other checks prove nothing.
func checkPlanted(t *testing.T, p *browser.Page, script string) {
	t.Helper()
	browser.Eval[any](t, p, `(() => {
		const planted = document.createElement("div");
		planted.id = "planted";
		planted.style.cssText = "color: #777; background: #888";
		planted.append("hard to read", Object.assign(new Image(8, 8), {src: "/console/favicon.svg"}));
		document.querySelector("main").prepend(planted);
	})()`)
	for _, look := range looks {
		p.Show(t, browser.Look(look))
		found := violationsOf(t, p, script)
		for _, id := range []string{"color-contrast", "image-alt"} {
			if !slices.ContainsFunc(found, func(v violation) bool { return v.ID == id }) {
				t.Errorf("planted, %s: %s is not among %v", look.name(), id, found)
			}
		}
	}
	browser.Eval[any](t, p, `document.querySelector("#planted").remove()`)
}

// TestAccessible: no view, tab or dialog has a violation at any of the sizes and themes.
func TestAccessible(t *testing.T) {
	script := axeScript(t)
	b := browser.Start(t)
	w := newWorld(t)
	w.write(t, fixture.SkillScript("alpha", "Counts.")+`
mkdir -p skills/broken skills/needy
printf -- '---\nname: broken\ndescription: x\nlist: {a: [1, 2\nother: "never closed\n---\nText.\n' > skills/broken/SKILL.md
printf -- '---\nname: needy\ndescription: Needs a program.\nmetadata: {"openclaw": {"requires": {"bins": ["no-such-program"]}}}\n---\n# Title\n\nA [link](https://example.org) and `+"`code`"+`.\n' > skills/needy/SKILL.md`)
	p := w.open(t, b)
	p.Wait(t, "the skills are there", rowSays("broken", "Not usable")+" && "+row("alpha")+" && "+row("needy"))
	checkPlanted(t, p, script)
	checkAxe(t, p, script, "skills")
	for _, hash := range []string{"#/turn", "#/card", "#/activity", "#/health"} {
		p.Go(t, at(t, p, hash))
		p.Wait(t, hash+" is shown", settled)
		checkAxe(t, p, script, hash)
	}
	for _, tab := range []string{"overview", "files", "requirements", "profiles", "problems", "scan", "tools", "versions", "source"} {
		for _, slug := range []string{"needy", "broken"} {
			hash := "#/skills/" + slug + "?tab=" + tab
			p.Go(t, at(t, p, hash))
			p.Wait(t, hash+" is shown", settled)
			checkAxe(t, p, script, hash)
		}
	}
	p.Go(t, at(t, p, "#/skills"))
	p.Wait(t, "the list is shown", row("alpha"))
	p.Type(t, "?")
	p.Wait(t, "the help is open", `document.querySelector("dialog[open], [role=dialog]")`)
	checkAxe(t, p, script, "help")
	p.Type(t, "\x1b")
	p.Wait(t, "the help is closed", `!document.querySelector("dialog[open]")`)
	browser.Eval[any](t, p, `void dispatchEvent(new KeyboardEvent("keydown", {key: "k", ctrlKey: true, bubbles: true}))`)
	p.Wait(t, "the palette is open", `document.querySelector("dialog[open] [role=option]")`)
	checkAxe(t, p, script, "palette")
	p.Type(t, "\x1b")
	p.Wait(t, "the palette is closed", `!document.querySelector("dialog[open]")`)
	p.Click(t, ".columns-row input")
	p.Wait(t, "the bar for many is shown", `document.querySelector(".bulk")`)
	checkAxe(t, p, script, "selected skills")
	p.Drop(t, folder(t, "pdf-forms", "Fills in PDF forms."))
	p.Wait(t, "the drop is checked", `[...document.querySelectorAll("button")].some((e) => e.innerText.startsWith("Install"))`)
	checkAxe(t, p, script, "drop panel")
}

// settled is an expression that is true when a view has been loaded.
const settled = `!document.querySelector("main [aria-busy=true]") && !document.querySelector("main")?.innerText.includes("Loading…")`

// checkAxeIfThere checks what a page shows where axe-core is installed.
func checkAxeIfThere(t *testing.T, p *browser.Page, what string) {
	t.Helper()
	t.Run(what, func(t *testing.T) { checkAxe(t, p, axeScript(t), what) })
}
