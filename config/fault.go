package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// Fault is one thing wrong with the settings. The error of [Load] joins them; errors.As finds the first, and its
// Unwrap() []error lists them all.
type Fault struct {
	// Name is the setting in the spelling of its source: --max-wait, PANNIER_MAX_WAIT or max_wait.
	Name string
	// File and Line, counted from 1, are where it stands, if in the settings file.
	File string
	Line int
	// Message says what is wrong, Hint what to do. Neither holds a secret.
	Message, Hint string
}

// Error returns the fault on one line: place, name, what is wrong, and the hint in brackets.
func (f *Fault) Error() string {
	var b strings.Builder
	if f.File != "" {
		b.WriteString(f.File)
		if f.Line > 0 {
			b.WriteString(":" + strconv.Itoa(f.Line))
		}
		b.WriteString(": ")
	}
	if f.Name != "" {
		b.WriteString(onOneLine(f.Name) + ": ")
	}
	b.WriteString(onOneLine(f.Message))
	if f.Hint != "" {
		b.WriteString(" (" + onOneLine(f.Hint) + ")")
	}
	return b.String()
}

// joined returns faults as one error, or nil.
func joined(faults []*Fault) error {
	errs := make([]error, len(faults))
	for i, f := range faults {
		errs[i] = f
	}
	return errors.Join(errs...)
}

// onOneLine returns text as it is, unless it holds something that would break the line or the terminal.
func onOneLine(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(text)
	}
	return text
}

// shown returns a faulty value for a message, in quotes and of a length that leaves the message readable.
func shown(text string) string {
	const most = 60
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	return fmt.Sprintf("%q", text)
}
