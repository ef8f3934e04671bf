package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"pannier"
)

// TestPeers are told as they are, before there is a snapshot too, and not at all where nobody knows of any.
func TestPeers(t *testing.T) {
	h := newHouse()
	if w := ask(h.handler(), "GET", "/v1/peers", ""); w.Code != http.StatusNotFound {
		t.Errorf("without peers: %d", w.Code)
	}
	var peers []pannier.Peer
	h.options.Peers = func() []pannier.Peer { return peers }
	h.snapshot = nil
	handler := h.handler()
	w := ask(handler, "GET", "/v1/peers", "")
	if w.Code != http.StatusOK || w.Body.String() != `{"peers":[]}`+"\n" {
		t.Errorf("none: %d %s", w.Code, w.Body)
	}
	tag := w.Header().Get("ETag")
	if again := ask(handler, "GET", "/v1/peers", "", "If-None-Match", tag); again.Code != http.StatusNotModified {
		t.Errorf("the same list: %d", again.Code)
	}
	peers = []pannier.Peer{{ID: "b", Name: "<B>", Status: "online", Card: json.RawMessage(`{"name":"<B>"}`)}, {ID: "a"}}
	again := ask(handler, "GET", "/v1/peers", "", "If-None-Match", tag)
	if want := `{"peers":[{"id":"b","name":"<B>","status":"online","card":{"name":"<B>"}},{"id":"a","name":"","status":"","card":null}]}` + "\n"; again.Code != http.StatusOK || again.Body.String() != want {
		t.Errorf("%d %s", again.Code, again.Body)
	}
}

// TestPromptsTellOfPeers that are there now: in the formats that have room for them, by every way to a prompt, and with
// another tag while the snapshot is the same.
func TestPromptsTellOfPeers(t *testing.T) {
	h := newHouse()
	var peers []pannier.Peer
	h.options.Peers = func() []pannier.Peer { return peers }
	handler := h.handler()
	asked := func(format string) (tag string, tells bool) {
		t.Helper()
		w := ask(handler, "GET", "/v1/prompt?format="+format, "")
		if w.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", format, w.Code, w.Body)
		}
		return w.Header().Get("ETag"), strings.Contains(w.Body.String(), "- **Echo** (id: `e`, status: online)")
	}
	before := map[string]string{}
	formats := map[string]bool{"molecule": true, "molecule_system": true, "compact": false, "available_skills": false, "openclaw": false, "skills_xml": false}
	for format := range formats {
		tag, tells := asked(format)
		if before[format] = tag; tells {
			t.Errorf("%s tells of a peer that is not there", format)
		}
	}
	peers = []pannier.Peer{{ID: "e", Name: "row", Status: "online", Card: json.RawMessage(`{"name":"Echo"}`)}}
	for format, with := range formats {
		tag, tells := asked(format)
		if tells != with || (tag != before[format]) != with {
			t.Errorf("%s: tells of the peer %v, tag %s, before %s", format, tells, tag, before[format])
		}
	}
	for _, target := range []string{"/v1/prompt", "/v1/resolve"} {
		w := ask(handler, "POST", target, `{"format":"molecule"}`)
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "- **Echo**") {
			t.Errorf("%s: %d %s", target, w.Code, w.Body)
		}
	}
}
