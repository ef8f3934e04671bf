package resolve

import (
	"slices"

	"pannier"
)

// narrowHTTP keeps the body of an answer out of what is shown and kept: it comes from another party and can be anything.
func (o *output) narrowHTTP() {
	if o.Timeline.Mode == modeFull {
		o.lower(&o.Timeline, modeSummary, codeHTTPBody, "the timeline shows a summary of an answer, not the whole")
	}
	if o.Storage.Mode != modeMetadata && o.Storage.Mode != modeNone {
		o.lower(&o.Storage, modeMetadata, codeHTTPBody, "of an answer only what it is like is stored")
	}
	o.noExcerpt(codeHTTPBody)
	o.noPersistence(codeDeltas)
}

// narrowShell lets the whole output of a command be kept only where the skill is trusted with that.
func (o *output) narrowShell() {
	if o.trust.AtLeast(shellPersistence) {
		return
	}
	if o.Timeline.Mode == modeFull {
		o.lower(&o.Timeline, modeSummary, codeShell, "the timeline shows a summary of the output: the skill's trust is too low for more")
	}
	if o.Storage.Mode == modeFull {
		o.lower(&o.Storage, modeMetadata, codeShell, "only what the output is like is stored: the skill's trust is too low for more")
	}
	o.noExcerpt(codeShell)
	o.noPersistence(codeShell)
}

// narrowGeneric is for a tool of which only the trust of its skill is known.
func (o *output) narrowGeneric() {
	most := modeSummary
	if !o.trust.AtLeast(pannier.TrustCommunity) {
		most = modeMetadata
	}
	if above(shown, o.Timeline.Mode, most) {
		o.lower(&o.Timeline, most, codeTimeline, "the timeline shows less than was asked for: the skill's trust is too low")
	}
	if above(shown, o.Storage.Mode, most) {
		o.lower(&o.Storage, most, codeStorage, "less is stored than was asked for: the skill's trust is too low")
	}
	o.noExcerpt(codeBlob)
	o.noPersistence(codeDeltas)
}

// narrowToTarget gives a proxy no more than the tool has that it stands for.
func (o *output) narrowToTarget(target pannier.OutputPolicy) {
	if above(shown, o.Timeline.Mode, target.Timeline.Mode) {
		o.lower(&o.Timeline, target.Timeline.Mode, codeTarget, "the timeline shows no more than of the tool that it stands for")
	}
	if above(shown, o.Storage.Mode, target.Storage.Mode) {
		o.lower(&o.Storage, target.Storage.Mode, codeTarget, "no more is stored than of the tool that it stands for")
	}
	if above(streams, o.Deltas.Mode, target.Deltas.Mode) {
		o.lower(&o.Deltas, target.Deltas.Mode, codeTarget, "no more is streamed than of the tool that it stands for")
	}
}

// above reports whether a mode gives more away than another one.
func above(order []string, mode, other string) bool {
	return slices.Index(order, mode) > slices.Index(order, other)
}

func (o *output) lower(part *pannier.OutputPart, mode, code, message string) {
	*part = pannier.OutputPart{Mode: mode}
	if mode == modeSummary {
		part.MaxChars = capSummaryChars
	}
	o.note(code, message)
}

func (o *output) noExcerpt(code string) {
	if e := &o.Recovery.DiagnosticExcerpt; e.Mode != "" && e.Mode != modeDisabled {
		o.lower(e, modeDisabled, code, "no excerpt of the output is kept for the next attempt")
	}
}

func (o *output) noPersistence(code string) {
	if o.Deltas.Mode == modePersist {
		o.lower(&o.Deltas, modeProgress, code, "what comes piece by piece is shown as progress, and not kept")
	}
}
