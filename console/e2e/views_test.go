package e2e_test

import (
	"strings"
	"testing"

	"pannier"
	"pannier/internal/testbench/browser"
	"pannier/internal/testbench/fixture"
)

// says is an expression that is true when an element has a text.
func says(selector, text string) string {
	return "document.querySelector(" + browser.Quote(selector) + ")?.innerText.includes(" + browser.Quote(text) + ")"
}

// TestSwitchOffLeavesThePrompt tries a turn, switches a skill off on the page, and sees it leave the prompt.
func TestSwitchOffLeavesThePrompt(t *testing.T) {
	b := browser.Start(t)
	w := newWorld(t)
	w.write(t, fixture.SkillScript("alpha", "Counts apples.")+"\n"+fixture.SkillScript("beta", "Counts pears."))
	p := w.open(t, b)
	p.Go(t, at(t, p, "#/turn"))
	p.Wait(t, "the prompt offers both skills", says(".prompt", "Counts apples.")+" && "+says(".prompt", "Counts pears."))
	p.Go(t, at(t, p, "#/skills"))
	p.Click(t, `[role=switch][aria-label*="alpha"]`)
	p.Go(t, at(t, p, "#/turn"))
	p.Wait(t, "the skill is told as switched off", `[...document.querySelectorAll(".turn-result li")].some((e) => e.innerText.includes("alpha") && e.innerText.includes("switched off"))`)
	p.Wait(t, "its lines are shown as removed", `[...document.querySelectorAll(".diff-row.removed .left, .diff-row.changed .left")].some((e) => e.innerText.includes("Counts apples."))`)
	p.Wait(t, "the other skill stays", says(".diff", "Counts pears."))
	skill, err := w.Skill(t.Context(), "alpha", "")
	if err != nil || skill.Usable {
		t.Errorf("the skill is usable: %v", err)
	}
	checkOwnRequests(t, p)
}

// TestTriedTurnsAreNotRecorded: neither an event nor a time of use tells of a tried turn, by name or not.
func TestTriedTurnsAreNotRecorded(t *testing.T) {
	b := browser.Start(t)
	w := newWorld(t)
	w.write(t, fixture.SkillScript("alpha", "Counts apples."))
	p := w.open(t, b)
	p.Go(t, at(t, p, "#/turn"))
	p.Click(t, ".turn-form textarea")
	p.Type(t, "/skill:alpha a basket and $nothing")
	p.ClickText(t, "Try it")
	p.WaitText(t, "Arguments: a basket and $nothing")
	p.ClickText(t, "molecule ≈ "+browser.Eval[string](t, p, `(async () => { for (;;) { const tab = [...document.querySelectorAll("[role=tab]")].find((e) => /^molecule ≈/.test(e.innerText)); if (tab) return tab.innerText.replace(/.*≈ /, ""); await new Promise(requestAnimationFrame); } })()`))
	p.Wait(t, "the prompt has the instructions", says(".prompt", "## Your Skills"))
	used := browser.Eval[string](t, p, `fetch("/v1/skills?include=activity", {headers: {Authorization: "Bearer " + sessionStorage.getItem("pannier.token")}}).then((r) => r.text())`)
	if strings.Contains(used, "active_at") || strings.Contains(used, "loaded_at") {
		t.Errorf("the turn set a time of use: %s", used)
	}
	p.Go(t, at(t, p, "#/activity"))
	p.Wait(t, "the events are shown", says("#events", "alpha"))
	if browser.Eval[bool](t, p, `/A turn was resolved|called by name|instructions were read/.test(document.querySelector("#events").innerText)`) {
		t.Error("the turn is among the events")
	}
}

// TestFixTurnsHealthOK leads from the condition to the skill; once the file is right, health is ok without a reload.
func TestFixTurnsHealthOK(t *testing.T) {
	b := browser.Start(t)
	w := newWorld(t)
	w.write(t, `mkdir skills/broken; printf -- '---\nname: "broken\ndescription: [a, b\n---\nText.\n' > skills/broken/SKILL.md`)
	p := w.open(t, b)
	p.Go(t, at(t, p, "#/health"))
	p.Wait(t, "health is degraded", `document.querySelector("[data-status=degraded]")`)
	p.ClickText(t, "Open broken")
	p.Wait(t, "the problems of the skill are shown", `location.hash.startsWith("#/skills/broken") && document.body.innerText.includes("never closed")`)
	p.Go(t, at(t, p, "#/health"))
	p.Wait(t, "the condition is shown", `document.querySelector("[data-code=skills_unreadable]")`)
	w.write(t, `printf -- '---\nname: broken\ndescription: Closed.\n---\nText.\n' > skills/broken/SKILL.md`)
	p.Wait(t, "health is ok", `document.querySelector("[data-status=ok]") && !document.querySelector("[data-code=skills_unreadable]")`)
	p.ClickText(t, "Rescan now")
	p.WaitText(t, "The workspace was read again.")
	if command := browser.Eval[string](t, p, `[...document.querySelectorAll(".command code")].map((e) => e.innerText).join("\n")`); !strings.Contains(command, "pannier health --socket "+w.socket) {
		t.Errorf("the command does not reach this sidecar: %s", command)
	}
}

