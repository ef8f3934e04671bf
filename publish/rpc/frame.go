package rpc

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"pannier"
)

// The frames that uploads come in by (Pioneer skills protocol, "Binary Chunk Frame"):
//
//	PSU1                   magic
//	4 bytes                length of the header, big-endian
//	that many bytes        {"workspace_id","upload_id","offset","len","chunk_sha256"} in UTF-8
//	the rest of the frame  the chunk
const magic = "PSU1"

// maxHeader bounds the JSON of a header, maxPrefix all that comes before the chunk, in bytes.
const (
	maxHeader = 4 << 10
	maxPrefix = int64(len(magic) + 4 + maxHeader)
)

// parseHeader reads what comes before the chunk, which is the rest of r, and no byte of that. It allocates no more
// than a header may have. workspace_id is optional as it is in all methods, and so is chunk_sha256; nothing else may
// be left out, added or there twice. What is wrong is a [*pannier.Refusal]; the chunk then has the members that could
// be read, so that a client learns which of its uploads is meant.
func parseHeader(r io.Reader) (pannier.UploadChunk, error) {
	var start [len(magic) + 4]byte
	if _, err := io.ReadFull(r, start[:]); err != nil {
		return pannier.UploadChunk{}, refuseFrame("it ends within its first %d bytes", len(start))
	}
	if got := string(start[:len(magic)]); got != magic {
		return pannier.UploadChunk{}, refuseFrame("it begins with %q", got)
	}
	size := binary.BigEndian.Uint32(start[len(magic):])
	if size > maxHeader {
		return pannier.UploadChunk{}, refuseFrame("its header has %d bytes; it may have %d", size, maxHeader)
	}
	text := make([]byte, size)
	if n, err := io.ReadFull(r, text); err != nil {
		return pannier.UploadChunk{}, refuseFrame("it ends after %d of the %d bytes of its header", n, size)
	}
	c, err := decodeHeader(text)
	if err != nil {
		return c, refuseFrame("invalid header: %v", err)
	}
	return c, nil
}

func refuseFrame(format string, args ...any) *pannier.Refusal {
	return &pannier.Refusal{
		Code: "upload.frame", Message: "not a frame of an upload: " + fmt.Sprintf(format, args...),
		Hint: `send "PSU1", the length of the header in four bytes, the header and the chunk; all else is sent as text`,
	}
}

// decodeHeader reads the JSON of a header. It reads on after a member that is wrong, and returns what is wrong with
// the first.
func decodeHeader(text []byte) (c pannier.UploadChunk, err error) {
	if !utf8.Valid(text) {
		return c, errors.New("it is not UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if token, err := dec.Token(); err != nil || token != json.Delim('{') {
		return c, errors.New("expected a JSON object")
	}
	seen := map[string]bool{}
	var fault error
	for dec.More() {
		last, err := readMember(dec, seen, &c)
		fault = cmp.Or(fault, err)
		if last {
			return c, fault
		}
	}
	if fault != nil {
		return c, fault
	}
	if _, err := dec.Token(); err != nil {
		return c, errors.New("it does not end")
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return c, errors.New("unexpected data after the JSON value")
	}
	for _, name := range []string{"upload_id", "offset", "len"} {
		if !seen[name] {
			return c, fmt.Errorf("%s is missing", name)
		}
	}
	return c, nil
}

// readMember reads one member of a header. last says that none can be read after it: the text is not JSON, or the
// value is a list or an object, whose members are not those of the header.
func readMember(dec *json.Decoder, seen map[string]bool, c *pannier.UploadChunk) (last bool, err error) {
	token, err := dec.Token()
	if err != nil {
		return true, errors.New("a name is missing")
	}
	name, _ := token.(string)
	repeated := seen[name]
	seen[name] = true
	value, err := dec.Token()
	_, last = value.(json.Delim)
	switch {
	case repeated:
		return last || err != nil, fmt.Errorf("%.40q is there twice", name)
	case err != nil:
		return true, fmt.Errorf("%.40q has no value", name)
	}
	return last, setMember(c, name, value)
}

func setMember(c *pannier.UploadChunk, name string, value json.Token) error {
	text, _ := value.(string)
	ok, expected := text != "", "a string, or empty"
	switch name {
	case "workspace_id":
		c.WorkspaceID = text
	case "upload_id":
		c.UploadID = text
	case "offset":
		c.Offset, ok = parseCount(value)
		expected = "a number of bytes"
	case "len":
		c.Len, ok = parseCount(value)
		expected = "a number of bytes"
	case "chunk_sha256":
		c.SHA256, ok = parseSHA256(text)
		ok = ok || value == nil // null is none
		expected = "64 lower-case hexadecimal digits, or nothing but zeros"
	default:
		return fmt.Errorf("unknown member %.40q", name)
	}
	if !ok {
		return fmt.Errorf("%s is not %s", name, expected)
	}
	return nil
}

// parseCount reads a number of bytes: digits and nothing else.
func parseCount(value json.Token) (int64, bool) {
	number, _ := value.(json.Number)
	n, err := strconv.ParseUint(number.String(), 10, 63)
	if err != nil {
		return 0, false
	}
	return int64(n), true
}

// parseSHA256 reads a SHA-256 as the protocol writes it: 64 lower-case hexadecimal digits, before which "sha256:" may
// stand, as it does in the text form of a [pannier.Digest]. Nothing has the one of zeros, and it must not be taken
// for none.
func parseSHA256(s string) (pannier.Digest, bool) {
	s = strings.TrimPrefix(s, "sha256:")
	raw, err := hex.DecodeString(s)
	if err != nil || len(raw) != len(pannier.Digest{}) || strings.ToLower(s) != s {
		return pannier.Digest{}, false
	}
	d := pannier.Digest(raw)
	return d, !d.IsZero()
}
