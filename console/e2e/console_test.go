package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"pannier/internal/testbench/browser"
	"pannier/internal/testbench/fixture"
)

// TestDropGoesLive drops a folder by drag events. It becomes usable, and stands on the card that the platform has.
func TestDropGoesLive(t *testing.T) {
	b := browser.Start(t)
	w := newWorld(t)
	p := w.open(t, b)
	p.Drop(t, folder(t, "pdf-forms", "Fills in PDF forms."))
	p.ClickText(t, "Install 1 skill")
	p.Wait(t, "it is on the card", onTheCard)
	p.Go(t, at(t, p, "#/skills"))
	p.Wait(t, "the row shows that the skill is usable", rowSays("pdf-forms", "By name only"))
	fixture.Eventually(t, "the platform has the card with the skill", func() error {
		h, err := w.Health(t.Context())
		if err != nil {
			return err
		}
		card, err := w.Card(t.Context())
		if err == nil && (!strings.Contains(string(card), `"pdf-forms"`) || len(h.Push) == 0 || h.Push[0].Acknowledged != h.Push[0].Desired) {
			err = fmt.Errorf("push %+v of %s", h.Push, card)
		}
		return err
	})
	checkOwnRequests(t, p)
}

// onTheCard is an expression that is true once the page says of a drop that the platforms have it.
const onTheCard = `[...document.querySelectorAll("[data-step=done]")].some((e) => e.innerText.includes("On the card"))`

// checkOwnRequests fails where the page has asked another host, or has sent a secret in an address.
func checkOwnRequests(t *testing.T, p *browser.Page) {
	t.Helper()
	origin := browser.Eval[string](t, p, "location.origin")
	token := browser.Eval[string](t, p, `sessionStorage.getItem("pannier.token") ?? ""`)
	for _, address := range p.Requests() {
		own := strings.HasPrefix(address, origin+"/") || strings.HasPrefix(address, "ws"+strings.TrimPrefix(origin, "http")+"/v1/rpc?ticket=") || strings.HasPrefix(address, "data:image/")
		if !own {
			t.Errorf("the page asked for %s", address)
		}
		if token != "" && strings.Contains(address, token) {
			t.Error("the token stands in an address")
		}
	}
}

// TestBrokenSkill shows the line of the fault, and what to do.
func TestBrokenSkill(t *testing.T) {
	b := browser.Start(t)
	w := newWorld(t)
	w.write(t, `mkdir skills/broken; printf -- '---\nname: broken\ndescription: x\nlist: {a: [1, 2\nother: "never closed\n---\nText.\n' > skills/broken/SKILL.md`)
	p := w.open(t, b)
	p.Wait(t, "the row shows that the skill is not usable", rowSays("broken", "Not usable"))
	skill, err := w.Skill(t.Context(), "broken", "")
	if err != nil || len(skill.Problems) == 0 {
		t.Fatalf("%+v %v", skill.Problems, err)
	}
	fault := skill.Problems[0]
	p.Go(t, at(t, p, "#/skills/broken?tab=problems"))
	p.WaitText(t, fmt.Sprintf("SKILL.md:%d", fault.Line))
	p.WaitText(t, fault.Hint[1:]) // a sentence of the page begins with a capital letter
}

// TestTwoBrowsers see each other's change, and one on the disk.
func TestTwoBrowsers(t *testing.T) {
	b := browser.Start(t)
	w := newWorld(t)
	w.write(t, fixture.SkillScript("alpha", "Counts."))
	one, two := w.open(t, b), w.open(t, b)
	for _, p := range []*browser.Page{one, two} {
		p.Wait(t, "the skill is there", rowSays("alpha", "Offered"))
	}
	browser.Eval[any](t, one, `fetch("/v1/policy/alpha", {method: "PUT", headers: {"Content-Type": "application/json", Authorization: "Bearer " + sessionStorage.getItem("pannier.token")}, body: '{"enabled":false}'}).then((r) => { if (!r.ok) throw new Error(r.status) })`)
	for _, p := range []*browser.Page{one, two} {
		p.Wait(t, "the row says that the skill is switched off", rowSays("alpha", "Switched off"))
	}
	w.write(t, fixture.SkillScript("beta", "Counts too."))
	for _, p := range []*browser.Page{one, two} {
		p.Wait(t, "the new skill appears", rowSays("beta", "Offered"))
	}
}

