package sidecar

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pannier"
	"pannier/config"
	"pannier/internal/testbench/fixture"
	"pannier/publish/api"
	"pannier/publish/client"
	"pannier/service"
)

type toyAnswer struct {
	Skills int `json:"skills"`
}

// toyModule counts skills at GET /v1/toy, reports a condition, and closes ended when its Run has ended.
func toyModule(ended chan struct{}) Module {
	return Module{Name: "toy", Open: func(h Host) (Part, error) {
		return Part{
			Routes: []api.Route{{
				Pattern: "GET /v1/toy", ID: "getToy", Summary: "How many skills there are.", Answer: toyAnswer{},
				Serve: func(_ *api.Handler, w http.ResponseWriter, r *http.Request, s *pannier.Snapshot) error {
					return api.WriteJSON(w, r, toyAnswer{len(s.Entries)})
				},
			}},
			Conditions: func() []pannier.Condition {
				return []pannier.Condition{{Code: "toy", Severity: pannier.SeverityInfo, Subject: h.Settings.Workspace, Message: "it is a toy", Hint: "leave it out"}}
			},
			Run: func(ctx context.Context) error {
				defer close(ended)
				if actor := service.ActorFrom(ctx); actor.Owner() != "module:toy" {
					return errors.New("the actor is " + actor.Owner())
				}
				<-ctx.Done()
				return nil
			},
		}, nil
	}}
}

// TestModule sees the route, the condition and the goroutine of a module.
func TestModule(t *testing.T) {
	w := fixture.NewWorkspace(t)
	fixture.WriteIn(t, w, fixture.SkillScript("haiku", "Writes a haiku."))
	o, ended := optionsFor(t, w), make(chan struct{})
	o.Modules = []Module{toyModule(ended)}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() { failed <- s.Run(ctx) }()
	c := client.New(o.Settings.Socket.Path)
	defer c.Close()
	fixture.Eventually(t, "the module answers", func() error {
		res, err := c.HTTP.Get("http://localhost/v1/toy")
		if err != nil {
			return err
		}
		defer res.Body.Close()
		if text, err := io.ReadAll(res.Body); err != nil || string(text) != "{\"skills\":1}\n" {
			return errors.Join(err, errors.New(string(text)))
		}
		return nil
	})
	health, err := c.Health(t.Context())
	if err != nil || !slices.ContainsFunc(health.Conditions, func(c pannier.Condition) bool { return c.Code == "toy" && c.Subject == w }) {
		t.Errorf("%+v, %v", health.Conditions, err)
	}
	stop()
	<-ended
	if err := <-failed; err != nil {
		t.Error(err)
	}
}

// TestModuleRefusesSettings before anything is opened.
func TestModuleRefusesSettings(t *testing.T) {
	o := optionsFor(t, fixture.NewWorkspace(t))
	refusal := &Error{Message: "toy needs b", Hint: "set b"}
	o.Modules = []Module{{Name: "toy", Settings: func(config.Settings) error { return refusal }}}
	if _, err := New(o); !errors.Is(err, refusal) {
		t.Errorf("%v", err)
	}
}

// TestOneModuleHasTools: a second one would replace the tools of the first.
func TestOneModuleHasTools(t *testing.T) {
	withTools := func(name string) Module {
		return Module{Name: name, Open: func(Host) (Part, error) { return Part{Tools: struct{ service.Tools }{}}, nil }}
	}
	o := optionsFor(t, fixture.NewWorkspace(t))
	o.Modules = []Module{withTools("a"), withTools("b")}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "modules a and b both have tools") {
		t.Errorf("%v", err)
	}
}

// TestOneModuleHasAPage: a second one would replace the page of the first.
func TestOneModuleHasAPage(t *testing.T) {
	withPage := func(name string) Module {
		return Module{Name: name, Page: func(config.Settings) *api.Page { return &api.Page{} }}
	}
	o := optionsFor(t, fixture.NewWorkspace(t))
	o.Settings.TCP.APIListen, o.Settings.TCP.APITokens = "127.0.0.1:0", filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(o.Settings.TCP.APITokens, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	o.Modules = []Module{withPage("a"), withPage("b")}
	s, err := New(o)
	if err == nil {
		err = s.Run(t.Context())
	}
	if err == nil || !strings.Contains(err.Error(), "module b has a page") {
		t.Errorf("%v", err)
	}
}
