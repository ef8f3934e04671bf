package e2e_test

import (
	"fmt"
	"testing"

	"pannier/internal/testbench/browser"
	"pannier/internal/testbench/fixture"
)

// TestList: the table answers whether the agent will use each skill, says why not, and lets one or many be changed.
func TestList(t *testing.T) {
	b := browser.Start(t)
	w := newWorld(t)
	w.write(t, fixture.SkillScript("alpha", "Counts apples.")+"\n"+fixture.SkillScript("beta", "Counts pears.")+`
mkdir skills/needy skills/shy
printf -- '---\nname: needy\ndescription: Needs a program.\nmetadata: {"openclaw": {"requires": {"bins": ["no-such-program"]}}}\n---\nText.\n' > skills/needy/SKILL.md
printf -- '---\nname: shy\ndescription: Waits.\ndisable-model-invocation: true\n---\nText.\n' > skills/shy/SKILL.md`)
	p := w.open(t, b)
	p.Wait(t, "each skill has its answer", rowSays("alpha", "Offered")+" && "+rowSays("shy", "By name only")+" && "+rowSays("needy", "Not usable"))
	p.Wait(t, "the row says why, and what to do", rowSays("needy", "no-such-program")+" && "+row("needy")+`.querySelector(".todo")`)
	if height := browser.Eval[float64](t, p, row("alpha")+".getBoundingClientRect().height"); height != 40 {
		t.Errorf("a row has %v pixels", height)
	}

	p.Click(t, `.skill-row[data-slug=alpha] [role=switch][aria-label*="offered"]`)
	p.Wait(t, "alpha is used by name only", rowSays("alpha", "By name only"))
	skill, err := w.Skill(t.Context(), "alpha", "")
	if err != nil || skill.Policy.AllowImplicit {
		t.Errorf("%+v %v", skill.Policy, err)
	}
	p.ClickText(t, "Undo")
	p.Wait(t, "alpha is offered again", rowSays("alpha", "Offered"))

	const slugs = `[...document.querySelectorAll(".skill-row[data-slug]")].map((e) => e.dataset.slug).join()`
	p.Click(t, `.column[data-column=use]`)
	p.Wait(t, "sorted by the answer", slugs+` === "alpha,beta,shy,needy"`)
	p.Click(t, `.column[data-column=use]`)
	p.Wait(t, "sorted backwards", slugs+` === "needy,shy,alpha,beta"`)
	p.Click(t, `.column[data-column=slug]`)
	p.Wait(t, "sorted by name", slugs+` === "alpha,beta,needy,shy"`)

	p.Click(t, `.columns-row input`)
	p.ClickText(t, "Switch off")
	p.Wait(t, "all are off", `document.querySelectorAll(".skill-row [data-use=off]").length === 4`)
	p.ClickText(t, "Undo")
	p.Wait(t, "all are as before", rowSays("alpha", "Offered")+" && "+rowSays("beta", "Offered")+" && "+rowSays("shy", "By name only"))
	fixture.Eventually(t, "the sidecar has it so", func() error {
		for _, slug := range []string{"alpha", "beta"} {
			if s, err := w.Skill(t.Context(), slug, ""); err != nil || !s.Usable {
				return fmt.Errorf("%s: %+v %w", slug, s.Policy, err)
			}
		}
		return nil
	})

	browser.Eval[any](t, p, `void dispatchEvent(new KeyboardEvent("keydown", {key: "k", ctrlKey: true, bubbles: true}))`)
	p.Wait(t, "the palette has the focus", `document.activeElement?.getAttribute("role") === "combobox"`)
	p.Type(t, "need")
	p.Wait(t, "it finds the skill", says("#palette", "needy"))
	p.Type(t, "\r")
	p.Wait(t, "the skill is shown", `location.hash.startsWith("#/skills/needy") && !document.querySelector("dialog[open]")`)
}

// TestFaultsAreSaid: the list says that a frontmatter was repaired, and health that skills cannot be used, also while it is ok.
func TestFaultsAreSaid(t *testing.T) {
	b := browser.Start(t)
	w := newWorld(t)
	w.write(t, fixture.SkillScript("alpha", "Counts apples.")+`
mkdir skills/mended skills/needy
printf -- '---\nname: mended\ndescription: Use when: the user asks\n---\nText.\n' > skills/mended/SKILL.md
printf -- '---\nname: needy\ndescription: Needs a program.\nmetadata: {"openclaw": {"requires": {"bins": ["no-such-program"]}}}\n---\nText.\n' > skills/needy/SKILL.md`)
	p := w.open(t, b)
	p.Wait(t, "the row says that the frontmatter was repaired", rowSays("mended", "read as it was meant"))
	p.Wait(t, "it needs attention", `document.querySelector(".chip[data-state=attention]")?.innerText.includes("2")`)
	p.Go(t, at(t, p, "#/health"))
	p.WaitText(t, "1 of 3 skills cannot be used")
	p.WaitText(t, "A skill is not usable while the sidecar's container lacks a program that it needs.")
	w.write(t, `sed -i 's/^description: .*/description: Mended now./' skills/mended/SKILL.md`)
	p.Go(t, at(t, p, "#/skills"))
	p.Wait(t, "the row says what it is for", rowSays("mended", "Mended now."))
}

// TestLastKnownState: while the sidecar is away, the page shows what it has read, and says what it has not.
func TestLastKnownState(t *testing.T) {
	b := browser.Start(t)
	w := newWorld(t)
	w.write(t, fixture.SkillScript("alpha", "Counts apples.")+"\n"+fixture.SkillScript("beta", "Counts pears."))
	p := w.open(t, b)
	show := func(hash string) { browser.Eval[any](t, p, "void (location.hash = "+browser.Quote(hash)+")") }
	p.Wait(t, "the skills are there", rowSays("alpha", "Offered")+" && "+rowSays("beta", "Offered"))
	show("#/card")
	p.WaitText(t, "Desired card")
	show("#/skills/alpha")
	p.Wait(t, "the skill is read", says(".skill .tabpanel", "Do it."))
	show("#/skills")
	p.Wait(t, "the list is shown", row("beta"))
	w.sidecar.stop(t)
	p.WaitText(t, "Connection lost")
	show("#/skills/alpha")
	p.Wait(t, "the skill is as it was read", says(".skill .skill-id", "alpha")+` && document.querySelector(".skill .tabpanel")`)
	show("#/skills/beta")
	p.Wait(t, "the other is as the list knows it", says(".skill", "Counts pears.")+" && "+says(".skill", "not read before the connection was lost"))
	show("#/card")
	p.Wait(t, "the card is as it was read", says(".card-view", "Counts pears."))
	if browser.Eval[bool](t, p, `document.querySelector("main [role=alert]") !== null`) {
		t.Error("an error is shown beside the last known state")
	}
	w.begin(t)
	p.Wait(t, "it is connected", `!document.body.innerText.includes("Connection lost")`)
}
