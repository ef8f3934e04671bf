package api_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"pannier"
	"pannier/publish/prompt"
)

// TestPromptFormats asks for each format by every route that has one.
func TestPromptFormats(t *testing.T) {
	for format, begin := range map[string]string{
		prompt.Compact:                  "[Skills]\nThe following skills are available for this turn:\n- alpha\n",
		prompt.SkillsXML:                "<skills>\n<skill id=\"alpha\" name=\"alpha\">\n",
		prompt.AvailableSkills:          "<available_skills>\n<skill>\n<name>\nalpha\n",
		prompt.AvailableSkillsReference: "<available_skills>\n<skill>\n<name>\nalpha\n",
		prompt.OpenClaw:                 "\n\nThe following skills provide",
		prompt.Molecule:                 "\n## Your Skills\n\n### alpha\ndoes alpha\n# alpha <&>\n\nExamples of requests that this skill is for:\n\n- e\n\n### gamma\ndoes gamma\nThe instructions are not shown here.",
		prompt.MoleculeSystem:           "\n## Your Skills\n\n### alpha\ndoes alpha\n# alpha <&>\n\nExamples of requests that this skill is for:\n\n- e\n\n### gamma\ndoes gamma\nThe instructions are not shown here.",
	} {
		h := newHouse().handler()
		text := ask(h, "GET", "/v1/prompt?format="+format, "")
		if text.Code != 200 || text.Header().Get("Content-Type") != textType || !strings.HasPrefix(text.Body.String(), begin) {
			t.Errorf("%s: %d %s", format, text.Code, text.Body)
		}
		asJSON := decode[pannier.Prompt](t, ask(h, "GET", "/v1/prompt?format="+format, "", "Accept", jsonType))
		turn := fmt.Sprintf(`{"format":%q}`, format)
		posted := decode[pannier.Prompt](t, ask(h, "POST", "/v1/prompt", turn, "Accept", jsonType))
		resolved := decode[pannier.Resolution](t, ask(h, "POST", "/v1/resolve", turn))
		for _, p := range []pannier.Prompt{asJSON, posted, *resolved.Prompt} {
			if p.Text != text.Body.String() || p.Format != format {
				t.Errorf("%s: %+v", format, p)
			}
		}
		tag := text.Header().Get("ETag")
		again := ask(h, "GET", "/v1/prompt?format="+format, "", "If-None-Match", tag)
		if !strongTag.MatchString(tag) || again.Code != http.StatusNotModified || text.Header().Get("Vary") != "Accept" {
			t.Errorf("%s: tag %s, then %d", format, tag, again.Code)
		}
		checkHead(t, h, "/v1/prompt?format="+format, "", text)
	}
}

// TestMoleculeSystem puts the files of the prompt before the section, also where there is no skill.
func TestMoleculeSystem(t *testing.T) {
	h := newHouse()
	h.snapshot.Workspace.Prompts = []pannier.PromptFile{{Path: "system-prompt.md", Text: "# You\n<&>"}, {Path: "x.md"}, {Path: "USER.md", Text: "Ann"}}
	for _, target := range []string{"/v1/prompt?format=molecule_system&max_chars=1", "/v1/prompt?format=molecule_system"} {
		w := ask(h.handler(), "GET", target, "")
		text, section, _ := strings.Cut(w.Body.String(), "\n\n## Your Skills\n\n### alpha\n")
		if w.Code != 200 || text != "# You\n<&>\nAnn" || (section == "") != strings.Contains(target, "max_chars") {
			t.Errorf("%s: %d %s", target, w.Code, w.Body)
		}
	}
}

func TestUnknownFormat(t *testing.T) {
	for _, format := range []string{"x", "Molecule", "molecule_systems", "skills"} {
		w := ask(newHouse().handler(), "GET", "/v1/prompt?format="+format, "")
		checkProblem(t, format, w, 400, "invalid_parameter.format")
		for _, known := range prompt.Formats() {
			if !strings.Contains(decode[pannier.ErrorDocument](t, w).Hint, known) {
				t.Errorf("%s: the hint does not name %s: %s", format, known, w.Body)
			}
		}
	}
}

