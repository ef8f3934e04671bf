package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"pannier/internal/journal"
	"pannier/internal/plain"

	"pannier"
)

type eventSummary struct {
	subject string // the skill, file or platform; may be empty
	text    string
	colour  string // of the text; may be empty
}

// summaries has every type of event. Types that are missing here are summarized by their fields.
var summaries = map[pannier.EventType]func(json.RawMessage) (eventSummary, error){
	pannier.EventCatalogUpdated: summaryOf(func(d pannier.CatalogUpdated) eventSummary {
		s := eventSummary{text: plain.Count(d.Count, "skill")}
		for _, part := range []struct {
			name  string
			slugs []string
		}{{"added", d.Added}, {"changed", d.Changed}, {"removed", d.Removed}} {
			if len(part.slugs) > 0 {
				s.text += "; " + part.name + " " + someOf(part.slugs)
			}
		}
		if n := len(d.Collisions); n > 0 {
			s.text += "; " + plain.Count(n, "collision")
		}
		return s
	}),
	pannier.EventSkillStateChanged: summaryOf(stateSummary),
	pannier.EventSkillWarning: summaryOf(func(d pannier.SkillWarning) eventSummary {
		return eventSummary{d.Name, "warning: " + d.Detail + " (" + d.Kind + ")", yellow}
	}),
	pannier.EventSkillLoaded:   summaryOf(func(d pannier.SkillLoaded) eventSummary { return eventSummary{d.Name, "loaded", ""} }),
	pannier.EventSkillFileRead: summaryOf(func(d pannier.SkillFileRead) eventSummary { return eventSummary{d.Slug, "file read: " + d.Path, ""} }),
	pannier.EventSkillInvoked: summaryOf(func(d pannier.SkillInvoked) eventSummary {
		return eventSummary{d.Slug, joinWords("invoked:", string(d.Mode), d.Command, d.Args), ""}
	}),
	pannier.EventTurnResolved: summaryOf(func(d pannier.TurnResolved) eventSummary {
		active, rejected := 0, 0
		for _, n := range d.Active {
			active += n
		}
		for _, n := range d.Rejected {
			rejected += n
		}
		s := eventSummary{"", fmt.Sprintf("turn resolved: %d active, %d rejected", active, rejected), ""}
		var kept []string
		for _, t := range d.ExcludedTools {
			kept = append(kept, t.Name+" ("+t.Reason+")")
		}
		if len(kept) > 0 {
			s.text += "; not offered: " + someOf(kept)
		}
		return s
	}),
	pannier.EventSkillScanned: summaryOf(func(d pannier.SkillScanned) eventSummary {
		colour := map[pannier.ScanDecision]string{pannier.ScanAllow: green, pannier.ScanWarn: yellow, pannier.ScanBlock: red}[d.Decision]
		return eventSummary{d.Slug, fmt.Sprintf("scanned: %s, %s", d.Decision, plain.Count(d.Findings, "finding")), colour}
	}),
	pannier.EventWorkspaceChanged: summaryOf(func(d pannier.WorkspaceChanged) eventSummary {
		s := eventSummary{subject: someOf(d.Files), text: "changed"}
		if len(d.Fields.Hot) > 0 {
			s.text += "; in effect: " + someOf(d.Fields.Hot)
		}
		if len(d.Fields.Restart) > 0 {
			s.text, s.colour = s.text+"; needs a restart of the agent: "+someOf(d.Fields.Restart), yellow
		}
		return s
	}),
	pannier.EventEnvironmentChanged: summaryOf(func(d pannier.EnvironmentChanged) eventSummary {
		programs, variables := plain.Count(d.Bins, "program"), plain.Count(d.Env, "variable")
		return eventSummary{"environment", fmt.Sprintf("of the %s: %s/%s, %s, %s", d.Source, d.OS, d.Arch, programs, variables), ""}
	}),
	pannier.EventPolicyChanged: summaryOf(func(d pannier.PolicyChanged) eventSummary {
		return eventSummary{d.Slug, fmt.Sprintf("policy: enabled %t, implicit %t", d.Effective.Enabled, d.Effective.AllowImplicit), ""}
	}),
	pannier.EventSkillToolCalled: summaryOf(func(d pannier.SkillToolCalled) eventSummary {
		s := eventSummary{d.Slug, fmt.Sprintf("tool called: %s, ok after %d ms", d.Name, d.DurationMS), ""}
		if !d.OK {
			s.text, s.colour = fmt.Sprintf("tool called: %s, %s after %d ms", d.Name, d.Code, d.DurationMS), yellow
		}
		if i := slices.IndexFunc(d.Network, func(h pannier.ToolHost) bool { return h.Refused != "" }); i >= 0 {
			s.text += fmt.Sprintf(", %s: %s", d.Network[i].Host, d.Network[i].Refused)
		}
		if len(d.Artifacts) > 0 {
			s.text += ", " + plain.Count(len(d.Artifacts), "artifact")
		}
		return s
	}),
	pannier.EventSkillOverride: summaryOf(func(d pannier.SkillOverride) eventSummary {
		s := eventSummary{d.Slug, "override " + d.Decision + ": " + d.Part + "." + d.Key, ""}
		if d.Reason != "" {
			s.text, s.colour = s.text+" ("+d.Reason+")", yellow
		}
		return s
	}),
	pannier.EventMCPSession: summaryOf(func(d pannier.MCPSession) eventSummary {
		return eventSummary{d.Client, joinWords("connected: version", d.Version+",", "MCP", d.Protocol), ""}
	}),
	pannier.EventInstallAdded:      installSummary("installed"),
	pannier.EventInstallReplaced:   installSummary("replaced"),
	pannier.EventInstallRemoved:    installSummary("uninstalled"),
	pannier.EventInstallRolledBack: installSummary("rolled back"),
	pannier.EventSkillPromotion:    summaryOf(func(d pannier.SkillPromotion) eventSummary { return eventSummary{"", "promotion: " + d.Summary, ""} }),
	pannier.EventCardPushed: summaryOf(func(d pannier.CardPush) eventSummary {
		s := eventSummary{"", "card pushed", green}
		if d.DurationMS > 0 {
			s.text += fmt.Sprintf(" in %d ms", d.DurationMS)
		}
		s.text += " to " + d.Platform
		return s
	}),
	pannier.EventCardRejected: summaryOf(func(d pannier.CardPush) eventSummary {
		return eventSummary{"", "card rejected by " + d.Platform + ": " + d.Error, red}
	}),
}

