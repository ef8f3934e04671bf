package profile_test

import (
	"strings"
	"testing"

	"pannier"
	"pannier/loader/profile"
)

// strictRow is one rule: want are the codes of its errors, empty where the skill complies. The reference validator comes to
// the same verdict unless differs says why not.
type strictRow struct {
	rule         string
	folder, text string
	want         string
	differs      string
}

const (
	pioneers = "one of the three rules that Pioneer's strict profile adds"
	fences   = "the reference validator ends the frontmatter at any ---; fences here are whole lines"
)

var (
	combining = "cafe\u0301"
	long64    = strings.Repeat("a", 64)
	han64     = strings.Repeat("技", 64)
)

// strictNames are the rules of names, and what was seen of the reference validator.
var strictNames = []strictRow{
	{"a digit first", "1a", named("1a"), "", ""},
	{"digits alone", "123", named("123"), "", ""},
	{"a plain number is a text", "123", front("name: 123", "description: d"), "", ""},
	{"one letter", "a", named("a"), "", ""},
	{"64 characters", long64, named(long64), "", ""},
	{"64 characters of three bytes", han64, named(han64), "", ""},
	{"a letter whose upper case is two", "straße", named("straße"), "", ""},
	{"Arabic letters", "مهارة", named("مهارة"), "", ""},
	{"Chinese", "技能", named("技能"), "", ""},
	{"Cyrillic with a hyphen", "мой-навык", named("мой-навык"), "", ""},
	{"Cyrillic in lower case", "навык", named("навык"), "", ""},
	{"Cyrillic in upper case", "НАВЫК", named("НАВЫК"), "strict.name.lowercase", ""},
	{"65 characters", long64 + "a", named(long64 + "a"), "strict.name.length", ""},
	{"70 characters", strings.Repeat("a", 70), named(strings.Repeat("a", 70)), "strict.name.length", ""},
	{"a hyphen alone", "-", named("-"), "strict.name.hyphen_bounds", ""},
	{"a hyphen last", "a-", named("a-"), "strict.name.hyphen_bounds", ""},
	{"a hyphen first", "-my-skill", named("-my-skill"), "strict.name.hyphen_bounds", ""},
	{"two hyphens", "my--skill", named("my--skill"), "strict.name.consecutive_hyphen", ""},
	{"an underscore", "my_skill", named("my_skill"), "strict.name.charset", ""},
	{"a dot", "a.b", named("a.b"), "strict.name.charset", ""},
	{"a blank", "a b", named("a b"), "strict.name.charset", ""},
	{"a slash", "a", named("a/b"), "strict.name.charset strict.name.folder", ""},
	{"an emoji", "🚀", named("🚀"), "strict.name.charset", ""},
	{"a zero-width joiner", "a\u200db", named("a\u200db"), "strict.name.charset", ""},
	{"an en dash", "a–b", named("a–b"), "strict.name.charset", ""},
	{"a non-breaking hyphen", "a\u2011b", named("a\u2011b"), "strict.name.charset", ""},
	{"a NUL", "a", named("a\x00b"), "strict.name.charset strict.name.folder", ""},
	{"a right-to-left override", "a\u202eb", named("a\u202eb"), "strict.name.charset", ""},
	{"combining vowels of Hindi", "कौशल", named("कौशल"), "strict.name.charset", ""},
	{"combining vowels of Thai", "ทักษะ", named("ทักษะ"), "strict.name.charset", ""},
	{"upper case", "MySkill", named("MySkill"), "strict.name.lowercase", ""},
	{"another name than the folder", "wrong-name", named("right-name"), "strict.name.folder", ""},
	{"all that is wrong at once", "b", named("-A--_"), "strict.name.charset strict.name.consecutive_hyphen strict.name.folder strict.name.hyphen_bounds strict.name.lowercase", ""},

	{"NFKC: a superscript digit", "a2", named("a²"), "", ""},
	{"NFKC: fullwidth letters in the name", "abc", named("ａｂｃ"), "", ""},
	{"NFKC: fullwidth letters in the folder", "ａｂｃ", named("abc"), "", ""},
	{"NFKC: a ligature", "file", named("ﬁle"), "", ""},
	{"NFKC: a Roman numeral", "viii", named("ⅷ"), "", ""},
	{"NFKC: a letter in a circle", "a", named("ⓐ"), "", ""},
	{"NFKC: a fullwidth hyphen", "a-b", named("a－b"), "", ""},
	{"NFKC: a decomposed letter in the name", "café", named(combining), "", ""},
	{"NFKC: a decomposed letter in the folder", combining, named("café"), "", ""},
	{"NFKC: a fraction has a slash in it", "½", named("½"), "strict.name.charset", ""},
	{"NFKC: a title-case digraph", "ǅ", named("ǅ"), "strict.name.lowercase", ""},
	{"a dotted capital I", "İ", named("İ"), "strict.name.lowercase", ""},
	{"NFKC makes it longer than 64", "a", named(strings.Repeat("ﬃ", 22)), "strict.name.folder strict.name.length", ""},
	{"blanks around it", "a", front("name: '  a  '", "description: d"), "", ""},
	{"a folded text with its line feed", "a", front("name: >", "  a", "description: d"), "", ""},
	{"a no-break space behind it", "a", named("a\u00a0"), "", ""},
	{"a separator of ASCII behind it", "a", named("a\x1f"), "", ""},

	{"no name", "a", front("description: d"), "strict.name.required", ""},
	{"name with nothing", "a", front("name:", "description: d"), "strict.name.required", ""},
	{"name with blanks", "a", front("name: '  '", "description: d"), "strict.name.required", ""},
	{"name is a list", "a", front("name:", "- a", "description: d"), "strict.name.required", ""},
	{"null is the text null", "null", front("name: null", "description: d"), "", ""},
	{"a tilde is the text of a tilde", "a", front("name: ~", "description: ~"), "strict.name.charset strict.name.folder", ""},
	{"true is the text true", "true", front("name: true", "description: d"), "", ""},
}

