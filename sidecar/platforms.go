package sidecar

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"

	"pannier"
	"pannier/config"
	"pannier/publish/card"
	"pannier/publish/molecule"
	"pannier/publish/push"
)

// publishers keep every platform holding the newest card, each by itself: one that hangs holds up no other. There is none
// where nothing is pushed.
type publishers struct {
	all []platformPublisher
	// tokens are the token files of the platforms that have one.
	tokens []*molecule.FileToken
	// offered is closed once there is a card of this process.
	offered chan struct{}
	once    sync.Once
}

type platformPublisher struct {
	*push.Publisher
	target   *molecule.Target
	promoter *molecule.Promoter
}

// remote is what reaching the platforms takes beside the settings.
type remote struct {
	// token and dial are those of the embedded platform. Where token is nil the files are read that the settings name, and
	// where dial is nil connections go over the network.
	token  func() (string, error)
	dial   func(ctx context.Context, network, address string) (net.Conn, error)
	outbox string // the directory of the cards that wait; empty keeps them in memory
	stale  bool   // the outbox may be older than what was pushed
	// settling reports whether a newer card than the one that was offered last is about to be offered; nil for never.
	settling func(offered pannier.Digest) bool
	// newest returns the newest card that may be pushed; nil for the one that was offered last.
	newest func() card.Card
	// tried is called after each attempt to push a card; nil does nothing.
	tried func(failed bool)
}

func newPublishers(s config.Settings, to remote, emit func(pannier.EventType, any), reg prometheus.Registerer, log hclog.Logger) (*publishers, error) {
	p := &publishers{offered: make(chan struct{})}
	for i, at := range s.Platforms {
		if at.URL == config.PlatformOff {
			continue
		}
		header, err := PlatformHeader(at.Headers)
		if err != nil {
			return nil, err
		}
		o := molecule.Options{
			URL: at.URL, WorkspaceID: at.WorkspaceID, Token: to.token, Header: header, CAFile: at.CAFile,
			Dial: to.dial, CardMaxBytes: maxCardBytes,
		}
		if o.Token == nil && at.TokenFile != "" {
			token := molecule.NewFileToken(at.TokenFile, at.TokenChecked)
			p.tokens = append(p.tokens, token)
			o.Token = token.Read
		}
		name, label := platformNames(s.Platforms, i)
		if to.dial != nil {
			o.URL, name, label = embeddedURL, EmbeddedPlatform, "embedded"
		}
		// Platforms share the directory of the outbox: its files are named by endpoint and workspace.
		o.Logger = log.Named("platform").With("platform", label)
		target, err := molecule.New(o)
		if err != nil {
			return nil, fmt.Errorf("platform: %w", err)
		}
		pub, err := push.New(target, push.Options{
			Name: name, Label: label, Endpoint: target.Endpoint(), WorkspaceID: target.WorkspaceID(), Outbox: to.outbox, OutboxStale: to.stale,
			ReadBack: at.Follow != config.FollowOff, Follow: at.Follow == config.FollowEvents, Peers: true, Logger: log, Registerer: reg, Emit: emit, Tried: to.tried,
			Settling: to.settling, Newest: to.newest,
		})
		if err != nil {
			return nil, fmt.Errorf("platform: %w", err)
		}
		p.all = append(p.all, platformPublisher{pub, target, molecule.NewPromoter(target, to.outbox, name, o.Logger)})
	}
	return p, nil
}

const maxHeaderFile = 16 << 10

// PlatformHeader returns the headers of the settings. A value that begins with @ names a file that holds the value, so that it
// stands neither in a list of processes nor in a settings file; @@ stands for one @.
func PlatformHeader(settings map[string]string) (http.Header, error) {
	header := http.Header{}
	for name, value := range settings {
		path, inFile := strings.CutPrefix(value, "@")
		if inFile && !strings.HasPrefix(path, "@") {
			text, err := molecule.ReadFile(path, maxHeaderFile)
			if err != nil {
				return nil, &Error{
					Message: fmt.Sprintf("read the value of the platform header %s: %v", name, err),
					Hint:    "name a regular file of at most 16 KiB after the @, or write @@ for a value that begins with @",
				}
			}
			value = strings.TrimSpace(string(text))
		} else if inFile {
			value = path
		}
		header.Set(name, value)
	}
	return header, nil
}

