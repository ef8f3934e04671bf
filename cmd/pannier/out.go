package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/width"

	"pannier"
)

// What people read goes through this file. The rules:
//
//   - Data goes to stdout, everything else to stderr.
//   - An error is one line "pannier: ...", followed by "hint: ..." where there is something to do.
//   - A problem is one line as a compiler prints it, followed by its hint.
//   - Text that comes from a skill or a sidecar is printed without its control characters: by [sayf], a table, or [printable].
//   - Colour is on terminals only, and says nothing that the words do not.

// streams are where output goes.
type streams struct {
	out, err io.Writer
	// paint colours what goes to out, complain what goes to err.
	paint, complain palette
	// outTerminal and errTerminal report whether out and err are terminals, with colour or without.
	outTerminal, errTerminal bool
}

// openStreams returns the streams of this process.
func openStreams(environ []string) streams {
	return streams{
		out: os.Stdout, err: os.Stderr, paint: paletteFor(os.Stdout, environ), complain: paletteFor(os.Stderr, environ),
		outTerminal: isTerminal(os.Stdout), errTerminal: isTerminal(os.Stderr),
	}
}

func (s streams) printError(e *exitError) {
	for line := range strings.Lines(e.message) {
		fmt.Fprintf(s.err, "%s %s\n", s.complain.bad("pannier:"), printable(strings.TrimRight(line, "\n")))
	}
	if e.hint != "" {
		fmt.Fprintf(s.err, "%s %s\n", s.complain.quiet("hint:"), printable(e.hint))
	}
}

// printJSON prints a value as people who pipe it into jq want it.
func (s streams) printJSON(value any) error {
	text, err := compactJSON(value)
	if err != nil {
		return err
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, text, "", "  "); err != nil {
		return err
	}
	return s.printLine(indented.Bytes())
}

// printLine prints JSON and ends the line.
func (s streams) printLine(text []byte) error {
	_, err := fmt.Fprintf(s.out, "%s\n", text)
	return err
}

// compactJSON returns a value as JSON in which every character that a terminal would obey, or that shows as nothing, is
// escaped: the same value, for whoever parses it.
func compactJSON(value any) ([]byte, error) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return nil, err
	}
	escaped := make([]byte, 0, text.Len())
	for _, r := range strings.TrimSuffix(text.String(), "\n") {
		if r >= 0x7f && obeyed(r) {
			for _, unit := range utf16.Encode([]rune{r}) {
				escaped = fmt.Appendf(escaped, `\u%04x`, unit)
			}
			continue
		}
		escaped = utf8.AppendRune(escaped, r)
	}
	return escaped, nil
}

// table prints rows in aligned columns.
func (s streams) table(rows [][]string) error { return s.paintedTable(rows, nil) }

// columnGap is how many blanks stand between two columns of a table.
const columnGap = 2

// paintedTable prints rows in aligned columns. paint, where it is not nil, colours the cell in a column of a row.
func (s streams) paintedTable(rows [][]string, paint func(row, column int, cell string) string) error {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			row[i] = printable(cell)
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], cells(row[i]))
		}
	}
	var text strings.Builder
	for r, row := range rows {
		padding := 0
		for i, cell := range row {
			if cell != "" {
				text.WriteString(strings.Repeat(" ", padding))
				padding = 0
			}
			padding += widths[i] - cells(cell) + columnGap
			if paint != nil {
				cell = paint(r, i, cell)
			}
			text.WriteString(cell)
		}
		text.WriteByte('\n')
	}
	_, err := io.WriteString(s.out, text.String())
	return err
}

// fields prints names and values, one to a line. The value of one name is coloured.
func (s streams) fields(rows [][]string, name string, paint func(string) string) error {
	return s.paintedTable(rows, func(row, column int, cell string) string {
		switch {
		case column == 0:
			return s.paint.quiet(cell)
		case rows[row][0] == name:
			return paint(cell)
		}
		return cell
	})
}

func (s streams) printProblems(problems []pannier.Problem) {
	for _, p := range problems {
		s.printFault(p.Place(), p.Severity, p.Message, p.Code, p.Hint)
	}
}

// printFault prints what is wrong on one line as a compiler would, and what to do on the next.
func (s streams) printFault(place string, severity pannier.Severity, message, code, hint string) {
	fmt.Fprintf(s.out, "%s: %s: %s %s\n  %s %s\n", printable(place), s.paint.severity(severity), printable(message),
		s.paint.quiet("("+code+")"), s.paint.quiet("hint:"), printable(hint))
}

// obeyed reports whether a terminal obeys a character instead of showing it, or shows nothing: control, format and
// bidirectional characters, and ends of lines. The joiner of emoji is shown with them.
func obeyed(r rune) bool {
	return r != '\u200d' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co)
}

// printable drops what a terminal would obey, and folds a text to one line.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case obeyed(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}

// printableLines drops what a terminal would obey from a text of several lines, and keeps lines and tabs.
func printableLines(text string) string {
	clean := strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && obeyed(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(strings.ReplaceAll(text, "\r\n", "\n"), "\uFFFD"))
	if strings.Contains(text, "\r\n") && strings.Count(text, "\r\n") == strings.Count(text, "\n") {
		clean = strings.ReplaceAll(clean, "\n", "\r\n") // the ends of lines are the author's
	}
	return clean
}

// sayf prints a line. Every argument that is a text is made printable.
func sayf(w io.Writer, format string, args ...any) error {
	for i, arg := range args {
		switch v := reflect.ValueOf(arg); {
		case v.Kind() == reflect.String:
			args[i] = printable(v.String())
		default:
			if s, ok := arg.(fmt.Stringer); ok {
				args[i] = printable(s.String())
			}
		}
	}
	_, err := fmt.Fprintf(w, format+"\n", args...)
	return err
}

// cells returns how many cells of a terminal a text takes: two for wide characters, none for marks on others (Unicode
// Standard Annex 11).
func cells(text string) int {
	n := 0
	for _, r := range text {
		switch {
		case r < 0x300:
			n++
		case unicode.In(r, unicode.Mn, unicode.Me) || r == '\u200d':
		default:
			kind := width.LookupRune(r).Kind()
			if n++; kind == width.EastAsianWide || kind == width.EastAsianFullwidth {
				n++
			}
		}
	}
	return n
}

// shorten cuts a text to a number of characters.
func shorten(text string, length int) string {
	text = strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(text) <= length {
		return text
	}
	return string([]rune(text)[:length-1]) + "…"
}
