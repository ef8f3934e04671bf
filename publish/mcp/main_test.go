package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"pannier"
	"pannier/internal/testbench/fixture"
	"pannier/publish/mcp"
	"pannier/registry/resolve"
	"pannier/service"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shop is a server whose skills are in memory.
type shop struct {
	mcp.Options
	contents service.Options
	server   *mcp.Server

	mu       sync.Mutex
	caller   service.Caller // root, without another one
	snapshot *pannier.Snapshot
	files    map[string]string // by slug and path
	listed   map[string]string // the same, as manifests have them; nil for files
	news     chan *pannier.Snapshot
	rescans  int
	events   []pannier.Event
	onRescan func()

	wait, stall time.Duration // of large reads and of their answers; 0 for those of the server
}

func newShop(t testing.TB, slugs ...string) *shop {
	s := &shop{files: map[string]string{}, news: make(chan *pannier.Snapshot, 1)}
	s.set(slugs...)
	s.Options = mcp.Options{
		Subscribe: func() (<-chan *pannier.Snapshot, func()) { return s.news, func() {} },
		Manifest:  s.manifest,
		Tools:     true, CatalogMaxBytes: 1900, PageSize: 100,
	}
	s.contents = service.Options{
		Snapshot: s.current, Rescan: s.rescan, Ranked: new(resolve.Resolver).Find,
		Reading: service.Reading{Texts: s, OpenFile: s.open, Directory: func(e *pannier.Skill) string { return "/w/skills/" + e.Slug }},
		Emit: func(kind pannier.EventType, data any) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.events = append(s.events, pannier.Event{Type: kind, Data: data})
		},
		Commands: service.Commands{
			List: func(snapshot *pannier.Snapshot) (all []pannier.SkillCommand) {
				for _, e := range snapshot.Entries {
					all = append(all, pannier.SkillCommand{Name: e.Slug, Slug: e.Slug, Description: e.Description})
				}
				return all
			},
			Find: func(snapshot *pannier.Snapshot, name string) (c pannier.FoundCommand, ok bool) {
				c.Skill, ok = snapshot.Lookup(name)
				c.Name, c.Slug = name, name
				return c, ok
			},
		},
	}
	return s
}

func (s *shop) current() *pannier.Snapshot { s.mu.Lock(); defer s.mu.Unlock(); return s.snapshot }

// set makes a snapshot of usable skills.
func (s *shop) set(slugs ...string) { s.setWith(func(*pannier.Skill) {}, slugs...) }

// setWith makes a snapshot of usable skills of which the first one is different.
func (s *shop) setWith(change func(*pannier.Skill), slugs ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := &pannier.Snapshot{Version: 1}
	if s.snapshot != nil {
		next.Version = s.snapshot.Version + 1
	}
	for _, slug := range slugs {
		text := "---\nname: " + slug + "\ndescription: About " + slug + ".\n---\nDo " + slug + ".\n"
		if old, ok := s.files[slug+"/SKILL.md"]; ok {
			text = old
		}
		s.files[slug+"/SKILL.md"] = text
		next.Entries = append(next.Entries, &pannier.Entry{
			Skill:  &pannier.Skill{Slug: slug, Name: slug, Description: "About " + slug + ".", Path: "skills/" + slug, File: "SKILL.md", Digest: pannier.DigestOf([]byte(text)), UserInvocable: true},
			Usable: true, State: pannier.StateEligible, Policy: pannier.EffectivePolicy{AllowImplicit: true, Enabled: true},
		})
	}
	if len(next.Entries) > 0 {
		change(next.Entries[0].Skill)
	}
	s.snapshot = next
	select {
	case <-s.news:
	default:
	}
	s.news <- next
}

func (s *shop) write(name, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[name] = text
}

func (s *shop) rescan(context.Context, bool) (*pannier.Snapshot, error) {
	s.mu.Lock()
	s.rescans++
	on := s.onRescan
	s.mu.Unlock()
	if on != nil {
		on()
	}
	return s.current(), nil
}

// Read implements [service.Texts].
func (s *shop) Read(_ context.Context, skill *pannier.Skill) (pannier.Document, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, body, _ := strings.Cut(s.files[skill.Slug+"/SKILL.md"], "---\n")
	return pannier.Document{Body: body}, nil
}

