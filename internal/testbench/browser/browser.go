// Package browser drives Chromium for tests of pages.
//
// Chromium is found by PANNIER_CHROMIUM, or by its name. With PANNIER_CHROMIUM=off, or without Chromium, tests are skipped. No process of
// a browser outlives its test.
package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Variable names the program, or is off.
const Variable = "PANNIER_CHROMIUM"

// Patience is how long a test waits for an outcome in a page. It bounds a failure, and measures nothing.
const Patience = time.Minute

// names are those that distributions give to the program.
var names = []string{"chromium", "chromium-browser", "google-chrome"}

// find returns the program, or why there is none.
func find() (program, missing string) {
	given := os.Getenv(Variable)
	if given == "off" {
		return "", Variable + " is off"
	}
	if given != "" {
		names = []string{given}
	}
	for _, name := range names {
		if found, err := exec.LookPath(name); err == nil {
			return found, ""
		}
	}
	return "", fmt.Sprintf("%s not found; name it by %s", strings.Join(names, ", "), Variable)
}

// Browser is a running Chromium without a window.
type Browser struct {
	ctx context.Context
	pid int
}

// Start starts a browser until the test ends, or skips the test.
func Start(t testing.TB) *Browser {
	t.Helper()
	program, missing := find()
	if missing != "" {
		if given := os.Getenv(Variable); given != "" && given != "off" {
			t.Fatal(missing)
		}
		t.Skip(missing)
	}
	// Not t.TempDir: Chromium may write until its last process has ended.
	home, err := os.MkdirTemp("", "pannier-browser-")
	if err != nil {
		t.Fatal(err)
	}
	allocator, release := chromedp.NewExecAllocator(context.Background(),
		chromedp.ExecPath(program), chromedp.UserDataDir(home), chromedp.Headless, chromedp.NoSandbox, chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck, chromedp.DisableGPU,
		chromedp.Env("HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_CACHE_HOME="+home),
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.Flag("disable-breakpad", true), chromedp.Flag("no-pings", true), chromedp.Flag("metrics-recording-only", true),
		chromedp.Flag("disable-features", "Translate,OptimizationHints,MediaRouter"), chromedp.Flag("password-store", "basic"), chromedp.WindowSize(1280, 800),
	)
	ctx, _ := chromedp.NewContext(allocator)
	b := &Browser{ctx: ctx}
	t.Cleanup(func() {
		b.end(t)
		release()
		if err := os.RemoveAll(home); err != nil {
			t.Error(err)
		}
	})
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("start %s: %v", program, err)
	}
	b.pid = chromedp.FromContext(ctx).Browser.Process().Pid
	return b
}

// end closes the browser, and waits for each of its processes.
func (b *Browser) end(t testing.TB) {
	if b.pid == 0 {
		return
	}
	processes := family(b.pid)
	closing, cancel := context.WithTimeout(b.ctx, Patience)
	defer cancel()
	if err := chromedp.Cancel(closing); err != nil {
		t.Logf("close the browser: %v", err)
	}
	if left := await(processes, Patience/2); len(left) > 0 {
		for _, p := range left {
			p.kill()
		}
		if left = await(left, Patience); len(left) > 0 {
			t.Errorf("processes of the browser stay: %v", left)
		}
	}
}

// Page is a tab of its own browser context: it shares no storage with other pages.
type Page struct {
	ctx context.Context

	mu       sync.Mutex
	requests []string // URLs, in order
	faults   []string // of the console: exceptions and errors
}

// Open opens an address in a new page. Each document of the page runs the scripts before its own.
func (b *Browser) Open(t testing.TB, url string, scripts ...string) *Page {
	t.Helper()
	return open(t, b.ctx, url, scripts, chromedp.WithNewBrowserContext())
}

// OpenBeside opens an address in another tab of the same browser context, which shares storage and workers with the page.
func (p *Page) OpenBeside(t testing.TB, url string, scripts ...string) *Page {
	t.Helper()
	return open(t, p.ctx, url, scripts)
}

