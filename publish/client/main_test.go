package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"

	"pannier"
	"pannier/publish/api"
	"pannier/publish/card"
	"pannier/publish/client"
	"pannier/publish/turn"
	"pannier/registry/resolve"
	"pannier/service"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// cardText has what an encoder would write otherwise.
const cardText = `{"b":"<&>\u003c", "a": 1.0,"skills":[ ]}`

type texts struct{}

func (texts) Read(_ context.Context, s *pannier.Skill) (pannier.Document, error) {
	return pannier.Document{Frontmatter: json.RawMessage(`{"z":1,"a":2}`), Body: "body of " + s.Slug}, nil
}

func (texts) Files(context.Context, *pannier.Skill) ([]pannier.File, bool, error) {
	return []pannier.File{{Path: "SKILL.md"}, {Path: "run.sh", Executable: true}}, false, nil
}

func entry(slug, path string, state pannier.State) *pannier.Entry {
	return &pannier.Entry{
		Skill: &pannier.Skill{
			Slug: slug, Owner: "acme", Path: path, Name: slug, Description: "does it", File: "SKILL.md", UserInvocable: true, Implicit: true,
			SourceKind: pannier.SourceWorkspace, Digest: pannier.DigestOf([]byte(path)), Requirements: pannier.Requirements{Bins: []string{"git"}},
		},
		ID: slug, State: state, Usable: state == pannier.StateEligible, Reasons: []pannier.Reason{},
		Policy:   pannier.EffectivePolicy{Enabled: true, AllowImplicit: true, Source: pannier.PolicyStart, ImplicitSource: pannier.PolicyGateway},
		Problems: []pannier.Problem{{Code: "c", Severity: pannier.SeverityInfo, Message: "m", Hint: "h"}},
	}
}

// newHandler answers for a catalog of four.
func newHandler() http.Handler {
	ineligible := entry("off", "skills/off", pannier.StateIneligible)
	ineligible.Reasons = []pannier.Reason{{Code: pannier.ReasonMissingEnv, Subject: "KEY", Remedy: "set KEY"}}
	s := &pannier.Snapshot{
		Version: 3, Digest: pannier.DigestOf([]byte("s")), Time: time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC),
		Entries: []*pannier.Entry{
			entry("content", "skills/content", pannier.StateEligible), ineligible,
			entry("pdf", "skills/pdf", pannier.StateEligible), entry("pdf", "extra/pdf", pannier.StateShadowed),
		},
	}
	o := service.Options{
		Snapshot: func() *pannier.Snapshot { return s }, Ranked: new(resolve.Resolver).Find,
		Commands: service.Commands{List: resolve.Commands, Find: resolve.Command},
		Reading:  service.Reading{Texts: texts{}, Directory: func(s *pannier.Skill) string { return "/configs/" + s.Path }},
		Rescan: func(_ context.Context, wait bool) (*pannier.Snapshot, error) {
			if !wait {
				return nil, errors.New("the client does not wait")
			}
			return s, nil
		},
	}
	decides := service.New(o)
	return api.New(api.Options{
		Service: decides, Turns: turn.New(turn.Options{Service: decides, Resolve: resolve.Resolve, AgentWorkspace: "/configs"}),
		Reports: api.Reports{
			Card: func() card.Card { return card.Card{JSON: []byte(cardText)} },
			Health: func() pannier.Health {
				return pannier.Health{Status: pannier.HealthOK, Workspace: "/w", SnapshotVersion: 3}
			},
		},
	})
}

func socketPath(tb testing.TB) string {
	tb.Helper()
	dir, err := os.MkdirTemp("", "p")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, "s")
}

// serve runs a handler on a socket until the test ends, or stop is called, which waits for it.
func serve(tb testing.TB, path string, h http.Handler) (stop func()) {
	tb.Helper()
	l, err := api.Listen(context.Background(), path, 0o600)
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- api.Serve(ctx, l, h, hclog.NewNullLogger()) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			tb.Error(err)
		}
	})
	tb.Cleanup(stop)
	return stop
}

// both runs a test with a client over a socket and with one within the process.
func both(t *testing.T, h http.Handler, test func(*testing.T, *client.Client)) {
	t.Run("socket", func(t *testing.T) {
		path := socketPath(t)
		serve(t, path, h)
		c := client.New(path)
		t.Cleanup(c.Close)
		test(t, c)
	})
	t.Run("in process", func(t *testing.T) {
		c := client.InProcess(h)
		t.Cleanup(c.Close)
		test(t, c)
	})
}