// Files implements [service.Texts].
func (s *shop) Files(context.Context, *pannier.Skill) ([]pannier.File, bool, error) {
	return nil, true, nil
}

func (s *shop) manifest(_ context.Context, skill *pannier.Skill, _ time.Duration) (m pannier.Manifest, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	files := s.files
	if s.listed != nil {
		files = s.listed
	}
	m.Frontmatter = json.RawMessage(fmt.Sprintf(`{"name":%q,"description":%q}`, skill.Name, skill.Description))
	var all bytes.Buffer
	for name, text := range files {
		if path, ok := strings.CutPrefix(name, skill.Slug+"/"); ok {
			m.Files = append(m.Files, pannier.ManifestFile{Path: path, Digest: pannier.DigestOf([]byte(text)), Size: int64(len(text)), Modified: time.Unix(1, 0)})
		}
	}
	slices.SortFunc(m.Files, func(a, b pannier.ManifestFile) int { return strings.Compare(a.Path, b.Path) })
	for _, f := range m.Files {
		fmt.Fprintln(&all, f.Path, f.Digest)
	}
	m.Digest = pannier.DigestOf(all.Bytes())
	return m, nil
}

type openText struct{ text, path string }

func (o openText) Digest() pannier.Digest { return pannier.DigestOf([]byte(o.text)) }
func (o openText) Size() int64            { return int64(len(o.text)) }
func (o openText) Path() string           { return o.path }
func (o openText) Close() error           { return nil }
func (o openText) WriteTo(w io.Writer) (int64, error) {
	n, err := io.WriteString(w, o.text)
	return int64(n), err
}

func (s *shop) open(_ context.Context, e *pannier.Skill, path string) (service.File, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if below, ok := strings.CutPrefix(path, "link/"); ok { // a link to the directory real
		path = "real/" + below
	}
	text, ok := s.files[e.Slug+"/"+path]
	if path == "empty" {
		return nil, &pannier.FileError{Fault: pannier.FileIsDirectory, Path: path}
	}
	if !ok {
		return nil, &pannier.FileError{Fault: pannier.FileMissing, Path: path}
	}
	return openText{text, path}, nil
}

// serve serves over a unix socket until the test ends.
func (s *shop) serve(t testing.TB) *http.Client {
	s.Service = service.New(s.contents)
	s.server = mcp.New(s.Options)
	if s.wait > 0 {
		s.server.SetWaitsForTest(s.wait, s.stall)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = s.server.Serve(ctx) }()
	path := filepath.Join(fixture.ShortDir(t), "s")
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	handler := s.server.Handler()
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		caller := s.caller
		s.mu.Unlock()
		handler.ServeHTTP(w, r.WithContext(service.WithCaller(r.Context(), caller)))
	})}
	go func() { _ = server.Serve(ln) }()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}}
	t.Cleanup(func() {
		cancel()
		<-ended
		server.Close()
		transport.CloseIdleConnections()
	})
	return &http.Client{Transport: transport}
}

func connect(t testing.TB, client *http.Client, version string, o *sdk.ClientOptions) *sdk.ClientSession {
	t.Helper()
	c := sdk.NewClient(&sdk.Implementation{Name: "host", Version: "1"}, o)
	for _, method := range []string{"skills/list", "skills/get", "resources/directory/read"} {
		if err := sdk.AddSendingCustomMethod[*params, *result](c, method); err != nil {
			t.Fatal(err)
		}
	}
	session, err := c.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: "http://pannier/mcp", HTTPClient: client}, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}

type params struct {
	sdk.ParamsBase
	URI    string `json:"uri,omitempty"`
	Cursor string `json:"cursor,omitempty"`
}

type result struct {
	sdk.ResultBase
	Skills []struct {
		URI string `json:"uri"`
	} `json:"skills"`
	Skill struct {
		Resources json.RawMessage `json:"resources"`
	} `json:"skill"`
	Resources  []*sdk.Resource `json:"resources"`
	NextCursor string          `json:"nextCursor"`
}

const (
	withSessions = "2025-11-25"
	stateless    = "2026-07-28"
)

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	fixture.Eventually(t, what, func() error {
		if !holds() {
			return errors.New("not yet")
		}
		return nil
	})
}