// strictTexts are the rules of how the frontmatter is read.
var strictTexts = []strictRow{
	{"valid", "a", front("name: a", "description: d"), "", ""},
	{"no frontmatter", "a", "# A\n", "strict.frontmatter.invalid", ""},
	{"no closing fence", "a", "---\nname: a\ndescription: d\n", "strict.frontmatter.invalid", ""},
	{"broken flow list", "a", front("name: [a", "description: d"), "strict.frontmatter.invalid", ""},
	{"frontmatter is a list", "a", front("- a", "- b"), "strict.frontmatter.invalid", ""},
	{"frontmatter is a scalar", "a", front("just a text"), "strict.frontmatter.invalid", ""},
	{"frontmatter is empty", "a", "---\n---\nDo it.\n", "strict.description.required strict.name.required", ""},
	{"frontmatter is a comment", "a", front("# nothing"), "strict.description.required strict.name.required", ""},
	{"byte order mark", "a", "\ufeff" + front("name: a", "description: d"), "strict.frontmatter.invalid", ""},
	{"blank line first", "a", "\n" + front("name: a", "description: d"), "strict.frontmatter.invalid", ""},
	{"blank before the fence", "a", " " + front("name: a", "description: d"), "strict.frontmatter.invalid", ""},
	{"blanks behind the opening fence", "a", "---  \nname: a\ndescription: d\n---\nx\n", "", ""},
	{"four hyphens open", "a", "----\nname: a\ndescription: d\n---\n", "strict.frontmatter.invalid", ""},
	{"a field on the line of the opening fence", "a", "--- name: a\ndescription: d\n---\n", "strict.frontmatter.invalid", ""},
	{"a field glued to the opening fence", "a", "---name: a\ndescription: d\n---\n", "strict.frontmatter.invalid", fences},
	{"four hyphens close", "a", "---\nname: a\ndescription: d\n----\n", "strict.frontmatter.invalid", fences},
	{"a title glued to the closing fence", "a", "---\nname: a\ndescription: d\n---# A\n", "strict.frontmatter.invalid", fences},
	{"an indented closing fence", "a", "---\nname: a\ndescription: d\n  ---\n", "strict.frontmatter.invalid", fences},
	{"dots close", "a", "---\nname: a\ndescription: d\n...\n", "strict.frontmatter.invalid", ""},
	{"three hyphens in a value", "a", front("name: a", "description: b --- c", "colour: red"), "strict.field.unknown", fences + ", so what follows them there is never seen"},
	{"closing fence at the end of the file", "a", "---\nname: a\ndescription: d\n---", "", ""},
	{"no body", "a", "---\nname: a\ndescription: d\n---\n\n", "", ""},
	{"CR LF", "a", "---\r\nname: a\r\ndescription: d\r\n---\r\nx\r\n", "", ""},
	{"CR alone", "a", "---\rname: a\rdescription: d\r---\rx\r", "", ""},
	{"a second document is the body", "a", front("name: a", "description: d") + "---\nx: y\n---\n", "", ""},
	{"a colon in a plain value", "a", front("name: a", "description: b: c"), "strict.frontmatter.invalid", ""},
	{"a plain value that starts with a commercial at", "a", front("name: a", "description: @b"), "strict.frontmatter.invalid", ""},
	{"a plain value that starts with an asterisk", "a", front("name: a", "description: **b**"), "strict.frontmatter.invalid", ""},
	{"a plain value that starts with an ampersand", "a", front("name: a", "description: &b c"), "strict.frontmatter.invalid", ""},
	{"a plain value that starts with an exclamation mark", "a", front("name: a", "description: !b c"), "strict.frontmatter.invalid", ""},
	{"a comment cuts a plain value", "a", front("name: a #b", "description: d"), "", ""},
	{"a number sign in a word", "a", front("name: a#b", "description: d"), "strict.name.charset strict.name.folder", ""},
	{"tab indentation", "a", front("name: a", "description: d", "metadata:", "\tk: v"), "strict.frontmatter.invalid", ""},
	{"duplicate key", "a", front("name: b", "name: a", "description: d"), "strict.frontmatter.invalid", ""},
	{"duplicate key below another", "a", front("name: a", "description: d", "metadata:", "  k: v", "  k: w"), "strict.frontmatter.invalid", ""},
	{"anchor and alias", "a", front("name: &a a", "description: *a"), "strict.frontmatter.invalid", ""},
	{"flow mapping", "a", front("name: a", "description: d", "metadata: {k: v}"), "strict.frontmatter.flow", ""},
	{"flow mapping over several lines", "a", front("name: a", "description: d", "metadata:", "  {", "    k: v", "  }"), "strict.frontmatter.flow", ""},
	{"flow list", "a", front("name: a", "description: d", "license: [a, b]"), "strict.frontmatter.flow", ""},
	{"all in one flow mapping", "a", front("{name: a, description: d}"), "strict.frontmatter.flow", ""},
	{"brackets in a text are no list", "a", front("name: a", "description: 'x [y] {z}'", "license: \"[MIT]\""), "", ""},
	{"letters of several bytes before brackets", "a", front("name: a", "description: d", "é: [b]"), "strict.field.unknown strict.frontmatter.flow", ""},
}

