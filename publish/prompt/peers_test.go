package prompt_test

import (
	"fmt"
	"strings"
	"testing"

	"pannier"
	"pannier/publish/prompt"
)

const peersTitle = "\n## Your Peers (workspaces you can delegate to)\n"

func TestPeersAlone(t *testing.T) {
	const want = peersTitle + "\n- **Peer A** (id: `p1`, status: online)\n  Skills: X, y\n\nHand a task to one of them with `delegate_to_workspace` and its id.\n"
	peers := []pannier.Peer{{ID: "p1", Status: "online", Card: []byte(`{"name":"Peer A","skills":[{"name":"X"},{"id":"y"}]}`)}}
	for format, before := range map[string]string{prompt.Molecule: "", prompt.MoleculeSystem: before + "\n"} {
		if p := renderVia(pannier.ViaImplicit, prompt.Options{Format: format, Peers: peers}, nil); p.Text != before+want {
			t.Errorf("%s: got\n%q", format, p.Text)
		}
	}
	for _, format := range prompt.Formats() {
		with := renderVia(pannier.ViaImplicit, prompt.Options{Format: format, Peers: peers}, shelfBodies(), shelf()...)
		if strings.Contains(with.Text, peersTitle) != strings.HasPrefix(format, prompt.Molecule) {
			t.Errorf("%s: %s", format, with.Text)
		}
		if p := renderVia(pannier.ViaImplicit, prompt.Options{Format: format, Peers: []pannier.Peer{{ID: "a"}}}, nil); strings.Contains(p.Text, peersTitle) {
			t.Errorf("%s tells of a peer without a card:\n%s", format, p.Text)
		}
	}
}

// TestPeersWithinTheLimit tries every limit: names of skills come before peers, peers before bodies, and whoever is left out
// is counted.
func TestPeersWithinTheLimit(t *testing.T) {
	var peers []pannier.Peer
	for i := range 5 {
		peers = append(peers, pannier.Peer{ID: fmt.Sprint("id", i), Card: fmt.Appendf(nil, `{"name":"peer %d"}`, i)})
	}
	o := prompt.Options{Format: prompt.Molecule, Peers: peers}
	whole := runes(renderVia(pannier.ViaImplicit, o, shelfBodies(), shelf()...))
	for o.MaxChars = 1; o.MaxChars <= whole; o.MaxChars++ {
		p := renderVia(pannier.ViaImplicit, o, shelfBodies(), shelf()...)
		if runes(p) > o.MaxChars {
			t.Fatalf("limit %d: %d characters", o.MaxChars, runes(p))
		}
		listed := strings.Count(p.Text, "- **peer ")
		if listed > 0 && listed < 5 != strings.Contains(p.Text, fmt.Sprintf("\n- %d more peers are not listed", 5-listed)) || strings.Contains(p.Text, peersTitle) != (listed > 0) {
			t.Errorf("limit %d: %d peers in\n%s", o.MaxChars, listed, p.Text)
		}
		if 0 < listed && listed < 5 && strings.Contains(p.Text, "## Usage") {
			t.Errorf("limit %d: bodies go before peers in\n%s", o.MaxChars, p.Text)
		}
	}
}