// TestManySkills counts what the page does with 10,000 of them: rows in the document, requests, and those after one change.
func TestManySkills(t *testing.T) {
	if testing.Short() {
		t.Skip("it writes 10,000 skills")
	}
	b := browser.Start(t)
	w := newWorld(t, "--scan", "off", "--platform-url", "off")
	w.write(t, `for i in $(seq 10000); do echo skill-$i; done | (cd skills; xargs mkdir; for d in *; do printf -- '---\nname: %s\ndescription: Does the work number %s.\n---\nDo it.\n' $d $d > $d/SKILL.md; done)`)
	fixture.Eventually(t, "all skills are served", func() error {
		h, err := w.Health(t.Context())
		if err == nil && h.Skills["eligible"] != 10000 {
			err = fmt.Errorf("%v", h.Skills)
		}
		return err
	})
	p := w.open(t, b)
	p.WaitText(t, "10,000")
	p.Wait(t, "rows are shown", `document.querySelectorAll(".skill-row").length > 5`)
	if rows := browser.Eval[int](t, p, `document.querySelectorAll(".skill-row").length`); rows > 100 {
		t.Errorf("%d rows are in the document", rows)
	}
	if nodes := browser.Eval[int](t, p, `document.querySelectorAll("*").length`); nodes > 3000 {
		t.Errorf("%d elements are in the document", nodes)
	}
	lists := func() (count int) {
		for _, address := range p.Requests() {
			if strings.Contains(address, "/v1/skills?include=policy") {
				count++
			}
		}
		return count
	}
	p.Go(t, at(t, p, "#/skills?q=skill-9999"))
	p.Wait(t, "the search finds one, of the last list", `document.querySelectorAll(".skill-row").length === 1 && `+row("skill-9999"))
	if n := lists(); n > 11 {
		t.Errorf("%d requests for lists of 1,000", n)
	}
	const sizes = `performance.getEntriesByType("resource").filter((e) => e.name.includes("/v1/skills?")).map((e) => e.decodedBodySize)`
	if bytes := browser.Eval[[]int](t, p, sizes); bytes[0] > 128<<10 || sum(bytes) > 8<<20 {
		t.Errorf("the lists have %d bytes", bytes)
	}
	before := lists()
	w.write(t, `sed -i 's/^name: .*/&\nversion: "2.7"/' skills/skill-9999/SKILL.md`)
	p.Wait(t, "the row shows the new version", rowSays("skill-9999", "2.7"))
	if n := lists() - before; n > 2 {
		t.Errorf("one changed skill took %d requests for lists", n)
	}
}

func sum(numbers []int) (sum int) {
	for _, n := range numbers {
		sum += n
	}
	return sum
}

// TestTokenRevoked: a page of the sidecar itself says that its session has ended, and goes on with another token.
func TestTokenRevoked(t *testing.T) {
	b := browser.Start(t)
	dir := t.TempDir()
	program, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	fixture.WriteIn(t, dir, program+" token ann write --append tokens > ann; "+program+" token bob read --append tokens > bob")
	w := newWorld(t, "--api-listen", "127.0.0.1:0", "--api-tokens", dir+"/tokens", "--console")
	w.write(t, fixture.SkillScript("alpha", "Counts."))
	p := b.Open(t, "http://"+w.apiAddress(t)+"/console/")
	login := func(form, name string) {
		t.Helper()
		p.Click(t, form+" input")
		p.Type(t, readFile(t, dir+"/"+name))
		p.ClickText(t, "Log in")
	}
	login("main", "ann")
	p.Wait(t, "the skill is there", rowSays("alpha", "Offered"))
	fixture.WriteIn(t, dir, "sed -i /^ann/d tokens")
	p.WaitText(t, "The session has ended")
	checkAxeIfThere(t, p, "dialog of an ended session")
	login("dialog[open]", "bob")
	p.Wait(t, "the session goes on", `!document.body.innerText.includes("The session has ended")`)
	p.WaitText(t, "Read only")
	checkOwnRequests(t, p)
}

// TestSidecarRestarts: the page says that the connection is lost, and goes on by itself.
func TestSidecarRestarts(t *testing.T) {
	b := browser.Start(t)
	w := newWorld(t)
	w.write(t, fixture.SkillScript("alpha", "Counts."))
	p := w.open(t, b)
	p.Wait(t, "the skill is there", rowSays("alpha", "Offered"))
	w.sidecar.stop(t)
	p.WaitText(t, "Connection lost")
	w.write(t, fixture.SkillScript("beta", "Counts too."))
	w.begin(t)
	p.Wait(t, "the page shows what came meanwhile", rowSays("beta", "Offered"))
	p.Wait(t, "it is connected", `!document.body.innerText.includes("Connection lost")`)
}

// TestReadOnly has no buttons that change something.
func TestReadOnly(t *testing.T) {
	b := browser.Start(t)
	w := newWorld(t)
	w.write(t, fixture.SkillScript("alpha", "Counts."))
	p := w.open(t, b, "--read-only")
	p.Wait(t, "the skill is there", rowSays("alpha", "Offered"))
	p.WaitText(t, "Read only")
	if browser.Eval[bool](t, p, `[...document.querySelectorAll("button, a")].some((e) => e.checkVisibility() && e.innerText.trim() === "Add skills")`) {
		t.Error("the page offers to add skills")
	}
	p.Drop(t, folder(t, "pdf-forms", "Fills in PDF forms."))
	if browser.Eval[bool](t, p, `[...document.querySelectorAll("button")].some((e) => e.innerText.startsWith("Install"))`) {
		t.Error("the page offers to install what was dropped")
	}
	if _, err := w.Skill(t.Context(), "pdf-forms", ""); err == nil {
		t.Error("the skill was installed")
	}
}
