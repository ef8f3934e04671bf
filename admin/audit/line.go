package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"pannier"
)

const (
	// maxLine bounds a line with its line feed, in bytes.
	maxLine = 1 << 20
	// maxName and maxSeq bound the numbers of files and of entries, so that no garbage on disk makes them run over. Nobody
	// gets from the one to the other by counting.
	maxName = 1 << 62
	maxSeq  = 1 << 63
)

var errTooLarge = errors.New("the entry is too large")

// rawDetail returns a detail as it is read back: as JSON, or nil where there is none.
func rawDetail(detail any) (any, error) {
	text, err := json.Marshal(detail)
	if err != nil {
		return nil, fmt.Errorf("encode detail: %w", err)
	}
	if string(text) == "null" {
		return nil, nil
	}
	return json.RawMessage(text), nil
}

func encode(e pannier.AuditEntry) ([]byte, error) {
	text, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("encode entry: %w", err)
	}
	if len(text)+1 > maxLine {
		return nil, fmt.Errorf("%w: it has %d bytes and may have %d", errTooLarge, len(text), maxLine-1)
	}
	return append(text, '\n'), nil
}

// decode reads a line without its line feed.
func decode(line []byte) (pannier.AuditEntry, error) {
	var detail json.RawMessage
	e := pannier.AuditEntry{Detail: &detail}
	if err := json.Unmarshal(line, &e); err != nil {
		return pannier.AuditEntry{}, fmt.Errorf("decode entry: %w", err)
	}
	if e.Seq == 0 || e.Seq > maxSeq {
		return pannier.AuditEntry{}, fmt.Errorf("decode entry: number %d", e.Seq)
	}
	if e.Detail = nil; detail != nil {
		e.Detail = detail
	}
	return e, nil
}

// about returns the entry of a line without its line feed, if it is one and about a skill; an empty slug is all. Decoding
// is slow, so a line that does not hold the slug at all is not decoded; a slug has nothing that JSON would escape.
func about(slug string, line []byte) (pannier.AuditEntry, bool) {
	if slug != "" && !bytes.Contains(line, []byte(`"slug":"`+slug+`"`)) {
		return pannier.AuditEntry{}, false
	}
	e, err := decode(line)
	return e, err == nil && (slug == "" || e.Slug == slug)
}

// digestOf returns the digest of a line, which has its line feed.
func digestOf(line []byte) pannier.Digest { return pannier.DigestOf(line[:len(line)-1]) }
