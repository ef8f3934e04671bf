package e2e_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pannier/internal/testbench/browser"
	"pannier/internal/testbench/pictures"
)

// maxAnimation is the largest file of the animated picture.
const maxAnimation = 600 << 10

// TestAnimation drops a folder on the page and follows it until it is on the platform's card. With -pictures it writes the GIF.
func TestAnimation(t *testing.T) {
	b := browser.Start(t)
	w := newWorld(t)
	w.write(t, strings.ReplaceAll(sampleSkills, "skill install-helper", ": skill"))
	p := w.open(t, b)
	p.Show(t, browser.Look{Width: 960, Height: 600})
	p.Wait(t, "the list is shown", `document.querySelectorAll(".skill-row").length > 5`)
	dropped := folder(t, "pdf-forms", "Fills in PDF forms and reads back what they say.")
	var frames []pictures.Frame
	keep := func(shown time.Duration) {
		t.Helper()
		f := shoot(t, p)
		f.Shown = shown
		frames = append(frames, f)
	}
	browser.Eval[any](t, p, cursor)
	keep(800 * time.Millisecond)
	for i := range 8 {
		x, y := 900-float64(i)*60, 560-float64(i)*38
		browser.Eval[any](t, p, fmt.Sprintf("moveCursor(%f, %f)", x, y))
		p.Drag(t, x, y, dropped)
		keep(90 * time.Millisecond)
	}
	keep(500 * time.Millisecond)
	browser.Eval[any](t, p, "moveCursor(-100, -100)")
	p.Drop(t, dropped)
	p.Wait(t, "the page says what will happen", `[...document.querySelectorAll("button")].some((e) => e.innerText.trim() === "Install 1 skill" && !e.disabled)`)
	keep(1800 * time.Millisecond)
	p.ClickText(t, "Install 1 skill")
	keep(300 * time.Millisecond)
	p.Wait(t, "it is on the card", onTheCard)
	keep(2 * time.Second)
	p.ClickText(t, "Done")
	p.Wait(t, "the dialog is closed", `!document.querySelector("dialog[open]")`)
	p.Go(t, at(t, p, "#/skills"))
	p.Wait(t, "the skill is in the list", rowSays("pdf-forms", "By name only"))
	keep(1800 * time.Millisecond)
	p.Go(t, at(t, p, "#/turn"))
	p.Click(t, ".turn-form textarea")
	p.Type(t, "/skill:pdf-forms fill in the order")
	p.ClickText(t, "Try it")
	p.Wait(t, "the prompt has it", `document.querySelector(".prompt")?.innerText.includes("pdf-forms")`)
	keep(2500 * time.Millisecond)
	text, err := pictures.EncodeGIF(frames)
	if err != nil {
		t.Fatal(err)
	}
	writeBounded(t, "drop.gif", text, maxAnimation)
}

// cursor draws a folder that follows a drag: a browser without a window shows none.
const cursor = `(() => {
	const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
	svg.setAttribute("viewBox", "0 0 150 60");
	const part = (name, attributes, text) => {
		const e = document.createElementNS(svg.namespaceURI, name);
		for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
		if (text) e.textContent = text;
		svg.append(e);
	};
	part("path", {d: "M22 16h14l5 5h25v28h-44z", fill: "#e0a030", stroke: "#8a5c00"});
	part("text", {x: 72, y: 42, fill: "currentColor", "font-size": 15, "font-family": "sans-serif"}, "pdf-forms");
	part("path", {d: "M4 2l0 24 6-6 4 9 4-2-4-9 8 0z", fill: "#fff", stroke: "#000"});
	Object.assign(svg.style, {position: "fixed", width: "150px", height: "60px", zIndex: 2147483647, pointerEvents: "none"});
	svg.popover = "manual";
	document.body.append(svg);
	globalThis.moveCursor = (x, y) => Object.assign(svg.style, {left: x + "px", top: y + "px"});
	moveCursor(900, 560);
})()`