// TestCardIsInStep tells what the platform has, and says so where there is none.
func TestCardIsInStep(t *testing.T) {
	b := browser.Start(t)
	w := newWorld(t)
	w.write(t, fixture.SkillScript("alpha", "Counts apples."))
	p := w.open(t, b)
	p.Go(t, at(t, p, "#/card"))
	p.Wait(t, "the platform has the card with the skill", `document.querySelector("[data-state=in_step]") && `+says(".card-view", "Counts apples."))
	w.write(t, fixture.SkillScript("beta", "Counts pears."))
	p.Wait(t, "the platform has the next card too", `document.querySelector("[data-state=in_step]") && `+says(".card-view", "Counts pears."))

	off := newWorld(t, "--platform-url", "off")
	p = off.open(t, b)
	p.Go(t, at(t, p, "#/card"))
	p.WaitText(t, "No platform is configured")
}

// TestActivityIsLive shows events as they come, pauses, filters, and shows data.
func TestActivityIsLive(t *testing.T) {
	b := browser.Start(t)
	w := newWorld(t)
	w.write(t, fixture.SkillScript("alpha", "Counts apples."))
	p := w.open(t, b)
	p.Wait(t, "the skill is there", rowSays("alpha", "Offered"))
	p.Go(t, at(t, p, "#/activity"))
	p.Wait(t, "what happened before is shown", says("#events", "alpha was added and is usable"))
	p.ClickText(t, "Pause")
	w.write(t, fixture.SkillScript("beta", "Counts pears."))
	p.Wait(t, "the events wait", `/Paused; [0-9]+ events? came since/.test(document.body.innerText)`)
	if browser.Eval[bool](t, p, says("#events", "beta")) {
		t.Error("an event is shown during the pause")
	}
	p.Click(t, ".toolbar button")
	p.Wait(t, "the events follow", says("#events", "beta was added and is usable"))
	p.Click(t, "#event-filter")
	p.Type(t, "BET")
	p.Wait(t, "only those of the skill are shown", says("#events", "beta")+" && !"+says("#events", "alpha was added"))
	p.ClickText(t, "Data")
	p.Wait(t, "the data is shown", `document.querySelector("dialog[open] .code")?.innerText.includes('"workspace_id"')`)
	p.Type(t, "\x1b")
	p.Wait(t, "the dialog is closed", `!document.querySelector("dialog[open]")`)
}

// TestAuditLog names who changed what, and that the chain is whole.
func TestAuditLog(t *testing.T) {
	b := browser.Start(t)
	w := newWorld(t)
	w.write(t, fixture.SkillScript("alpha", "Counts apples."))
	p := w.open(t, b)
	p.Go(t, at(t, p, "#/activity?tab=audit"))
	p.WaitText(t, "No client has changed anything yet")
	p.Go(t, at(t, p, "#/skills"))
	p.Click(t, `[role=switch][aria-label*="alpha"]`)
	p.Go(t, at(t, p, "#/activity?tab=audit"))
	p.WaitText(t, "set the policy of alpha")
	p.Wait(t, "the chain is intact, with the change", says(".activity", "The chain is intact: 2 entries"))
	if _, err := w.Uninstall(t.Context(), pannier.RemoveRequest{Slug: "alpha"}); err == nil {
		t.Fatal("a skill was removed that pannier did not install")
	}
	browser.Eval[any](t, p, `dispatchEvent(new Event("focus"))`) // no event tells of a refused change
	p.Wait(t, "the refused change is shown", says(".audit", "failed"))
}

// TestHelp explains the keys and the views; Escape closes it.
func TestHelp(t *testing.T) {
	b := browser.Start(t)
	w := newWorld(t)
	p := w.open(t, b)
	for _, view := range []string{"skills", "turn", "card", "activity", "health"} {
		p.Go(t, at(t, p, "#/"+view))
		p.Type(t, "?")
		p.Wait(t, "the help is shown", says("dialog[open]", "Next and previous row"))
		p.Type(t, "\x1b")
		p.Wait(t, "the help is closed", `!document.querySelector("dialog[open]")`)
	}
}
