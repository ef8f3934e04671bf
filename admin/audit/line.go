package audit

import (
	"encoding/json"
	"fmt"

	"pannier"
)

const (
	// maxLine bounds a line with its line feed, in bytes.
	maxLine = 1 << 20
	// maxName and maxSeq bound the numbers of files and entries, so that invalid data cannot cause an overflow.
	maxName = 1 << 62
	maxSeq  = 1 << 63
)

// decode decodes a line without its line feed.
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
