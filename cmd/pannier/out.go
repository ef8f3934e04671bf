package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"pannier"
)

// What people read goes through this file. The rules:
//
//   - Data goes to stdout, everything else to stderr.
//   - An error is one line "pannier: ...", followed by "hint: ..." where there is something to do.
//   - A problem is one line as a compiler prints it, followed by its hint.
//   - Text that comes from a skill is printed without its control characters.

// streams are where output goes.
type streams struct {
	out, err io.Writer
}

func (s streams) printError(e *exitError) {
	if e.message != "" {
		fmt.Fprintf(s.err, "pannier: %s\n", e.message)
	}
	if e.hint != "" {
		fmt.Fprintf(s.err, "hint: %s\n", e.hint)
	}
}

// printJSON prints a value as people who pipe it into jq want it.
func (s streams) printJSON(value any) error {
	enc := json.NewEncoder(s.out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(value)
}

// table prints rows in aligned columns.
func (s streams) table(rows [][]string) error {
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		for i, cell := range row {
			row[i] = printable(cell)
		}
		fmt.Fprintln(w, strings.TrimRight(strings.Join(row, "\t"), "\t"))
	}
	return w.Flush()
}

func (s streams) printProblems(problems []pannier.Problem) {
	for _, p := range problems {
		fmt.Fprintf(s.out, "%s\n  hint: %s\n", printable(p.String()), printable(p.Hint))
	}
}

// printable drops what a terminal would obey, and folds a text to one line.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case r < ' ' || 0x7f <= r && r < 0xa0 || '\u202a' <= r && r <= '\u202e' || '\u2066' <= r && r <= '\u2069':
			return -1
		}
		return r
	}, text)
}

// shorten cuts a text to a number of characters.
func shorten(text string, length int) string {
	text = strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(text) <= length {
		return text
	}
	return string([]rune(text)[:length-1]) + "…"
}
