package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"pannier"
	"pannier/internal/plain"
)

// What people read goes through this file. The rules:
//
//   - Data goes to stdout, everything else to stderr.
//   - An error is one line "pannier: ...", followed by "hint: ..." where there is something to do.
//   - A problem is one line as a compiler prints it, followed by its hint.
//   - Text that comes from a skill or a sidecar is printed without its control characters: by [sayf], a table, or [printable].
//   - Colour is on terminals only, and says nothing that the words do not.

type streams struct {
	out, err io.Writer
	// paint colours what goes to out, complain what goes to err.
	paint, complain palette
	// outTerminal and errTerminal report whether out and err are terminals, with colour or without.
	outTerminal, errTerminal bool
}

func (s streams) printError(e *exitError) {
	for line := range strings.Lines(e.message) {
		fmt.Fprintf(s.err, "%s %s\n", s.complain.bad("pannier:"), plain.Text(strings.TrimRight(line, "\n")))
	}
	if e.hint != "" {
		fmt.Fprintf(s.err, "%s %s\n", s.complain.quiet("hint:"), plain.Text(e.hint))
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

func (s streams) printLine(text []byte) error {
	_, err := fmt.Fprintf(s.out, "%s\n", text)
	return err
}

// compactJSON returns a value as JSON in which every character that a terminal would obey, or that shows as nothing, is
// escaped. A parser reads the same value.
func compactJSON(value any) ([]byte, error) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return nil, err
	}
	escaped := make([]byte, 0, text.Len())
	for _, r := range strings.TrimSuffix(text.String(), "\n") {
		if r >= 0x7f && plain.IsControl(r) {
			for _, unit := range utf16.Encode([]rune{r}) {
				escaped = fmt.Appendf(escaped, `\u%04x`, unit)
			}
			continue
		}
		escaped = utf8.AppendRune(escaped, r)
	}
	return escaped, nil
}

type columnPaint struct {
	column int
	paint  func(cell string) string
}

// table prints rows in aligned columns, the first row as a head.
func (s streams) table(rows [][]string, columns ...columnPaint) error {
	return s.paintedTable(rows, func(row, column int, cell string) string {
		if row == 0 {
			return s.paint.head(cell)
		}
		for _, c := range columns {
			if c.column == column {
				return c.paint(cell)
			}
		}
		return cell
	})
}

const columnGap = 2

// paintedTable prints rows in aligned columns. paint colours the cell in a column of a row.
func (s streams) paintedTable(rows [][]string, paint func(row, column int, cell string) string) error {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			row[i] = plain.Text(cell)
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], plain.Cells(row[i]))
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
			padding += widths[i] - plain.Cells(cell) + columnGap
			text.WriteString(paint(r, i, cell))
		}
		text.WriteByte('\n')
	}
	_, err := io.WriteString(s.out, text.String())
	return err
}

// fields prints names and values, one to a line, without those that have no value. The value of one name is coloured.
func (s streams) fields(rows [][]string, name string, paint func(string) string) error {
	rows = slices.DeleteFunc(rows, func(row []string) bool { return row[1] == "" })
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
	out := bufio.NewWriter(s.out)
	defer out.Flush()
	s.out = out
	for _, p := range problems {
		s.printFault(p.Place(), p.Severity, p.Message, p.Code, p.Hint)
	}
}

// printFault prints what is wrong on one line as a compiler would, and what to do on the next.
func (s streams) printFault(place string, severity pannier.Severity, message, code, hint string) {
	fmt.Fprintf(s.out, "%s: %s: %s %s\n  %s %s\n", plain.Text(place), s.paint.severity(severity), plain.Text(message),
		s.paint.quiet("("+code+")"), s.paint.quiet("hint:"), plain.Text(hint))
}

// sayf prints a line. Every argument that is a text is made printable.
func sayf(w io.Writer, format string, args ...any) error {
	for i, arg := range args {
		switch v := reflect.ValueOf(arg); {
		case v.Kind() == reflect.String:
			args[i] = plain.Text(v.String())
		default:
			if s, ok := arg.(fmt.Stringer); ok {
				args[i] = plain.Text(s.String())
			}
		}
	}
	_, err := fmt.Fprintf(w, format+"\n", args...)
	return err
}

