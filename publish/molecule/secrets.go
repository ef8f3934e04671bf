package molecule

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
)

// secrets are the texts that no log, error or health may hold, the longest first, so that none hides a part of another
// one. A platform or a proxy may repeat in an error what it was sent: as it is, or in an address. Other encodings do
// not occur: an error is decoded before it is cleaned, and tokens have no character that JSON or Go would quote.
type secrets []string

// minSecret is the fewest bytes of the value of a header, or of a proxy's password, that are hidden. Shorter ones ("1",
// "on") are not secret, and hiding them would leave no message readable.
const minSecret = 4

func secretsOf(token string, header http.Header) secrets {
	s := secrets{}.with(token)
	for _, values := range header {
		for _, v := range values {
			if v = strings.TrimSpace(v); len(v) >= minSecret {
				s = s.with(v)
			}
		}
	}
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"} {
		s = s.withProxy(os.Getenv(name))
	}
	slices.SortFunc(s, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return s
}

// withProxy adds the credentials in the address of a proxy, as they are sent (RFC 7617, 2), and the password of them. A
// user without a password may be a token.
func (s secrets) withProxy(address string) secrets {
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	u, err := url.Parse(address)
	if err != nil || u.User.String() == "" {
		return s // net/http does not use it either
	}
	password, _ := u.User.Password()
	s = s.with(base64.StdEncoding.EncodeToString([]byte(u.User.Username() + ":" + password)))
	if secret := cmp.Or(password, u.User.Username()); len(secret) >= minSecret {
		s = s.with(secret)
	}
	return s
}

// with adds a text, as it is and as it looks in an address.
func (s secrets) with(text string) secrets {
	if text == "" {
		return s
	}
	return append(s, text, url.PathEscape(text), url.QueryEscape(text))
}

// complaint says what went wrong with a request, as text: an error that is wrapped would still hold the secrets.
func (s secrets) complaint(a Answer, err error) string {
	if err != nil {
		return s.clean(err.Error())
	}
	text := strings.TrimSpace(fmt.Sprintf("the platform answered %d %s", a.Status, http.StatusText(a.Status)))
	if a.Message != "" {
		text += ": " + s.clean(a.Message)
	}
	return text
}

// clean hides secrets in a text and brings it on one line of bounded length. The text is cut last, since a secret that
// is cut in two cannot be found.
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