// platformNames returns what health and events call a platform, empty for its usual name, and its label in metrics: its
// host, with path and workspace behind it where others have the same.
func platformNames(all []config.Platform, i int) (name, label string) {
	if !alone(all, i, endpointOf) {
		name = endpointOf(all[i]) + "#" + all[i].WorkspaceID
	}
	switch {
	case alone(all, i, hostOf):
		return name, hostOf(all[i])
	case alone(all, i, endpointOf):
		return name, strings.TrimPrefix(strings.TrimPrefix(endpointOf(all[i]), "https://"), "http://")
	}
	return name, name
}

// alone reports whether no other platform is called as one of them is.
func alone(all []config.Platform, i int, called func(config.Platform) string) bool {
	for j, other := range all {
		if j != i && called(other) == called(all[i]) {
			return false
		}
	}
	return true
}

func hostOf(p config.Platform) string {
	u, err := url.Parse(p.URL)
	if err != nil {
		return "" // which the settings do not let pass
	}
	return u.Host
}

func endpointOf(p config.Platform) string {
	endpoint, err := url.JoinPath(p.URL, molecule.DefaultPath)
	if err != nil {
		return ""
	}
	return endpoint
}

func (p *publishers) offer(c card.Card) {
	for _, pub := range p.all {
		pub.Offer(c)
	}
	p.once.Do(func() { close(p.offered) })
}

// run pushes cards until ctx is done. It begins with the first card of this process: what a process before has left in the
// outbox may be older, and must not be seen again.
func (p *publishers) run(ctx context.Context) {
	select {
	case <-ctx.Done():
		return
	case <-p.offered:
	}
	var running sync.WaitGroup
	for _, pub := range p.all {
		running.Go(func() { _ = pub.Run(ctx) }) // which is always nil
		running.Go(func() { pub.promoter.Run(ctx) })
	}
	running.Wait()
	for _, pub := range p.all {
		pub.target.Close()
	}
}

func (p *publishers) health() (pushes []pannier.PushHealth, conditions []pannier.Condition) {
	pushes = []pannier.PushHealth{}
	for _, token := range p.tokens {
		conditions = append(conditions, token.Conditions()...)
	}
	for _, pub := range p.all {
		push := pub.Health()
		pushes = append(pushes, push)
		if push.LastError != "" {
			severity := pannier.SeverityWarning
			if push.Blocked {
				severity = pannier.SeverityError
			}
			conditions = append(conditions, pannier.Condition{
				Code: "push_failing", Severity: severity, Since: push.Since, Subject: push.Platform, Message: push.LastError,
				Hint: cmp.Or(push.Hint, "the newest card is pushed again until the platform takes it"),
			})
		}
		conditions = append(conditions, pub.Conditions()...)
		conditions = append(conditions, pub.promoter.Conditions()...)
		// Platforms take a card without url and route by the url of the agent's registration, so that it is for information;
		// the embedded platform has no agents that could call this one.
		if since, lacks := pub.target.LacksURL(); lacks && pub.Name() != EmbeddedPlatform {
			conditions = append(conditions, pannier.Condition{
				Code: "card_without_url", Severity: pannier.SeverityInfo, Since: since, Subject: pub.Name(),
				Message: "the card has no url: agents that read the card cannot call this agent",
				Hint:    "set --agent-url (agent_url), or have the agent register with a url; the next push keeps that",
			})
		}
	}
	return pushes, conditions
}

// cards returns what the platforms hold.
func (p *publishers) cards() pannier.CardStatus {
	status := pannier.CardStatus{Platforms: []pannier.PlatformCard{}}
	for _, pub := range p.all {
		status.Platforms = append(status.Platforms, pub.Cards())
	}
	return status
}

// peers returns those that any platform lists, by the order of the platforms, then by id. Of those with one id the first
// counts.
func (p *publishers) peers() []pannier.Peer {
	if len(p.all) == 1 {
		return p.all[0].Peers()
	}
	var all []pannier.Peer
	told := map[string]bool{}
	for _, pub := range p.all {
		for _, peer := range pub.Peers() {
			if !told[peer.ID] {
				told[peer.ID] = true
				all = append(all, peer)
			}
		}
	}
	return all
}

// promote reports a promotion to every platform at once, and returns the results, in the order of the settings.
func (p *publishers) promote(ctx context.Context, promotion pannier.Promotion) []pannier.ActivityResult {
	results := make([]pannier.ActivityResult, len(p.all))
	var telling sync.WaitGroup
	for i, to := range p.all {
		telling.Go(func() {
			results[i].Platform = to.Name()
			if kept, err := to.promoter.Promote(ctx, promotion); err != nil {
				results[i].Error, results[i].Kept = err.Error(), kept
			}
		})
	}
	telling.Wait()
	return results
}
