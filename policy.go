package pannier

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
)

// Switches are the switches that each layer of policy has for a skill (Pioneer skills protocol, "Policy Model"). A
// switch that is nil leaves the decision to the layer below.
type Switches struct {
	// Enabled says whether the skill can be used at all.
	Enabled *bool `json:"enabled,omitempty"`
	// AllowImplicit says whether the model may use the skill without being told to.
	AllowImplicit *bool `json:"allow_implicit_invocation,omitempty"`
	// Tools says whether the tools of the skill are offered. It cannot give them more trust than the skill has.
	Tools *bool `json:"tools,omitempty"`
	// Overrides says whether the skill may override something in its turns, as far as the settings let it.
	Overrides *bool `json:"overrides,omitempty"`
}

// IsZero reports whether no switch says anything.
func (s Switches) IsZero() bool {
	return s == Switches{}
}

// Equal reports whether both say the same.
func (s Switches) Equal(other Switches) bool {
	return equal(s.Enabled, other.Enabled) && equal(s.AllowImplicit, other.AllowImplicit) && equal(s.Tools, other.Tools) &&
		equal(s.Overrides, other.Overrides)
}

func equal(a, b *bool) bool { return a == b || a != nil && b != nil && *a == *b }

// StartSwitches returns the lowest layer: what counts where no other says anything.
func StartSwitches() Switches {
	enabled, implicit := true, false
	return Switches{Enabled: &enabled, AllowImplicit: &implicit}
}

// Toggle is what a client wants done with one switch: the zero Toggle leaves it as it is.
type Toggle struct {
	// Given says that the client said something; To is the value, or nil to say nothing in that layer any more.
	Given bool
	To    *bool
}

// IsZero reports whether the switch stays as it is.
func (t Toggle) IsZero() bool { return !t.Given }

// MarshalJSON implements [json.Marshaler].
func (t Toggle) MarshalJSON() ([]byte, error) { return json.Marshal(t.To) }

// UnmarshalJSON implements [json.Unmarshaler]: true, false, or null.
func (t *Toggle) UnmarshalJSON(text []byte) error {
	switch string(text) {
	case "null":
		*t = Toggle{Given: true}
	case "true", "false":
		value := string(text) == "true"
		*t = Toggle{Given: true, To: &value}
	default:
		return fmt.Errorf("a switch is true, false or null, not %.20s", text)
	}
	return nil
}

// apply returns a switch after the change. It shares no pointer with the change, whose maker may use it again.
func (t Toggle) apply(to *bool) *bool {
	switch {
	case !t.Given:
		return to
	case t.To == nil:
		return nil
	}
	return new(*t.To)
}

// PolicyChange is what a client wants changed in the workspace layer of one skill. What it leaves out keeps its value
// (Pioneer skills protocol, "Setting Policy").
type PolicyChange struct {
	Enabled       Toggle `json:"enabled,omitzero"`
	AllowImplicit Toggle `json:"allow_implicit_invocation,omitzero"`
	Tools         Toggle `json:"tools,omitzero"`
	Overrides     Toggle `json:"overrides,omitzero"`
	// ToolsAllowed is the fingerprint of the content whose programs may run, null for none.
	ToolsAllowed Permission `json:"tools_allowed,omitzero"`
}

// Permission is what a client wants done with [PolicyEntry.ToolsAllowed]: the zero Permission leaves it as it is.
type Permission struct {
	// Given says that the client said something; To is the fingerprint, or zero to allow nothing any more.
	Given bool
	To    Digest
}

// IsZero reports whether the permission stays as it is.
func (p Permission) IsZero() bool { return !p.Given }

// MarshalJSON implements [json.Marshaler].
func (p Permission) MarshalJSON() ([]byte, error) {
	if p.To.IsZero() {
		return []byte("null"), nil
	}
	return json.Marshal(p.To)
}

// UnmarshalJSON implements [json.Unmarshaler]: a fingerprint, or null.
func (p *Permission) UnmarshalJSON(text []byte) error {
	*p = Permission{Given: true}
	if string(text) == "null" {
		return nil
	}
	var fingerprint string
	if err := json.Unmarshal(text, &fingerprint); err != nil {
		return errors.New("tools_allowed is a fingerprint or null")
	}
	var err error
	p.To, err = ParseFingerprint(fingerprint)
	return err
}

