package api

import (
	"bytes"
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"pannier"
	"pannier/service"
)

// Token is a bearer token for TCP, known by its digest.
type Token struct {
	Name   string
	Scope  service.Scope
	Digest pannier.Digest // of the token's text
}

// maxTokens bounds how many tokens there are, because each is compared with what a caller sends.
const maxTokens = 1024

var tokenName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// CheckTokenName fails with a [*pannier.Refusal] unless a name can be that of a token.
func CheckTokenName(name string) error {
	if tokenName.MatchString(name) {
		return nil
	}
	return &pannier.Refusal{
		Code: "token.name", Message: fmt.Sprintf("%.80q is not a valid name of a token", name),
		Hint: "use letters, digits, dots, dashes and underscores, 64 at most, and begin with a letter or a digit",
	}
}

// ParseTokens reads lines `name scope sha256`, the last being the hexadecimal SHA-256 of the token, with or without
// `sha256:` before it. Blank lines and lines that begin with `#` do not count. Nothing is taken of a file with a
// fault. Its error is a [*pannier.Refusal] that names the line, and never what stands in the place of a digest: it
// may be a token.
func ParseTokens(text []byte) ([]Token, error) {
	var tokens []Token
	number := 0
	for line := range bytes.Lines(text) {
		number++
		fields := strings.Fields(string(line))
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		token, err := parseToken(fields)
		twice := slices.IndexFunc(tokens, func(other Token) bool {
			return other.Name == token.Name || other.Digest == token.Digest
		})
		if err == nil && twice >= 0 {
			err = &pannier.Refusal{
				Code: "token.twice", Message: "the token is that of " + tokens[twice].Name + " once more",
				Hint: "give each token a name of its own, and each name one token",
			}
		} else if err == nil && len(tokens) == maxTokens {
			err = &pannier.Refusal{Code: "token.many", Message: fmt.Sprintf("there are more than %d tokens", maxTokens), Hint: "remove unused ones"}
		}
		if refusal, ok := errors.AsType[*pannier.Refusal](err); ok {
			return nil, &pannier.Refusal{
				Code: refusal.Code, Message: fmt.Sprintf("line %d: %s", number, refusal.Message), Hint: refusal.Hint,
			}
		}
		tokens = append(tokens, token)
	}
	return tokens, nil
}

func parseToken(fields []string) (Token, error) {
	if len(fields) != 3 {
		return Token{}, &pannier.Refusal{
			Code: "token.line", Message: fmt.Sprintf("it has %d words", len(fields)),
			Hint: "write `name scope sha256`; `pannier token NAME SCOPE` makes such a line",
		}
	}
	if err := CheckTokenName(fields[0]); err != nil {
		return Token{}, err
	}
	scope, err := service.ParseScope(fields[1])
	if err != nil {
		return Token{}, err
	}
	token := Token{Name: fields[0], Scope: scope}
	digest := "sha256:" + strings.TrimPrefix(fields[2], "sha256:")
	if token.Digest.UnmarshalText([]byte(digest)) != nil || token.Digest.IsZero() ||
		token.Digest == pannier.DigestOf(nil) {
		return Token{}, &pannier.Refusal{
			Code: "token.digest", Message: "the third word is not the SHA-256 of a token",
			Hint: "write the 64 hexadecimal digits that `printf %s TOKEN | sha256sum` prints",
		}
	}
	return token, nil
}

// WithTokens returns the handler for callers that come with a token in `Authorization: Bearer` (RFC 6750), and with
// nothing else. tokens returns those that hold now; it is called for each request, and every second while one is
// under way: event streams and WebSockets end with their token. The connection of a refused request is closed.
//
// An address that keeps coming without a valid token waits for its answers, up to two seconds.
func (h *Handler) WithTokens(tokens func() []Token) http.Handler {
	return h.OverTCP(tokens, Browsers{})
}

