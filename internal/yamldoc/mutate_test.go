package yamldoc

import (
	"bytes"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestSubsetOfMutations changes frontmatters by their structure and compares both ways to read. $PANNIER_MUTATIONS is the
// number of mutations; their sequence is the same in each run.
func TestSubsetOfMutations(t *testing.T) {
	count := 100_000
	if testing.Short() {
		count = 5_000
	}
	if text := os.Getenv("PANNIER_MUTATIONS"); text != "" {
		var err error
		if count, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	pool := realFrontmatters(t)
	for _, seed := range insideSubset {
		pool = append(pool, []byte(seed))
	}
	m := mutator{Rand: rand.New(rand.NewPCG(1, 2)), pool: pool}
	covered := 0
	for range count {
		text := m.mutation()
		in, err := difference(text)
		if err != nil {
			t.Fatalf("%v in\n%q", err, text)
		}
		if in {
			covered++
		}
	}
	t.Logf("%d of %d mutations are in the subset", covered, count)
	if covered < count/10 {
		t.Error("too few of them test anything")
	}
}

// mutator makes frontmatters that differ a little from real ones.
type mutator struct {
	*rand.Rand
	pool  [][]byte
	lines [][]byte
}

// mutation returns a frontmatter of the pool with one change or a few.
func (m *mutator) mutation() []byte {
	m.lines = bytes.SplitAfter(bytes.Clone(pick(m, m.pool)), []byte("\n"))
	for more := true; more; more = m.IntN(3) == 0 {
		at := m.IntN(len(m.lines))
		m.lines[at] = pick(m, mutations)(m, m.lines[at])
	}
	return bytes.Join(m.lines, nil)
}

func pick[T any](m *mutator, all []T) T { return all[m.IntN(len(all))] }

// mutations change a line, or those around it.
var mutations = []func(m *mutator, line []byte) []byte{
	(*mutator).indent, (*mutator).indent, (*mutator).setValue, (*mutator).setValue, (*mutator).insert,
	(*mutator).insert, (*mutator).insert,
	(*mutator).quote, (*mutator).bracket, (*mutator).blockText, (*mutator).comment, (*mutator).prefix,
	(*mutator).remove, (*mutator).endLine,
	(*mutator).move, (*mutator).splice, (*mutator).split, (*mutator).pad,
}

// Pieces have a meaning in YAML, or look as if they had one.
var (
	indents = []string{"", " ", "  ", "   ", "    ", "      ", "\t", " \t", "\u00a0"}
	pieces  = []string{
		" ", "  ", "\t", "\n", "\n\n", "\n  ", "\r", "\r\n", "\u0085", "\u2028", "\u2029", "\ufeff", "\u00a0", "\x00",
		"\x07", "\x7f", "\u0080", "\ufffd", "\ufffe",
		"\xff", "\xc3", "é", "漢", "👾", "e\u0301", "-", "- ", "?", "? ", ":", ": ", ":\n", ",", ", ", "[", "]", "{",
		"}", "#", " #", "# ", "&", "*", "!", "|", ">", "'", "''",
		"\"", "\"\"", "\\", "\\\\", "\\\"", "\\'", "\\/", "\\n", "\\t", "\\ ", "\\0", "\\x41", "\\u00e9", "\\ud83d",
		"\\U0001f47e", "\\N", "\\_", "\\L", "\\q", "\\\n", "%", "@", "`", "~", "=",
		"<", "<<", "---", "...", "--- ", "a", "0", ".", "_", "\n---\n", "\n...\n", "\n- ", "\n# c\n", "\n  # c\n",
		"[]", "{}", "{a: b}", "[a, b]", "\"a\": ", "a: ", "a:",
	}
	values = []string{
		"", "~", "null", "Null", "true", "False", "yes", "No", "on", "OFF", "y", "n", "0", "-1", "+1", "1_000", "010",
		"0o17", "0x1F", "0b11", "1.0", "1.", ".5", "-.5", "1e3", "1e400", ".inf",
		"-.INF", ".nan", "1:30", "12:30:45", "2024-01-01", "2024-01-01T00:00:00Z", "2001-12-14 21:59:43.10 -5",
		"99999999999999999999", "=", "<<", "<", ".", "..", "...", "---", "-", "--", "-a", "?a",
		":a", "a:b", "a#b", "a #b", "a?b", "a,b", "&a b", "*a", "!a b", "!!str 1", "!!int \"1\"", "! a", "|", ">",
		"|-", ">-", "|+", ">+", "|2", ">1-", "| # c", "@a", "`a`", "%a", "\"a\"", "'a'", "\"a", "'a", "a\"", "\"a\" b",
		"'it''s'", "\"\\/\"", "\"a\\\"b\"", "\"\\u0041\"", "\" a  b \"", "' a '", "[]", "{}", "[a]", "[a, b]", "[a,b]",
		"[a, ]", "[, a]", "[a b, c d]", "[a: b]", "[\"a\": b]", "[a:, b]", "[a:b]", "[a?]", "[a #b]", "[a#b]",
		"[.a]", "[-a]", "[- a]", "[~, null, 1]", "[[a], [b]]", "[{a: b}]", "{a: b}", "{a: }", "{a:}", "{a}",
		"{a, b: c}", "{\"a\":1}", "{\"a\" : 1}", "{a : 1}", "{'a':'b'}", "{a: b, a: c}", "{<<: a}", "{? a : b}",
		"{a: {b: {c: [d]}}}", "{a: b} c", "[a] b", "[a", "{a: b", "[a]]", "{a: \"b\", }", "{[a]: b}", "{: a}",
		"{a: b: c}", "{a: b\n}", "[a\n]", "[a,\nb]", "[a\nb]", "{\"a\":\n1}", "[\n...\n]", "[\n---\n]", "[\n%a\n]",
		"[\n\ta]",
	}
)

// indent gives a line another indent.
func (m *mutator) indent(line []byte) []byte {
	content := bytes.TrimLeft(line, " ")
	if m.IntN(3) == 0 {
		return join(pick(m, indents), content)
	}
	width := len(line) - len(content) + m.IntN(5) - 2
	return join(strings.Repeat(" ", max(0, width)), content)
}

// join returns a text followed by bytes.
func join(text string, rest []byte) []byte { return append([]byte(text), rest...) }

// parts splits a line into what precedes its value, the value and the line feed.
func parts(line []byte) (before string, value, end []byte) {
	content := bytes.TrimSuffix(line, []byte("\n"))
	end = line[len(content):]
	at := len(content) - len(bytes.TrimLeft(content, " -"))
	if colon := bytes.Index(content, []byte(":")); colon >= 0 {
		at = len(content) - len(bytes.TrimLeft(content[colon+1:], " "))
	}
	return string(content[:at]), content[at:], end
}

// setValue puts another value behind the key or the dash.
func (m *mutator) setValue(line []byte) []byte {
	before, _, end := parts(line)
	return join(before+pick(m, values), end)
}

// insert puts a piece anywhere in a line.
func (m *mutator) insert(line []byte) []byte {
	at := m.IntN(len(line) + 1)
	return join(string(line[:at])+pick(m, pieces), line[at:])
}

// quote puts quotes around a value, and escapes what is in it or not.
func (m *mutator) quote(line []byte) []byte {
	before, value, end := parts(line)
	text := string(value)
	switch m.IntN(4) {
	case 0:
		text = "'" + text + "'"
	case 1:
		text = `"` + text + `"`
	case 2:
		text = "'" + strings.ReplaceAll(text, "'", "''") + "'"
	case 3:
		text = strconv.Quote(text)
	}
	return join(before+text, end)
}

// bracket makes a collection of a value, at times a nested one.
func (m *mutator) bracket(line []byte) []byte {
	before, value, end := parts(line)
	if deep := m.IntN(18); m.IntN(20) == 0 {
		value = []byte(strings.Repeat("[", deep) + string(value) + strings.Repeat("]", deep))
	}
	around := pick(m, []string{
		"[%]", "[ % ]", "[a, %]", "[%, a]", "{a: %}", "{\"a\": %}", "{\"a\":%}", "{%: a}",
		"[{a: %}]", "[[%]]", "[\n%\n]", "[\n  %,\n  a\n  ]", "{\n  a: %\n}", "[%", "%]",
	})
	return join(before+strings.ReplaceAll(around, "%", string(value)), end)
}

// blockText makes a block text of a value.
func (m *mutator) blockText(line []byte) []byte {
	before, value, end := parts(line)
	header := pick(m, []string{"|", ">", "|-", ">-", "|+", ">+", "|2", "| ", "> # c", "|-1"})
	indent := strings.Repeat(" ", m.IntN(7))
	words := bytes.Split(value, []byte(" "))
	text := before + header
	for len(words) > 0 {
		size := min(len(words), 1+m.IntN(8))
		text += pick(m, []string{
			"\n", "\n", "\n", "\n", "\n\n", "\n ", "\n  \n",
			"\n\n\n",
		}) + indent + string(bytes.Join(words[:size], []byte(" ")))
		words = words[size:]
	}
	return join(text+pick(m, []string{"", "", "\n", "\n\n", "\n  ", " "}), end)
}

// comment puts a comment behind a line, or before it.
func (m *mutator) comment(line []byte) []byte {
	content := bytes.TrimSuffix(line, []byte("\n"))
	text := pick(m, []string{" # c", "# c", " #", "  #c: d", "\t# c"})
	if m.IntN(2) == 0 {
		return join(pick(m, indents)+text+"\n", line)
	}
	return join(string(content)+text, line[len(content):])
}

// prefix puts something before a value, or before a key.
func (m *mutator) prefix(line []byte) []byte {
	text := pick(m, []string{
		"- ", "-", "- - ", "-  ", "? ", ": ", "&a ", "&a", "*a ", "!a ", "!!str ", "! ", "a: ",
		"\"a\": ", "'a': ", "a : ", "é: ", "<<: ", "0: ", "-a: ", ".a: ", "a.b-c_1: ", "[", "{", "| ", "> ", "%", "@",
		"'", "\"",
	})
	before, value, end := parts(line)
	if m.IntN(2) == 0 {
		return join(before+text+string(value), end)
	}
	content := bytes.TrimLeft(line, " ")
	return join(string(line[:len(line)-len(content)])+text, content)
}

// remove takes some bytes out of a line, or all of it.
func (m *mutator) remove(line []byte) []byte {
	if m.IntN(4) == 0 {
		return nil
	}
	from := m.IntN(len(line) + 1)
	to := min(len(line), from+1+m.IntN(3))
	return join(string(line[:from]), line[to:])
}

// endLine gives a line another end.
func (m *mutator) endLine(line []byte) []byte {
	content := bytes.TrimSuffix(line, []byte("\n"))
	return join(string(content), []byte(pick(m, []string{
		"", " \n", "   \n", "\t\n", "\r\n", "\r", "\n\n", "\n \n",
		"\n    \n", "\u0085", "\u2028", "\u2029", "\n---\n", "\n...\n", ":\n", ": \n", ",\n", "\\\n",
	})))
}

// move exchanges a line with another, or writes it twice.
func (m *mutator) move(line []byte) []byte {
	other := m.IntN(len(m.lines))
	taken := m.lines[other]
	if m.IntN(2) == 0 {
		m.lines[other] = line
	}
	return join(string(taken), nil)
}

// splice puts lines of another frontmatter before a line.
func (m *mutator) splice(line []byte) []byte {
	lines := bytes.SplitAfter(pick(m, m.pool), []byte("\n"))
	from := m.IntN(len(lines))
	taken := lines[from:min(len(lines), from+1+m.IntN(5))]
	return join(string(bytes.Join(taken, nil)), line)
}

// split breaks a line at a space.
func (m *mutator) split(line []byte) []byte {
	before, after, found := bytes.Cut(line, []byte(pick(m, []string{" ", ", ", ": ", "{", "[", "\""})))
	if !found {
		return line
	}
	return join(string(before)+"\n"+pick(m, indents), after)
}

// pad makes a line so long that it meets a bound of the library: of a key, or of a buffer.
func (m *mutator) pad(line []byte) []byte {
	at := m.IntN(len(line) + 1)
	text := strings.Repeat(pick(m, []string{
		"a", "a ", "é", "a, ", "漢 ", "\"", "[",
		"\n",
	}), pick(m, []int{20, 120, 128, 500, 512, 1020, 1024, 1536, 4096})+m.IntN(6))
	return join(string(line[:at])+text, line[at:])
}