// TestDefaultLimitByFormat: the limit of the settings is for all formats but that of the reference tool; that of a turn is for all.
func TestDefaultLimitByFormat(t *testing.T) {
	h := newHouse()
	h.turns.MaxChars = 1
	for format, bounded := range map[string]bool{prompt.Compact: true, prompt.SkillsXML: true, prompt.AvailableSkills: true, prompt.AvailableSkillsReference: false, prompt.OpenClaw: true, prompt.Molecule: true, prompt.MoleculeSystem: true} {
		for query, limited := range map[string]bool{"": bounded, "&max_chars=1": true, "&max_chars=0": false} {
			p := decode[pannier.Prompt](t, ask(h.handler(), "GET", "/v1/prompt?format="+format+query, "", "Accept", jsonType))
			if (p.Text == "") != limited {
				t.Errorf("%s%s: %+v", format, query, p)
			}
		}
	}
}

// TestResources reads links and examples for the formats that show bodies, and tells where they cannot be read.
func TestResources(t *testing.T) {
	h := newHouse()
	var read []string
	h.turns.Resources = func(_ context.Context, s *pannier.Skill) (pannier.Resources, error) {
		read = append(read, s.Slug)
		if s.Slug == "omega" {
			return pannier.Resources{}, errors.New("input/output error")
		}
		return pannier.Resources{Links: []pannier.Link{{URL: "https://a.example/" + s.Slug}}}, nil
	}
	for _, format := range prompt.Formats() {
		read = nil
		p := decode[pannier.Prompt](t, ask(h.handler(), "GET", "/v1/prompt?format="+format, "", "Accept", jsonType))
		shows := prompt.NeedsBodies(format)
		if strings.Contains(p.Text, "https://a.example/alpha") != shows || isShortened(p, "omega", pannier.LeftOutResources) != shows || isShortened(p, "alpha", pannier.LeftOutResources) || (len(read) > 0) != shows {
			t.Errorf("%s: read %v, omitted %v in\n%s", format, read, p.Omitted, p.Text)
		}
	}
}

func isShortened(p pannier.Prompt, slug, leftOut string) bool {
	return slices.ContainsFunc(p.Shortened, func(s pannier.Shortened) bool { return s.Slug == slug && s.LeftOut == leftOut })
}

// TestBodies reads the texts of active skills for the formats that show them, and describes those that have none.
func TestBodies(t *testing.T) {
	h := newHouse()
	var read []string
	disk := documents()
	whole := disk.read
	disk.read = func(s *pannier.Skill) (pannier.Document, error) {
		read = append(read, s.Slug)
		if s.Slug == "omega" {
			return pannier.Document{}, errors.New("input/output error")
		}
		return whole(s)
	}
	h.content.Texts = disk
	for _, format := range prompt.Formats() {
		read = nil
		p := decode[pannier.Prompt](t, ask(h.handler(), "GET", "/v1/prompt?format="+format, "", "Accept", jsonType))
		var without []pannier.Shortened
		var wanted []string
		if prompt.NeedsBodies(format) {
			wanted = []string{"alpha", "omega"}
			for _, slug := range []string{"gamma", "omega"} {
				without = append(without, pannier.Shortened{Slug: slug, LeftOut: pannier.LeftOutBody, Why: pannier.ShortenedUnread})
			}
		}
		if !slices.Equal(p.Shortened, without) || !slices.Equal(read, wanted) || len(p.Omitted) > 0 {
			t.Errorf("%s: omitted %v, shortened %v, read %v", format, p.Omitted, p.Shortened, read)
		}
	}
	if h.scans != 0 || len(h.events) != 0 {
		t.Errorf("%d scans, %d events", h.scans, len(h.events))
	}
}

func TestChangedBodyIsLookedAtAgain(t *testing.T) {
	h, now := edited()
	again := h.content.Rescan
	h.content.Rescan = func(ctx context.Context, wait bool) (*pannier.Snapshot, error) {
		s, err := again(ctx, wait)
		s.Version, s.Entries = 8, s.Entries[:1]
		return s, err
	}
	r := decode[pannier.Resolution](t, ask(h.handler(), "POST", "/v1/resolve", `{"format":"molecule"}`))
	if r.SnapshotVersion != 8 || len(r.Active) != 1 || r.Active[0].Digest != now || h.scans != 1 {
		t.Errorf("%+v after %d scans", r, h.scans)
	}
	if p := r.Prompt; p.Text != "\n## Your Skills\n\n### alpha\ndoes alpha\nedited\n\nExamples of requests that this skill is for:\n\n- e\n" || p.Truncated {
		t.Errorf("prompt: %+v", p)
	}
}

