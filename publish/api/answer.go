package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"pannier"
	"pannier/publish/answer"
	"pannier/service"
)

type statusError struct {
	status             int
	code, detail, hint string
}

func (e *statusError) Error() string { return e.detail }

var errNotWatched = &statusError{
	http.StatusServiceUnavailable, "not_ready", "not all directories of the workspace are watched yet",
	"retry; the first scan is served already",
}

// statusClientClosed counts requests whose client closed the connection before the answer. It is not sent.
const statusClientClosed = 499

// fail writes an error as a problem (RFC 9457), with what the caller can do about it.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	var problem pannier.ErrorDocument
	expected := true
	if e, ok := errors.AsType[*statusError](err); ok {
		problem = service.NewProblem(e.status, e.code, e.detail, e.hint)
	} else {
		problem, expected = h.Service.Problem(r.URL.EscapedPath(), err)
	}
	if !expected {
		if r.Context().Err() != nil {
			w.WriteHeader(statusClientClosed)
			return
		}
		problem = h.Service.Unexpected(r.URL.EscapedPath(), err)
	}
	doc, _ := json.Marshal(problem)
	if problem.Status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(problem.Status)
	w.Write(append(doc, '\n'))
}

// WriteJSON answers a request with a value, and with its ETag where it is a GET.
func WriteJSON(w http.ResponseWriter, r *http.Request, value any) error {
	encoded, err := answer.Of(value)
	if err != nil {
		return err
	}
	writeEncoded(w, r, "application/json", encoded)
	return nil
}

func writeBody(w http.ResponseWriter, r *http.Request, contentType string, body []byte) error {
	writeEncoded(w, r, contentType, answer.New(body))
	return nil
}

func writeEncoded(w http.ResponseWriter, r *http.Request, contentType string, a answer.Encoded) {
	if writeHeader(w, r, contentType, a.Tag, len(a.Body)) {
		w.Write(a.Body) // an error means that the client has gone
	}
}

// writeHeader reports whether a body follows. The answer to a GET has an ETag, and no body if the client has it
// already.
func writeHeader(w http.ResponseWriter, r *http.Request, contentType string, tag []string, length int) (hasBody bool) {
	header := w.Header()
	if len(tag) > 0 && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		header["Etag"], header["Cache-Control"] = tag, noCache
		if matches(r.Header.Values("If-None-Match"), tag[0]) {
			w.WriteHeader(http.StatusNotModified)
			return false
		}
	}
	header.Set("Content-Type", contentType)
	header["X-Content-Type-Options"] = noSniff
	header.Set("Content-Length", strconv.Itoa(length))
	return true
}

// The values of headers that are the same in every answer. Most answers go to callers that have the body already, and
// cost so little that these would show. They are never written to.
var (
	noCache    = []string{"no-cache"}
	noSniff    = []string{"nosniff"}
	varyAccept = []string{"Accept"}
)

// matches reports whether If-None-Match names a tag (RFC 9110, 13.1.2).
func matches(values []string, tag string) bool {
	for _, value := range values {
		for candidate := range strings.SplitSeq(value, ",") {
			candidate = strings.TrimSpace(candidate)
			if candidate == "*" || strings.TrimPrefix(candidate, "W/") == tag {
				return true
			}
		}
	}
	return false
}

// Prefers reports whether Accept names one media type with a higher quality than another, or as high and earlier (RFC
// 9110, 12.5.1). The other is the default.
func Prefers(w http.ResponseWriter, r *http.Request, mediaType, other string) bool {
	w.Header()["Vary"] = varyAccept
	if len(r.Header["Accept"]) == 0 {
		return false
	}
	best, preferred := 0.0, false
	for part := range strings.SplitSeq(strings.Join(r.Header.Values("Accept"), ","), ",") {
		name, parameters, err := mime.ParseMediaType(part)
		if err != nil || name != mediaType && name != other {
			continue
		}
		quality := 1.0
		if text, ok := parameters["q"]; ok {
			quality, _ = strconv.ParseFloat(text, 64)
		}
		if quality > best {
			best, preferred = quality, name == mediaType
		}
	}
	return preferred
}

// readJSON reads the body of a request strictly: one value, no unknown field.
func readJSON(r *http.Request, value any) error {
	dec := json.NewDecoder(r.Body)
	dec.DisallowUnknownFields()
	err := dec.Decode(value)
	if errors.Is(err, io.EOF) {
		err = errors.New("it is empty")
	} else if err == nil {
		err = checkEnd(dec)
	}
	if err == nil {
		return nil
	}
	return bodyError(err, "send one JSON object with known fields only")
}

// ReadOptionalJSON reads the body of a request as [readJSON] does; a body of white space leaves the value as it is.
func ReadOptionalJSON(r *http.Request, value any, hint string) error {
	text, err := readText(r)
	if err != nil || len(bytes.TrimSpace(text)) == 0 {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(value); err != nil {
		return bodyError(err, hint)
	}
	if err := checkEnd(dec); err != nil {
		return bodyError(err, "send one JSON object")
	}
	return nil
}

func readText(r *http.Request) ([]byte, error) {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, bodyError(err, "send all of it")
	}
	return text, nil
}

func bodyError(err error, hint string) error {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return &statusError{
			http.StatusRequestEntityTooLarge, "body_too_large",
			fmt.Sprintf("the body has more than %d bytes", maxRequestBytes), "send a smaller one",
		}
	}
	return &statusError{
		http.StatusBadRequest, "invalid_body", "invalid body: " + strings.TrimPrefix(err.Error(), "json: "), hint,
	}
}

func checkEnd(dec *json.Decoder) error {
	_, err := dec.Token()
	if errors.Is(err, io.EOF) {
		return nil
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return err
	}
	return errors.New("unexpected data after the JSON value")
}

// invalidParameter is about a parameter that a route has, so that the codes can be counted.
func invalidParameter(name, detail, hint string) error {
	return &pannier.Refusal{Code: "invalid_parameter." + name, Message: detail, Hint: hint}
}

type countingWriter struct {
	http.ResponseWriter
	status int
}

func (w *countingWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap gives [http.ResponseController] the writer underneath.
func (w *countingWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

type probeWriter struct{ header http.Header }

func (p *probeWriter) Header() http.Header { return p.header }

func (p *probeWriter) Write(b []byte) (int, error) { return len(b), nil }

func (p *probeWriter) WriteHeader(int) {}

// writeShared answers with what every caller of the same question gets.
func (h *Handler) writeShared(
	w http.ResponseWriter, r *http.Request, s *pannier.Snapshot, question string, make func() (answer.Encoded, error),
) error {
	encoded, err := h.Shared.Of(s, h.Service.Contents.Version(), question, make)
	if err == nil {
		writeEncoded(w, r, "application/json", encoded)
	}
	return err
}