func open(t testing.TB, parent context.Context, url string, scripts []string, opts ...chromedp.ContextOption) *Page {
	t.Helper()
	ctx, cancel := chromedp.NewContext(parent, opts...)
	t.Cleanup(cancel)
	p := &Page{ctx: ctx}
	if err := chromedp.Listen(ctx, p.record); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	for _, script := range scripts {
		if _, err := chromedp.Call(ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: script}); err != nil {
			t.Fatal(err)
		}
	}
	p.Go(t, url)
	return p
}

func (p *Page) record(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		p.requests = append(p.requests, e.Request.URL)
	case *network.EventWebSocketCreated:
		p.requests = append(p.requests, e.URL)
	case *runtime.EventExceptionThrown:
		p.faults = append(p.faults, e.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		if e.Type == "error" {
			text, _ := json.Marshal(e.Args)
			p.faults = append(p.faults, string(text))
		}
	}
}

// Requests returns the addresses that the page has asked for, in order, with those of WebSockets.
func (p *Page) Requests() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.requests)
}

// Faults returns the exceptions and errors of the console.
func (p *Page) Faults() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.faults)
}

// Go leads the page to an address.
func (p *Page) Go(t testing.TB, url string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, Patience)
	defer cancel()
	if err := chromedp.Do(ctx, chromedp.Navigate(url)); err != nil {
		t.Fatalf("open %s: %v", url, err)
	}
}

// Eval returns the value of an expression in the page. A promise is awaited.
func Eval[T any](t testing.TB, p *Page, expression string) T {
	t.Helper()
	value, err := eval[T](p, expression)
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return value
}

func eval[T any](p *Page, expression string) (T, error) {
	ctx, cancel := context.WithTimeout(p.ctx, Patience)
	defer cancel()
	return chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
}

// Wait waits until an expression is true in the page. It survives navigations.
func (p *Page) Wait(t testing.TB, what, expression string) {
	t.Helper()
	deadline := time.After(Patience)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		ok, err := eval[bool](p, "!!("+expression+")")
		if ok && err == nil {
			return
		}
		select {
		case <-deadline:
			text, _ := eval[string](p, "document.body.innerText.slice(0, 4000)")
			t.Fatalf("%s: still not, %v\nthe page says:\n%s\nfaults: %q", what, err, text, p.Faults())
		case <-tick.C:
		}
	}
}

// WaitText waits until the page shows a text.
func (p *Page) WaitText(t testing.TB, text string) {
	t.Helper()
	p.Wait(t, fmt.Sprintf("the page shows %q", text), "document.body.innerText.includes("+Quote(text)+")")
}

// Quote returns a text as an expression.
func Quote(text string) string {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string is always valid
	}
	return string(quoted)
}

// Click clicks the first visible element of a selector with the mouse, once it is there and enabled.
func (p *Page) Click(t testing.TB, selector string) {
	t.Helper()
	found := "[...document.querySelectorAll(" + Quote(selector) + ")].find((e) => e.checkVisibility() && !e.disabled)"
	p.clickOn(t, selector, found)
}

// ClickText clicks the first visible button, link, tab or menu item with that text.
func (p *Page) ClickText(t testing.TB, text string) {
	t.Helper()
	found := "[...document.querySelectorAll('button, a, summary, [role=tab], [role=menuitem], label')].find((e) => e.checkVisibility() && !e.disabled && e.innerText.trim() === " + Quote(text) + ")"
	p.clickOn(t, text, found)
}

func (p *Page) clickOn(t testing.TB, what, found string) {
	t.Helper()
	p.Wait(t, "there is "+what, found)
	at := Eval[[]float64](t, p, "(() => { const e = "+found+"; e.scrollIntoView({block: 'center'}); const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()")
	ctx, cancel := context.WithTimeout(p.ctx, Patience)
	defer cancel()
	if err := chromedp.Do(ctx, chromedp.MouseClickXY(at[0], at[1])); err != nil {
		t.Fatalf("click %s: %v", what, err)
	}
}

