// Package httpspec reads the declarations of http tools, and makes requests of them. It sends none.
//
// A declaration says where a request goes; arguments of a call fill only the places that it names:
//
//	url         http or https; {name} in its path and query is replaced by an argument, percent-encoded
//	method      GET if it is missing
//	headers     texts; ${secret:NAME} in a value is replaced by a secret that is bound to the host and the skill
//	query       names of arguments that go into the query
//	body        names of arguments that make up the body, a JSON object
//	timeout_ms  at most the timeout of the call
//
// An argument "query", an object, and an argument "body", any value, are taken as such where the declaration does not
// name them.
package httpspec

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"pannier"
)

// The bounds of a request.
const (
	maxRequest = 1 << 20 // bytes of the address and of the body
	maxURL     = 8 << 10
	maxHeaders = 64
)

// Declaration is what a skill says of a request.
type Declaration struct {
	URL     string            `json:"url"`
	Method  string            `json:"method"`
	Headers map[string]string `json:"headers"`
	Query   []string          `json:"query"`
	Body    []string          `json:"body"`
	Timeout int64             `json:"timeout_ms"`

	Base        string `json:"-"` // scheme and host of the URL
	path, query string // of the URL, with the placeholders
}

var (
	placeholder = regexp.MustCompile(`\{([A-Za-z_][A-Za-z0-9_-]*)\}`)
	headerName  = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$") // RFC 9110, 5.6.2
	// SecretMark is a secret in a header, with its name as a group.
	SecretMark = regexp.MustCompile(`\$\{secret:([A-Za-z_][A-Za-z0-9_]*)\}`)
)

// Check says what is wrong with the declaration of a tool.
func Check(config json.RawMessage) error {
	_, err := Parse(config)
	return err
}

// Parse returns the declaration of a tool, or says what is wrong with it.
func Parse(config json.RawMessage) (*Declaration, error) {
	var d Declaration
	if len(config) == 0 {
		config = json.RawMessage("{}")
	}
	if err := json.Unmarshal(config, &d); err != nil {
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return nil, fmt.Errorf("config.%s cannot be a JSON %s", wrong.Field, wrong.Value)
		}
		return nil, errors.New("config is not a JSON object")
	}
	if d.Method = strings.ToUpper(d.Method); d.Method == "" {
		d.Method = http.MethodGet
	}
	if !slices.Contains([]string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}, d.Method) {
		return nil, fmt.Errorf("config.method is %.20q, which is not a method of HTTP that tools use", d.Method)
	}
	if d.Timeout < 0 {
		return nil, errors.New("config.timeout_ms is negative")
	}
	if err := d.splitURL(); err != nil {
		return nil, fmt.Errorf("config.url %w", err)
	}
	return &d, d.checkHeaders()
}

// SendsSecret reports whether a declaration has a secret in a header.
func SendsSecret(config json.RawMessage) bool {
	d, err := Parse(config)
	if err != nil {
		return false // it sends nothing
	}
	for _, text := range d.Headers {
		if SecretMark.MatchString(text) {
			return true
		}
	}
	return false
}

