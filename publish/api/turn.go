package api

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"pannier"
	"pannier/publish/prompt"
)

// resolve answers with the skills that are active in a turn, and their prompt.
func (h *Handler) resolve(w http.ResponseWriter, r *http.Request, s *pannier.Snapshot) error {
	turn, err := readTurn(r)
	if err != nil {
		return err
	}
	out, p, err := h.resolved(r.Context(), s, turn)
	if err != nil {
		return err
	}
	out.Prompt = &p
	return writeJSON(w, r, out)
}

func readTurn(r *http.Request) (pannier.Turn, error) {
	var turn pannier.Turn
	if err := readJSON(r, &turn); err != nil {
		return pannier.Turn{}, err
	}
	return turn, checkTurn(turn)
}

func checkTurn(turn pannier.Turn) error {
	if f := turn.Format; f != "" && !slices.Contains(prompt.Formats(), f) {
		return invalidParameter("format", fmt.Sprintf("there is no prompt format %q", f), fmt.Sprintf("the formats are %v", prompt.Formats()))
	}
	if n := turn.Limits.MaxChars; n != nil && *n < 0 {
		return invalidParameter("max_chars", "max_chars is less than 0", "0 is no limit")
	}
	return nil
}

func (h *Handler) render(s *pannier.Snapshot, r pannier.Resolution, bodies map[string]string, turn pannier.Turn) pannier.Prompt {
	o := prompt.Options{Format: turn.Format, Workspace: h.AgentWorkspace}
	if prompt.Bounded(turn.Format) {
		o.MaxChars = h.MaxChars
	}
	if turn.Limits.MaxChars != nil {
		o.MaxChars = *turn.Limits.MaxChars
	}
	return prompt.Render(s, r, bodies, o)
}

// prompt answers with the section for what is automatically available.
func (h *Handler) prompt(w http.ResponseWriter, r *http.Request, s *pannier.Snapshot) error {
	query := r.URL.Query()
	turn := pannier.Turn{Format: query.Get("format")}
	if text := query.Get("max_chars"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			return invalidParameter("max_chars", fmt.Sprintf("max_chars is %q", text), "give a number of characters; 0 is no limit")
		}
		turn.Limits.MaxChars = &n
	}
	if err := checkTurn(turn); err != nil {
		return err
	}
	return h.writePrompt(w, r, s, turn)
}

// turnPrompt answers with the section for one turn.
func (h *Handler) turnPrompt(w http.ResponseWriter, r *http.Request, s *pannier.Snapshot) error {
	turn, err := readTurn(r)
	if err != nil {
		return err
	}
	return h.writePrompt(w, r, s, turn)
}

// writePrompt answers with the text, or with JSON that also tells what was omitted, where the caller asks for that.
func (h *Handler) writePrompt(w http.ResponseWriter, r *http.Request, s *pannier.Snapshot, turn pannier.Turn) error {
	_, p, err := h.resolved(r.Context(), s, turn)
	if err != nil {
		return err
	}
	if prefers(w, r, "application/json", "text/plain") {
		return writeJSON(w, r, p)
	}
	return writeBody(w, r, "text/plain; charset=utf-8", []byte(p.Text))
}

// card answers with the agent card, byte for byte as it is pushed.
func (h *Handler) card(w http.ResponseWriter, r *http.Request, _ *pannier.Snapshot) error {
	c, err := h.Card()
	if err != nil {
		return err
	}
	return writeBody(w, r, "application/json", c.JSON)
}

// rescan looks at the disk again.
func (h *Handler) rescan(w http.ResponseWriter, r *http.Request, _ *pannier.Snapshot) error {
	wait := false
	if text := r.URL.Query().Get("wait"); text != "" {
		value, err := strconv.ParseBool(text)
		if err != nil {
			return invalidParameter("wait", fmt.Sprintf("wait is %q", text), "give 1 or 0")
		}
		wait = value
	}
	s, err := h.Rescan(r.Context(), wait)
	if err != nil {
		return err
	}
	return writeJSON(w, r, map[string]any{"snapshot_version": s.Version, "digest": s.Digest})
}

// health answers with what is wrong.
func (h *Handler) health(w http.ResponseWriter, r *http.Request, _ *pannier.Snapshot) error {
	return writeJSON(w, r, h.Health())
}

// ready answers with success once a snapshot is served, and never takes that back.
func (h *Handler) ready(w http.ResponseWriter, r *http.Request, s *pannier.Snapshot) error {
	if s == nil {
		return errNotReady
	}
	return writeBody(w, r, "text/plain; charset=utf-8", []byte("ready\n"))
}
