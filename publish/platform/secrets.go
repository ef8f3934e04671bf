package platform

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// secrets are the texts that must not be told to anybody, the longest first, so that none hides a part of another one.
type secrets []string

// minSecret is the fewest bytes of a header's value that are hidden. Shorter ones ("1", "on") are no secrets, and hiding
// them would leave no message readable.
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
	slices.SortFunc(s, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
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
