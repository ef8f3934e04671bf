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

// The bounds of what is kept of peers.
const (
	// maxPeersBytes is far more than a list should have: platforms accept cards of 20 MiB, which are skipped.
	maxPeersBytes    = 64 << 20
	maxPeers         = 1000
	maxPeerRows      = 10 * maxPeers // that are looked at
	maxPeerCardBytes = 256 << 10
	maxPeerCardDepth = 64
	maxPeerTextBytes = 1024
	maxPeerIDChars   = 100 // as many as prompts show
)

var errNoList = errors.New("the answer is not a list of peers")

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

// peersOf reads a list of peers, ordered by id, without self. A malformed row affects no other row: its valid fields
// are kept, and only a row without an id is left out, since no agent could delegate to it.
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
	slices.SortStableFunc(found.list, func(a, b pannier.Peer) int { return cmp.Compare(a.ID, b.ID) })
	list := slices.CompactFunc(found.list, func(a, b pannier.Peer) bool { return a.ID == b.ID })
	return slices.Clip(append([]pannier.Peer{}, list[:min(len(list), maxPeers)]...)), nil
}

// noList returns errNoList for a list that ends too early, and any other error as it is.
func noList(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return errNoList
	}
	return err
}

// peerRow reads one row and the stop after it. The fields are nil if the row is not an object.
func peerRow(d boundedDecoder) (fields map[string]json.RawMessage, stop byte, err error) {
	ok, err := d.enter('{')
	if ok {
		fields, err = d.members(func(key string) int {
			switch key {
			case "id", "name", "role", "status", "agent_card":
				return maxPeerCardBytes
			}
			return 0
		})
	}
	if err == nil {
		_, stop, err = d.part(",", 0)
	}
	return fields, stop, err
}

type peersFound struct {
	list  []pannier.Peer
	cards int // bytes of them all
}

// add adds a peer. If all cards together become too large, the largest are dropped first, so that those of others stay.
func (f *peersFound) add(peer pannier.Peer) {
	f.list = append(f.list, peer)
	for f.cards += len(peer.Card); f.cards > push.MaxPeerCardsBytes; {
		largest := &f.list[0]
		for i := range f.list {
			if a := &f.list[i]; cmp.Or(cmp.Compare(len(a.Card), len(largest.Card)), cmp.Compare(a.ID, largest.ID)) > 0 {
				largest = a
			}
		}
		f.cards -= len(largest.Card)
		largest.Card = nil
	}
}

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

// isPeerID reports whether a text can be the id of a peer. A model that reads a prompt has to copy it exactly: so it
// has no blanks, no hidden characters, and nothing that a prompt would drop.
func isPeerID(id string) bool {
	return id != "" && utf8.ValidString(id) && utf8.RuneCountInString(id) <= maxPeerIDChars && !strings.ContainsFunc(id, func(r rune) bool {
		return r == '`' || r == '*' || r == utf8.RuneError || pannier.IsHidden(r) || unicode.IsSpace(r) || unicode.In(r, unicode.Z)
	})
}

// shortText returns a text without hidden characters; empty if the value is not a text.
func shortText(value json.RawMessage) string {
	text, _ := decode(value).(string)
	if len(text) > maxPeerTextBytes {
		text = text[:maxPeerTextBytes]
	}
	return printable(strings.ToValidUTF8(text, ""))
}

// printable drops control characters, those that change the direction of a text, and invisible ones. A line break
// becomes a blank. Emoji keep their joiners and variation selectors.
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

// peerCard returns a card as its owner published it: nil if it is too large or not an object, and without NUL, halves
// of surrogate pairs and what is nested too deeply, which break readers in other languages. Some servers hold cards as
// texts, so a text with an object in it is a card too.
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

// sanitize returns a value without NUL, and with null in place of what is nested deeper than depth.
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
		sanitized := make(map[string]any, len(v))
		for key, member := range v {
			if !hasNUL(key) { // without it the key could be that of another member
				sanitized[key] = sanitize(member, depth-1)
			}
		}
		return sanitized
	}
	return v
}
