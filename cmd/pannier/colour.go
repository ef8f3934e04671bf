package main

import (
	"io"
	"os"
	"slices"
	"strings"

	"pannier/internal/plain"

	"golang.org/x/sys/unix"

	"pannier"
)

// palette colours words. The zero palette leaves them as they are.
type palette struct{ on bool }

// paletteFor returns the palette for a file: colours if it is a terminal that has them and the user did not say that there
// shall be none (no-color.org).
func paletteFor(file *os.File, environ []string) palette {
	says := func(name string) string {
		i := slices.IndexFunc(environ, func(v string) bool { return strings.HasPrefix(v, name+"=") })
		if i < 0 {
			return ""
		}
		return strings.TrimPrefix(environ[i], name+"=")
	}
	if says("NO_COLOR") != "" || says("TERM") == "dumb" || says("TERM") == "" {
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

// in colours a text, which is cleaned first, so that the only codes in it are those of the colour.
func (p palette) in(colour, text string) string {
	text = plain.Lines(text)
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

func (p palette) health(word string) string {
	switch pannier.HealthStatus(word) {
	case pannier.HealthOK:
		return p.good(word)
	case pannier.HealthFailing:
		return p.bad(word)
	}
	return p.in(yellow, word)
}