// TestEndlesslyChangingBody takes nothing from the other skills.
func TestEndlesslyChangingBody(t *testing.T) {
	h := newHouse()
	disk := documents()
	whole := disk.read
	disk.read = func(s *pannier.Skill) (pannier.Document, error) {
		if s.Slug == "alpha" {
			return pannier.Document{}, fmt.Errorf("read: %w", pannier.ErrChanged)
		}
		return whole(s)
	}
	h.content.Texts = disk
	p := decode[pannier.Prompt](t, ask(h.handler(), "POST", "/v1/prompt", `{"format":"molecule"}`, "Accept", jsonType))
	if !isShortened(p, "alpha", pannier.LeftOutBody) || !isShortened(p, "gamma", pannier.LeftOutBody) || len(p.Shortened) != 2 || !strings.Contains(p.Text, "### omega") || h.scans != 1 {
		t.Errorf("%+v after %d scans", p, h.scans)
	}
	h.content.Rescan = func(context.Context, bool) (*pannier.Snapshot, error) { return nil, errors.New("no scan") }
	checkProblem(t, "a scan that fails", ask(h.handler(), "GET", "/v1/prompt?format=molecule", ""), 500, "internal")
}

func TestCallerOfBodiesHasGone(t *testing.T) {
	h := newHouse()
	ctx, cancel := context.WithCancel(t.Context())
	disk := documents()
	disk.read = func(*pannier.Skill) (pannier.Document, error) {
		cancel()
		return pannier.Document{}, ctx.Err()
	}
	h.content.Texts = disk
	w := httptest.NewRecorder()
	h.handler().ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", "/v1/prompt?format=molecule", nil))
	if w.Code != 499 || w.Body.Len() > 0 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestBodiesAreBounded stops at a thousand skills, and where there are more than 32 MiB of text.
func TestBodiesAreBounded(t *testing.T) {
	for _, tt := range []struct{ large, shown int }{{1, 1000}, {32 << 20, 1}} {
		h := newHouse()
		h.snapshot.Entries = nil
		for i := range 1100 {
			h.snapshot.Entries = append(h.snapshot.Entries, entry(fmt.Sprintf("s%04d", i), pannier.StateEligible))
		}
		reads := 0
		h.content.Texts = texts{read: func(*pannier.Skill) (pannier.Document, error) {
			reads++
			if reads == 1 {
				return pannier.Document{Body: "x"}, nil
			}
			return pannier.Document{Body: strings.Repeat("x", tt.large)}, nil
		}}
		p := decode[pannier.Prompt](t, ask(h.handler(), "GET", "/v1/prompt?format=molecule&max_chars=0", "", "Accept", jsonType))
		without := 0
		for _, s := range p.Shortened {
			if s.LeftOut == pannier.LeftOutBody && s.Why == pannier.ShortenedByLimit {
				without++
			}
		}
		if without != 1100-tt.shown || len(p.Omitted) > 0 || reads > tt.shown+1 {
			t.Errorf("bodies of %d bytes: %d without, omitted %d, read %d", tt.large, without, len(p.Omitted), reads)
		}
	}
}

// TestFormatOfTheSettings asks without a format. The limit is then that of the format that the settings name.
func TestFormatOfTheSettings(t *testing.T) {
	h := newHouse()
	h.turns.Format = prompt.OpenClaw
	for _, tt := range []struct{ method, target, body, want string }{
		{"GET", "/v1/prompt", "", prompt.OpenClaw},
		{"POST", "/v1/prompt", "{}", prompt.OpenClaw},
		{"GET", "/v1/prompt?format=available_skills", "", prompt.AvailableSkills},
		{"POST", "/v1/prompt", `{"format":"available_skills"}`, prompt.AvailableSkills},
	} {
		p := decode[pannier.Prompt](t, ask(h.handler(), tt.method, tt.target, tt.body, "Accept", "application/json"))
		if p.Format != tt.want || p.Text == "" {
			t.Errorf("%s %s: %+v", tt.method, tt.target, p)
		}
	}
}

// TestCompactTellsMore shows the body of a skill that matches a file of the turn.
func TestCompactTellsMore(t *testing.T) {
	h := newHouse()
	alpha := *h.snapshot.Entries[0].Skill
	alpha.Paths = []string{"**/*.pdf"}
	h.snapshot.Entries[0].Skill = &alpha
	handler := h.handler()
	for body, shown := range map[string]bool{`{}`: false, `{"paths":["a/b.pdf"]}`: true, `{"text":"$alpha"}`: false} {
		p := decode[pannier.Prompt](t, ask(handler, "POST", "/v1/prompt", body, "Accept", jsonType))
		if len(p.Omitted) > 0 {
			t.Errorf("%s: %+v", body, p)
		}
		if strings.Contains(p.Text, "\n[Skill Body: $acme/alpha]\n# alpha <&>\n") != shown {
			t.Errorf("%s: %s", body, p.Text)
		}
	}
}
