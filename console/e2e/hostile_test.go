package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"pannier/internal/testbench/browser"
	"pannier/internal/testbench/fixture"
)

// trap is a server that no page may ask, and an expression that no page may evaluate.
type trap struct {
	*httptest.Server
	asked atomic.Int64
}

func newTrap(t *testing.T) *trap {
	t.Helper()
	trap := &trap{}
	trap.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { trap.asked.Add(1); w.WriteHeader(http.StatusNoContent) }))
	t.Cleanup(trap.Close)
	return trap
}

// hostileTexts are what skills say. RUN is replaced by a script, HOST by the address of the trap.
var hostileTexts = []string{
	`<script>RUN</script>`, `<img src=x onerror="RUN">`, `<img src="HOST/a.png">`, `![x](HOST/b.png)`, `<svg onload="RUN"></svg>`,
	`<svg><script>RUN</script></svg>`, `<iframe src="HOST/c"></iframe>`, `<iframe srcdoc="<script>RUN</script>"></iframe>`, `[x](javascript:RUN)`,
	`<a href="javascript:RUN" autofocus onfocus="RUN">x</a>`, `<details open ontoggle="RUN">x</details>`, `<video src="HOST/d" autoplay onerror="RUN"></video>`,
	`<audio src="HOST/e" autoplay></audio>`, `<object data="HOST/f"></object>`, `<embed src="HOST/g">`, `<link rel="stylesheet" href="HOST/h.css">`,
	`<style>@import url("HOST/i.css"); body { background: url("HOST/j.png") }</style>`, `<div style="background:url(HOST/k.png)">x</div>`, `<base href="HOST/">`,
	`<meta http-equiv="refresh" content="0;url=HOST/l">`, `<form action="HOST/m"><button autofocus>x</button></form>`, `<input type="image" src="HOST/n.png">`,
	`<math><mtext><table><mglyph><style><img src=x onerror="RUN"></style></mglyph></table></mtext></math>`, `<noscript><p title="</noscript><img src=x onerror=RUN>"></noscript>`,
	`<template><script>RUN</script></template>`, `<body onload="RUN">`, `<marquee onstart="RUN">x</marquee>`, `<select autofocus onfocus="RUN"></select>`,
	`<a href="data:text/html,<script>RUN</script>">x</a>`, `<picture><source srcset="HOST/o.png"><img srcset="HOST/p.png 2x"></picture>`,
	`<svg><image href="HOST/q.png"/><use href="HOST/r.svg#x"/></svg>`, `<svg><a xlink:href="javascript:RUN"><text>x</text></a></svg>`, `<table background="HOST/s.png"><td background="HOST/t.png">x</table>`,
	`<script src="HOST/u.js"></script>`, `<script type="module">import "HOST/v.js"</script>`, `"><script>RUN</script>`, `'-RUN-'`, `${RUN}`, `{{RUN}}`, "`RUN`", `<x onclick="RUN" tabindex=1 autofocus onfocus="RUN">x</x>`,
	`<img src="x" alt="]]><script>RUN</script>">`, `<a id="config" name="token" href="HOST/w">x</a>`, `<link rel="preconnect" href="HOST"><link rel="prefetch" href="HOST/y"><link rel="dns-prefetch" href="HOST">`,
	// Texts that a second parser reads in another way than the first.
	`<form><math><mtext></form><form><mglyph><style></math><img src=x onerror="RUN">`, `<svg></p><style><a id="</style><img src=x onerror=RUN>">`,
	`<math><annotation-xml encoding="text/html"><style><img src=x onerror=RUN></style></annotation-xml></math>`, `<svg><desc><noscript><a title="</noscript><img src=x onerror=RUN>"></desc></svg>`,
	`<!--><img src=x onerror=RUN>-->`, `<![CDATA[<img src=x onerror=RUN>]]>`, `<xmp><p title="</xmp><img src=x onerror=RUN>">`, "[x](<java\tscript:RUN>) [y](JaVaScRiPt&colon;RUN) <javascript:RUN>",
	`__proto__`, `constructor`, `<img name=body><form id=documentElement><input name=attributes><input name=childNodes>`, `![x](//HOST/z.png "a\" onerror=RUN")`,
}

