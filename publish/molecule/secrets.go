package molecule

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
)

// secrets are the texts that must not be told to anybody, the longest first, so that none hides a part of another one.
type secrets []string

// minSecret is the fewest bytes of a header's value, or a proxy's password, that are hidden. Shorter ones ("1", "on") are no
// secrets, and hiding them would leave no message readable.
const minSecret = 4

// secretsOf are the token, the values of the headers of the settings, and the credentials of proxies.
func secretsOf(token string, header http.Header) secrets {
	s := secrets{}.with(token)
	for _, values := range header {
		for _, v := range values {
			if v = strings.TrimSpace(v); len(v) >= minSecret {
				s = s.with(v)
			}
		}
	}
	s = s.withProxies()
	slices.SortFunc(s, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return s
}

// withProxies adds the credentials of the proxies of the environment: what a proxy says may repeat them.
func (s secrets) withProxies() secrets {
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"} {
		user, password := credentialsOf(os.Getenv(name))
		s = s.withLogin(user, password)
		if plain, err := url.PathUnescape(user); err == nil {
			user = plain
		}
		if plain, err := url.PathUnescape(password); err == nil {
			password = plain
		}
		s = s.withLogin(user, password)
	}
	return s
}

// credentialsOf returns those of an address, as they are written there, also where it is no URL.
func credentialsOf(address string) (user, password string) {
	if _, rest, ok := strings.Cut(address, "://"); ok {
		address = rest
	}
	user, password, _ = strings.Cut(address[:max(strings.LastIndexByte(address, '@'), 0)], ":")
	return user, password
}

// withLogin adds what is sent of a login (RFC 7617, 2), and its password; a user without one may be a token.
func (s secrets) withLogin(user, password string) secrets {
	if user+password == "" {
		return s
	}
	s = s.with(base64.StdEncoding.EncodeToString([]byte(user + ":" + password)))
	if secret := cmp.Or(password, user); len(secret) >= minSecret {
		s = s.with(secret)
	}
	return s
}

// with adds a text, as it is and as it looks in an address, in JSON and between the quotation marks of Go.
func (s secrets) with(text string) secrets {
	if text == "" {
		return s
	}
	quoted, ascii := strconv.Quote(text), strconv.QuoteToASCII(text)
	s = append(s, text, url.PathEscape(text), url.QueryEscape(text), quoted[1:len(quoted)-1], ascii[1:len(ascii)-1])
	for _, escape := range []bool{true, false} {
		s = append(s, inJSON(text, escape))
	}
	return s
}

// inJSON returns a text as it stands in JSON, without its quotation marks.
func inJSON(text string, escapeHTML bool) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(escapeHTML)
	if enc.Encode(text) != nil {
		return text // which a text always can be
	}
	return strings.TrimSuffix(b.String(), "\"\n")[1:]
}

// complaint says what went wrong with a try. What the platform or the network say may repeat what was sent, so it is
// cleaned, and comes out as text: an error that is wrapped would still have the secrets in it.
func (s secrets) complaint(a answer, err error) string {
	if err != nil {
		return s.clean(err.Error())
	}
	text := strings.TrimSpace(fmt.Sprintf("the platform answered %d %s", a.status, http.StatusText(a.status)))
	if a.message != "" {
		text += ": " + s.clean(a.message)
	}
	return text
}

// clean hides the secrets of a text and brings it on one line of bounded length. It is cut last: a secret that was cut in
// two could not be found.
func (s secrets) clean(text string) string {
	const most = 500
	for _, secret := range s {
		text = strings.ReplaceAll(text, secret, "[redacted]")
	}
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f }), " ")
	if len(text) > most {
		text = text[:most] + "..."
	}
	return strings.ToValidUTF8(text, "")
}
