package prompt_test

import (
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pannier"
	"pannier/publish/prompt"
)

// checkPrompt checks that a prompt of the skills a and b, the latter called Plain, is what its format is, whatever they
// say, and within a limit. Of the format that is not hardened, and of the one that is the owner's own text in front, only
// what holds for them.
func checkPrompt(t *testing.T, p pannier.Prompt, limit int) {
	t.Helper()
	if limit > 0 && runes(p) > limit && p.Format != prompt.MoleculeSystem {
		t.Errorf("%s: %d characters, and the limit is %d", p.Format, runes(p), limit)
	}
	if p.Truncated != (len(p.Omitted)+len(p.Shortened) > 0) || len(p.Omitted)+len(p.Shortened) > 2 {
		t.Errorf("%s: truncated %t, omitted %v, shortened %v", p.Format, p.Truncated, p.Omitted, p.Shortened)
	}
	check, ok := map[string]func(*testing.T, pannier.Prompt) (shown int){
		prompt.AvailableSkills: checkAvailable, prompt.OpenClaw: checkOpenClaw, prompt.SkillsXML: checkSkillsXML,
		prompt.Compact: checkCompact, prompt.Molecule: checkMolecule,
	}[p.Format]
	if !ok {
		return
	}
	allowed := "\n"
	if p.Format == prompt.Compact || prompt.NeedsBodies(p.Format) {
		allowed = "\n\t"
	}
	checkClean(t, p.Text, allowed)
	shown := 0
	if p.Text != "" {
		shown = check(t, p)
	}
	named := 0 // and nothing else of it
	for _, s := range p.Shortened {
		if s.LeftOut == pannier.LeftOutDescription {
			named++
		}
	}
	// One without a description may be there by its name alone.
	if full := 2 - len(p.Omitted) - named; shown < full-strings.Count(p.Text, "Not all are described") || shown > full {
		t.Errorf("%s: %d skills, omitted %v, shortened %v, in\n%s", p.Format, shown, p.Omitted, p.Shortened, p.Text)
	}
}

// checkClean fails on what no text of a skill may bring into a prompt.
func checkClean(t *testing.T, text, allowed string) {
	t.Helper()
	for _, r := range text {
		if (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029') && !strings.ContainsRune(allowed, r) {
			t.Errorf("%U in %q", r, text)
		}
	}
	for _, mark := range []string{"[INST]", "[/INST]", "<|im_start|>", "<|eot_id|>", "<<SYS>>", "</s>", "<start_of_turn>", "<system>"} {
		if strings.Contains(text, mark) {
			t.Errorf("%s in %q", mark, text)
		}
	}
	if !utf8.ValidString(text) {
		t.Errorf("not UTF-8: %q", text)
	}
}

// grammar names for each element those that it may hold, in their order, each as often as it likes. Others hold one line
// of text, and body alone several.
type grammar struct {
	holds map[string][]string
	body  string
}

// read returns how many skills a text has, which must be one element and follow the grammar.
func (g grammar) read(t *testing.T, root, text string) (skills int) {
	t.Helper()
	var open, within []string // within: the latest element that each open one had
	dec := xml.NewDecoder(strings.NewReader(text))
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return skills
		} else if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		switch token := token.(type) {
		case xml.StartElement:
			name := token.Name.Local
			if name == "skill" {
				skills++
			}
			if len(open) == 0 && name != root || len(open) > 0 && !g.follows(open[len(open)-1], within[len(within)-1], name) {
				t.Fatalf("%s in %v in\n%s", name, open, text)
			}
			if len(within) > 0 {
				within[len(within)-1] = name
			}
			g.checkAttributes(t, token, text)
			open, within = append(open, name), append(within, "")
		case xml.EndElement:
			open, within = open[:len(open)-1], within[:len(within)-1]
		case xml.CharData:
			g.checkText(t, open, string(token), text)
		default:
			t.Fatalf("%v in\n%s", token, text)
		}
	}
}

func (g grammar) follows(parent, before, name string) bool {
	children := g.holds[parent]
	return slices.Contains(children, name) && slices.Index(children, before) <= slices.Index(children, name)
}

// checkAttributes allows those of a skill in the one format that has some.
func (g grammar) checkAttributes(t *testing.T, e xml.StartElement, text string) {
	t.Helper()
	want := 0
	if e.Name.Local == "skill" && g.body != "" {
		want = 2
	}
	if len(e.Attr) != want || want > 0 && (e.Attr[0].Name.Local != "id" || e.Attr[0].Value != "a" && e.Attr[0].Value != "b" || e.Attr[1].Name.Local != "name") {
		t.Fatalf("attributes %v in\n%s", e.Attr, text)
	}
}

func (g grammar) checkText(t *testing.T, open []string, chars, text string) {
	t.Helper()
	chars = strings.Trim(chars, "\n")
	switch {
	case len(open) == 0 || g.holds[open[len(open)-1]] != nil:
		if strings.TrimSpace(chars) != "" {
			t.Fatalf("%q in %v in\n%s", chars, open, text)
		}
	case open[len(open)-1] != g.body && open[len(open)-1] != "skill_names" && strings.ContainsAny(chars, "\n\t"):
		t.Fatalf("%q has several lines in\n%s", chars, text)
	}
}

var catalog = grammar{holds: map[string][]string{
	"available_skills": {"skill_names", "skill"}, "skill": {"name", "description", "compatibility", "allowed-tools", "location"},
}}

