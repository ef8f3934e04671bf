package api

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"pannier"
	"pannier/publish/prompt"
	"pannier/service"
)

var turnRoutes = []route{
	{
		pattern: "GET /v1/card", endpoint: writes[map[string]json.RawMessage]((*Handler).card),
		id: "getCard", summary: "The agent card, byte for byte as it is pushed.",
	},
	{
		pattern: "GET /v1/card/status", endpoint: returns((*Handler).cardStatus), early: true,
		id: "getCardStatus", summary: "What each platform is to hold, what it holds, and the last pushes.",
		has: func(o *Options) bool { return o.CardStatus != nil },
	},
	{
		pattern: "GET /.well-known/agent-card.json", endpoint: writes[map[string]json.RawMessage]((*Handler).card),
		id: "getWellKnownCard", summary: "The agent card, where agents look for one.",
	},
	{
		pattern: "GET /v1/prompt", endpoint: writes[pannier.Prompt]((*Handler).prompt),
		id: "getPrompt", summary: "The skills section of the system prompt for what is automatically available.", texts: []string{"text/plain"},
		parameters: []parameter{
			{"format", "query", "The format of the section.", promptFormat},
			query("max_chars", "integer", "The most characters that it may have; 0 means no limit."),
			query("max_tokens", "integer", "The most tokens that it may have, as they are estimated; 0 means no limit."),
		},
	},
	{
		pattern: "POST /v1/prompt", endpoint: endpoint{(*Handler).turnPrompt, pannier.Turn{}, pannier.Prompt{}},
		id: "promptTurn", summary: "The skills section of the system prompt for a turn. Emits turn_resolved.", texts: []string{"text/plain"},
		parameters: []parameter{triedParameter},
	},
	{
		pattern: "POST /v1/resolve", endpoint: endpoint{(*Handler).resolve, pannier.Turn{}, pannier.Resolution{}},
		id: "resolveTurn", summary: "Which skills are active in a turn, and their prompt. Emits turn_resolved.",
		parameters: []parameter{query("verbose", "boolean", "Tells of every skill that is not active, named or not."), triedParameter},
	},
	{
		pattern: "POST /v1/find", endpoint: takes((*Handler).find),
		id: "findSkills", summary: "The skills that a text is about, usable or not, the most relevant first.",
		bodySchema: findSchema,
	},
	{
		pattern: "GET /v1/commands", endpoint: writes[pannier.CommandList]((*Handler).listCommands),
		id: "listCommands", summary: "What can be given to the agent by name, by slug.", has: hasCommands,
	},
	{
		pattern: "POST /v1/commands/{name}", endpoint: returns((*Handler).runCommand), bodySchema: pannier.CommandCall{}, optional: true,
		id: "runCommand", summary: "What an agent needs to follow a command. Emits skill_loaded and skill_invoked.", has: hasCommands,
	},
	{
		pattern: "GET /v1/peers", endpoint: returns((*Handler).peers), early: true,
		id: "listPeers", summary: "The workspaces that the agent can delegate to, by the order of the platforms, then by id.",
		has: func(o *Options) bool { return o.Peers != nil },
	},
}

var findSchema = object{
	"type": "object", "required": []string{"text"}, "additionalProperties": false,
	"properties": object{
		"text":  object{"type": "string", "minLength": 1, "maxLength": service.MaxFindBytes, "description": "A task, or a name."},
		"limit": object{"type": "integer", "minimum": 0, "maximum": service.MaxFound, "description": "The most skills; 0 means 20."},
	},
}

func (h *Handler) find(_ *http.Request, s *pannier.Snapshot, q pannier.FindRequest) (pannier.FoundList, error) {
	return h.Service.FindByText(s, q, nil)
}

var triedParameter = query("dry_run", "boolean", "Tries the turn: it emits no event, and sets no time of activity.")

func (h *Handler) resolve(w http.ResponseWriter, r *http.Request, s *pannier.Snapshot) error {
	turn, err := h.readTurn(r)
	if err != nil {
		return err
	}
	turn.Verbose = isSet(r, "verbose")
	answer := h.shared.acquire()
	defer h.shared.release(answer)
	if err := h.answer(r.Context(), s, turn, answer); err != nil {
		return err
	}
	if !isSet(r, "dry_run") {
		h.recordTurn(turn, answer)
	}
	answer.body = answer.appendJSON(answer.body)
	writeEncoded(w, r, "application/json", encoded{body: answer.body})
	return nil
}

func (h *Handler) readTurn(r *http.Request) (pannier.Turn, error) {
	var turn pannier.Turn
	if err := readJSON(r, &turn); err != nil {
		return pannier.Turn{}, err
	}
	return h.complete(turn)
}

// complete fills in what a turn leaves to the settings, and checks the whole.
func (h *Handler) complete(turn pannier.Turn) (pannier.Turn, error) {
	turn.Format = cmp.Or(turn.Format, h.Format)
	return turn, checkTurn(turn)
}

