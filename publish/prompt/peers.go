package prompt

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"pannier"
)

const (
	peersHead = "\n## Your Peers (workspaces you can delegate to)\n\n"
	peersCut  = "- %d more peers are not listed, for want of room.\n"
	peersMore = "- and %d more peers\n"
	peersFoot = "\nHand a task to one of them with `delegate_to_workspace` and its id.\n"
)

// What peers publish is bounded here whatever the limit of the prompt is, so that none of them fills the prompts of all.
const (
	peersShown      = 100
	peerSkillsShown = 50
	peerTextChars   = 100     // of each text, in code points
	peerTextBytes   = 4 << 10 // of each text that are looked at
)

// peersSection returns the section on the peers that have a card, ordered by id, and how many code points it has. Those
// that do not fit are counted in it; it is empty where none fits.
func peersSection(peers []pannier.Peer, room int) (text string, size int) {
	blocks, more := peerBlocks(peers)
	size = len(peersHead) + len(more) + len(peersFoot)
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
	return peersHead + b.String() + more + peersFoot, size
}

// peerBlock is the lines on a peer, and their size in code points.
type peerBlock struct {
	text string
	size int
}

// peerBlocks returns the lines on each peer that has a card and an id that can be shown as it is, of the first [peersShown], and the line on those behind them.
func peerBlocks(peers []pannier.Peer) (blocks []peerBlock, more string) {
	ordered := slices.Clone(peers)
	slices.SortStableFunc(ordered, func(a, b pannier.Peer) int { return cmp.Compare(a.ID, b.ID) })
	left := 0
	for _, p := range ordered {
		card, ok := cardOf(p)
		if !ok || p.ID == "" || inline(p.ID) != p.ID {
			continue // an id that would not show as it is could be taken for another one
		}
		if len(blocks) == peersShown {
			left++
			continue
		}
		text := peerLines(p, card)
		blocks = append(blocks, peerBlock{text, utf8.RuneCountInString(text)})
	}
	if left > 0 {
		more = fmt.Sprintf(peersMore, left)
	}
	return blocks, more
}

// peerCard is what is told of an agent card. What is not of these kinds is not told.
type peerCard struct {
	Name   any `json:"name"`
	Skills any `json:"skills"`
}

// cardOf returns the card of a peer. A card that is not an object does not count.
func cardOf(p pannier.Peer) (card *peerCard, ok bool) {
	if len(p.Card) == 0 {
		return nil, false
	}
	return card, json.Unmarshal(p.Card, &card) == nil && card != nil
}

func peerLines(p pannier.Peer, card *peerCard) string {
	text := fmt.Sprintf("- **%s** (id: `%s`, status: %s)\n", cmp.Or(inlineOf(card.Name), inline(p.Name), p.ID), p.ID, cmp.Or(inline(p.Status), "unknown"))
	if names := skillNames(card.Skills); len(names) > 0 {
		text += "  Skills: " + strings.Join(names, ", ") + "\n"
	}
	return text
}

func skillNames(skills any) []string {
	list, _ := skills.([]any)
	var names []string
	for _, skill := range list {
		fields, _ := skill.(map[string]any)
		if name := cmp.Or(inlineOf(fields["name"]), inlineOf(fields["id"])); name != "" {
			names = append(names, name)
		}
	}
	if more := len(names) - peerSkillsShown; more > 0 {
		names = append(names[:peerSkillsShown], fmt.Sprintf("and %d more", more))
	}
	return names
}

func inlineOf(value any) string {
	text, _ := value.(string)
	return inline(text)
}

// inline neutralises a text that stands within a line: it cannot end what it is put in. What is dropped goes before marks
// are broken, since one that it stood within would be whole behind it.
func inline(text string) string {
	if len(text) > peerTextBytes {
		text = strings.ToValidUTF8(text[:peerTextBytes], "") + "…"
	}
	text = fold(inlineMarks.Replace(text))
	for at, n := 0, 0; at < len(text); n++ {
		if n == peerTextChars {
			return text[:at] + "…"
		}
		_, width := utf8.DecodeRuneInString(text[at:])
		at += width
	}
	return text
}

// inlineMarks are those of what a peer's texts are put in. They are single characters, so that dropping them never makes
// another.
var inlineMarks = strings.NewReplacer("`", "", "*", "")
