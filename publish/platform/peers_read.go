package platform

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"unicode"

	"pannier"
)

// The bounds of what is taken over of peers.
const (
	maxPeersBytes    = 8 << 20
	maxPeers         = 1000
	maxPeerRows      = 10 * maxPeers // that are looked at
	maxPeerCardBytes = 256 << 10
	maxPeerCardDepth = 64
	maxPeerTextBytes = 1024
)

var errNoList = errors.New("the answer is no list of peers")

// peersOf reads a list of peers, ordered by id, without self. A row that is not what it should be harms no other one: what
// can be told of it stays, and only one without an id is left out, since nobody could delegate to it.
func peersOf(body []byte, self string) ([]pannier.Peer, error) {
	rows, ok := elements(body, '[', ']')
	if !ok {
		return nil, errNoList
	}
	peers := []pannier.Peer{}
	for _, row := range rows[:min(len(rows), maxPeerRows)] {
		if peer, ok := peerOf(row); ok && !strings.EqualFold(peer.ID, self) {
			peers = append(peers, peer)
		}
	}
	slices.SortStableFunc(peers, func(a, b pannier.Peer) int { return cmp.Compare(a.ID, b.ID) })
	peers = slices.CompactFunc(peers, func(a, b pannier.Peer) bool { return a.ID == b.ID })
	return slices.Clip(peers[:min(len(peers), maxPeers)]), nil
}

// peerOf reads one row.
func peerOf(row []byte) (pannier.Peer, bool) {
	fields := membersOf(row)
	id, _ := decode(fields["id"]).(string)
	if id == "" || len(id) > maxPeerTextBytes || id != printable(id) {
		return pannier.Peer{}, false
	}
	return pannier.Peer{
		ID: id, Name: shortText(fields["name"]), Role: shortText(fields["role"]), Status: shortText(fields["status"]),
		Card: peerCard(fields["agent_card"]),
	}, true
}

// shortText returns a text, without what steers a terminal; nothing for what is no text.
func shortText(value json.RawMessage) string {
	text, _ := decode(value).(string)
	if len(text) > maxPeerTextBytes {
		text = text[:maxPeerTextBytes]
	}
	return printable(strings.ToValidUTF8(text, ""))
}

func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
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
	if enc.Encode(tame(object, maxPeerCardDepth)) != nil || card.Len() > maxPeerCardBytes {
		return nil
	}
	return bytes.TrimSpace(card.Bytes())
}

// tame returns a value without NUL, and with null in the place of what is nested deeper.
func tame(v any, depth int) any {
	switch v := v.(type) {
	case string:
		return strings.ReplaceAll(v, "\x00", "")
	case []any:
		if depth == 0 {
			return nil
		}
		for i := range v {
			v[i] = tame(v[i], depth-1)
		}
	case map[string]any:
		if depth == 0 {
			return nil
		}
		return tameObject(v, depth)
	}
	return v
}

func tameObject(v map[string]any, depth int) map[string]any {
	tamed := make(map[string]any, len(v))
	for key, member := range v {
		tamed[strings.ReplaceAll(key, "\x00", "")] = tame(member, depth-1)
	}
	return tamed
}

// elements splits a JSON array or object at the commas of its top level, and judges nothing of what is between them:
// encoding/json refuses a whole list for one value in it that is nested too deeply, and anybody may publish such a card. No
// more than a few more elements are returned than anybody looks at.
func elements(text []byte, first, last byte) (parts [][]byte, ok bool) {
	text = bytes.TrimSpace(text)
	if len(text) < 2 || text[0] != first {
		return nil, false
	}
	depth, from, quoted := 0, 1, false
	for i := 0; i < len(text) && len(parts) <= maxPeerRows; i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[', c == '{':
			depth++
		case c == ',' && depth == 1:
			parts, from = append(parts, text[from:i]), i+1
		case c == ']', c == '}':
			if depth--; depth > 0 {
				break
			}
			if end := bytes.TrimSpace(text[from:i]); len(end) > 0 || len(parts) > 0 {
				parts = append(parts, end)
			}
			return parts, c == last
		}
	}
	return parts, len(parts) > maxPeerRows
}

// membersOf returns the members of an object, each as it stands there; nil for what is no object. Of members with one key
// the last counts.
func membersOf(text []byte) map[string]json.RawMessage {
	parts, ok := elements(text, '{', '}')
	if !ok {
		return nil
	}
	members := make(map[string]json.RawMessage, len(parts))
	for _, part := range parts {
		dec := json.NewDecoder(bytes.NewReader(part))
		var key string
		if dec.Decode(&key) != nil {
			continue
		}
		if value, ok := bytes.CutPrefix(bytes.TrimSpace(part[dec.InputOffset():]), []byte(":")); ok {
			members[key] = bytes.TrimSpace(value)
		}
	}
	return members
}