// TestHostileSkills: nothing that a skill says is run, and nothing is asked for because of it.
func TestHostileSkills(t *testing.T) {
	b := browser.Start(t)
	w := newWorld(t, "--scan", "off")
	trap := newTrap(t)
	fill := strings.NewReplacer("RUN", "window.__ran=(window.__ran||0)+1", "HOST", trap.URL)
	var slugs []string
	for i, text := range hostileTexts {
		slug := fmt.Sprintf("hostile-%d", i)
		slugs = append(slugs, slug)
		writeHostile(t, filepath.Join(w.dir, "skills", slug), slug, fill.Replace(text))
	}
	if len(slugs) < 40 {
		t.Fatalf("%d skills", len(slugs))
	}
	p := w.open(t, b)
	p.Wait(t, "the skills are there", `document.querySelectorAll(".skill-row").length > 5`)
	calm := func(where string) {
		t.Helper()
		if browser.Eval[bool](t, p, "window.__ran !== undefined || window.length > 0") {
			t.Errorf("%s: a text of a skill was run", where)
		}
		if n := trap.asked.Swap(0); n > 0 {
			t.Errorf("%s: %d requests to another host", where, n)
		}
	}
	calm("list")
	for i, slug := range slugs {
		hashes := []string{"#/skills/" + slug}
		if i%8 == 0 { // the other tabs show the same texts by the same elements for each skill
			for _, tab := range []string{"files", "requirements", "profiles", "problems", "tools", "source"} {
				hashes = append(hashes, "#/skills/"+slug+"?tab="+tab)
			}
		}
		for _, hash := range hashes {
			p.Go(t, at(t, p, hash))
			p.Wait(t, hash+" is shown", settled)
			calm(hash)
		}
	}
	for _, hash := range []string{"#/card", "#/activity", "#/health", "#/turn"} {
		p.Go(t, at(t, p, hash))
		p.Wait(t, hash+" is shown", settled)
		calm(hash)
	}
	checkOwnRequests(t, p)
}