// Type sends keys to whatever has the focus.
func (p *Page) Type(t testing.TB, keys string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, Patience)
	defer cancel()
	if err := chromedp.Do(ctx, chromedp.KeyEvent(keys)); err != nil {
		t.Fatalf("type %q: %v", keys, err)
	}
}

// Drop drags files and folders of this machine over the middle of the page, and drops them there.
func (p *Page) Drop(t testing.TB, paths ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, Patience)
	defer cancel()
	at := Eval[[]float64](t, p, "[innerWidth / 2, innerHeight / 2]")
	data := &input.DragData{Items: []*input.DragDataItem{}, Files: paths, DragOperationsMask: 1}
	for _, kind := range []input.DispatchDragEventType{"dragEnter", "dragOver", "drop"} {
		_, err := chromedp.Call(ctx, input.DispatchDragEvent, input.DispatchDragEventParams{Type: kind, X: at[0], Y: at[1], Data: data})
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
	}
}

// Frames returns the addresses of the frames that the page shows, without its own. A frame that was refused has another address.
func (p *Page) Frames(t testing.TB) (addresses []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, Patience)
	defer cancel()
	tree, err := chromedp.Call(ctx, page.GetFrameTree, cdp.Empty{})
	if err != nil {
		t.Fatal(err)
	}
	for _, child := range tree.FrameTree.ChildFrames {
		addresses = append(addresses, child.Frame.URL)
	}
	return addresses
}

// WaitInFrame waits until an expression is true in the frame whose address contains a text. It sees the document of the frame, and not
// what scripts of the frame have defined.
func (p *Page) WaitInFrame(t testing.TB, what, address, expression string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, Patience)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	var text string
	for ; ; <-tick.C {
		ok, err := p.evalInFrame(ctx, address, "!!("+expression+")")
		if ok == "true" {
			return
		}
		if seen, err := p.evalInFrame(ctx, address, "document.body.innerText.slice(0, 4000)"); err == nil {
			text = seen
		}
		if ctx.Err() != nil {
			t.Fatalf("%s: still not, %v\nthe frame says:\n%s\nfaults: %q", what, err, text, p.Faults())
		}
	}
}

// EvalInFrame returns the value of an expression in a frame, as WaitInFrame sees it. It waits for a promise.
func EvalInFrame[T any](t testing.TB, p *Page, address, expression string) (value T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, Patience)
	defer cancel()
	text, err := p.evalInFrame(ctx, address, expression)
	if err == nil {
		err = json.Unmarshal([]byte(text), &value)
	}
	if err != nil {
		t.Fatalf("%.200s in the frame: %v", expression, err)
	}
	return value
}

// evalInFrame returns the value of an expression in a frame, as JSON.
func (p *Page) evalInFrame(ctx context.Context, address, expression string) (string, error) {
	tree, err := chromedp.Call(ctx, page.GetFrameTree, cdp.Empty{})
	if err != nil {
		return "", err
	}
	for _, child := range tree.FrameTree.ChildFrames {
		if !strings.Contains(child.Frame.URL, address) {
			continue
		}
		world, err := chromedp.Call(ctx, page.CreateIsolatedWorld, page.CreateIsolatedWorldParams{FrameID: child.Frame.ID, WorldName: "test"})
		if err != nil {
			return "", err
		}
		got, err := chromedp.Call(ctx, runtime.Evaluate, runtime.EvaluateParams{Expression: expression, ContextID: world.ExecutionContextID, ReturnByValue: new(true), AwaitPromise: new(true)})
		if err != nil || got.Result == nil {
			return "", err
		}
		return string(got.Result.Value), nil
	}
	return "", fmt.Errorf("no frame of %s", address)
}

// Screenshot returns a picture of what the page shows, as PNG.
func (p *Page) Screenshot(t testing.TB) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, Patience)
	defer cancel()
	picture, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		t.Fatal(err)
	}
	return picture
}
