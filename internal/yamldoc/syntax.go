package yamldoc

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
)

var (
	errorLine = regexp.MustCompile(`^(?:yaml: )?line (\d+): (.*)$`)
	// fromZero are the errors of the library's parser, whose lines it counts from 0; those of its scanner count from 1.
	fromZero      = regexp.MustCompile(`^did not find expected (<|node content|'-' indicator|key$|',' or )|^found (duplicate|incompatible|undefined tag)`)
	unknownAnchor = regexp.MustCompile(`^unknown anchor '(.*)' referenced`)
)

// syntaxFault makes a fault of an error of the library, which tells the line in the text of its message, if at all.
func syntaxFault(text []byte, err error) *Fault {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	line := 1
	if m := errorLine.FindStringSubmatch(message); m != nil {
		line, _ = strconv.Atoi(m[1])
		message = m[2]
		if fromZero.MatchString(message) {
			line = min(line+1, max(1, len(bytes.SplitAfter(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))))) // the end is not a line
		}
	} else if m := unknownAnchor.FindStringSubmatch(message); m != nil {
		before, _, _ := bytes.Cut(text, []byte("*"+m[1]))
		line += bytes.Count(before, []byte("\n"))
	}
	if strings.Contains(message, "cannot start any token") {
		rest := text
		for range line - 1 {
			_, rest, _ = bytes.Cut(rest, []byte("\n"))
		}
		if bytes.HasPrefix(bytes.TrimLeft(rest, " "), []byte("\t")) {
			message = "tab character"
		}
	}
	return &Fault{Line: line, Message: wordsFor(message), Hint: hintFor(message)}
}

// messages are the errors of the library, by a part of their text, in words that do not need its grammar. The first that fits counts.
var messages = []struct{ part, words string }{
	{"mapping values are not allowed", "a colon and a blank stand in a value without quotes, or the line is indented unlike the lines around it"},
	{"mapping keys are not allowed", "a question mark and a blank begin a key where none can stand"},
	{"block sequence entries are not allowed", "a dash and a blank begin a list item where none can stand"},
	{"could not find expected ':'", "the line is not of the form `key: value`"},
	{"expected ',' or ']'", "a list in brackets is not closed, or a comma is missing in it"},
	{"expected ',' or '}'", "a mapping in braces is not closed, or a comma is missing in it"},
	{"expected '-' indicator", "a list goes on with a line that is not an item, or is indented unlike the other items"},
	{"did not find expected key", "a value ends before its line does, or the line is indented unlike the lines around it"},
	{"did not find expected node content", "a value is missing, or begins with a character that needs quotes"},
	{"unexpected end of stream", "a quote is opened and never closed"},
	{"cannot start any token", "a value without quotes begins with a character that YAML reserves"},
	{"tab character", "the line is indented with a tab"},
	{"unknown escape", "a backslash in double quotes is followed by a character that it cannot escape"},
	{"Unicode character escape code", "an escape in double quotes stands for no character"},
	{"expected hexdecimal number", "an escape in double quotes needs more hexadecimal digits"},
	{"alphabetic or numeric", "a value begins with * or &, which needs a name after it"},
	{"control characters", "the text contains a control character"},
	{"unexpected document indicator", "a line of `---` or `...` stands inside a quoted text"},
	{"expected comment or line break", "text follows `|` or `>` in the same line"},
	{"indentation indicator", "the number after `|` or `>` cannot be 0"},
	{"expected whitespace", "a blank is missing after a quote, a tag or an anchor"},
	{"directive", "a line that begins with % is a directive, which is refused"},
	{"UTF-8", "the text is not UTF-8"},
	{"Unicode character", "the text is not UTF-8"},
	{"tag", "a tag (!name) is malformed"},
	{"exceeded max depth", "values are nested too deep"},
}

func wordsFor(message string) string {
	if unknownAnchor.MatchString(message) {
		return "a value that begins with * is an alias, and the anchor that it names does not exist"
	}
	for _, m := range messages {
		if strings.Contains(message, m.part) {
			return m.words
		}
	}
	return "the text is not valid YAML"
}

func hintFor(message string) string {
	switch {
	case strings.Contains(message, "mapping values are not allowed"):
		return "a colon and a blank begin a new key: put the whole value in double quotes, or, if the line is a key of its own, indent it like the others"
	case strings.Contains(message, "tab character"):
		return "indent with blanks, not tabs"
	case strings.Contains(message, "cannot start any token"):
		return "indent with blanks, not tabs, and put a value that starts with @, ` or % in double quotes"
	case strings.Contains(message, "anchor"), strings.Contains(message, "alphabetic or numeric"):
		return "a value that starts with * or & is taken for an alias: put it in double quotes"
	case strings.Contains(message, "could not find expected ':'"):
		return "every line needs the form `key: value`; indent the further lines of a long text"
	case strings.Contains(message, "unexpected end of stream"), strings.Contains(message, "did not find expected"):
		return "look for a quote or bracket that is not closed, and for lines that are indented differently"
	case strings.Contains(message, "escape code"):
		return "write the character itself in place of its escape"
	case strings.Contains(message, "control characters"):
		return "remove the invisible characters"
	}
	return "check the quotes, colons and indentation around this line"
}
