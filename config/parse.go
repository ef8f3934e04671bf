package config

import (
	"io/fs"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// reader judges what was given for a setting and writes it into the draft.
type reader func(d *draft, g given) []*Fault

func scalar[T any](field func(*draft) *T, parse func(text string) (T, *Fault)) reader {
	return func(d *draft, g given) []*Fault {
		text, fault := g.text()
		if fault != nil {
			return []*Fault{fault}
		}
		value, fault := parse(text)
		if fault != nil {
			return []*Fault{g.placed(fault)}
		}
		*field(d) = value
		return nil
	}
}

// parseText takes everything that can stand in a path, a header and a line of a log. It does not show the text: it may be
// a token where the name of its file belongs.
func parseText(text string) (string, *Fault) {
	if strings.ContainsFunc(text, unicode.IsControl) {
		return "", &Fault{Message: "the text holds a control character", Hint: "remove the line end or the tab in it"}
	}
	return text, nil
}

func parseGivenPath(text string) (string, *Fault) {
	if text == "" {
		return "", &Fault{Message: "the path is empty", Hint: "name a directory, or leave the setting out"}
	}
	return parseText(text)
}

func parseBool(text string) (bool, *Fault) {
	value, err := strconv.ParseBool(text)
	if err != nil {
		return false, &Fault{Message: shown(text) + " is not a boolean", Hint: "write true or false"}
	}
	return value, nil
}

func parseMode(text string) (fs.FileMode, *Fault) {
	bits, err := strconv.ParseUint(strings.TrimPrefix(text, "0o"), 8, 32)
	if err != nil {
		return 0, &Fault{Message: shown(text) + " is not an octal number", Hint: "write permissions such as 0660"}
	}
	mode := fs.FileMode(bits)
	if mode&^fs.ModePerm != 0 {
		return 0, &Fault{Message: shown(text) + " has more than permissions", Hint: "0777 is the most"}
	}
	return mode, nil
}

func parseDuration(text string) (time.Duration, *Fault) {
	if _, err := strconv.ParseFloat(text, 64); err == nil && text != "0" {
		return 0, &Fault{Message: shown(text) + " has no unit", Hint: "write 2s, 500ms or 1m30s"}
	}
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return 0, &Fault{Message: shown(text) + " is not a duration", Hint: "write 2s, 500ms or 1m30s"}
	case d < 0:
		return 0, &Fault{Message: shown(text) + " is negative", Hint: "write 0 or more"}
	}
	return d, nil
}

// atLeast returns the parser of whole numbers that are not less than least.
func atLeast[T int | int64](least T) func(string) (T, *Fault) {
	return func(text string) (T, *Fault) {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || int64(T(n)) != n {
			return 0, &Fault{Message: shown(text) + " is not a whole number", Hint: "write digits alone, without a unit"}
		}
		if T(n) < least {
			return 0, &Fault{Message: shown(text) + " is too small", Hint: "write " + strconv.FormatInt(int64(least), 10) + " or more"}
		}
		return T(n), nil
	}
}

func parseTurnEvents(text string) (TurnEvents, *Fault) {
	switch text {
	case "off":
		return TurnEvents{}, nil
	case "all":
		return TurnEvents{PerMinute: TurnEventsAll}, nil
	case "replay":
		return TurnEvents{PerMinute: TurnEventsAll, Text: true}, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return TurnEvents{}, &Fault{Message: shown(text) + " is not a number of events a minute", Hint: "write 1 or more, off, all or replay"}
	}
	return TurnEvents{PerMinute: n}, nil
}

func oneOf[T ~string](words []T, text string) (T, *Fault) {
	if i := slices.Index(words, T(text)); i >= 0 {
		return words[i], nil
	}
	hint := "write "
	for i, word := range words {
		switch i {
		case 0:
		case len(words) - 1:
			hint += " or "
		default:
			hint += ", "
		}
		hint += string(word)
	}
	return "", &Fault{Message: shown(text) + " is none of the possible words", Hint: hint}
}

func parsePlatformURL(text string) (string, *Fault) {
	if text == PlatformOff {
		return text, nil
	}
	value, fault := parseAgentURL(text)
	if fault == nil && strings.ContainsAny(value, "?#") {
		return "", &Fault{Message: "the URL has a query or a fragment", Hint: "write the base address alone"}
	}
	return value, fault
}

// parseAgentURL takes an absolute URL or nothing. It never shows the text: an address that is refused may well hold a
// password.
func parseAgentURL(text string) (string, *Fault) {
	if text == "" {
		return "", nil
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Hostname() == "" || (u.Scheme != "http" && u.Scheme != "https"):
		return "", &Fault{Message: "not an absolute http or https URL", Hint: "write an address such as http://platform:8080"}
	case u.User != nil:
		return "", &Fault{Message: "the URL holds a user", Hint: "remove what stands before the @ and put the token into platform.token_file"}
	}
	return text, nil
}

// parseListen takes a TCP address with the number of a port, or nothing.
func parseListen(text string) (string, *Fault) {
	if text == "" {
		return "", nil
	}
	_, port, err := net.SplitHostPort(text)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil || strings.ContainsFunc(text, unicode.IsControl) {
		return "", &Fault{Message: shown(text) + " is not a TCP address", Hint: "write one such as 127.0.0.1:9090, or :9090 for every interface"}
	}
	return text, nil
}
