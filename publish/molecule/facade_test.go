package molecule_test

import (
	"cmp"
	"context"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"

	"pannier"
	"pannier/publish/molecule"
	"pannier/publish/push"
)

// options are those of a target and of its publisher.
type options struct {
	URL, Path, WorkspaceID  string
	Name, Label             string
	Token                   func() (string, error)
	Header                  http.Header
	CAFile                  string
	Dial                    func(ctx context.Context, network, address string) (net.Conn, error)
	Outbox                  string
	OutboxStale             bool
	CardMaxBytes            int
	ReadBack, Events, Peers bool
	Logger                  hclog.Logger
	Registerer              prometheus.Registerer
	Emit                    func(pannier.EventType, any)
}

// publisher is a publisher with its target and what runs beside it, as the sidecar puts them together.
type publisher struct {
	*push.Publisher
	*molecule.Target
	promoter *molecule.Promoter
	outbox   string
	jitter   func(most time.Duration) time.Duration
	step     func(name string) error
}

func build(o options) (*publisher, error) {
	target, err := molecule.New(molecule.Options{
		URL: o.URL, Path: o.Path, WorkspaceID: o.WorkspaceID, Token: o.Token, Header: o.Header, CAFile: o.CAFile, Dial: o.Dial,
		CardMaxBytes: o.CardMaxBytes, Logger: o.Logger,
	})
	if err != nil {
		return nil, err
	}
	at, err := url.Parse(o.URL)
	if err != nil {
		return nil, err
	}
	p := &publisher{
		Target: target, outbox: o.Outbox,
		jitter: func(most time.Duration) time.Duration { return rand.N(most + 1) }, step: func(string) error { return nil },
	}
	p.Publisher, err = push.New(target, push.Options{
		Endpoint: target.Endpoint(), WorkspaceID: target.WorkspaceID(), Name: o.Name, Label: cmp.Or(o.Label, at.Host),
		Outbox: o.Outbox, OutboxStale: o.OutboxStale, ReadBack: o.ReadBack, Follow: o.Events, Peers: o.Peers,
		Logger: o.Logger, Registerer: o.Registerer, Emit: o.Emit,
		Jitter:       func(most time.Duration) time.Duration { return p.jitter(most) },
		BeforeOutbox: func(step string) error { return p.step(step) },
	})
	p.promoter = molecule.NewPromoter(target, o.Outbox, o.Name, o.Logger)
	return p, err
}

func (p *publisher) Run(ctx context.Context) error {
	defer p.Target.Close()
	var promoting sync.WaitGroup
	defer promoting.Wait()
	promoting.Go(func() { p.promoter.Run(ctx) })
	return p.Publisher.Run(ctx)
}

func (p *publisher) Conditions() []pannier.Condition {
	return append(p.Publisher.Conditions(), p.promoter.Conditions()...)
}

func (p *publisher) Peers() []pannier.Peer { return p.Publisher.Peers() }

func (p *publisher) Promote(ctx context.Context, promotion pannier.Promotion) (bool, error) {
	return p.promoter.Promote(ctx, promotion)
}

// SetJitter puts jitter in the place of chance, and Jitter draws from it.
func (p *publisher) SetJitter(jitter func(most time.Duration) time.Duration) { p.jitter = jitter }

func (p *publisher) Jitter(most time.Duration) time.Duration { return p.jitter(most) }

// SetStep has step called before each step of a write to the outbox, and before and after each push.
func (p *publisher) SetStep(step func(name string) error) {
	p.step = step
	p.SetTransport(stepping{p.Transport(), step})
}

type stepping struct {
	http.RoundTripper
	step func(name string) error
}

func (s stepping) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodPost {
		return s.RoundTripper.RoundTrip(r)
	}
	_ = s.step("send")
	defer func() { _ = s.step("sent") }()
	return s.RoundTripper.RoundTrip(r)
}

// OutboxFile is the path of the record.
func (p *publisher) OutboxFile() string {
	return push.OutboxPath(p.outbox, p.Endpoint(), p.WorkspaceID()) + ".json"
}

// AwaitOutbox returns when the outbox says what the publisher knows.
func (p *publisher) AwaitOutbox(ctx context.Context) error { return p.Flush(ctx) }

// What a wait is a random part of, by which tests tell what follows a try.
const (
	backoffBase = 100 * time.Millisecond
	slowSpread  = 12 * time.Second
)