func summaryOf[T any](summarize func(T) eventSummary) func(json.RawMessage) (eventSummary, error) {
	return func(text json.RawMessage) (eventSummary, error) {
		var data T
		if err := json.Unmarshal(text, &data); err != nil {
			return eventSummary{}, err
		}
		return summarize(data), nil
	}
}

func installSummary(what string) func(json.RawMessage) (eventSummary, error) {
	return summaryOf(func(d pannier.SkillInstalled) eventSummary {
		return eventSummary{d.Slug, joinWords(what, d.Version, "in the "+string(d.SourceKind)+" root"), green}
	})
}

// stateSummary omits the cause where the state says it all.
func stateSummary(d pannier.SkillStateChanged) eventSummary {
	s := eventSummary{subject: d.Slug, colour: faint}
	switch {
	case d.To == "":
		s.text = "removed"
		return s
	case d.From == "":
		s.text = "added: " + string(d.To)
	default:
		s.text = fmt.Sprintf("changed: %s → %s", d.From, d.To)
	}
	switch d.To {
	case pannier.StateEligible:
		s.colour = green
		return s
	case pannier.StateIneligible:
		s.colour = red
	}
	s.text += " (" + strings.TrimPrefix(d.Cause, string(d.To)+": ") + ")"
	return s
}

// summarize returns a summary of any event. The text is not yet sanitized.
func summarize(kind pannier.EventType, data json.RawMessage) eventSummary {
	if summary := summaries[kind]; summary != nil {
		if s, err := summary(data); err == nil {
			return s
		}
	}
	s := eventSummary{text: strings.ReplaceAll(string(kind), "_", " ")}
	fields, err := journal.Fields(data)
	if err != nil {
		s.text += ": " + string(data)
		return s
	}
	for i := 0; i+1 < len(fields); i += 2 {
		switch name, value := fmt.Sprint(fields[i]), fmt.Sprint(fields[i+1]); {
		case name == "slug" || name == "name" && s.subject == "":
			s.subject = value
		case fields[i+1] != nil && value != "":
			s.text += fmt.Sprintf(", %s %s", name, value)
		}
	}
	return s
}

// digests matches a digest; the first group is what is shown of it.
var digests = regexp.MustCompile(`(?:sha256:)?\b([0-9a-f]{12})[0-9a-f]{52}\b`)

func someOf(names []string) string {
	const most = 4
	if len(names) <= most+1 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

func joinWords(words ...string) string {
	return strings.Join(strings.Fields(strings.Join(words, " ")), " ")
}