// strictFields are the rules of the other fields.
var strictFields = []strictRow{
	{"no description", "a", front("name: a"), "strict.description.required", ""},
	{"description with nothing", "a", front("name: a", "description:"), "strict.description.required", ""},
	{"description with blanks", "a", front("name: a", "description: ' '"), "strict.description.required", ""},
	{"description is a list", "a", front("name: a", "description:", "  - d"), "strict.description.required", ""},
	{"description is a null, which is the text null", "a", front("name: a", "description: null"), "", ""},
	{"description of 1024 characters", "a", front("name: a", "description: "+strings.Repeat("d", 1024)), "", ""},
	{"description of 1024 emoji", "a", front("name: a", "description: "+strings.Repeat("🚀", 1024)), "", ""},
	{"description of 1025 characters", "a", front("name: a", "description: "+strings.Repeat("d", 1025)), "strict.description.length", ""},
	{"description of 1100 characters", "a", front("name: a", "description: "+strings.Repeat("d", 1100)), "strict.description.length", ""},
	{"the line feed of a folded description counts", "a", front("name: a", "description: >", "  "+strings.Repeat("d", 1024)), "strict.description.length", ""},
	{"blanks around a description count", "a", front("name: a", "description: '"+strings.Repeat("d", 1024)+" '"), "strict.description.length", ""},

	{"license and metadata", "a", front("name: a", "description: d", "license: MIT", "metadata:", "  author: x"), "", ""},
	{"license is a list", "a", front("name: a", "description: d", "license:", "  - MIT"), "", ""},
	{"license is empty", "a", front("name: a", "description: d", "license:"), "", ""},
	{"unknown field", "a", front("name: a", "description: d", "unknown_field: x"), "strict.field.unknown", ""},
	{"keys have a case", "a", front("Name: a", "description: d"), "strict.field.unknown strict.name.required", ""},
	{"keys have hyphens", "a", front("name: a", "description: d", "allowed_tools: Read"), "strict.field.unknown", ""},
	{"fields of platforms are unknown", "a", front("name: a", "description: d", "version: 1.0.0", "user-invocable: true"), "strict.field.unknown", ""},

	{"compatibility", "a", front("name: a", "description: d", "compatibility: Requires Python 3.11+"), "", ""},
	{"compatibility of 500 characters", "a", front("name: a", "description: d", "compatibility: "+strings.Repeat("é", 500)), "", ""},
	{"compatibility of 501 characters", "a", front("name: a", "description: d", "compatibility: "+strings.Repeat("é", 501)), "strict.compatibility.length", ""},
	{"compatibility of 550 characters", "a", front("name: a", "description: d", "compatibility: "+strings.Repeat("x", 550)), "strict.compatibility.length", ""},
	{"compatibility is a list", "a", front("name: a", "description: d", "compatibility:", "  - x"), "strict.compatibility.type", ""},
	{"compatibility is a mapping", "a", front("name: a", "description: d", "compatibility:", "  x: y"), "strict.compatibility.type", ""},
	{"compatibility is a number, which is a text", "a", front("name: a", "description: d", "compatibility: 3"), "", ""},
	{"compatibility is empty", "a", front("name: a", "description: d", "compatibility: ''"), "strict.compatibility.length", pioneers},
	{"compatibility has nothing", "a", front("name: a", "description: d", "compatibility:"), "strict.compatibility.length", pioneers},
	{"compatibility is blank", "a", front("name: a", "description: d", "compatibility: ' '"), "", ""},

	{"allowed-tools is a text", "a", front("name: a", "description: d", "allowed-tools: Bash(jq:*) Bash(git:*)"), "", ""},
	{"allowed-tools has commas", "a", front("name: a", "description: d", "allowed-tools: Read, Write"), "", ""},
	{"allowed-tools has nothing", "a", front("name: a", "description: d", "allowed-tools:"), "", ""},
	{"allowed-tools is a list", "a", front("name: a", "description: d", "allowed-tools:", "  - Read", "  - Write"), "strict.allowed_tools.format", pioneers},
	{"allowed-tools is a mapping", "a", front("name: a", "description: d", "allowed-tools:", "  Read: x"), "strict.allowed_tools.format", pioneers},

	{"metadata is a text", "a", front("name: a", "description: d", "metadata: x"), "", ""},
	{"metadata is a list", "a", front("name: a", "description: d", "metadata:", "  - x"), "", ""},
	{"metadata has nothing", "a", front("name: a", "description: d", "metadata:"), "", ""},
	{"metadata with a version in quotes", "a", front("name: a", "description: d", "metadata:", "  version: \"1.0\""), "", ""},
	{"metadata with a plain number, which the reference reads as a text", "a", front("name: a", "description: d", "metadata:", "  version: 1.0"), "strict.metadata.value_type", pioneers},
	{"metadata with a truth", "a", front("name: a", "description: d", "metadata:", "  x: true"), "strict.metadata.value_type", pioneers},
	{"metadata with nothing", "a", front("name: a", "description: d", "metadata:", "  x:"), "strict.metadata.value_type", pioneers},
	{"metadata with a date, which is a text", "a", front("name: a", "description: d", "metadata:", "  x: 2026-01-01", "  y: yes", "  z: 1.2.3"), "", ""},
	{"metadata with a list", "a", front("name: a", "description: d", "metadata:", "  x:", "    - y"), "strict.metadata.value_type", pioneers},
	{"metadata with a mapping", "a", front("name: a", "description: d", "metadata:", "  hermes:", "    x: y"), "strict.metadata.value_type", pioneers},
	{"metadata with OpenClaw's mappings", "a", front("name: a", "description: d", "metadata:", "  openclaw:", "    os:", "      - linux", "  clawdbot:", "    emoji: x"), "", ""},
	{"metadata with OpenClaw's other names", "a", front("name: a", "description: d", "metadata:", "  clawdis:", "    emoji: x"), "strict.metadata.value_type", pioneers},
	{"metadata with a number in OpenClaw's place", "a", front("name: a", "description: d", "metadata:", "  openclaw: 1"), "strict.metadata.value_type", pioneers},
	{"metadata as JSON in a text", "a", front("name: a", "description: d", `metadata: '{"x": "y", "openclaw": {"os": ["linux"]}}'`), "", ""},
	{"metadata as JSON in a text with a number", "a", front("name: a", "description: d", `metadata: '{"x": 1}'`), "strict.metadata.value_type", pioneers},
}

