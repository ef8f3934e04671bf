package api

import (
	"net/http"
	"slices"
	"time"

	"pannier"
	"pannier/service"
)

// ticketTTL is how long a ticket holds.
const ticketTTL = 30 * time.Second

// ticketHolder is who has asked for a ticket.
type ticketHolder struct {
	caller service.Caller
	token  Token // zero on the unix socket
}

type tokenKey struct{}

// ticket is what a WebSocket of a browser is opened with: a browser sends no header of the page with it.
type ticket struct {
	Ticket    string `json:"ticket"`
	ExpiresIn int64  `json:"expires_in_ms"`
}

func (h *Handler) issueTicket(r *http.Request, _ *pannier.Snapshot) (ticket, error) {
	caller, known := service.CallerFrom(r.Context())
	if !known {
		return ticket{}, &pannier.Refusal{
			Code: "peer_unknown", Message: "the user of the client is not known", Hint: "connect to the unix socket",
		}
	}
	token, _ := r.Context().Value(tokenKey{}).(Token)
	return ticket{h.tickets.Issue(caller.Name(), ticketHolder{caller, token}), ticketTTL.Milliseconds()}, nil
}

var errTicket = &pannier.Refusal{
	Code: "ticket_unknown", Message: "the ticket was used already, or is too old",
	Hint: "ask for a new one by POST /v1/tickets",
}

// redeem returns a request as one of the caller that has asked for its ticket. tokens are those that hold; on the
// unix socket there are none.
func (h *Handler) redeem(r *http.Request, tokens []Token) (*http.Request, Token, error) {
	query := r.URL.Query()
	text := query["ticket"]
	if len(text) != 1 || len(query) != 1 || len(r.Header["Authorization"]) > 0 {
		return r, Token{}, errTicket
	}
	holder, ok := h.tickets.Use(text[0])
	if !ok || holder.token != (Token{}) && !slices.Contains(tokens, holder.token) {
		return r, Token{}, errTicket
	}
	r = r.WithContext(service.WithCaller(r.Context(), holder.caller))
	target := *r.URL
	target.RawQuery = ""
	r.URL = &target
	return r, holder.token, nil
}

// hasTicket reports whether a request comes with a ticket.
func hasTicket(r *http.Request) bool {
	return r.Method == http.MethodGet && r.URL.Path == "/v1/rpc" && r.URL.RawQuery != ""
}
