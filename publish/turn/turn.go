// Package turn answers which skills are active in a turn of an agent, with the prompt of that, and records it. Every
// protocol that agents ask for turns uses it.
package turn

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"pannier"
	"pannier/publish/prompt"
	"pannier/service"
)

// Options are what answers are composed of. All but the ones marked optional are needed.
type Options struct {
	// Service decides which texts are read, and keeps when skills were used.
	Service *service.Service
	// Resolve decides which skills are active in a turn.
	Resolve func(*pannier.Snapshot, pannier.Turn) pannier.Resolution
	// Resources reads the links and examples of a skill for the prompt formats that show bodies; optional.
	Resources func(context.Context, *pannier.Skill) (pannier.Resources, error)
	// Peers returns the workspaces that the agent can delegate to, in their order; optional. What it returns is not
	// changed.
	Peers func() []pannier.Peer
	// AgentWorkspace is the workspace's path as the agent sees it.
	AgentWorkspace string
	// Format is that of a prompt where the turn names none; empty is the default of package prompt.
	Format string
	// MaxChars bounds a prompt where the turn does not; 0 means unbounded.
	MaxChars int
	// Events say which events turns leave; the zero value records no turn.
	Events     Events
	Registerer prometheus.Registerer // optional
}

// Turns answers turns about the snapshots of one workspace. It is for any number of callers.
type Turns struct {
	Options
	bodyCache bodyCache
	sampler   *sampler
	duration  prometheus.Histogram
	recorded  *prometheus.CounterVec
	overrides *prometheus.CounterVec
	spare     sync.Pool // of *Answer

	mu     sync.Mutex
	newest *snapshotTurns
}

// buckets are around the millisecond that a turn may cost.
var buckets = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, 1}

// New returns what answers turns.
func New(o Options) *Turns {
	if o.Events.Emit == nil {
		o.Events.Emit = func(kind pannier.EventType, data any) bool {
			o.Service.Emit(kind, data)
			return true
		}
	}
	t := &Turns{
		Options: o, sampler: &sampler{perMinute: o.Events.PerMinute, credit: float64(o.Events.PerMinute)},
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "pannier_resolve_duration_seconds",
			Help: "How long it took to resolve a turn and to render its prompt.", Buckets: buckets,
		}),
		recorded: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pannier_turns_total", Help: "Turns that were answered, by whether their events were recorded.",
		}, []string{"recorded"}),
		overrides: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pannier_overrides_total",
			Help: "Overrides that the chosen skills of turns proposed, by what became of them.",
		}, []string{"decision"}),
	}
	for _, recorded := range []bool{true, false} {
		t.recorded.WithLabelValues(strconv.FormatBool(recorded))
	}
	for _, decision := range []string{pannier.OverrideSuggested, pannier.OverrideApplied, pannier.OverrideRefused} {
		t.overrides.WithLabelValues(decision)
	}
	if o.Registerer != nil {
		o.Registerer.MustRegister(t.duration, t.recorded, t.overrides)
	}
	return t
}

// Answer returns which skills are active in a turn about a snapshot, with their prompt, for [Answer.Release] to take
// back. Where the format shows bodies and the disk has moved on from one, it scans again once, and all is of the new
// snapshot.
func (t *Turns) Answer(ctx context.Context, s *pannier.Snapshot, turn pannier.Turn) (*Answer, error) {
	a, ok := t.spare.Get().(*Answer)
	if !ok {
		a = &Answer{turns: t}
	}
	if err := t.answer(ctx, s, turn, a); err != nil {
		a.Release()
		return nil, err
	}
	return a, nil
}

// turnsOf returns what the answers to turns about a snapshot have in common.
func (t *Turns) turnsOf(s *pannier.Snapshot) *snapshotTurns {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.newest == nil || t.newest.snapshot != s {
		t.newest = &snapshotTurns{
			resolve: t.Resolve, permit: t.Service.PermitTool, snapshot: s, used: &t.Service.Activity,
			sections: prompt.NewRenderer(s, t.AgentWorkspace),
		}
	}
	return t.newest
}

// Complete fills in what a turn leaves to the settings, and checks the whole.
func (t *Turns) Complete(turn pannier.Turn) (pannier.Turn, error) {
	turn.Format = cmp.Or(turn.Format, t.Format)
	return turn, checkTurn(turn)
}

func checkTurn(turn pannier.Turn) error {
	if f := turn.Format; f != "" && !slices.Contains(prompt.Formats(), f) {
		return invalid(
			"format", fmt.Sprintf("unknown prompt format %q", f), "give one of "+strings.Join(prompt.Formats(), ", "),
		)
	}
	if n := turn.Limits.MaxChars; n != nil && *n < 0 {
		return invalid("max_chars", "max_chars is less than 0", "give 0 for no limit")
	}
	if n := turn.Limits.MaxBodies; n != nil && *n < 0 {
		return invalid("max_bodies", "max_bodies is less than 0", "give 0 for no bodies, or leave it out for no limit")
	}
	if err := checkList("paths", turn.Paths, pannier.MaxTurnPaths, pannier.MaxPathBytes); err != nil {
		return err
	}
	if n := turn.Limits.MaxTokens; n != nil && *n < 0 {
		return invalid("max_tokens", "max_tokens is less than 0", "give 0 for no limit")
	}
	if err := checkList("context.recent_texts", turn.Context.RecentTexts, pannier.MaxRecentTexts, pannier.MaxRecentTextBytes); err != nil {
		return err
	}
	if err := checkList("context.recent_skills", turn.Context.RecentSkills, pannier.MaxRecentSkills, pannier.MaxPathBytes); err != nil {
		return err
	}
	if err := checkList("project_dir", []string{turn.ProjectDir}, 1, pannier.MaxPathBytes); err != nil {
		return err
	}
	return checkList("tools", turn.Tools, pannier.MaxTurnTools, pannier.MaxToolBytes)
}

// checkList refuses a list that has too many items, or too long ones: the resolver would leave them out silently.
func checkList(name string, list []string, items, bytes int) error {
	if len(list) > items {
		return invalid(
			name, fmt.Sprintf("%s has %d items, more than %d", name, len(list), items),
			"send those that the turn is about",
		)
	}
	if slices.ContainsFunc(list, func(text string) bool { return len(text) > bytes }) {
		return invalid(
			name, fmt.Sprintf("%s has a text of more than %d bytes", name, bytes), "leave it out, or shorten it",
		)
	}
	return nil
}

// budget returns the budget of the prompt of a turn: its own limits, else that of the settings, or less where overrides
// apply.
func (t *Turns) budget(turn pannier.Turn, o *pannier.TurnOverrides) (b prompt.Budget) {
	if n := turn.Limits.MaxTokens; n != nil {
		b.MaxTokens = *n
	}
	switch {
	case turn.Limits.MaxChars != nil:
		b.MaxChars = *turn.Limits.MaxChars
	case turn.Limits.MaxTokens == nil && prompt.Bounded(turn.Format):
		b.MaxChars = t.MaxChars
	}
	if o != nil && o.Mode == pannier.OverridesApply {
		if least := o.Effective.Context.MaxChars; least > 0 && (b.MaxChars == 0 || least < b.MaxChars) {
			b.MaxChars = least
		}
	}
	return b
}

// invalid is about a parameter that a turn has, so that the codes can be counted.
func invalid(name, message, hint string) error {
	return &pannier.Refusal{Code: "invalid_parameter." + name, Message: message, Hint: hint}
}