func TestAgentSkills(t *testing.T) {
	for _, row := range append(append(strictNames, strictTexts...), strictFields...) {
		t.Run(row.rule, func(t *testing.T) {
			problems := profile.AgentSkills(skillOf(row.folder, row.text))
			checkProblems(t, problems)
			if got := codesOf(problems, pannier.SeverityError); got != row.want {
				t.Errorf("errors %q, want %q; the reference validator %s", got, row.want, reference(row))
			}
			ours := strings.Contains(row.differs, "Pioneer")
			for _, p := range problems {
				if ours != strings.Contains(p.Message, "the Agent Skills specification says so") && p.Severity == pannier.SeverityError {
					t.Errorf("whose rule is it? %v", p)
				}
			}
		})
	}
}

func reference(row strictRow) string {
	if row.differs == "" {
		return "says the same"
	}
	return "says otherwise: " + row.differs
}

// TestStrictHints reads the hints where they take some thought.
func TestStrictHints(t *testing.T) {
	tests := []struct{ folder, text, code, want string }{
		{"pdf-tools", named("PDF Tools"), "strict.name.folder", "write `name: pdf-tools`"},
		{"pdf-tools", named("PDF Tools"), "strict.name.charset", "write `name: pdf-tools`"},
		{"PDF", named("pdf-tools"), "strict.name.folder", `rename the folder to "pdf-tools"`},
		{"pdf", named("pdf-tools"), "strict.name.folder", "rename the folder to \"pdf-tools\", or write `name: pdf`"},
		{"P", named("Q"), "strict.name.folder", "write `name: q`, and call the folder the same"},
		{"bitcoin-wallet", named("BreezClaw"), "strict.name.lowercase", "write `name: bitcoin-wallet`"},
		{"a--b", named("a--b"), "strict.name.consecutive_hyphen", "write `name: a-b`, and call the folder the same"},
		{"技_能", named("技_能"), "strict.name.charset", "write lower-case letters, digits and single hyphens between them, at most 64 characters"},
		{"café", named("café_"), "strict.name.charset", "write `name: café`"},
		{"a", front("name: a", "description: d", "Allowed_Tools: x"), "strict.field.unknown", "write `allowed-tools:`"},
		{"a", front("name: a", "description: d", "allowed-tools:", "- Read", "- Bash(git:*)"), "strict.allowed_tools.format", "write `allowed-tools: Read Bash(git:*)`"},
		{"a", front("name: a", "description: d", "allowed-tools:", "- a tool"), "strict.allowed_tools.format", "write the tools in one text, with blanks between them and none in their names"},
		{"a", front("name: a", "description: d", "allowed-tools: [Read, Write]"), "strict.frontmatter.flow", "write `allowed-tools: Read Write`"},
		{"a", front("name: a", "description: d", "metadata:", "  tags: [x, y]"), "strict.frontmatter.flow", "write the items in one text, with commas between them"},
		{"a", front("name: a", "description: d", "metadata:", "  version: 1.0"), "strict.metadata.value_type", "put it in quotes: `version: \"1.0\"`"},
		{"a", front("name: a", "description: d", "metadata:", "  moltbot:", "    x: y"), "strict.metadata.value_type", "call it `openclaw`"},
	}
	for _, tt := range tests {
		found := false
		for _, p := range profile.AgentSkills(skillOf(tt.folder, tt.text)) {
			if p.Code == tt.code {
				found = true
				if p.Hint != tt.want {
					t.Errorf("%s: hint %q, want %q", p, p.Hint, tt.want)
				}
			}
		}
		if !found {
			t.Errorf("%q has no %s", tt.text, tt.code)
		}
	}
}

// TestHostileNames takes no long time and tells no long story.
func TestHostileNames(t *testing.T) {
	const many = 100_000
	for _, name := range []string{
		strings.Repeat("a", many), strings.Repeat("-", many), strings.Repeat("A\u0301", many), strings.Repeat("\ufdfa", many/18),
		"e" + strings.Repeat("\u0301", many), strings.Repeat("🚀", many), strings.Repeat("\u202e", many), strings.Repeat("\x00", many),
		strings.Repeat("क\u093c", many), "\xff\xfe", "\ufeff", "\u200f", "..", "a\nb", "a\u2028b",
	} {
		s := skillOf("a", front("description: d"))
		s.Folder, s.Name = name, name
		texts := []profile.Skill{s, skillOf(name, named(name)), skillOf("a", front(`"`+strings.ToValidUTF8(strings.ReplaceAll(name, "\x00", ""), "")+`": x`))}
		for _, s := range texts {
			for _, profileName := range profile.Names() {
				checkProblems(t, profile.Check(profileName, s))
			}
		}
	}
}
