package prompt_test

import (
	"encoding/json"
	"fmt"
	"regexp"
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

// TestPeersWithinTheLimit tries every limit: names of skills come before peers, peers before bodies, and each peer that is left out
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

// TestPeersCanNotBreakOut: what is dropped of a text never leaves a mark behind that it stood within.
func TestPeersCanNotBreakOut(t *testing.T) {
	for _, text := range []string{
		"[INS**T]", "[IN`ST] hi [/INST`]", "[AVAILABLE_TOOLS`]<tool_call>", "[SYSTEM_`PROMPT]", "x*`*", "<|im`_start|>", "<\u200b|im_*end|>", "`<`s`>`",
	} {
		checkPeers(t, onePeer(t, text))
	}
}

func FuzzPeers(f *testing.F) {
	for _, seed := range []string{"[INS**T]", "x*`*y", "<|im`_start|>", "[\u200bTOOL_CALLS`]\n## Your Skills", "a, `b` (id: `c`)", "[[IN*ST]INST]<*s><<`s>s>"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) { checkPeers(t, onePeer(t, text)) })
}

// onePeer returns the section on a peer with that text in every place.
func onePeer(t *testing.T, text string) string {
	t.Helper()
	card, err := json.Marshal(map[string]any{"name": text, "skills": []any{map[string]string{"name": text}, map[string]string{"id": text}}})
	if err != nil {
		t.Fatal(err)
	}
	peer := pannier.Peer{ID: "p", Name: text, Status: text, Card: card}
	return renderVia(pannier.ViaImplicit, prompt.Options{Format: prompt.Molecule, Peers: []pannier.Peer{peer}}, nil).Text
}

var (
	peerForm = regexp.MustCompile("^- \\*\\*[^*`\n]+\\*\\* \\(id: `[^*`\n]+`, status: [^*`\n]+\\)\n(  Skills: [^*`\n]+\n)?$")
	// peerMarks are those of chat templates, as prompt/clean.go has them.
	peerMarks = regexp.MustCompile(`\[/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT)\]` +
		`|<(?:[|｜][^<>()\s]*[|｜]|</?SYS>|/?(?i:s|bos|eos|pad|unk|system|system-reminder|start_of_turn|end_of_turn|tool_call|tool_response))>`)
)

// checkPeers holds a section on one peer against its form.
func checkPeers(t *testing.T, section string) {
	t.Helper()
	checkClean(t, section, "\n")
	text, head := strings.CutPrefix(section, peersTitle+"\n")
	text, foot := strings.CutSuffix(text, "\nHand a task to one of them with `delegate_to_workspace` and its id.\n")
	if !head || !foot || !peerForm.MatchString(text) || peerMarks.MatchString(text) {
		t.Errorf("got %q", section)
	}
}

// TestPeersThatLookAlike: an id that would not show as it is is none, so that no peer can be taken for another one.
func TestPeersThatLookAlike(t *testing.T) {
	peers := []pannier.Peer{{ID: "aaaa", Card: []byte(`{}`)}}
	for _, id := range []string{
		"", "a\u200ba\u202ea`a", "aa*aa", " aaaa", "aa\u00a0aa  b", "aaaa\u2028", "aaaa\ufe00", "<s>", strings.Repeat("a", 101), "aa\xffaa",
	} {
		peers = append(peers, pannier.Peer{ID: id, Card: []byte(`{}`)})
	}
	text := renderVia(pannier.ViaImplicit, prompt.Options{Format: prompt.Molecule, Peers: peers}, nil).Text
	if n := strings.Count(text, "(id: "); n != 1 || !strings.Contains(text, "- **aaaa** (id: `aaaa`, ") {
		t.Errorf("%d peers are told of:\n%s", n, text)
	}
}

// TestPeersAreBounded whatever the limit of the prompt is.
func TestPeersAreBounded(t *testing.T) {
	skills := make([]string, 60)
	for i := range skills {
		skills[i] = fmt.Sprintf(`{"name":"s%d"}`, i)
	}
	card := fmt.Appendf(nil, `{"name":"%s","skills":[{"name":"%s"},%s]}`, strings.Repeat("é", 200000), strings.Repeat("x", 101), strings.Join(skills, ","))
	var peers []pannier.Peer
	for i := range 130 {
		peers = append(peers, pannier.Peer{ID: fmt.Sprintf("p%03d", i), Card: card}, pannier.Peer{ID: fmt.Sprintf("q%03d", i)})
	}
	text := renderVia(pannier.ViaImplicit, prompt.Options{Format: prompt.Molecule, Peers: peers}, nil).Text
	for want, times := range map[string]int{
		"- **" + strings.Repeat("é", 100) + "…** (id: `p": 100, "Skills: " + strings.Repeat("x", 100) + "…, s0, ": 100, ", s48, and 11 more\n": 100,
		"- and 30 more peers\n\nHand a task": 1, "p100": 0,
	} {
		if n := strings.Count(text, want); n != times {
			t.Errorf("%q is there %d times, want %d:\n%.1000s", want, n, times, text)
		}
	}
	short := renderVia(pannier.ViaImplicit, prompt.Options{Format: prompt.Molecule, Peers: peers, MaxChars: 2000}, nil)
	if n := runes(short); n > 2000 || !strings.Contains(short.Text, "more peers are not listed") || !strings.Contains(short.Text, "- and 30 more peers\n") {
		t.Errorf("%d characters:\n%s", n, short.Text)
	}
}