func checkAvailable(t *testing.T, p pannier.Prompt) int {
	t.Helper()
	return catalog.read(t, "available_skills", p.Text)
}

func checkOpenClaw(t *testing.T, p pannier.Prompt) int {
	t.Helper()
	_, section, ok := strings.Cut(p.Text, "\n\n<available_skills>")
	if !ok {
		return 0 // a notice alone
	}
	return catalog.read(t, "available_skills", "<available_skills>"+section)
}

func checkSkillsXML(t *testing.T, p pannier.Prompt) int {
	t.Helper()
	g := grammar{body: "instructions", holds: map[string][]string{
		"skills": {"skill_names", "skill"}, "skill": {"description", "triggers", "compatibility", "allowed-tools", "instructions"}, "triggers": {"trigger"},
	}}
	return g.read(t, "skills", p.Text)
}

var (
	compactNames = regexp.MustCompile("^[ab](?:, [ab])?\nThose are slugs\\. Not all are described here: [^\n]+\n")
	compactItem  = regexp.MustCompile("^- (?:`[ab]`(?:: .+)?\n|.+\n  Skill slug for read_skill: `[ab]`\n(?:  Use when: .+\n)?(?:  Compatibility: .+\n)?(?:  Allowed tools: .+\n)?)")
	compactOwn   = regexp.MustCompile(`(?mi)^[\pZ\t]*[*_]*(?:\[skills?\b|skill slug for read_skill).*\n`)
	compactBelow = regexp.MustCompile("^\nBefore you do what one of these skills is for, call `read_skill` [^\n]+(\nThese match the files of this turn, [^\n]+)?$")
)

// noneFits begins a section that has no room for a name.
const noneFits = "There are skills that do not fit here. "

func checkCompact(t *testing.T, p pannier.Prompt) int {
	t.Helper()
	if strings.HasPrefix(p.Text, "[Skills]\n"+noneFits) {
		return 0
	}
	rest, ok := strings.CutPrefix(p.Text, "[Skills]\nThe following skills are available for this turn:\n")
	named := compactNames.FindString(rest)
	rest = rest[len(named):]
	shown := 0
	for {
		match := compactItem.FindString(rest)
		if match == "" {
			break
		}
		rest = rest[len(match):]
		shown++
	}
	foot := strings.LastIndex(rest, "\nBefore you do what one of these skills is for, ")
	if !ok || shown == 0 && named == "" || foot < 0 || !compactBelow.MatchString(rest[foot:]) || !strings.HasPrefix(rest, "\n") {
		t.Fatalf("%d skills in\n%s", shown, p.Text)
	}
	for _, line := range compactOwn.FindAllString(rest[:foot], -1) {
		if line != "[Skill Body: $a]\n" && line != "[Skill Body: $b]\n" {
			t.Errorf("%q in\n%s", line, p.Text)
		}
	}
	if n := strings.Count(rest[:foot], "\n[Skill Body: $"); n > 2 || foot > 0 && n == 0 {
		t.Errorf("%d bodies of %d skills in\n%s", n, shown, p.Text)
	}
	return shown
}

// ownTitle is a heading that a Molecule prompt has itself.
var ownTitle = regexp.MustCompile(`(?mi)^ {0,3}(?:- +)?#+[ \t]*(your (?:skills|peers|team)|platform (?:rules|guidelines|instructions)|parent context|handling delegation failures)`)

// moleculeNames begins a section that has no room for all descriptions.
var moleculeNames = regexp.MustCompile("^\n## Your Skills\n\n[ab](?:, [ab])?\nNot all are described here[^\n]+\n")

func checkMolecule(t *testing.T, p pannier.Prompt) int {
	t.Helper()
	text, peers, _ := strings.Cut(p.Text, "\n## Your Peers (workspaces you can delegate to)\n\n- **")
	if titles := ownTitle.FindAllString(text+"\n"+peers, -1); len(titles) > 1 || text != "" && (len(titles) != 1 || !strings.HasPrefix(text, "\n## Your Skills\n\n### ") && !strings.HasPrefix(text, "\n## Your Skills\n\n"+noneFits) && !moleculeNames.MatchString(text)) {
		t.Errorf("headings %q in\n%s", titles, p.Text)
	}
	if peers != "" && strings.Count(peers, "\n") > 5 {
		t.Errorf("peers\n%s", peers)
	}
	if text == "" || strings.HasPrefix(text, "\n## Your Skills\n\n"+noneFits) {
		return 0
	}
	plains := 0
	for line := range strings.Lines(text) {
		if strings.EqualFold(strings.TrimSpace(line), "### plain") {
			plains++
		}
	}
	shown := strings.Count(text, "\n\n### ")
	if shown > 2 { // headings in bodies
		shown = 2
	}
	for _, s := range p.Shortened {
		if s.LeftOut == pannier.LeftOutDescription {
			shown = min(shown, 1)
		}
	}
	shown = min(shown, 2-len(p.Omitted))
	own := shown
	if shown == 2 && !strings.Contains(asciiLetters(text[len("\n## Your Skills\n"):]), "plain") {
		own = 1
	}
	if plains > own {
		t.Errorf("%d headings of one skill in\n%s", plains, p.Text)
	}
	return shown
}

// asciiLetters returns the ASCII letters of a text in lower case: what is left of it, whatever is not shown of the rest.
func asciiLetters(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z':
			return r
		case 'A' <= r && r <= 'Z':
			return r + 'a' - 'A'
		}
		return -1
	}, text)
}
