package turn

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"pannier"
	"pannier/service"
)

// Events say which events turns leave; the zero value is none.
type Events struct {
	// PerMinute bounds the events; 0 is none, and math.MaxInt no bound.
	PerMinute int
	// Text records turns themselves, with their text, and the arguments of invocations in full.
	Text bool
	// Mask masks the secrets in the arguments of an invocation, unless Text is set. Nil masks none.
	Mask func(string) string
	// Emit takes an event and reports whether there is room for it. Nil means that of the service.
	Emit func(pannier.EventType, any) bool
}

// The bounds of the events of one turn.
const (
	// maxTurnLoaded and maxTurnInvoked count the events of each type.
	maxTurnLoaded  = 100
	maxTurnInvoked = 100
	// maxTurnBytes bounds a turn that is recorded itself.
	maxTurnBytes = 16 << 10
	// maxTurnArgs bounds the arguments of an invocation.
	maxTurnArgs = 4 << 10
)

type readBody struct {
	*pannier.Entry
	frontmatter json.RawMessage
	resources   pannier.Resources
}

// Record records which skills are active in a turn and emits its events, unless it is sampled out: turn_resolved,
// skill_warning of each skill that adds tools, skill_loaded of each body in the prompt, skill_invoked of each
// chosen skill, and skill_override.
func (t *Turns) Record(turn pannier.Turn, a *Answer) {
	t.recordActive(a)
	for _, b := range a.read {
		t.Service.MarkLoaded(b.Entry)
	}
	overrides := a.overrides()
	for _, o := range overrides {
		t.overrides.WithLabelValues(o.Decision).Inc()
	}
	ok := t.sampler.admit(time.Now())
	if ok {
		ok = t.emitTurn(turn, a, overrides)
	}
	if !ok {
		t.sampler.skip(1)
	}
	t.recorded.WithLabelValues(strconv.FormatBool(ok)).Inc()
}

func (t *Turns) emitTurn(turn pannier.Turn, a *Answer, overrides []pannier.SkillOverride) bool {
	text, err := json.Marshal(turn)
	if err != nil { // a turn is made of texts and numbers
		return false
	}
	e := a.event(turn)
	e.TurnDigest, e.Unrecorded = pannier.DigestOf(text), t.sampler.skipped()
	if t.Events.Text && len(text) <= maxTurnBytes {
		e.Turn = &turn
	}
	if !t.Events.Emit(pannier.EventTurnResolved, e) {
		t.sampler.skip(e.Unrecorded)
		return false
	}
	t.sampler.spend(t.emitWidened(a.AllowedTools) + t.emitLoaded(a.read, e.TurnDigest) + t.emitInvoked(a, e.TurnDigest) +
		t.emitOverrides(overrides, e.TurnDigest))
	return true
}

// RecordPrompt emits the events of a prompt in which no skill is named, unless it is sampled out: skill_loaded of
// each body.
func (t *Turns) RecordPrompt(a *Answer) {
	if len(a.read) == 0 {
		return
	}
	for _, b := range a.read {
		t.Service.MarkLoaded(b.Entry)
	}
	if t.sampler.admit(time.Now()) {
		t.sampler.spend(t.emitLoaded(a.read, pannier.Digest{}) - 1)
	}
}

const kindToolsWidened = "turn.tools.widened"

// emitWidened emits a warning for each skill that adds to the tools of a turn, so that a reader of the events sees
// why the agent had them (OpenSkills contract, "Policy").
func (t *Turns) emitWidened(tools pannier.AllowedTools) (emitted int) {
	for _, slug := range tools.WidenedBy[:min(len(tools.WidenedBy), maxTurnInvoked)] {
		if !t.Events.Emit(pannier.EventSkillWarning, pannier.SkillWarning{
			Name: slug, Kind: kindToolsWidened,
			Detail: fmt.Sprintf(
				"the skill adds to the tools of a turn, as policy lets it (profile %s)",
				cmp.Or(tools.Profile, pannier.ProfileDefault),
			),
		}) {
			break
		}
		emitted++
	}
	return emitted
}

func (t *Turns) emitLoaded(shown []readBody, turn pannier.Digest) (emitted int) {
	for _, b := range shown[:min(len(shown), maxTurnLoaded)] {
		loaded := service.Loaded(b.Entry, b.frontmatter)
		loaded.TurnDigest, loaded.Resources = turn, b.resources.Files()
		if !t.Events.Emit(pannier.EventSkillLoaded, loaded) {
			break
		}
		emitted++
	}
	return emitted
}

func (t *Turns) emitInvoked(a *Answer, turn pannier.Digest) (emitted int) {
	for i := range a.Active {
		s := &a.Active[i]
		mode, invoked := service.ModeOf(s.Reason)
		found, ok := a.snapshot.Lookup(s.Slug)
		if !ok || !invoked {
			continue
		}
		args := cutText(s.Arguments, 2*maxTurnArgs) // a secret that begins within the bound is masked as a whole
		if t.Events.Mask != nil && !t.Events.Text {
			args = t.Events.Mask(args)
		}
		if emitted == maxTurnInvoked || !t.Events.Emit(pannier.EventSkillInvoked, pannier.SkillInvoked{
			Name: s.Name, Slug: s.Slug, Args: cutText(args, maxTurnArgs), Mode: mode,
			EffectiveAllowedTools: found.AllowedTools, TurnDigest: turn,
		}) {
			break
		}
		emitted++
	}
	return emitted
}