// OverTCP is [Handler.WithTokens] for a listener that also serves pages.
func (h *Handler) OverTCP(tokens func() []Token, b Browsers) http.Handler {
	failed := &throttle{}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if b.Page != nil && b.Page.IsPath(r.URL.Path) {
			h.servePage(&b, w, r)
			return
		}
		answered, err := b.admit(w, r)
		if answered {
			return
		}
		var token Token
		if err == nil {
			r, token, err = h.authenticate(r, tokens())
		}
		from := addressOf(r.RemoteAddr)
		if err != nil {
			if isUnauthorized(err) {
				sleep(r.Context(), failed.fail(from, time.Now()))
			}
			h.writeUnauthorized(w, r, err)
			return
		}
		failed.forget(from)
		if conn, ok := r.Context().Value(connKey{}).(*limitedConn); ok && conn != nil {
			conn.markAuthenticated()
		}
		ctx, release := cancelOnRevoke(r.Context(), tokens, token)
		defer release()
		h.ServeHTTP(w, r.WithContext(context.WithValue(ctx, tokenKey{}, token)))
	})
}

// authenticate returns a request as one of the holder of a token, whose ticket or whose token it comes with. No
// handler reads either.
func (h *Handler) authenticate(r *http.Request, tokens []Token) (*http.Request, Token, error) {
	if hasTicket(r) && len(r.Header["Authorization"]) == 0 {
		r, token, err := h.redeem(r, tokens)
		if err == nil && token == (Token{}) {
			err = errTicket // it is one of the unix socket
		}
		return r, token, err
	}
	token, err := authorize(r, tokens)
	if err != nil {
		return r, token, err
	}
	r = r.WithContext(service.WithCaller(r.Context(), service.Caller{Token: token.Name, Scope: token.Scope}))
	r.Header.Del("Authorization")
	return r, token, nil
}

// revokeInterval is how long a token may be gone before the requests that it began end.
const revokeInterval = time.Second

// cancelOnRevoke returns a context that is also done when a token does not hold any more, or another scope belongs to
// it.
func cancelOnRevoke(ctx context.Context, tokens func() []Token, token Token) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	var again func()
	again = func() {
		switch {
		case ctx.Err() != nil:
		case slices.Contains(tokens(), token):
			time.AfterFunc(revokeInterval, again)
		default:
			cancel()
		}
	}
	first := time.AfterFunc(revokeInterval, again)
	return ctx, func() { first.Stop(); cancel() }
}

func (h *Handler) writeUnauthorized(w http.ResponseWriter, r *http.Request, err error) {
	if isUnauthorized(err) {
		challenge := `Bearer realm="pannier"`
		if r.Header.Get("Authorization") != "" {
			challenge += `, error="invalid_token"`
		}
		w.Header().Set("WWW-Authenticate", challenge)
	}
	endConnection(w)
	DropBody(w, r)
	counted := &countingWriter{ResponseWriter: w, status: http.StatusOK}
	h.fail(counted, r, h.deny(r, err))
	h.metrics.count("", counted.status)
	h.logRequest(r, counted.status)
}

func isUnauthorized(err error) bool {
	e, ok := errors.AsType[*pannier.Refusal](err)
	return ok && service.StatusOf(e.Code) == http.StatusUnauthorized
}

func authorize(r *http.Request, tokens []Token) (Token, error) {
	values := r.Header.Values("Authorization")
	scheme, text, _ := strings.Cut(strings.Join(values, ","), " ")
	if len(values) != 1 || !strings.EqualFold(scheme, "Bearer") {
		return Token{}, &pannier.Refusal{
			Code: "token_missing", Message: "there is no token",
			Hint: "send `Authorization: Bearer` and a token of the api_tokens file",
		}
	}
	digest, found := pannier.DigestOf([]byte(strings.TrimSpace(text))), Token{}
	for _, token := range tokens { // all of them, so that callers learn nothing from the time that it takes
		if subtle.ConstantTimeCompare(digest[:], token.Digest[:]) == 1 {
			found = token
		}
	}
	if found == (Token{}) {
		return Token{}, &pannier.Refusal{
			Code: "token_unknown", Message: "the token is not one of this sidecar",
			Hint: "ask who runs it for one; `pannier token` makes them",
		}
	}
	return found, nil
}
