package rpc_test

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pannier"
	"pannier/publish/rpc"
)

// frameOf puts a header of that text before a chunk.
func frameOf(header, chunk string) string {
	return "PSU1" + string(binary.BigEndian.AppendUint32(nil, uint32(len(header)))) + header + chunk
}

const zeros = "0000000000000000000000000000000000000000000000000000000000000001"

func TestParseHeader(t *testing.T) {
	one := pannier.Digest{31: 1}
	for _, tt := range []struct {
		header string
		want   pannier.UploadChunk
	}{
		{`{"workspace_id":"ws_000000000000000001","upload_id":"upl_000000000000000001","offset":0,"len":1048576}`, pannier.UploadChunk{WorkspaceID: "ws_000000000000000001", UploadID: "upl_000000000000000001", Len: 1 << 20}},
		{` {"len":0, "offset":9223372036854775807, "upload_id":"ü", "chunk_sha256":null} `, pannier.UploadChunk{UploadID: "ü", Offset: 1<<63 - 1}},
		{`{"upload_id":"u","offset":1,"len":2,"chunk_sha256":"` + zeros + `"}`, pannier.UploadChunk{UploadID: "u", Offset: 1, Len: 2, SHA256: one}},
		{`{"upload_id":"u","offset":1,"len":2,"chunk_sha256":"sha256:` + zeros + `"}`, pannier.UploadChunk{UploadID: "u", Offset: 1, Len: 2, SHA256: one}},
	} {
		frame := strings.NewReader(frameOf(tt.header, "chunk"))
		got, err := rpc.ParseHeader(frame)
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", tt.header, err, diff)
		}
		if rest, _ := io.ReadAll(frame); string(rest) != "chunk" {
			t.Errorf("%s: %q is left", tt.header, rest)
		}
	}
}

func TestParseHeaderRefuses(t *testing.T) {
	for name, tt := range map[string]struct{ frame, says string }{
		"nothing":          {"", "within its first 8 bytes"},
		"too short":        {"PSU1\x00\x00\x00", "within its first 8 bytes"},
		"another magic":    {"PSU2" + frameOf("{}", "")[4:], `begins with "PSU2"`},
		"a huge header":    {"PSU1\xff\xff\xff\xff{}", "4294967295 bytes; it may have 4096"},
		"a cut header":     {"PSU1\x00\x00\x00\x05{}", "after 2 of the 5 bytes"},
		"no header":        {frameOf("", "chunk"), "expected a JSON object"},
		"no UTF-8":         {frameOf("{\"upload_id\":\"\xff\"}", ""), "not UTF-8"},
		"an array":         {frameOf("[]", ""), "expected a JSON object"},
		"no end":           {frameOf(`{"len":1`, ""), "does not end"},
		"two values":       {frameOf(`{"upload_id":"u","offset":0,"len":1}{}`, ""), "unexpected data after the JSON value"},
		"a missing member": {frameOf(`{"upload_id":"u","offset":0}`, ""), "len is missing"},
		"another member":   {frameOf(`{"upload_id":"u","offset":0,"len":1,"x":1}`, ""), `unknown member "x"`},
		"capitals":         {frameOf(`{"Upload_id":"u"}`, ""), `unknown member "Upload_id"`},
		"a member twice":   {frameOf(`{"len":1,"len":1}`, ""), `"len" is there twice`},
		"an object":        {frameOf(`{"len":{}}`, ""), "len is not a number of bytes"},
		"no value":         {frameOf(`{"len":}`, ""), `"len" has no value`},
		"a fraction":       {frameOf(`{"len":1.0}`, ""), "len is not a number of bytes"},
		"less than none":   {frameOf(`{"offset":-1}`, ""), "offset is not a number of bytes"},
		"too large":        {frameOf(`{"offset":9223372036854775808}`, ""), "offset is not a number of bytes"},
		"a number as text": {frameOf(`{"offset":"1"}`, ""), "offset is not a number of bytes"},
		"an empty id":      {frameOf(`{"upload_id":""}`, ""), "upload_id is not a string, or empty"},
		"a null workspace": {frameOf(`{"workspace_id":null}`, ""), "workspace_id is not a string, or empty"},
		"a short sum":      {frameOf(`{"chunk_sha256":"00"}`, ""), "chunk_sha256 is not 64"},
		"capital digits":   {frameOf(`{"chunk_sha256":"A`+zeros[1:]+`"}`, ""), "chunk_sha256 is not 64"},
		"a sum of zeros":   {frameOf(`{"chunk_sha256":"`+strings.Repeat("0", 64)+`"}`, ""), "or nothing but zeros"},
		"a sum as number":  {frameOf(`{"chunk_sha256":1}`, ""), "chunk_sha256 is not 64"},
	} {
		_, err := rpc.ParseHeader(strings.NewReader(tt.frame))
		r, ok := errors.AsType[*pannier.Refusal](err)
		if !ok || r.Code != "upload.frame" || r.Hint == "" || !strings.Contains(r.Message, tt.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestParseHeaderNamesUpload: a header that is wrong names its upload where that can be read.
func TestParseHeaderNamesUpload(t *testing.T) {
	for header, want := range map[string]pannier.UploadChunk{
		`{"upload_id":"u","offset":7,"len":1,"chunk_sha256":"00"}`: {UploadID: "u", Offset: 7, Len: 1},
		`{"chunk_sha256":1,"upload_id":"u","offset":7,"len":1}`:    {UploadID: "u", Offset: 7, Len: 1},
		`{"len":-1,"x":null,"upload_id":"u","upload_id":"v"}`:      {UploadID: "u"},
		`{"x":{"upload_id":"v"},"upload_id":"u"}`:                  {},
		`{"upload_id":"u","offset":7`:                              {UploadID: "u", Offset: 7},
	} {
		got, err := rpc.ParseHeader(strings.NewReader(frameOf(header, "")))
		if diff := cmp.Diff(want, got); diff != "" || err == nil {
			t.Errorf("%s: %v (-want +got):\n%s", header, err, diff)
		}
	}
}

func FuzzFrame(f *testing.F) {
	f.Add([]byte(frameOf(`{"workspace_id":"w","upload_id":"u","offset":1,"len":2,"chunk_sha256":"`+zeros+`"}`, "ab")))
	f.Add([]byte(frameOf(`{"upload_id":"\ud800","offset":0,"len":0}`, "")))
	f.Add([]byte("PSU1\x00\x00\x10\x01{"))
	f.Fuzz(func(t *testing.T, frame []byte) {
		r := strings.NewReader(string(frame))
		c, err := rpc.ParseHeader(r)
		if int64(len(frame)-r.Len()) > rpc.MaxPrefix {
			t.Fatalf("%d bytes were read", len(frame)-r.Len())
		}
		if err != nil {
			if _, ok := errors.AsType[*pannier.Refusal](err); !ok {
				t.Fatalf("no refusal: %v", err)
			}
			return
		}
		header := map[string]any{"upload_id": c.UploadID, "offset": c.Offset, "len": c.Len}
		if c.WorkspaceID != "" {
			header["workspace_id"] = c.WorkspaceID
		}
		if !c.SHA256.IsZero() {
			header["chunk_sha256"] = c.SHA256
		}
		text, _ := json.Marshal(header)
		again, err := rpc.ParseHeader(strings.NewReader(frameOf(string(text), "")))
		if diff := cmp.Diff(c, again); diff != "" || err != nil || c.UploadID == "" || c.Offset < 0 || c.Len < 0 {
			t.Fatalf("%+v: %v (-first +again):\n%s", c, err, diff)
		}
	})
}