// recordActive records the skills that are active in a turn.
func (t *Turns) recordActive(answer *Answer) {
	uses, now := t.Service.Activity.Of(t.Service.Snapshot()), time.Now().Unix()
	for i := range answer.Active {
		if e, ok := answer.snapshot.Lookup(answer.Active[i].Slug); ok {
			uses.Of(e).Activate(now)
		}
	}
	if answer.automatic != nil {
		for _, use := range answer.automatic.uses {
			use.Activate(now)
		}
	}
}

// event returns what a turn resolved to, without what depends on settings.
func (a *Answer) event(turn pannier.Turn) pannier.TurnResolved {
	e := pannier.TurnResolved{
		Digest: a.snapshot.Digest, Format: turn.Format, Verbose: turn.Verbose, Bodies: len(a.read),
		Active: map[string]int{}, Rejected: map[string]int{}, Skills: []pannier.TurnSkill{},
		ExcludedTools: recordedTools(a.ExcludedTools),
	}
	add := func(s pannier.TurnSkill, against []pannier.Reason) {
		if len(e.Skills) == pannier.MaxTurnSkills {
			e.Truncated = true
			return
		}
		s.Slug = cutText(s.Slug, pannier.MaxTurnSlugBytes)
		for _, r := range against[:min(len(against), pannier.MaxTurnCodes)] {
			s.Codes = append(s.Codes, r.Code)
			s.Subjects = append(s.Subjects, cutText(r.Subject, pannier.MaxTurnSlugBytes))
		}
		e.Skills = append(e.Skills, s)
	}
	for i := range a.Active {
		s := &a.Active[i]
		skill := pannier.TurnSkill{Slug: s.Slug, State: pannier.TurnActive, Reason: s.Reason}
		if s.Relevance != nil {
			skill.Relevance = s.Relevance.Score
		}
		if e.Active[s.Reason]++; s.Reason != pannier.ViaImplicit || skill.Relevance > 0 {
			add(skill, nil)
		}
	}
	for _, span := range a.spans {
		e.Active[pannier.ViaImplicit] += span.To - span.From
	}
	for i := range a.Rejected {
		s := &a.Rejected[i]
		e.Rejected[s.Reason]++
		add(pannier.TurnSkill{Slug: s.Slug, State: pannier.TurnRejected, Reason: s.Reason}, s.Diagnostics)
	}
	excluded := len(a.ExcludedTools)
	if a.automatic != nil {
		excluded += len(a.automatic.without.slugs)
		e.ExcludedTools = append(e.ExcludedTools, a.automatic.recorded...)
	}
	e.ExcludedTools = e.ExcludedTools[:min(len(e.ExcludedTools), pannier.MaxTurnSkills)]
	e.Truncated = e.Truncated || excluded > pannier.MaxTurnSkills
	return e
}

// recordedTools returns the first of some excluded tools as events record them.
func recordedTools(excluded []pannier.ExcludedTool) []pannier.TurnTool {
	tools := []pannier.TurnTool{}
	for _, t := range excluded[:min(len(excluded), pannier.MaxTurnSkills)] {
		tools = append(tools, pannier.TurnTool{Name: cutText(t.Name, pannier.MaxTurnSlugBytes), Reason: t.Reason})
	}
	return tools
}

// keepShown drops the bodies that were read and that the prompt does not show.
func (a *Answer) keepShown() {
	if len(a.read) == 0 {
		return
	}
	shown := make(map[string]bool, len(a.section.Bodies))
	for _, slug := range a.section.Bodies {
		shown[slug] = true
	}
	a.read = slices.DeleteFunc(a.read, func(b readBody) bool { return !shown[b.Slug] })
}

// cutText returns the beginning of a text, at most so many bytes, in memory of its own if it is cut.
func cutText(text string, bytes int) string {
	if len(text) <= bytes {
		return text
	}
	return strings.ToValidUTF8(strings.Clone(text[:bytes]), "")
}

// sampler decides which turns are recorded. It has a credit of events, which grows with time up to what a minute
// brings. A turn is recorded while there is credit, and all of its events are taken off, below zero too.
type sampler struct {
	perMinute int

	mu         sync.Mutex
	credit     float64
	at         time.Time // when the credit last grew
	unrecorded uint64    // turns since the last recorded one
}

// admit reports whether a turn is recorded, and takes off its first event.
func (s *sampler) admit(now time.Time) bool {
	if s.perMinute == 0 {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.perMinute != math.MaxInt {
		if since := now.Sub(s.at); !s.at.IsZero() && since > 0 {
			s.credit = min(float64(s.perMinute), s.credit+since.Minutes()*float64(s.perMinute))
		}
		s.at = now
		if s.credit < 1 {
			return false
		}
		s.credit--
	}
	return true
}

func (s *sampler) spend(events int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.credit -= float64(events)
}

func (s *sampler) skip(turns uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unrecorded += turns
}

func (s *sampler) skipped() (turns uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	turns, s.unrecorded = s.unrecorded, 0
	return turns
}