// Apply returns the switches as they are after the change.
func (c PolicyChange) Apply(s Switches) Switches {
	return Switches{
		Enabled: c.Enabled.apply(s.Enabled), AllowImplicit: c.AllowImplicit.apply(s.AllowImplicit), Tools: c.Tools.apply(s.Tools),
		Overrides: c.Overrides.apply(s.Overrides),
	}
}

// PolicyLayer names a layer of policy.
type PolicyLayer string

// The layers, from the lowest to the highest. A higher one wins, each switch by itself.
const (
	PolicyStart     PolicyLayer = "start"
	PolicyGateway   PolicyLayer = "gateway"   // the sidecar's settings, by root and by slug
	PolicyWorkspace PolicyLayer = "workspace" // what clients set
)

// PolicyLayers are what each layer says of one skill.
type PolicyLayers struct {
	Start     Switches `json:"start"`
	Gateway   Switches `json:"gateway"`
	Workspace Switches `json:"workspace"`
	// ToolsAllowed is that of the workspace layer, where it is about the skill.
	ToolsAllowed Digest `json:"tools_allowed,omitzero"`
}

// Effective returns what follows from the layers, each switch by itself.
func (l PolicyLayers) Effective() EffectivePolicy {
	e := EffectivePolicy{ToolsAllowed: l.ToolsAllowed}
	for _, layer := range []struct {
		name PolicyLayer
		says Switches
	}{{PolicyStart, l.Start}, {PolicyGateway, l.Gateway}, {PolicyWorkspace, l.Workspace}} {
		if layer.says.Enabled != nil {
			e.Enabled, e.Source = *layer.says.Enabled, layer.name
		}
		if layer.says.AllowImplicit != nil {
			e.AllowImplicit, e.ImplicitSource = *layer.says.AllowImplicit, layer.name
		}
		if layer.says.Tools != nil {
			e.ToolsOff = !*layer.says.Tools
		}
		if layer.says.Overrides != nil {
			e.OverridesOff = !*layer.says.Overrides
		}
	}
	return e
}

// EffectivePolicy is how the switches of a skill stand.
type EffectivePolicy struct {
	Enabled       bool `json:"enabled"`
	AllowImplicit bool `json:"allow_implicit_invocation"`
	// Source is the layer that decided Enabled, ImplicitSource the one that decided AllowImplicit.
	Source         PolicyLayer `json:"source"`
	ImplicitSource PolicyLayer `json:"implicit_source"`
	// ToolsOff says that the tools of the skill are not offered. ToolsAllowed is the fingerprint of the content whose programs
	// may run.
	ToolsOff     bool   `json:"tools_off,omitempty"`
	ToolsAllowed Digest `json:"tools_allowed,omitzero"`
	// OverridesOff says that the skill may override nothing in its turns.
	OverridesOff bool `json:"overrides_off,omitempty"`
}

// PolicyKey names what a policy is about: a slug, of one kind of root.
type PolicyKey struct {
	Slug       string     `json:"slug"`
	SourceKind SourceKind `json:"source_kind"`
}

// Compare orders keys by slug in bytes, then by kind.
func (k PolicyKey) Compare(other PolicyKey) int {
	return cmp.Or(cmp.Compare(k.Slug, other.Slug), cmp.Compare(k.SourceKind, other.SourceKind))
}

// PolicyEntry is what clients set of one key.
//
// A switch that is true is a grant: it holds only for the skill at Path. A switch that is false is a refusal: it holds for
// every skill of the slug, and for the skill at Path whatever slug it claims later.
type PolicyEntry struct {
	Switches
	// Path is the skill directory that the switches were set for, as [Skill.Path] has it.
	Path string `json:"path,omitempty"`
	// ToolsAllowed is a grant: programs of the skill at Path may run as long as its files have this fingerprint.
	ToolsAllowed Digest `json:"tools_allowed,omitzero"`
}

// IsZero reports whether the entry says nothing.
func (e PolicyEntry) IsZero() bool { return e.Switches.IsZero() && e.ToolsAllowed.IsZero() }

// Equal reports whether both entries are the same.
func (e PolicyEntry) Equal(other PolicyEntry) bool {
	return e.Path == other.Path && e.ToolsAllowed == other.ToolsAllowed && e.Switches.Equal(other.Switches)
}

