package molecule

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"pannier"
	"pannier/publish/push"
)

// The bounds of what is taken over of peers.
const (
	// maxPeersBytes is far more than a list should have: the platform takes cards of 20 MiB, and each is read past.
	maxPeersBytes    = 64 << 20
	maxPeers         = 1000
	maxPeerRows      = 10 * maxPeers // that are looked at
	maxPeerCardBytes = 256 << 10
	maxPeerCardDepth = 64
	maxPeerTextBytes = 1024
	maxPeerIDChars   = 100 // as many as prompts show
)

var errNoList = errors.New("the answer is no list of peers")

// Peers reads the peers of the workspace.
func (t *Target) Peers(ctx context.Context) (list []pannier.Peer, o push.Outcome, err error) {
	a, token, err := t.do(ctx, Call{Method: http.MethodGet, Target: t.peersURL, Limit: t.peersMax, take: func(body io.Reader) (err error) {
		list, err = peersOf(body, t.workspaceID)
		return err
	}})
	if err == nil && a.Status/100 == 2 {
		err = a.broken
	}
	o, err = t.sideRequestOutcome("read peers", token, a, err)
	return list, withoutRoute(o, a.Status, hintNoPeers), err
}

// peersOf reads a list of peers, ordered by id, without self. A row that is not what it should be harms no other one: what
// can be told of it stays, and only one without an id is left out, since nobody could delegate to it.
func peersOf(body io.Reader, self string) ([]pannier.Peer, error) {
	d := newBoundedDecoder(body)
	if ok, err := d.enter('['); !ok {
		return nil, noList(err)
	}
	var found peersFound
	for rows, stop := 0, byte(','); stop == ',' && rows < maxPeerRows; rows++ {
		fields, end, err := peerRow(d)
		if err != nil || end == '}' {
			return nil, noList(err)
		}
		stop = end
		if peer, ok := peerOf(fields); ok && !strings.EqualFold(peer.ID, self) {
			found.add(peer)
		}
	}
	return found.ordered(), nil
}

// noList says of a list that ends too early that it is none, and of any other error what it is.
func noList(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return errNoList
	}
	return err
}

// peerRow reads one row and what stands behind it. The fields are nil for what is no object.
func peerRow(d boundedDecoder) (fields map[string]json.RawMessage, stop byte, err error) {
	ok, err := d.enter('{')
	if ok {
		fields, err = d.members(peerFieldBytes)
	}
	if err == nil {
		_, stop, err = d.part(",", 0)
	}
	return fields, stop, err
}

// peerFieldBytes is how much of a field is kept.
func peerFieldBytes(key string) int {
	switch key {
	case "id", "name", "role", "status", "agent_card":
		return maxPeerCardBytes
	}
	return 0
}

// peersFound are the peers of a list, while it is read.
type peersFound struct {
	list  []pannier.Peer
	cards int // bytes of them all
}

// add takes a peer in. Where the cards of all become too much, the largest go first, so that those of others stay.
func (f *peersFound) add(peer pannier.Peer) {
	f.list = append(f.list, peer)
	for f.cards += len(peer.Card); f.cards > push.MaxPeerCardsBytes; {
		i := f.largest()
		f.cards -= len(f.list[i].Card)
		f.list[i].Card = nil
	}
}

// largest returns whose card that is; of those with equal ones, who has the last id.
func (f *peersFound) largest() (at int) {
	for i := range f.list {
		a, b := &f.list[i], &f.list[at]
		if cmp.Or(cmp.Compare(len(a.Card), len(b.Card)), cmp.Compare(a.ID, b.ID)) > 0 {
			at = i
		}
	}
	return at
}

// ordered returns the peers by id, each once.
func (f *peersFound) ordered() []pannier.Peer {
	slices.SortStableFunc(f.list, func(a, b pannier.Peer) int { return cmp.Compare(a.ID, b.ID) })
	list := slices.CompactFunc(f.list, func(a, b pannier.Peer) bool { return a.ID == b.ID })
	return slices.Clip(append([]pannier.Peer{}, list[:min(len(list), maxPeers)]...))
}

// peerOf reads one row.
func peerOf(fields map[string]json.RawMessage) (pannier.Peer, bool) {
	id, _ := decode(fields["id"]).(string)
	if !isPeerID(id) {
		return pannier.Peer{}, false
	}
	return pannier.Peer{
		ID: id, Name: shortText(fields["name"]), Role: shortText(fields["role"]), Status: shortText(fields["status"]),
		Card: peerCard(fields["agent_card"]),
	}, true
}

// isPeerID reports whether a text can be the id of a peer. Whoever reads a prompt has to tell two of them apart, and hand one
// back as it is: so it has no blank, nothing that is not seen, and nothing that a prompt would drop of it.
func isPeerID(id string) bool {
	return id != "" && utf8.ValidString(id) && utf8.RuneCountInString(id) <= maxPeerIDChars && !strings.ContainsFunc(id, func(r rune) bool {
		return r == '`' || r == '*' || r == utf8.RuneError || pannier.IsHidden(r) || unicode.IsSpace(r) || unicode.In(r, unicode.Z)
	})
}

// shortText returns a text, without what is not meant to be seen; nothing for what is no text.
func shortText(value json.RawMessage) string {
	text, _ := decode(value).(string)
	if len(text) > maxPeerTextBytes {
		text = text[:maxPeerTextBytes]
	}
	return printable(strings.ToValidUTF8(text, ""))
}

// printable drops what steers a terminal, what turns the order of a text, and what shows as nothing. What breaks a line is a
// blank. Emoji keep what joins them, and what chooses how they look.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\u200d' || r == '\ufe0e' || r == '\ufe0f':
			return r
		case r == '\u2028' || r == '\u2029':
			return ' '
		case pannier.IsHidden(r):
			return -1
		}
		return r
	}, text)
}

// peerCard returns a card as its owner published it, as far as it does no harm: nil for one that is too large or no object,
// and without NUL, halves of surrogate pairs and what is nested beyond all reason, which break readers in other languages.
// Some servers hold cards as texts, so a text with an object in it is one too.
func peerCard(value json.RawMessage) json.RawMessage {
	if len(value) == 0 || len(value) > maxPeerCardBytes {
		return nil
	}
	v := decode(value)
	if text, ok := v.(string); ok {
		v = decode(json.RawMessage(text))
	}
	object, ok := v.(map[string]any)
	if !ok {
		return nil
	}
	var card bytes.Buffer
	enc := json.NewEncoder(&card)
	enc.SetEscapeHTML(false)
	if enc.Encode(sanitize(object, maxPeerCardDepth)) != nil || card.Len() > maxPeerCardBytes {
		return nil
	}
	return bytes.TrimSpace(card.Bytes())
}

// sanitize returns a value without NUL, and with null in the place of what is nested deeper.
func sanitize(v any, depth int) any {
	switch v := v.(type) {
	case string:
		return strings.ReplaceAll(v, "\x00", "")
	case []any:
		if depth == 0 {
			return nil
		}
		for i := range v {
			v[i] = sanitize(v[i], depth-1)
		}
	case map[string]any:
		if depth == 0 {
			return nil
		}
		return sanitizeObject(v, depth)
	}
	return v
}

// sanitizeObject drops a member whose key has a NUL: without it the key could be that of another one.
func sanitizeObject(v map[string]any, depth int) map[string]any {
	sanitized := make(map[string]any, len(v))
	for key, member := range v {
		if !hasNUL(key) {
			sanitized[key] = sanitize(member, depth-1)
		}
	}
	return sanitized
}
