package browser_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"pannier/internal/testbench/browser"
)

// TestPage has the driver do what tests of pages need, with a page that says what reached it.
func TestPage(t *testing.T) {
	b := browser.Start(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Write([]byte(`<!doctype html><p id="out"></p><button onclick="say('pressed')">Press</button><input id="in" autofocus><script>
			const say = (text) => { out.textContent += text + ";" };
			addEventListener("dragover", (e) => e.preventDefault());
			addEventListener("drop", (e) => { e.preventDefault(); for (const i of e.dataTransfer.items) { const n = i.webkitGetAsEntry(); say((n.isDirectory ? "folder " : "file ") + n.name); } });
		</script>`))
	}))
	defer server.Close()
	p := b.Open(t, server.URL+"/first")
	p.ClickText(t, "Press")
	p.WaitText(t, "pressed;")
	p.Click(t, "#in")
	p.Type(t, "abc")
	p.Wait(t, "the input has the keys", `document.getElementById("in").value === "abc"`)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "SKILL.md"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.Drop(t, dir, filepath.Join(dir, "SKILL.md"))
	p.WaitText(t, "folder "+filepath.Base(dir)+";file SKILL.md;")
	if got := browser.Eval[int](t, p, "Promise.resolve(6 * 7)"); got != 42 {
		t.Errorf("evaluated to %d", got)
	}
	if requests := p.Requests(); len(requests) == 0 || requests[0] != server.URL+"/first" {
		t.Errorf("requests %q", requests)
	}
	browser.Eval[any](t, p, `sessionStorage.setItem("mine", "1")`)
	if other := b.Open(t, server.URL); browser.Eval[bool](t, other, `sessionStorage.getItem("mine") !== null`) {
		t.Error("pages share their storage")
	}
	if len(p.Screenshot(t)) < 1000 {
		t.Error("the picture is empty")
	}
	if faults := p.Faults(); len(faults) > 0 {
		t.Errorf("faults %q", faults)
	}
	browser.Eval[any](t, p, `console.error("a fault")`)
	p.Wait(t, "the fault is recorded", "true")
	if faults := p.Faults(); len(faults) != 1 {
		t.Errorf("faults %q", faults)
	}
}
