package e2e_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pannier/internal/testbench/browser"
	"pannier/internal/testbench/fixture"
)

// verdict is an expression that is true when the row of a dropped skill has a verdict.
func verdict(path, verdict string) string {
	return "document.querySelector('.drop-row[data-path=" + path + "]')?.dataset.verdict === " + browser.Quote(verdict)
}

// TestDropOfTen installs nine of ten skills. The tenth says what is wrong, and where; what is hidden stays behind.
func TestDropOfTen(t *testing.T) {
	b := browser.Start(t)
	w := newWorld(t)
	p := w.open(t, b)
	dir := t.TempDir()
	var script strings.Builder
	for i := range 9 {
		script.WriteString(fixture.SkillScript(fmt.Sprintf("good-%d", i), "Counts."))
	}
	script.WriteString(`mkdir skills/bad skills/good-0/node_modules; printf -- '---\nname: [bad\ndescription: x\n---\nText.\n' > skills/bad/SKILL.md
echo SECRET=1 > skills/good-0/.env; echo x > skills/good-0/node_modules/x.js; echo '*.log' > skills/good-0/.clawhubignore; echo x > skills/good-0/a.log`)
	fixture.WriteIn(t, dir, script.String())
	p.Drop(t, filepath.Join(dir, "skills"))
	p.Wait(t, "the faulty skill is refused", verdict("bad", "refused"))
	p.WaitText(t, "skills/bad/SKILL.md:3")
	p.WaitText(t, "3 files or folders left out")
	p.Click(t, ".offer label:last-child input") // one choice for all of them
	p.ClickText(t, "Install 9 skills")
	for i := range 9 {
		p.Wait(t, "a skill is installed", verdict(fmt.Sprintf("good-%d", i), "installed"))
	}
	for i := range 9 {
		fixture.Eventually(t, "it is offered to the model", func() error {
			skill, err := w.Skill(t.Context(), fmt.Sprintf("good-%d", i), "")
			if err == nil && !skill.Policy.AllowImplicit {
				err = fmt.Errorf("%+v", skill.Policy)
			}
			return err
		})
	}
	p.Wait(t, "all are on the card", `document.querySelectorAll('.live-steps li:nth-child(3)[data-step=done]').length === 9`)
	for _, name := range []string{".env", "node_modules", "a.log"} {
		if _, err := os.Lstat(filepath.Join(w.dir, "skills", "good-0", name)); err == nil {
			t.Errorf("%s was installed", name)
		}
	}
	if _, err := os.Lstat(filepath.Join(w.dir, "skills", "bad")); err == nil {
		t.Error("the faulty skill was installed")
	}
}

// TestUploadGoesOn through a connection that is cut in the middle, and through a pause.
func TestUploadGoesOn(t *testing.T) {
	b := browser.Start(t)
	w := newWorld(t)
	proxy := startProxy(t, w.socket, 2<<20)
	p := b.Open(t, w.link(t, "--socket", proxy.socket))
	p.Wait(t, "the page is logged in", loggedIn)
	noise := make([]byte, 6<<20)
	for i, r := 0, rand.New(rand.NewPCG(1, 2)); i < len(noise); i++ {
		noise[i] = byte(r.Uint32())
	}
	skill := folder(t, "large", "Has a large file.")
	if err := os.WriteFile(filepath.Join(skill, "noise.bin"), noise, 0o600); err != nil {
		t.Fatal(err)
	}
	p.Drop(t, skill)
	proxy.awaitFull(t)
	p.ClickText(t, "Pause")
	p.Wait(t, "the upload is paused", `document.querySelector('.upload')?.dataset.phase === "paused"`)
	proxy.cut()
	p.ClickText(t, "Resume")
	p.WaitText(t, "the upload went on where it was")
	p.ClickText(t, "Install 1 skill")
	p.Wait(t, "the skill is installed", verdict("large", "installed"))
	if got := readFile(t, filepath.Join(w.dir, "skills", "large", "noise.bin")); got != strings.TrimSpace(string(noise)) {
		t.Errorf("%d bytes arrived, and they differ", len(got))
	}
}