func checkTurn(turn pannier.Turn) error {
	if f := turn.Format; f != "" && !slices.Contains(prompt.Formats(), f) {
		return invalidParameter("format", fmt.Sprintf("unknown prompt format %q", f), "give one of "+strings.Join(prompt.Formats(), ", "))
	}
	if n := turn.Limits.MaxChars; n != nil && *n < 0 {
		return invalidParameter("max_chars", "max_chars is less than 0", "give 0 for no limit")
	}
	if n := turn.Limits.MaxBodies; n != nil && *n < 0 {
		return invalidParameter("max_bodies", "max_bodies is less than 0", "give 0 for no bodies, or leave it out for no limit")
	}
	if err := checkList("paths", turn.Paths, pannier.MaxTurnPaths, pannier.MaxPathBytes); err != nil {
		return err
	}
	if n := turn.Limits.MaxTokens; n != nil && *n < 0 {
		return invalidParameter("max_tokens", "max_tokens is less than 0", "give 0 for no limit")
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
		return invalidParameter(name, fmt.Sprintf("%s has %d items, more than %d", name, len(list), items), "send those that the turn is about")
	}
	if slices.ContainsFunc(list, func(text string) bool { return len(text) > bytes }) {
		return invalidParameter(name, fmt.Sprintf("%s has a text of more than %d bytes", name, bytes), "leave it out, or shorten it")
	}
	return nil
}

// budget returns the budget of the prompt of a turn: its own limits, else that of the settings.
func (h *Handler) budget(turn pannier.Turn) (b prompt.Budget) {
	if n := turn.Limits.MaxTokens; n != nil {
		b.MaxTokens = *n
	}
	switch {
	case turn.Limits.MaxChars != nil:
		b.MaxChars = *turn.Limits.MaxChars
	case turn.Limits.MaxTokens == nil && prompt.Bounded(turn.Format):
		b.MaxChars = h.MaxChars
	}
	return b
}

func (h *Handler) prompt(w http.ResponseWriter, r *http.Request, s *pannier.Snapshot) error {
	turn, err := h.promptQuery(r)
	if err != nil {
		return err
	}
	asJSON := Prefers(w, r, "application/json", "text/plain")
	if prompt.NeedsBodies(turn.Format) || turn.Limits.MaxChars != nil || turn.Limits.MaxTokens != nil {
		return h.writePrompt(w, r, s, turn, asJSON)
	}
	// What is left has no text from the disk in it, and there are only a few kinds of it.
	shared, err := h.shared.of(s, h.generation(), promptType(asJSON)+turn.Format, func() (encoded, error) {
		answer := &turnAnswer{}
		err := h.answer(r.Context(), s, turn, answer)
		return withTag(answer.appendPrompt(nil, asJSON)), err
	})
	if err != nil {
		return err
	}
	writeEncoded(w, r, promptType(asJSON), shared)
	return nil
}

func (h *Handler) promptQuery(r *http.Request) (turn pannier.Turn, err error) {
	if r.URL.RawQuery == "" {
		return h.complete(turn)
	}
	query := r.URL.Query()
	turn.Format = query.Get("format")
	if n, err := strconv.Atoi(query.Get("max_chars")); err == nil {
		turn.Limits.MaxChars = &n
	}
	if n, err := strconv.Atoi(query.Get("max_tokens")); err == nil {
		turn.Limits.MaxTokens = &n
	}
	return h.complete(turn)
}

func (h *Handler) turnPrompt(w http.ResponseWriter, r *http.Request, s *pannier.Snapshot) error {
	turn, err := h.readTurn(r)
	if err != nil {
		return err
	}
	return h.writePrompt(w, r, s, turn, Prefers(w, r, "application/json", "text/plain"))
}

func (h *Handler) writePrompt(w http.ResponseWriter, r *http.Request, s *pannier.Snapshot, turn pannier.Turn, asJSON bool) error {
	answer := h.shared.acquire()
	defer h.shared.release(answer)
	if err := h.answer(r.Context(), s, turn, answer); err != nil {
		return err
	}
	if asJSON {
		answer.body = answer.appendPrompt(answer.body, true)
	}
	var tag []string
	if r.Method == http.MethodPost { // only a POST is a turn; its answer has no tag
		if !isSet(r, "dry_run") {
			h.recordTurn(turn, answer)
		}
	} else if tag = answer.tag(asJSON); r.Method == http.MethodGet && !matches(r.Header.Values("If-None-Match"), tag[0]) {
		h.recordPrompt(answer)
	}
	if asJSON {
		writeEncoded(w, r, promptType(true), encoded{answer.body, tag})
	} else if writeHeader(w, r, promptType(false), tag, answer.section.Size()) {
		answer.writeText(w)
	}
	return nil
}

// promptType returns the type of an answer with a prompt: the text, or JSON that also lists what was omitted, if the
// client accepts that.
func promptType(asJSON bool) string {
	if asJSON {
		return "application/json"
	}
	return "text/plain; charset=utf-8"
}

func (h *Handler) card(w http.ResponseWriter, r *http.Request, _ *pannier.Snapshot) error {
	return writeBody(w, r, "application/json", h.Card().JSON)
}

func (h *Handler) cardStatus(*http.Request, *pannier.Snapshot) (pannier.CardStatus, error) {
	return h.CardStatus(), nil
}
