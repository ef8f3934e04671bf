package api

import (
	"encoding/json"
	"net/http"
	"strconv"

	"pannier"
	"pannier/publish/answer"
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
		id: "getPrompt", summary: "The skills section of the system prompt for what is automatically available.",
		texts: []string{"text/plain"},
		parameters: []parameter{
			{"format", "query", "The format of the section.", promptFormat},
			query("max_chars", "integer", "The most characters that it may have; 0 means no limit."),
			query(
				"max_tokens", "integer", "The most tokens that it may have, as they are estimated; 0 means no limit.",
			),
		},
	},
	{
		pattern: "POST /v1/prompt", endpoint: endpoint{(*Handler).turnPrompt, pannier.Turn{}, pannier.Prompt{}},
		id: "promptTurn", summary: "The skills section of the system prompt for a turn. Emits turn_resolved.",
		texts:      []string{"text/plain"},
		parameters: []parameter{triedParameter},
	},
	{
		pattern: "POST /v1/resolve", endpoint: endpoint{(*Handler).resolve, pannier.Turn{}, pannier.Resolution{}},
		id: "resolveTurn", summary: "Which skills are active in a turn, and their prompt. Emits turn_resolved.",
		parameters: []parameter{
			query("verbose", "boolean", "Tells of every skill that is not active, named or not."),
			triedParameter,
		},
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
		pattern: "POST /v1/commands/{name}", endpoint: returns((*Handler).runCommand),
		bodySchema: pannier.CommandCall{}, optional: true,
		id: "runCommand", summary: "What an agent needs to follow a command. Emits skill_loaded and skill_invoked.",
		has: hasCommands,
	},
	{
		pattern: "GET /v1/peers", endpoint: returns((*Handler).peers), early: true,
		id:      "listPeers",
		summary: "The workspaces that the agent can delegate to, by the order of the platforms, then by id.",
		has:     func(o *Options) bool { return o.Peers != nil },
	},
}

var findSchema = object{
	"type": "object", "required": []string{"text"}, "additionalProperties": false,
	"properties": object{
		"text": object{
			"type": "string", "minLength": 1, "maxLength": service.MaxFindBytes,
			"description": "A task, or a name.",
		},
		"limit": object{
			"type": "integer", "minimum": 0, "maximum": service.MaxFound,
			"description": "The most skills; 0 means 20.",
		},
	},
}

func (h *Handler) find(_ *http.Request, s *pannier.Snapshot, q pannier.FindRequest) (pannier.FoundList, error) {
	return h.Service.FindByText(s, q, nil)
}

var triedParameter = query("dry_run", "boolean", "Tries the turn: it emits no event, and sets no time of activity.")

func (h *Handler) resolve(w http.ResponseWriter, r *http.Request, s *pannier.Snapshot) error {
	asked, err := h.readTurn(r)
	if err != nil {
		return err
	}
	asked.Verbose = isSet(r, "verbose")
	a, err := h.Turns.Answer(r.Context(), s, asked)
	if err != nil {
		return err
	}
	defer a.Release()
	if !isSet(r, "dry_run") {
		h.Turns.Record(asked, a)
	}
	writeEncoded(w, r, "application/json", answer.Encoded{Body: a.JSON()})
	return nil
}

func (h *Handler) readTurn(r *http.Request) (pannier.Turn, error) {
	var turn pannier.Turn
	if err := readJSON(r, &turn); err != nil {
		return pannier.Turn{}, err
	}
	return h.Turns.Complete(turn)
}

func (h *Handler) prompt(w http.ResponseWriter, r *http.Request, s *pannier.Snapshot) error {
	asked, err := h.promptQuery(r)
	if err != nil {
		return err
	}
	asJSON := Prefers(w, r, "application/json", "text/plain")
	if prompt.NeedsBodies(asked.Format) || asked.Limits.MaxChars != nil || asked.Limits.MaxTokens != nil {
		return h.writePrompt(w, r, s, asked, asJSON)
	}
	// What is left has no text from the disk in it, and there are only a few kinds of it.
	shared, err := h.Shared.Of(
		s, h.Service.Contents.Version(), promptType(asJSON)+asked.Format,
		func() (answer.Encoded, error) {
			a, err := h.Turns.Answer(r.Context(), s, asked)
			if err != nil {
				return answer.Encoded{}, err
			}
			defer a.Release()
			return answer.New(a.AppendPrompt(nil, asJSON)), nil
		},
	)
	if err != nil {
		return err
	}
	writeEncoded(w, r, promptType(asJSON), shared)
	return nil
}

func (h *Handler) promptQuery(r *http.Request) (turn pannier.Turn, err error) {
	if r.URL.RawQuery == "" {
		return h.Turns.Complete(turn)
	}
	query := r.URL.Query()
	turn.Format = query.Get("format")
	if n, err := strconv.Atoi(query.Get("max_chars")); err == nil {
		turn.Limits.MaxChars = &n
	}
	if n, err := strconv.Atoi(query.Get("max_tokens")); err == nil {
		turn.Limits.MaxTokens = &n
	}
	return h.Turns.Complete(turn)
}

func (h *Handler) turnPrompt(w http.ResponseWriter, r *http.Request, s *pannier.Snapshot) error {
	turn, err := h.readTurn(r)
	if err != nil {
		return err
	}
	return h.writePrompt(w, r, s, turn, Prefers(w, r, "application/json", "text/plain"))
}

func (h *Handler) writePrompt(
	w http.ResponseWriter, r *http.Request, s *pannier.Snapshot, asked pannier.Turn, asJSON bool,
) error {
	a, err := h.Turns.Answer(r.Context(), s, asked)
	if err != nil {
		return err
	}
	defer a.Release()
	var body []byte
	if asJSON {
		body = a.PromptJSON()
	}
	var tag []string
	if r.Method == http.MethodPost { // only a POST is a turn; its answer has no tag
		if !isSet(r, "dry_run") {
			h.Turns.Record(asked, a)
		}
	} else {
		if asJSON {
			tag = answer.New(body).Tag
		} else {
			tag = a.TextTag()
		}
		if r.Method == http.MethodGet && !matches(r.Header.Values("If-None-Match"), tag[0]) {
			h.Turns.RecordPrompt(a)
		}
	}
	if asJSON {
		writeEncoded(w, r, promptType(true), answer.Encoded{Body: body, Tag: tag})
	} else if writeHeader(w, r, promptType(false), tag, a.TextSize()) {
		a.WriteText(w)
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

// peers answers with the workspaces that the agent can delegate to. They come and go without the snapshot.
func (h *Handler) peers(*http.Request, *pannier.Snapshot) (pannier.PeerList, error) {
	return pannier.PeerList{Peers: append([]pannier.Peer{}, h.Peers()...)}, nil
}