// TestSkillReplacedTwice in two browsers: the second sees that the first was faster, and chooses.
func TestSkillReplacedTwice(t *testing.T) {
	b := browser.Start(t)
	w := newWorld(t)
	one, two := w.open(t, b), w.open(t, b)
	version := func(v string) string {
		return folder(t, "shared", "Version "+v+".", `sed -i 's/^name: .*/&\nversion: "`+v+`"/' skills/shared/SKILL.md`)
	}
	one.Drop(t, version("1.0.0"))
	one.ClickText(t, "Install 1 skill")
	one.Wait(t, "the skill is installed", verdict("shared", "installed"))
	one.ClickText(t, "Done")
	for i, p := range []*browser.Page{one, two} {
		p.Drop(t, version(fmt.Sprintf("%d.0.0", i+2)))
		p.Wait(t, "the page says that another version is installed", verdict("shared", "exists"))
		p.WaitText(t, fmt.Sprintf("1.0.0 → %d.0.0", i+2))
		p.ClickText(t, "Show the difference")
		p.Wait(t, "the difference is shown before", says(".difference-of-drop .diff-row.changed .right", fmt.Sprintf("%d.0.0", i+2)))
		p.Wait(t, "both versions of a line stand beside each other, in colors, and only the content of the dialog scrolls", `(() => {
			const side = (name) => document.querySelector(".difference-of-drop .diff-row.changed " + name);
			const place = (e) => e.getBoundingClientRect(), color = (e) => getComputedStyle(e).backgroundColor;
			const dialog = document.querySelector("dialog[open]");
			return place(side(".left")).top === place(side(".right")).top && color(side(".left")) !== color(side(".right")) &&
				dialog.scrollHeight <= dialog.clientHeight;
		})()`)
		p.ClickText(t, "Replace it")
		p.Wait(t, "the page shows both versions", verdict("shared", "update"))
	}
	one.ClickText(t, "Replace 1 skill")
	one.Wait(t, "the first has replaced it", verdict("shared", "replaced"))
	two.ClickText(t, "Replace 1 skill")
	two.Wait(t, "the second sees the conflict", verdict("shared", "changed"))
	two.WaitText(t, "2.0.0 → 3.0.0")
	two.ClickText(t, "Replace with mine")
	two.ClickText(t, "Replace 1 skill")
	two.Wait(t, "the second has replaced it", verdict("shared", "replaced"))
	if text := readFile(t, filepath.Join(w.dir, "skills", "shared", "SKILL.md")); !strings.Contains(text, "3.0.0") {
		t.Errorf("installed:\n%s", text)
	}
}

// TestReplacedSkillStaysOffered: a skill that was placed by hand is offered to the model. The page asks whether it stays so.
func TestReplacedSkillStaysOffered(t *testing.T) {
	b := browser.Start(t)
	w := newWorld(t)
	w.write(t, fixture.SkillScript("by-hand", "Counts."))
	p := w.open(t, b)
	p.Wait(t, "the skill is offered", rowSays("by-hand", "Offered"))
	p.Drop(t, folder(t, "by-hand", "Counts more."))
	p.ClickText(t, "Replace it")
	p.WaitText(t, "The model is offered it now.")
	p.Click(t, ".offer label:last-child input")
	p.ClickText(t, "Replace 1 skill")
	p.Wait(t, "it is replaced", verdict("by-hand", "replaced"))
	p.ClickText(t, "Done")
	p.Wait(t, "the new text is offered", rowSays("by-hand", "Counts more.")+" && "+rowSays("by-hand", "Offered"))
}

// TestDropsThatCannotBe say why before anything is sent.
func TestDropsThatCannotBe(t *testing.T) {
	b := browser.Start(t)
	w := newWorld(t)
	p := w.open(t, b)
	many := folder(t, "many", "Has many files.", `mkdir skills/many/data; cd skills/many/data; seq 5000 | xargs touch`)
	huge := folder(t, "huge", "Has a huge file.", `truncate -s 200M skills/huge/model.bin`)
	none := t.TempDir()
	fixture.WriteIn(t, none, `mkdir photos; echo x > photos/a.txt`)
	for _, tt := range []struct{ path, says string }{
		{many, "the sidecar takes 2,048. Most are in data/"},
		{huge, "huge/model.bin has 200.0 MiB; the sidecar takes files up to 50.0 MiB"},
		{filepath.Join(none, "photos"), "No skill found in photos"},
	} {
		p.Drop(t, tt.path)
		p.WaitText(t, tt.says)
	}
	bomb := filepath.Join(t.TempDir(), "bomb.zip")
	if err := os.WriteFile(bomb, zipOf(t, "bomb", bytes.NewReader(make([]byte, 60<<20))), 0o600); err != nil {
		t.Fatal(err)
	}
	p.Drop(t, bomb)
	p.WaitText(t, "bomb.zip/bomb/data.bin has 60.0 MiB; the sidecar takes files up to 50.0 MiB")
	p.Wait(t, "nothing can be installed", `![...document.querySelectorAll("dialog button")].some((b) => b.innerText.startsWith("Install"))`)
	for _, address := range p.Requests() {
		if strings.Contains(address, "/v1/rpc") {
			t.Errorf("something was sent: %s", address)
		}
	}
}
