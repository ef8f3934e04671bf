package prompt

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"pannier"
)

const (
	peersHead = "\n## Your Peers (workspaces you can delegate to)\n\n"
	peersCut  = "- %d more peers are not listed, for want of room.\n"
	peersFoot = "\nHand a task to one of them with `delegate_to_workspace` and its id.\n"
)

// peersSection returns the section on the peers that have a card, ordered by id, and how many code points it has. Those
// that there is no room for are counted in it; it is empty where none fits.
func peersSection(peers []pannier.Peer, room int) (text string, size int) {
	blocks := peerBlocks(peers)
	size = len(peersHead) + len(peersFoot)
	all := size
	for _, b := range blocks {
		all += b.size
	}
	if all > room {
		size += len(fmt.Sprintf(peersCut, len(blocks)))
	}
	var b strings.Builder
	listed := 0
	for _, peer := range blocks {
		if size+peer.size <= room {
			size += peer.size
			listed++
			b.WriteString(peer.text)
		}
	}
	switch {
	case listed == 0:
		return "", 0
	case listed < len(blocks):
		fmt.Fprintf(&b, peersCut, len(blocks)-listed)
	}
	return peersHead + b.String() + peersFoot, size
}

// peerBlocks returns the lines on each peer that has a card.
func peerBlocks(peers []pannier.Peer) []block {
	ordered := slices.Clone(peers)
	slices.SortStableFunc(ordered, func(a, b pannier.Peer) int { return cmp.Compare(a.ID, b.ID) })
	var blocks []block
	for _, p := range ordered {
		if text, ok := peerLines(p); ok {
			blocks = append(blocks, block{text, runes(text)})
		}
	}
	return blocks
}

// peerCard is what is told of an agent card. What is not of these kinds is not told.
type peerCard struct {
	Name   any `json:"name"`
	Skills any `json:"skills"`
}

// peerLines returns what is told of a peer. A card that is no object is none.
func peerLines(p pannier.Peer) (text string, ok bool) {
	var card *peerCard
	if len(p.Card) == 0 || json.Unmarshal(p.Card, &card) != nil || card == nil {
		return "", false
	}
	id := inline(p.ID)
	text = fmt.Sprintf("- **%s** (id: `%s`, status: %s)\n", cmp.Or(inlineOf(card.Name), inline(p.Name), id), id, cmp.Or(inline(p.Status), "unknown"))
	if names := skillNames(card.Skills); len(names) > 0 {
		text += "  Skills: " + strings.Join(names, ", ") + "\n"
	}
	return text, true
}

// skillNames returns the names of the skills on a card.
func skillNames(skills any) []string {
	list, _ := skills.([]any)
	var names []string
	for _, skill := range list {
		fields, _ := skill.(map[string]any)
		if name := cmp.Or(inlineOf(fields["name"]), inlineOf(fields["id"])); name != "" {
			names = append(names, name)
		}
	}
	return names
}

func inlineOf(value any) string {
	text, _ := value.(string)
	return inline(text)
}

// inline neutralises a text that stands within a line: it can not end what it is put in.
func inline(text string) string {
	return disarm(strings.Join(strings.Fields(inlineMarks.Replace(neutral(text))), " "))
}

// inlineMarks are those of what a peer's texts are put in.
var inlineMarks = strings.NewReplacer("`", "", "**", "")
