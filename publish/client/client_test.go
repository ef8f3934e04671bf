package client_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"pannier"
	"pannier/publish/client"
)

func slugs(list pannier.List) string {
	var all []string
	for i := range list.Skills {
		all = append(all, list.Skills[i].Slug)
	}
	return strings.Join(all, " ")
}

func TestSkills(t *testing.T) {
	both(t, newHandler(), func(t *testing.T, c *client.Client) {
		all, err := c.Skills(t.Context(), "", true)
		if err != nil || slugs(all) != "content off pdf pdf" || all.SnapshotVersion != 3 || len(all.Skills[0].Problems) != 1 {
			t.Errorf("%+v %v", all, err)
		}
		some, err := c.Skills(t.Context(), pannier.StateIneligible, false)
		if err != nil || slugs(some) != "off" || some.Skills[0].Problems != nil || some.Skills[0].Reasons[0].Subject != "KEY" {
			t.Errorf("%+v %v", some, err)
		}
	})
}

func TestSkill(t *testing.T) {
	both(t, newHandler(), func(t *testing.T, c *client.Client) {
		for _, tt := range []struct{ slug, at, path string }{
			{"pdf", "", "skills/pdf"}, {"acme/pdf", "", "skills/pdf"}, {"pdf", "extra/pdf", "extra/pdf"}, {"PDF ", "", "skills/pdf"},
		} {
			d, err := c.Skill(t.Context(), tt.slug, tt.at)
			if err != nil || d.Path != tt.path || string(d.Frontmatter) != `{"z":1,"a":2}` || !slices.Equal(d.Requirements.Bins, []string{"git"}) {
				t.Errorf("%v: %+v %v", tt, d, err)
			}
		}
	})
}

func TestList(t *testing.T) {
	both(t, newHandler(), func(t *testing.T, c *client.Client) {
		bare, err := c.List(t.Context(), client.ListQuery{})
		if err != nil || len(bare.Skills) == 0 || bare.Skills[0].Health != nil || bare.Skills[0].Policy.Source != "" {
			t.Errorf("%+v %v", bare, err)
		}
		full, err := c.List(t.Context(), client.ListQuery{Health: true, Policy: true, Problems: true})
		if err != nil || len(full.Skills) != len(bare.Skills) || full.Skills[0].Health == nil {
			t.Errorf("%+v %v", full, err)
		}
	})
}

func TestContent(t *testing.T) {
	both(t, newHandler(), func(t *testing.T, c *client.Client) {
		got, err := c.Content(t.Context(), "acme/pdf")
		if err != nil || got.Body != "body of pdf" || got.Directory != "/configs/skills/pdf" || !slices.Equal(got.Resources, []string{"run.sh"}) {
			t.Errorf("%+v %v", got, err)
		}
	})
}

func TestHealthAndRescan(t *testing.T) {
	both(t, newHandler(), func(t *testing.T, c *client.Client) {
		if h, err := c.Health(t.Context()); err != nil || h.Status != pannier.HealthOK || h.Workspace != "/w" {
			t.Errorf("%+v %v", h, err)
		}
		if err := c.Rescan(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestCardByteForByte(t *testing.T) {
	both(t, newHandler(), func(t *testing.T, c *client.Client) {
		if got, err := c.Card(t.Context()); err != nil || string(got) != cardText {
			t.Errorf("%s %v", got, err)
		}
	})
}

func TestTurn(t *testing.T) {
	both(t, newHandler(), func(t *testing.T, c *client.Client) {
		turn := pannier.Turn{
			Text: "/skill:pdf fill <in>", Format: "available_skills", Capabilities: []pannier.Capability{{ID: "x", Slug: "off"}}, Limits: pannier.Limits{MaxChars: new(0)},
		}
		r, err := c.Resolve(t.Context(), turn)
		if err != nil || len(r.Active) != 2 || r.Active[0].Arguments != "fill <in>" || len(r.Rejected) != 1 || r.Rejected[0].ID != "x" {
			t.Fatalf("%+v %v", r, err)
		}
		p, err := c.Prompt(t.Context(), turn)
		if err != nil || p.Text != r.Prompt.Text || !strings.Contains(p.Text, "/configs/skills/pdf/SKILL.md") {
			t.Errorf("%+v %v", p, err)
		}
	})
}

// TestOddSlugs never reach another route.
func TestOddSlugs(t *testing.T) {
	both(t, newHandler(), func(t *testing.T, c *client.Client) {
		for _, slug := range []string{".", "..", "../card", "../../metrics", "a?path=b", "a#b", "%", "%2e", "nope/content", "\x00", "ü"} {
			_, detailErr := c.Skill(t.Context(), slug, "")
			_, contentErr := c.Content(t.Context(), slug)
			for _, err := range []error{detailErr, contentErr} {
				if e, ok := errors.AsType[*client.Error](err); !ok || e.Code != "skill_not_found" {
					t.Errorf("%q: %v", slug, err)
				}
			}
		}
	})
}

func TestManyCallers(t *testing.T) {
	both(t, newHandler(), func(t *testing.T, c *client.Client) {
		var wg sync.WaitGroup
		for range 300 {
			wg.Go(func() {
				if _, err := c.Resolve(t.Context(), pannier.Turn{Text: "$pdf"}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	})
}

// TestRestart finds the next sidecar on the same path, with idle connections to the last one.
func TestRestart(t *testing.T) {
	path := socketPath(t)
	c := client.New(path)
	t.Cleanup(c.Close)
	for range 20 {
		stop := serve(t, path, newHandler())
		for range 3 {
			if _, err := c.Resolve(t.Context(), pannier.Turn{}); err != nil {
				t.Fatal(err)
			}
		}
		stop()
	}
	if _, err := c.Resolve(t.Context(), pannier.Turn{}); !errors.Is(err, client.ErrNoSidecar) {
		t.Errorf("after the last: %v", err)
	}
}

// TestHandlerGetsItsOwnRequest: what a handler does to it is not seen by the caller.
func TestHandlerGetsItsOwnRequest(t *testing.T) {
	c := client.InProcess(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("X", "changed")
		r.URL.Path, r.Body = "/elsewhere", nil
		w.WriteHeader(http.StatusTeapot)
		w.Write([]byte("tea"))
	}))
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodHead, "http://pannier/x", nil)
	res, err := c.HTTP.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if req.Header.Get("X") != "" || req.URL.Path != "/x" || res.Status != "418 I'm a teapot" || res.ContentLength > 0 {
		t.Errorf("%v %v %s %d", req.Header, req.URL, res.Status, res.ContentLength)
	}
}

func TestCallerGivesUp(t *testing.T) {
	begun := make(chan struct{}, 1)
	h := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		begun <- struct{}{}
		<-r.Context().Done()
	})
	both(t, h, func(t *testing.T, c *client.Client) {
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-begun
			cancel()
		}()
		if _, err := c.Health(ctx); !errors.Is(err, context.Canceled) || errors.Is(err, client.ErrNoSidecar) {
			t.Errorf("%v", err)
		}
	})
}
