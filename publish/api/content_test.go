package api_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pannier"
)

func TestContent(t *testing.T) {
	h := newHouse()
	c := decode[pannier.Content](t, ask(h.handler(), "GET", "/v1/skills/acme%2Falpha/content", ""))
	want := pannier.Content{
		Slug: "alpha", Name: "alpha", Digest: h.snapshot.Entries[0].Digest, Body: "# alpha <&>\n",
		Frontmatter: []byte(`{"name":"alpha","z":1,"a":[true]}`), Directory: "/configs/skills/alpha",
		Resources: []string{"references/a.md", "scripts/run.sh"}, Warnings: []string{},
	}
	if diff := cmp.Diff(want, c); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestContentWithoutFiles(t *testing.T) {
	h := newHouse()
	broken := documents()
	broken.files = func(*pannier.Skill) ([]pannier.File, bool, error) { return nil, false, errors.New("no such directory") }
	h.content.Texts = broken
	c := decode[pannier.Content](t, ask(h.handler(), "GET", "/v1/skills/alpha/content", ""))
	if c.Resources == nil || len(c.Resources) > 0 || len(c.Warnings) != 1 {
		t.Errorf("%+v", c)
	}
}

// TestSkillLoaded emits one event for each time that content is served, and none else.
func TestSkillLoaded(t *testing.T) {
	for _, tt := range []struct {
		name, method, target string
		header               []string
		events               int
	}{
		{"JSON", "GET", "/v1/skills/alpha/content", nil, 1},
		{"markdown", "GET", "/v1/skills/alpha/content", []string{"Accept", "text/markdown"}, 1},
		{"the caller has the text", "GET", "/v1/skills/alpha/content", []string{"If-None-Match", "*"}, 1},
		{"HEAD", "HEAD", "/v1/skills/alpha/content", nil, 0},
		{"detail", "GET", "/v1/skills/alpha", nil, 0},
		{"unusable", "GET", "/v1/skills/beta/content", nil, 0},
	} {
		h := newHouse()
		ask(h.handler(), tt.method, tt.target, "", tt.header...)
		if len(h.events) != tt.events {
			t.Errorf("%s: %d events", tt.name, len(h.events))
			continue
		}
		for _, e := range h.events {
			if e.Name != "alpha" || e.Path != "skills/alpha" || e.Digest != h.snapshot.Entries[0].Digest || e.Frontmatter == nil {
				t.Errorf("%s: %+v", tt.name, e)
			}
		}
	}
}

// edited returns a house whose disk has another text of alpha than its first snapshot, which a rescan finds.
func edited() (*house, pannier.Digest) {
	h := newHouse()
	now := pannier.DigestOf([]byte("edited"))
	disk := documents()
	disk.read = func(s *pannier.Skill) (pannier.Document, error) {
		if s.Digest != now {
			return pannier.Document{}, pannier.ErrChanged
		}
		return pannier.Document{Body: "edited", Frontmatter: []byte(`{"name":"edited"}`)}, nil
	}
	h.content.Texts = disk
	h.content.Rescan = func(_ context.Context, wait bool) (*pannier.Snapshot, error) {
		if !wait {
			return nil, errors.New("nobody waits for the scan")
		}
		h.scans++
		s := catalog()
		s.Entries[0].Skill.Digest, s.Entries[0].Skill.Version = now, "2"
		return s, nil
	}
	return h, now
}

func TestChangedContentIsLookedAtAgain(t *testing.T) {
	h, now := edited()
	c := decode[pannier.Content](t, ask(h.handler(), "GET", "/v1/skills/alpha/content", ""))
	if c.Body != "edited" || c.Digest != now || h.scans != 1 {
		t.Errorf("%+v after %d scans", c, h.scans)
	}
	if len(h.events) != 1 || h.events[0].Digest != now {
		t.Errorf("events: %+v", h.events)
	}
}

func TestChangedDetailIsLookedAtAgain(t *testing.T) {
	h, now := edited()
	d := decode[pannier.Detail](t, ask(h.handler(), "GET", "/v1/skills/alpha", ""))
	if string(d.Frontmatter) != `{"name":"edited"}` || d.Digest != now || d.Version != "2" || h.scans != 1 {
		t.Errorf("%+v after %d scans", d, h.scans)
	}
}

// TestContentAfterRescan takes what the new snapshot says, whatever that is.
func TestContentAfterRescan(t *testing.T) {
	for code, change := range map[string]func(*pannier.Snapshot){
		"skill_not_found":  func(s *pannier.Snapshot) { s.Entries = s.Entries[1:] },
		"skill_unlisted":   func(s *pannier.Snapshot) { s.Entries[0].State, s.Entries[0].Usable = pannier.StateUnlisted, false },
		"skill_ineligible": func(s *pannier.Snapshot) { s.Entries[0].State, s.Entries[0].Usable = pannier.StateIneligible, false },
	} {
		h, _ := edited()
		h.content.Rescan = func(context.Context, bool) (*pannier.Snapshot, error) {
			s := catalog()
			change(s)
			return s, nil
		}
		w := ask(h.handler(), "GET", "/v1/skills/alpha/content", "")
		checkProblem(t, code, w, map[bool]int{true: 404, false: 409}[code == "skill_not_found"], code)
	}
}

func TestEndlessChange(t *testing.T) {
	h := newHouse()
	reads := 0
	h.content.Texts = texts{read: func(*pannier.Skill) (pannier.Document, error) {
		reads++
		return pannier.Document{}, pannier.ErrChanged
	}}
	checkProblem(t, "content", ask(h.handler(), "GET", "/v1/skills/alpha/content", ""), 503, "changing")
	if len(h.events) > 0 || h.scans != reads-1 || reads < 2 {
		t.Errorf("%d events, %d reads, %d scans", len(h.events), reads, h.scans)
	}
}

func TestUnreadableContent(t *testing.T) {
	h := newHouse()
	h.content.Texts = texts{read: func(*pannier.Skill) (pannier.Document, error) {
		return pannier.Document{}, errors.New("input/output error")
	}}
	checkProblem(t, "content", ask(h.handler(), "GET", "/v1/skills/alpha/content", ""), http.StatusInternalServerError, "internal")
}

func TestResourcesTruncated(t *testing.T) {
	h := newHouse()
	many := documents()
	many.files = func(s *pannier.Skill) ([]pannier.File, bool, error) {
		return []pannier.File{{Path: "SKILL.md"}, {Path: "a/SKILL.md"}, {Path: "b"}}, true, nil
	}
	h.content.Texts = many
	c := decode[pannier.Content](t, ask(h.handler(), "GET", "/v1/skills/alpha/content", ""))
	if !c.ResourcesTruncated || !slices.Equal(c.Resources, []string{"a/SKILL.md", "b"}) {
		t.Errorf("content: %+v", c)
	}
	d := decode[pannier.Detail](t, ask(h.handler(), "GET", "/v1/skills/alpha", ""))
	if !d.FilesTruncated || len(d.Files) != 3 {
		t.Errorf("detail: %+v", d)
	}
}

func TestContentOfToolsOnly(t *testing.T) {
	h := newHouse()
	e := entry("tools", pannier.StateEligible)
	e.ToolsOnly, e.File = true, ""
	h.snapshot = &pannier.Snapshot{Version: 1, Entries: []*pannier.Entry{e}}
	w := ask(h.handler(), "GET", "/v1/skills/tools/content", "")
	if err := decode[pannier.ErrorDocument](t, w); w.Code != http.StatusConflict || err.Code != "skill_tools_only" || err.Hint == "" {
		t.Errorf("%d: %+v", w.Code, err)
	}
}

// TestDetailReadsOnce: where a skill is inspected, its SKILL.md is not read apart.
func TestDetailReadsOnce(t *testing.T) {
	h := newHouse()
	disk, reads := documents(), 0
	read := disk.read
	disk.read = func(s *pannier.Skill) (pannier.Document, error) {
		reads++
		return read(s)
	}
	h.content.Texts = disk
	for _, tt := range []struct {
		name  string
		err   error
		want  string
		reads int
	}{
		{"inspected", nil, `{"name":"inspected"}`, 0},
		{"not inspected", errors.New("too many open files"), `{"name":"alpha","z":1,"a":[true]}`, 1},
	} {
		h.content.Inspect = func(context.Context, *pannier.Skill) (pannier.Inspection, error) {
			return pannier.Inspection{Frontmatter: []byte(`{"name":"inspected"}`)}, tt.err
		}
		reads = 0
		d := decode[pannier.Detail](t, ask(h.handler(), "GET", "/v1/skills/alpha", ""))
		if string(d.Frontmatter) != tt.want || reads != tt.reads {
			t.Errorf("%s: %s after %d reads, want %s after %d", tt.name, d.Frontmatter, reads, tt.want, tt.reads)
		}
	}
}