// splitURL separates what arguments can change from what they cannot.
func (d *Declaration) splitURL() error {
	if d.URL == "" {
		return errors.New("is missing")
	}
	if strings.Contains(d.URL, "${") {
		return errors.New("cannot hold a secret; secrets go into headers")
	}
	if len(d.URL) > maxURL {
		return fmt.Errorf("has more than %d bytes", maxURL)
	}
	bare := placeholder.ReplaceAllString(d.URL, "x")
	u, err := url.Parse(bare)
	switch {
	case err != nil:
		return errors.New("is not an address")
	case u.Scheme != "http" && u.Scheme != "https":
		return errors.New("does not begin with http:// or https://")
	case u.User != nil:
		return errors.New("holds a user; write a header instead")
	case u.Hostname() == "" || u.Opaque != "":
		return errors.New("has no host")
	}
	origin, rest, _ := strings.Cut(d.URL, "://")
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	host := rest[:end]
	if strings.ContainsAny(host, `{}\`) {
		return errors.New("has a placeholder in its host; arguments do not choose where a request goes")
	}
	rest, _, _ = strings.Cut(rest[end:], "#")
	d.path, d.query, _ = strings.Cut(rest, "?")
	d.Base = strings.ToLower(origin) + "://" + host
	if strings.ContainsAny(placeholder.ReplaceAllString(d.path+d.query, ""), "{}") {
		return errors.New("has a brace that is not part of a placeholder")
	}
	return nil
}

// connection are headers that belong to the connection and not to a tool.
var connection = []string{"Host", "Connection", "Content-Length", "Transfer-Encoding", "Upgrade", "Te", "Trailer", "Proxy-Authorization", "Proxy-Connection", "Expect", "Keep-Alive"}

func (d *Declaration) checkHeaders() error {
	if len(d.Headers) > maxHeaders {
		return fmt.Errorf("config.headers has more than %d headers", maxHeaders)
	}
	for name, value := range d.Headers {
		if !headerName.MatchString(name) || strings.ContainsFunc(value, isHeaderControl) || slices.Contains(connection, http.CanonicalHeaderKey(name)) {
			return fmt.Errorf("config.headers has %.40q, which a tool cannot set", name)
		}
		if strings.Contains(SecretMark.ReplaceAllString(value, ""), "${") {
			return fmt.Errorf("config.headers has %.40q, whose value holds something like ${secret:NAME} and is not", name)
		}
	}
	return nil
}

func isHeaderControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

// arguments are those of a call. Each has to be used.
type arguments struct {
	values map[string]json.RawMessage
	used   map[string]bool
}

func (a *arguments) take(name string) (json.RawMessage, bool) {
	value, ok := a.values[name]
	a.used[name] = true
	return value, ok && string(value) != "null"
}

// Request fills the declaration with the arguments of a call.
func (d *Declaration) Request(ctx context.Context, given json.RawMessage) (*http.Request, *pannier.ToolError) {
	a := &arguments{used: map[string]bool{}}
	if len(given) > 0 && json.Unmarshal(given, &a.values) != nil {
		return nil, invalid("the arguments are not an object")
	}
	path, err := d.fill(d.path, a, true)
	if err != nil {
		return nil, invalid(err.Error())
	}
	query, err := d.fill(d.query, a, false)
	if err == nil {
		query, err = d.addQuery(query, a)
	}
	if err != nil {
		return nil, invalid(err.Error())
	}
	body, err := d.body(a)
	if err != nil {
		return nil, invalid(err.Error())
	}
	for name := range a.values {
		if !a.used[name] {
			return nil, invalid(fmt.Sprintf("the tool sends no argument %.100q", name))
		}
	}
	address := d.Base + path
	if query != "" {
		address += "?" + query
	}
	if len(address) > maxURL || len(body) > maxRequest {
		return nil, invalid("the arguments are too long for a request")
	}
	var content io.Reader
	if body != nil {
		content = bytes.NewReader(body)
	}
	r, err := http.NewRequestWithContext(ctx, d.Method, address, content)
	if err != nil {
		return nil, invalid("the arguments do not make an address")
	}
	r.Header.Set("User-Agent", "pannier")
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	return r, nil
}

// fill replaces the placeholders of the path or the query. In a path, no segment can become "." or "..", which a server
// could take for another path.
func (d *Declaration) fill(text string, a *arguments, isPath bool) (string, error) {
	var failed error
	filled := placeholder.ReplaceAllStringFunc(text, func(mark string) string {
		name := mark[1 : len(mark)-1]
		raw, ok := a.take(name)
		if !ok {
			failed = fmt.Errorf("the argument %q is missing; it is part of the address", name)
			return ""
		}
		value, err := scalar(raw)
		switch {
		case err != nil:
			failed = fmt.Errorf("the argument %q %w", name, err)
		case isPath && (value == "" || isDots(value)):
			failed = fmt.Errorf("the argument %q is empty or holds \"..\", and is part of a path", name)
		}
		return escape(value)
	})
	if failed != nil || !isPath {
		return filled, failed
	}
	for segment := range strings.SplitSeq(filled, "/") {
		if plain, err := url.PathUnescape(segment); filled != text && (err != nil || plain == "." || plain == "..") {
			return "", errors.New("the arguments make a path with the segment \"..\"")
		}
	}
	return filled, nil
}

// isDots reports whether a value has a segment "." or "..", whatever separates segments.
func isDots(value string) bool {
	return slices.ContainsFunc(strings.FieldsFunc(value, func(r rune) bool { return r == '/' || r == '\\' }), func(segment string) bool {
		return segment == "." || segment == ".."
	})
}

// escape percent-encodes all but the unreserved characters (RFC 3986, 2.3).
func escape(value string) string {
	return strings.ReplaceAll(url.QueryEscape(value), "+", "%20")
}

// scalar returns a text, a number or a boolean as text.
func scalar(raw json.RawMessage) (string, error) {
	var text string
	switch {
	case json.Unmarshal(raw, &text) == nil && raw[0] == '"':
		return text, nil
	case raw[0] == '{' || raw[0] == '[' || raw[0] == 'n':
		return "", errors.New("is not a text, a number or a boolean")
	}
	return string(raw), nil
}

// addQuery adds the arguments that go into the query.
func (d *Declaration) addQuery(query string, a *arguments) (string, error) {
	fields := map[string]json.RawMessage{}
	for _, name := range d.Query {
		if raw, ok := a.take(name); ok {
			fields[name] = raw
		}
	}
	if raw, ok := a.values["query"]; ok && !a.used["query"] && !slices.Contains(d.Body, "query") {
		a.used["query"] = true
		if json.Unmarshal(raw, &fields) != nil {
			return "", errors.New("the argument \"query\" is not an object")
		}
	}
	values := url.Values{}
	for name, raw := range fields {
		items := []json.RawMessage{raw}
		if raw[0] == '[' {
			_ = json.Unmarshal(raw, &items)
		}
		for i, item := range items {
			value, err := scalar(item)
			if err != nil {
				return "", fmt.Errorf("the argument %s of the query %w", strconv.Quote(name)+at(i, len(items)), err)
			}
			values.Add(name, value)
		}
	}
	if query != "" && len(values) > 0 {
		query += "&"
	}
	return query + values.Encode(), nil
}

func at(i, of int) string {
	if of == 1 {
		return ""
	}
	return fmt.Sprintf("[%d]", i)
}

// body returns the body; nil for none.
func (d *Declaration) body(a *arguments) ([]byte, error) {
	if raw, ok := a.values["body"]; ok && !a.used["body"] && !slices.Contains(d.Body, "body") {
		if len(d.Body) > 0 {
			return nil, errors.New("the tool declares the fields of its body; give them one by one")
		}
		a.used["body"] = true
		return raw, nil
	}
	if len(d.Body) == 0 {
		return nil, nil
	}
	fields := map[string]json.RawMessage{}
	for _, name := range d.Body {
		if raw, ok := a.values[name]; ok {
			a.used[name] = true
			fields[name] = raw
		}
	}
	return json.Marshal(fields)
}

func invalid(message string) *pannier.ToolError {
	return &pannier.ToolError{Code: pannier.ToolArgumentsInvalid, Message: message, Hint: "give arguments as the tool describes them"}
}
