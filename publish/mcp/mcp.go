// Package mcp serves the skills of a snapshot to hosts of the Model Context Protocol, on the official SDK: the
// extension io.modelcontextprotocol/skills (SEP-2640), resources, prompts, tools and notifications, in both eras of the
// protocol.
//
// The SDK does the protocol. Lists and calls are answered from a view of the newest snapshot instead of the sets of the
// SDK, so that an answer never mixes two snapshots; the sets hold one entry each, whose replacement sends list_changed.
//
// A file is served only if its digest is that of the manifest, which belongs to the same state of the directory.
package mcp

import (
	"cmp"
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/prometheus/client_golang/prometheus"

	"pannier"
	"pannier/service"
)

// Options are what a server composes. All but the ones marked optional are needed.
type Options struct {
	// Service decides who reads what, and records it.
	Service *service.Service
	// Subscribe returns a channel that has the newest snapshot whenever there is one that was not received.
	Subscribe func() (snapshots <-chan *pannier.Snapshot, cancel func())
	// Manifest returns the manifest of a skill as it was at most maxAge ago. Its errors are [pannier.ErrChanged] and
	// [pannier.ErrNotServable].
	Manifest   func(ctx context.Context, s *pannier.Skill, maxAge time.Duration) (pannier.Manifest, error)
	SkillTools bool // offer the tools of skills, which the service calls
	// Version is that of the program.
	Version string

	Tools           bool // offer tools to hosts that read no resources
	CatalogMaxBytes int  // longest description of the tool that returns skills; 0 means one without the skills
	PageSize        int  // items in an answer

	Caller     func(*http.Request) string // optional: identifies who owns a session
	OnSession  func(pannier.MCPSession)   // optional: a host has connected; its texts are not cleaned
	OnWatch    func()                     // optional: the result of [Server.Watched] has changed
	Registerer prometheus.Registerer      // optional
	Logger     hclog.Logger               // optional
}

// Extension is the identifier of Skills over MCP.
const Extension = "io.modelcontextprotocol/skills"

// Server serves MCP over HTTP and over any transport of the SDK. It is made by [New] and answers once [Server.Serve]
// runs.
type Server struct {
	Options
	sdk           *sdk.Server
	views         atomic.Pointer[view]
	building      sync.Mutex // held while a view is built
	ready         chan struct{}
	makeReady     func()
	entries       entryCache
	sessions      sessions
	subscriptions subscriptions
	metrics       *metrics
	announced     atomic.Pointer[announcements] // nil while no host has seen a list
	answers       answers
	ended         chan struct{} // closed when Serve ends
	changed       atomic.Int64  // when files may have changed last, in nanoseconds since 1970
}

// New returns a server.
func New(o Options) *Server {
	o.Logger = cmp.Or(o.Logger, hclog.NewNullLogger())
	o.PageSize = max(1, o.PageSize)
	s := &Server{Options: o, ready: make(chan struct{}), ended: make(chan struct{}), metrics: newMetrics(o.Registerer)}
	s.answers.init()
	s.makeReady = sync.OnceFunc(func() { close(s.ready) })
	s.sessions.init(s)
	s.subscriptions.init(s)
	capabilities := &sdk.ServerCapabilities{
		Prompts:     &sdk.PromptCapabilities{ListChanged: true},
		Resources:   &sdk.ResourceCapabilities{ListChanged: true, Subscribe: true},
		Completions: &sdk.CompletionCapabilities{},
	}
	if o.Tools {
		capabilities.Tools = &sdk.ToolCapabilities{ListChanged: true}
	}
	capabilities.AddExtension(Extension, map[string]any{"directoryRead": true})
	s.sdk = sdk.NewServer(&sdk.Implementation{Name: "pannier", Title: "pannier", Version: o.Version}, &sdk.ServerOptions{
		Capabilities: capabilities, PageSize: o.PageSize, CompletionHandler: s.complete,
		SubscribeHandler: s.subscriptions.subscribe, UnsubscribeHandler: s.subscriptions.unsubscribe,
		SetCacheable: func(_ context.Context, _ sdk.Request, c *sdk.Cacheable) { c.TTLMs, c.CacheScope = ttl, cacheScope },
	})
	for _, err := range []error{
		sdk.AddReceivingCustomMethod(s.sdk, "skills/list", s.listSkills),
		sdk.AddReceivingCustomMethod(s.sdk, "skills/get", s.getSkill),
		sdk.AddReceivingCustomMethod(s.sdk, "resources/directory/read", s.readDirectory),
	} {
		if err != nil {
			panic(err) // a later SDK has the method: serve it by that
		}
	}
	s.sdk.AddReceivingMiddleware(s.receive)
	s.touchResources()
	s.touchPrompts()
	if o.Tools {
		s.touchTools()
	}
	return s
}

// Run serves one host over a transport, such as standard input and output, until the host ends it or ctx is done.
func (s *Server) Run(ctx context.Context, t sdk.Transport) error {
	session, err := s.sdk.Connect(ctx, t, nil)
	if err != nil {
		return err
	}
	defer s.subscriptions.drop(session)
	stop := context.AfterFunc(ctx, func() { _ = session.Close() })
	defer stop()
	return session.Wait()
}

// Serve sends notifications until ctx is done, and then closes all sessions.
func (s *Server) Serve(ctx context.Context) error {
	defer s.sessions.close()
	defer close(s.ended)
	s.notify(ctx)
	return nil
}

// The cache hints of the answers: a host may show a list this much later than it changed, and no cache may share it.
const (
	ttl        = 1000 // milliseconds
	cacheScope = "private"
)

// firstSnapshotTimeout is how long a request waits for the first scan.
const firstSnapshotTimeout = 10 * time.Second

// current returns the view of the newest snapshot. Before the first one it waits.
func (s *Server) current(ctx context.Context) (*view, error) {
	snapshot := s.Service.Snapshot()
	if snapshot == nil {
		timer := time.NewTimer(firstSnapshotTimeout)
		defer timer.Stop()
		select {
		case <-s.ready:
			snapshot = s.Service.Snapshot()
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-timer.C:
		}
	}
	if snapshot == nil {
		return nil, service.ErrNotReady
	}
	return s.viewOf(snapshot), nil
}

// viewOf returns the view of a snapshot, which is built once.
func (s *Server) viewOf(snapshot *pannier.Snapshot) *view {
	v := s.views.Load()
	if v == nil || v.snapshot != snapshot {
		v = s.build(snapshot)
	}
	if s.announced.Load() == nil {
		s.announced.CompareAndSwap(nil, s.listsOf(v))
	}
	return v
}

func (s *Server) build(snapshot *pannier.Snapshot) *view {
	s.building.Lock()
	defer s.building.Unlock()
	v := s.views.Load()
	if v != nil && (v.snapshot == snapshot || v.snapshot.Version > snapshot.Version) {
		return v
	}
	v = s.newView(snapshot)
	s.views.Store(v)
	s.entries.keep(snapshot)
	return v
}