// writeHostile writes a skill that says a text everywhere.
func writeHostile(t *testing.T, dir, slug, text string) {
	t.Helper()
	quoted, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	front := fmt.Sprintf("---\nname: %s\ndescription: %s\nversion: %s\nlicense: %s\nhomepage: %s\ntags: [%s]\nexamples: [%s]\nemoji: %s\nunknown: %s\n---\n# %s\n\n%s\n\n", slug, quoted, quoted, quoted, quoted, quoted, quoted, quoted, quoted, text, text)
	name := strings.NewReplacer("/", "_", "\x00", "").Replace(text)
	if len(name) > 100 {
		name = name[:100]
	}
	for file, content := range map[string]string{
		"SKILL.md": front + "```html\n" + text + "\n```\n", name + ".svg": `<svg xmlns="http://www.w3.org/2000/svg">` + text + `</svg>`, "page.html": "<!doctype html>" + text, name: text,
	} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestOtherPages of this machine can neither frame the console, nor read from it, nor open its WebSocket.
func TestOtherPages(t *testing.T) {
	b := browser.Start(t)
	w := newWorld(t)
	w.write(t, fixture.SkillScript("alpha", "Counts."))
	own := w.open(t, b)
	origin := browser.Eval[string](t, own, "location.origin")
	token := browser.Eval[string](t, own, `sessionStorage.getItem("pannier.token")`)
	if token == "" {
		t.Fatal("the page has no token")
	}
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<!doctype html><title>other</title><iframe id="frame" src="%s/console/"></iframe>`, origin)
	}))
	defer other.Close()
	p := b.Open(t, other.URL)
	for name, attempt := range map[string]string{
		"read with the token":       `fetch(O + "/v1/skills", {headers: {Authorization: "Bearer " + T}}).then((r) => "read " + r.status, () => "refused")`,
		"read without a token":      `fetch(O + "/v1/skills").then((r) => "read " + r.status, () => "refused")`,
		"read blindly":              `fetch(O + "/v1/skills", {mode: "no-cors"}).then(() => "delivered", () => "refused")`,
		"a change by a form":        `fetch(O + "/console/session", {method: "POST", body: "code=x", mode: "no-cors", headers: {"Content-Type": "text/plain"}}).then(() => "delivered", () => "refused")`,
		"the script of the page":    `new Promise((done) => { const s = document.createElement("script"); s.src = O + "/console/app.js"; s.onload = () => done("loaded"); s.onerror = () => done("refused"); document.body.append(s); })`,
		"a WebSocket":               `new Promise((done) => { const s = new WebSocket(O.replace("http", "ws") + "/v1/rpc"); s.onopen = () => done("open"); s.onerror = () => done("refused"); })`,
		"a WebSocket with a ticket": `new Promise((done) => { const s = new WebSocket(O.replace("http", "ws") + "/v1/rpc?ticket=" + K); s.onopen = () => done("open"); s.onerror = () => done("refused"); })`,
		"the frame":                 `new Promise((done) => setTimeout(() => { try { const d = document.getElementById("frame").contentDocument; done(d && d.querySelector("#app") ? "shown" : "refused") } catch { done("refused") } }))`,
	} {
		ticket := browser.Eval[string](t, own, `fetch("/v1/tickets", {method: "POST", headers: {Authorization: "Bearer " + sessionStorage.getItem("pannier.token")}}).then((r) => r.json()).then((a) => a.ticket)`)
		script := "(() => { const O = " + browser.Quote(origin) + ", T = " + browser.Quote(token) + ", K = " + browser.Quote(ticket) + "; return " + attempt + " })()"
		if got := browser.Eval[string](t, p, script); got != "refused" {
			t.Errorf("%s: %s", name, got)
		}
	}
	for _, frame := range p.Frames(t) {
		if strings.HasPrefix(frame, origin) {
			t.Errorf("the console is shown in a frame of another page: %s", frame)
		}
	}
	// The same name by another address, as after DNS rebinding.
	at, err := url.Parse(origin)
	if err != nil {
		t.Fatal(err)
	}
	rebound := b.Open(t, "http://rebound.localhost:"+at.Port()+"/console/")
	if browser.Eval[bool](t, rebound, `document.querySelector("#app") !== null`) {
		t.Error("the page is served by another name")
	}
}

// TestEmbedded shows the list in a frame of an allowed page, which hands its token over, and in no other.
func TestEmbedded(t *testing.T) {
	b := browser.Start(t)
	dir := t.TempDir()
	program, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	fixture.WriteIn(t, dir, program+" token canvas write --append tokens > canvas")
	var api atomic.Value
	page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<!doctype html><title>canvas</title><iframe id="frame" width="800" height="600" src="%[1]s/console/embed/skills"></iframe><script>
			addEventListener("message", (e) => { if (e.origin === %[2]s && e.data?.type === "pannier.ready") e.source.postMessage({type: "pannier.token", token: %[3]s}, e.origin); });
		</script>`, api.Load(), browser.Quote(api.Load().(string)), browser.Quote(readFile(t, dir+"/canvas")))
	})
	allowed, other := httptest.NewServer(page), httptest.NewServer(page)
	defer allowed.Close()
	defer other.Close()
	w := newWorld(t, "--api-listen", "127.0.0.1:0", "--api-tokens", dir+"/tokens", "--console", "--api-allow-origins", allowed.URL)
	w.write(t, fixture.SkillScript("alpha", "Counts."))
	api.Store("http://" + w.apiAddress(t))
	p := b.Open(t, allowed.URL)
	fixture.Eventually(t, "the frame of the allowed page reads the skills", func() error {
		for _, address := range p.Requests() {
			if strings.Contains(address, "/v1/skills?") {
				return nil
			}
		}
		return fmt.Errorf("requests: %q", p.Requests())
	})
	read := `fetch(` + browser.Quote(api.Load().(string)) + ` + "/v1/skills", {headers: {Authorization: "Bearer " + ` + browser.Quote(readFile(t, dir+"/canvas")) + `}}).then((r) => "read " + r.status + " " + (r.headers.get("etag") !== null), () => "refused")`
	if got := browser.Eval[string](t, p, read); got != "read 200 true" {
		t.Errorf("the allowed page: %s", got)
	}
	stranger := b.Open(t, other.URL)
	if got := browser.Eval[string](t, stranger, read); got != "refused" {
		t.Errorf("another page: %s", got)
	}
	for _, address := range stranger.Requests() {
		if strings.Contains(address, "/v1/skills?") {
			t.Errorf("the frame of another page asks for %s", address)
		}
	}
}