// Change returns the entry after a change by a client who means the skill at a path. An entry that moves to another path
// keeps its refusals, and of its grants only those that the change repeats.
func (e PolicyEntry) Change(c PolicyChange, path string) PolicyEntry {
	s, allowed := e.Switches, e.ToolsAllowed
	if e.Path != path {
		s, allowed = s.refusals(), Digest{}
	}
	if c.ToolsAllowed.Given {
		allowed = c.ToolsAllowed.To
	}
	after := PolicyEntry{Switches: c.Apply(s), Path: path, ToolsAllowed: allowed}
	if after.IsZero() {
		return PolicyEntry{}
	}
	return after
}

// Grants reports whether the entry allows something.
func (e PolicyEntry) Grants() bool {
	return !e.ToolsAllowed.IsZero() || !e.Switches.Equal(e.refusals())
}

// refusals returns the switches that are false.
func (s Switches) refusals() Switches {
	for _, on := range []**bool{&s.Enabled, &s.AllowImplicit, &s.Tools, &s.Overrides} {
		if *on != nil && **on {
			*on = nil
		}
	}
	return s
}

// or returns the switches of s, and those of other where s has none.
func (s Switches) or(other Switches) Switches {
	return Switches{
		Enabled: cmp.Or(s.Enabled, other.Enabled), AllowImplicit: cmp.Or(s.AllowImplicit, other.AllowImplicit), Tools: cmp.Or(s.Tools, other.Tools),
		Overrides: cmp.Or(s.Overrides, other.Overrides),
	}
}

// Policies are the layers above the start values, for all skills. Neither map is changed once it is handed over.
type Policies struct {
	// Gateway is that of the settings by slug. What they say of a whole root is in [Skill.Implicit].
	Gateway map[string]Switches
	// Workspace is what clients set.
	Workspace map[PolicyKey]PolicyEntry
	// Refused are the refusals of Workspace by path; Indexed sets it.
	Refused map[string]Switches
}

// Indexed returns the policies with an index of the refusals by path. Without it they hold for slugs alone.
func (p Policies) Indexed() Policies {
	p.Refused = map[string]Switches{}
	for _, e := range p.Workspace {
		if s := e.refusals(); !s.IsZero() {
			p.Refused[e.Path] = p.Refused[e.Path].or(s)
		}
	}
	return p
}

// Layers returns what each layer says of a skill.
func (p Policies) Layers(s *Skill) PolicyLayers {
	gateway := p.Gateway[s.Slug]
	if gateway.AllowImplicit == nil && s.Implicit {
		gateway.AllowImplicit = &s.Implicit
	}
	l := PolicyLayers{Start: StartSwitches(), Gateway: gateway, Workspace: p.workspace(s)}
	if e := p.Workspace[PolicyKey{s.Slug, s.SourceKind}]; e.Path == s.Path {
		l.ToolsAllowed = e.ToolsAllowed
	}
	return l
}

// workspace returns what clients set of a skill. What they set of its own slug and path comes before a refusal that its path
// has from a slug that it claimed before.
func (p Policies) workspace(s *Skill) Switches {
	e := p.Workspace[PolicyKey{s.Slug, s.SourceKind}]
	if e.Path != s.Path {
		e.Switches = e.refusals()
	}
	return e.or(p.Refused[s.Path])
}

// Of returns the policy of what a key names; s is the skill, nil where there is none.
func (p Policies) Of(key PolicyKey, s *Skill) Policy {
	e := p.Workspace[key]
	if s == nil {
		s = &Skill{Slug: key.Slug, SourceKind: key.SourceKind, Path: e.Path}
	}
	layers := p.Layers(s)
	return Policy{PolicyKey: key, PolicyEntry: e, Effective: layers.Effective(), Layers: layers}
}

// Policy is what the layers say of one skill, and what follows.
type Policy struct {
	PolicyKey
	// PolicyEntry is what clients set. Layers.Workspace is the part of it that holds for the skill.
	PolicyEntry
	Effective EffectivePolicy `json:"effective"`
	Layers    PolicyLayers    `json:"layers"`
}

// PolicyList is the policy of every skill that there is, and of those that only a client has named.
type PolicyList struct {
	SnapshotVersion uint64   `json:"snapshot_version"`
	Policies        []Policy `json:"policies"`
}
