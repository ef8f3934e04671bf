package e2e_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"pannier/internal/testbench/browser"
	"pannier/internal/testbench/fixture"
)

// canvasFrame is in the address of the frame that the example has.
const canvasFrame = "/console/embed/skills"

// openCanvas serves the example, and opens it with a sidecar.
func openCanvas(t *testing.T, b *browser.Browser) (w *world, c *counted, p *browser.Page) {
	t.Helper()
	var token string
	files := http.FileServer(http.Dir("../../examples/canvas"))
	canvas := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/token" {
			fmt.Fprintln(w, token)
			return
		}
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(canvas.Close)
	w, c, token = teamPage(t, canvas.URL)
	return w, c, b.Open(t, canvas.URL+"/?pannier="+c.URL)
}

// TestCanvas drives the example: a skill is dropped on its frame, which tells what was installed, follows the theme and the height,
// and ignores what other pages send.
func TestCanvas(t *testing.T) {
	b := browser.Start(t)
	w, c, p := openCanvas(t, b)
	w.write(t, fixture.SkillScript("alpha", "Counts."))
	const frame = canvasFrame
	p.WaitInFrame(t, "the skills are shown", frame, rowSays("alpha", "Offered"))
	p.WaitInFrame(t, "there is a zone to drop on", frame, says(".drop-pickers", "Drop a folder"))
	p.Wait(t, "the frame is as high as its content", `parseInt(document.querySelector("iframe").style.height) > 240`)
	const height = `parseInt(document.querySelector("iframe").style.height)`
	before := browser.Eval[int](t, p, height)

	p.Drop(t, folder(t, "pdf-forms", "Fills in PDF forms."))
	const clickInstall = `(() => { const b = [...document.querySelectorAll("button:enabled")].find((e) => e.innerText === "Install 1 skill"); b?.click(); return b; })()`
	p.WaitInFrame(t, "the skill can be installed", frame, clickInstall)
	p.Wait(t, "the page knows what was installed", says("#events", "installed pdf-forms"))
	p.WaitInFrame(t, "the skill is in the list", frame, rowSays("pdf-forms", "By name only"))
	p.Wait(t, "the frame is higher", fmt.Sprintf("%s > %d", height, before))

	const style = `getComputedStyle(document.documentElement)`
	p.WaitInFrame(t, "the frame is light, with the color of the page", frame, style+`.colorScheme === "light" && `+style+`.getPropertyValue("--accent") === "#6b3fa0"`)
	p.Click(t, "#dark")
	p.WaitInFrame(t, "the frame is dark", frame, style+`.colorScheme === "dark" && `+style+`.getPropertyValue("--accent") === "#c9a6f0"`)

	stranger := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<script>
			parent.frames[0].postMessage({type: "pannier.theme", scheme: "light", colors: {surface: "red"}}, "*");
			parent.frames[0].postMessage({type: "pannier.token", token: "of another page"}, "*");
			parent.postMessage({type: "pannier.installed", slug: "forged"}, "*");
			parent.postMessage("sent", "*");
		</script>`)
	}))
	defer stranger.Close()
	browser.Eval[any](t, p, `new Promise((done) => {
		addEventListener("message", (e) => e.data === "sent" && done(null));
		document.body.append(Object.assign(document.createElement("iframe"), {src: `+browser.Quote(stranger.URL)+`}));
	})`)
	p.Click(t, "#dark")
	p.WaitInFrame(t, "the frame has taken a later message of the page", frame, style+`.getPropertyValue("--accent") === "#6b3fa0"`)
	p.WaitInFrame(t, "nothing of the stranger was taken", frame, style+`.getPropertyValue("--surface") !== "red" && !document.body.innerText.includes("Log in")`)
	if browser.Eval[bool](t, p, says("#events", "forged")) {
		t.Error("the page shows an event of another origin")
	}

	const openAlpha = `(document.querySelector(".skill-row[data-slug=alpha] a").click(), true)`
	p.WaitInFrame(t, "the skill is opened", frame, openAlpha)
	p.Wait(t, "the page knows what was selected", says("#events", "selected alpha"))
	if open, _ := c.streams(); open != 1 {
		t.Errorf("%d streams are open", open)
	}
}