// minLastColumn is how many cells the last column of a table has at least, however narrow the terminal is.
const minLastColumn = 20

// fit cuts the last column of a table at the edge of the terminal. Where the output is not a terminal, it cuts nothing.
func (s streams) fit(rows [][]string) { fitWidth(rows, columns(s.out)) }

// shorten cuts a text at so many characters if the output is a terminal.
func (s streams) shorten(text string, length int) string {
	if !s.outTerminal {
		return text
	}
	return plain.Shorten(text, length)
}

// fitWidth cuts the last column so that rows have at most width cells; 0 means no limit. The first row has all columns.
func fitWidth(rows [][]string, width int) {
	if width == 0 {
		return
	}
	last, used := len(rows[0])-1, 0
	for column := range last {
		widest := 0
		for _, row := range rows {
			widest = max(widest, plain.Cells(plain.Text(row[column])))
		}
		used += widest + columnGap
	}
	for _, row := range rows {
		text, room := plain.Text(row[last]), max(width-used, minLastColumn)
		if row[last] = text; plain.Cells(text) <= room {
			continue
		}
		cells := 1 // of the mark of the cut
		for i, r := range text {
			if cells += plain.Cells(string(r)); cells > room {
				row[last] = text[:i] + "…"
				break
			}
		}
	}
}

// palette colours words. The zero palette leaves them as they are.
type palette struct{ on bool }

// paletteFor returns the palette for a file: colours if it is a terminal that has them and the user did not say that there
// shall be none (no-color.org).
func paletteFor(file *os.File, environ []string) palette {
	if term := variable(environ, "TERM"); variable(environ, "NO_COLOR") != "" || term == "dumb" || term == "" {
		return palette{}
	}
	return palette{on: isTerminal(file)}
}

func isTerminal(file *os.File) bool {
	_, err := unix.IoctlGetTermios(int(file.Fd()), unix.TCGETS)
	return err == nil
}

// columns returns the width of the terminal that w is, 0 if it is not one or its width is unknown.
func columns(w io.Writer) int {
	file, ok := w.(*os.File)
	if !ok {
		return 0
	}
	size, err := unix.IoctlGetWinsize(int(file.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(size.Col)
}

// The colours (ECMA-48, "Select graphic rendition"): those of the sixteen that themes make readable on any background.
const (
	red    = "31"
	green  = "32"
	yellow = "33"
	bold   = "1"
	faint  = "2"
)

// in colours a text, which becomes one clean line first, so that the only codes in it are those of the colour.
func (p palette) in(colour, text string) string {
	text = plain.Text(text)
	if !p.on || text == "" {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

func (p palette) good(text string) string  { return p.in(green, text) }
func (p palette) bad(text string) string   { return p.in(red, text) }
func (p palette) head(text string) string  { return p.in(bold, text) }
func (p palette) quiet(text string) string { return p.in(faint, text) }

func (p palette) severity(s pannier.Severity) string {
	switch s {
	case pannier.SeverityError:
		return p.bad(string(s))
	case pannier.SeverityWarning:
		return p.in(yellow, string(s))
	}
	return plain.Text(string(s))
}

// state colours words that begin with the name of a state.
func (p palette) state(words string) string {
	switch name, _, _ := strings.Cut(words, " "); pannier.State(name) {
	case pannier.StateEligible:
		return p.good(words)
	case pannier.StateIneligible:
		return p.bad(words)
	}
	return p.quiet(words)
}

// verdict colours a word that says how well something is; a word that is neither good nor bad is a warning.
func (p palette) verdict(word string) string {
	switch word {
	case string(pannier.HealthOK), string(pannier.ScanAllow):
		return p.good(word)
	case string(pannier.HealthFailing), string(pannier.SkillBlocked), string(pannier.ScanBlock):
		return p.bad(word)
	}
	return p.in(yellow, word)
}

// negative colours a cell that says no.
func (p palette) negative(cell string) string {
	if cell == "no" || cell == "false" {
		return p.bad(cell)
	}
	return cell
}
