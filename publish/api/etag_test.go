package api_test

import (
	"net/http"
	"regexp"
	"testing"

	"pannier"
)

var strongTag = regexp.MustCompile(`^"[0-9a-f]{32}"$`)

// TestETag gives the same tag for the same bytes, another for others, and no body to who has it.
func TestETag(t *testing.T) {
	tags := map[string]string{}
	for _, tt := range []struct{ target, accept string }{
		{"/v1/skills", ""},
		{"/v1/skills?include=problems", ""},
		{"/v1/skills/alpha", ""},
		{"/v1/skills/alpha/content", ""},
		{"/v1/skills/alpha/content", "text/markdown"},
		{"/v1/prompt", ""},
		{"/v1/prompt", jsonType},
		{"/v1/prompt?max_chars=1", jsonType},
		{"/v1/card", ""},
		{"/v1/health", ""},
		{"/readyz", ""},
	} {
		h := newHouse().handler()
		w := ask(h, "GET", tt.target, "", "Accept", tt.accept)
		tag := w.Header().Get("ETag")
		if !strongTag.MatchString(tag) || ask(h, "GET", tt.target, "", "Accept", tt.accept).Header().Get("ETag") != tag {
			t.Errorf("%v: tag %s", tt, tag)
		}
		if other, taken := tags[tag]; taken {
			t.Errorf("%v has the tag of %s", tt, other)
		}
		tags[tag] = tt.target
		for value, match := range map[string]bool{
			tag: true, "W/" + tag: true, "*": true, ` "a" , W/` + tag + `,"b"`: true, "\"x\",\t" + tag: true,
			`"x"`: false, tag[1 : len(tag)-1]: false, "": false, "W/*": false,
		} {
			again := ask(h, "GET", tt.target, "", "Accept", tt.accept, "If-None-Match", value)
			if (again.Code == http.StatusNotModified) != match {
				t.Errorf("%v with If-None-Match %s: %d", tt, value, again.Code)
			}
			if match && (again.Body.Len() > 0 || again.Header().Get("ETag") != tag || again.Header().Get("Vary") != w.Header().Get("Vary")) {
				t.Errorf("%v: 304 with %d bytes and %v", tt, again.Body.Len(), again.Header())
			}
		}
		if again := ask(h, "HEAD", tt.target, "", "Accept", tt.accept, "If-None-Match", `"x"`, "If-None-Match", tag); again.Code != http.StatusNotModified {
			t.Errorf("HEAD %v with the tag in a second line: %d", tt, again.Code)
		}
	}
}

func TestETagFollowsTheBody(t *testing.T) {
	h := newHouse()
	before := ask(h.handler(), "GET", "/v1/skills", "").Header().Get("ETag")
	h.snapshot = catalog()
	if again := ask(h.handler(), "GET", "/v1/skills", "").Header().Get("ETag"); again != before {
		t.Errorf("same body: %s, then %s", before, again)
	}
	h.snapshot.Entries[0].Usable = false
	if after := ask(h.handler(), "GET", "/v1/skills", "").Header().Get("ETag"); after == before {
		t.Errorf("other body: still %s", after)
	}
}

// TestPOSTHasNoETag: what a POST gives belongs to its body.
func TestPOSTHasNoETag(t *testing.T) {
	h := newHouse().handler()
	for _, target := range []string{"/v1/prompt", "/v1/resolve", "/v1/rescan"} {
		if w := ask(h, "POST", target, "{}", "If-None-Match", "*"); w.Code != 200 || w.Header().Get("ETag") != "" {
			t.Errorf("%s: %d %v", target, w.Code, w.Header())
		}
	}
}

func TestAccept(t *testing.T) {
	h := newHouse().handler()
	for accept, markdown := range map[string]bool{
		"":                                      false,
		"*/*":                                   false,
		"text/html":                             false,
		"text/markdown":                         true,
		"Text/Markdown; charset=utf-8":          true,
		"text/markdown, */*":                    true,
		"text/markdown, application/json":       true,
		"application/json, text/markdown":       false,
		"application/json;q=0.5, text/markdown": true,
		"text/markdown;q=0.2, application/json;q=0.3": false,
		"text/markdown;q=0":                           false,
		"text/markdown;q=bad":                         false,
		";;, text/markdown":                           true,
	} {
		w := ask(h, "GET", "/v1/skills/alpha/content", "", "Accept", accept)
		if got := w.Header().Get("Content-Type") == markdownType; got != markdown || w.Code != 200 {
			t.Errorf("Accept %q: %d %s", accept, w.Code, w.Header().Get("Content-Type"))
		}
	}
	for _, target := range []string{"/v1/skills/alpha/content", "/v1/prompt"} {
		if vary := ask(h, "GET", target, "").Header().Get("Vary"); vary != "Accept" {
			t.Errorf("%s: Vary %q", target, vary)
		}
	}
	if w := ask(h, "GET", "/v1/skills", ""); w.Header().Get("Vary") != "" {
		t.Errorf("a list varies by %s", w.Header().Get("Vary"))
	}
	two := ask(h, "GET", "/v1/skills/alpha/content", "", "Accept", "text/html", "Accept", "text/markdown")
	if two.Header().Get("Content-Type") != markdownType {
		t.Errorf("Accept on two lines: %s", two.Header().Get("Content-Type"))
	}
	if c := decode[pannier.Content](t, ask(h, "GET", "/v1/skills/alpha/content", "")); c.Body != "# alpha <&>\n" {
		t.Errorf("body: %q", c.Body)
	}
}
