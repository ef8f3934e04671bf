package api_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"pannier"
	"pannier/admin/upload"
	"pannier/internal/state"
	"pannier/internal/testbench/fixture"
	"pannier/service"
)

// uploadLimits are those of the protocol's examples.
var uploadLimits = pannier.UploadLimits{
	RecommendedChunk: 1 << 20, MaxChunk: 4 << 20, MaxCompressed: 100 << 20, MaxUnpacked: 500 << 20,
	MaxFile: 50 << 20, MaxEntries: 2048,
	MaxPending: 2 << 30, MaxPendingOfClient: 1 << 30, TTL: 5 * time.Minute,
}

func newUploads(t *testing.T, dir string) *upload.Store {
	t.Helper()
	s, err := upload.Open(upload.Options{Dir: dir, Values: state.Memory(), Limits: uploadLimits})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// uploader is a WebSocket of a client that uploads. What it exchanges is held against the published schemas.
type uploader struct {
	t       *testing.T
	ctx     context.Context
	conn    *websocket.Conn
	schemas methodSchemas
}

func newUploader(t *testing.T, path string) *uploader {
	t.Helper()
	conn, _, err := dialRPC(t, path, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	t.Cleanup(func() {
		conn.CloseNow()
		cancel()
	})
	return &uploader{t, ctx, conn, newMethodSchemas(t)}
}

// call returns what a method answers.
func (u *uploader) call(method, params string) string {
	u.t.Helper()
	asked := rpcRequest("1", method, params)
	if err := u.conn.Write(u.ctx, websocket.MessageText, []byte(asked)); err != nil {
		u.t.Fatal(err)
	}
	answered := u.read()
	u.schemas.exchange(u.t, asked, answered)
	return answered
}

func (u *uploader) read() string {
	u.t.Helper()
	_, text, err := u.conn.Read(u.ctx)
	if err != nil {
		u.t.Fatal(err)
	}
	return string(text)
}

// frame sends a binary frame and returns what the peer is told of it.
func (u *uploader) frame(frame []byte) string {
	u.t.Helper()
	if err := u.conn.Write(u.ctx, websocket.MessageBinary, frame); err != nil {
		u.t.Fatal(err)
	}
	text := u.read()
	told := u.schemas.read(u.t, text)
	u.schemas.check(u.t, told["method"].(string)+".params.json", told["params"])
	return text
}

// psu1Frame is a frame without a chunk whose header is a text.
func psu1Frame(header string) []byte {
	return append(binary.BigEndian.AppendUint32([]byte("PSU1"), uint32(len(header))), header...)
}

func chunkFrame(c pannier.UploadChunk, chunk []byte) []byte {
	header := map[string]any{"upload_id": c.UploadID, "offset": c.Offset, "len": c.Len}
	if c.WorkspaceID != "" {
		header["workspace_id"] = c.WorkspaceID
	}
	if !c.SHA256.IsZero() {
		header["chunk_sha256"] = c.SHA256
	}
	text, _ := json.Marshal(header)
	return append(psu1Frame(string(text)), chunk...)
}

// begin starts an upload and returns its id.
func (u *uploader) begin(text []byte) string {
	u.t.Helper()
	answered := u.call("skills/upload/start", fmt.Sprintf(`{"file_name":"documents.tar.gz","archive_format":"tar_gz","compressed_size_bytes":%d,"sha256":%q}`, len(text), hexOf(string(text))))
	var answer struct {
		Result struct {
			UploadID string `json:"upload_id"`
		}
	}
	if err := json.Unmarshal([]byte(answered), &answer); err != nil || answer.Result.UploadID == "" {
		u.t.Fatalf("%v in %s", err, answered)
	}
	return answer.Result.UploadID
}

// TestUploadAsPublished walks through the protocol's examples.
func TestUploadAsPublished(t *testing.T) {
	c := newCallable(catalog())
	c.content.Uploads = newUploads(t, t.TempDir())
	path, _ := serve(t, c.handler())
	u := newUploader(t, path)
	text := bytes.Repeat([]byte("z"), 73422)
	sum := hexOf(string(text))
	answered := u.call("skills/upload/start", `{"workspace_id":"ws_000000000000000001","file_name":"documents.tar.gz","archive_format":"tar_gz","compressed_size_bytes":73422,"uncompressed_size_hint_bytes":240000,"sha256":"sha256:`+sum+`"}`)
	head, rest, _ := strings.Cut(answered, `"upload_id":"`)
	id, limits, _ := strings.Cut(rest, `"`)
	if head != `{"jsonrpc":"2.0","id":"1","result":{` || !strings.HasPrefix(limits, `,"recommended_chunk_size_bytes":1048576,"max_chunk_size_bytes":4194304,"max_compressed_size_bytes":104857600,"max_uncompressed_size_bytes":524288000,"expires_at_unix":`) {
		t.Errorf("start: %s", answered)
	}
	first := pannier.UploadChunk{WorkspaceID: protocolID, UploadID: id, Len: 50000, SHA256: pannier.DigestOf(text[:50000])}
	last := pannier.UploadChunk{WorkspaceID: protocolID, UploadID: id, Offset: 50000, Len: 23422}
	told := func(method, params string) string {
		return `{"jsonrpc":"2.0","method":"skills/upload/` + method + `","params":{"upload_id":"` + id + `",` + params + `}}`
	}
	gap := last
	gap.Offset, gap.Len = 60000, 1
	for _, tt := range []struct {
		chunk pannier.UploadChunk
		want  string
	}{
		{first, told("chunk_ack", `"offset":0,"len":50000,"received_bytes":50000,"next_offset":50000`)},
		{first, told("chunk_ack", `"offset":0,"len":50000,"received_bytes":50000,"next_offset":50000`)},
		{gap, told("chunk_error", `"offset":60000,"code":"skills.upload.invalid_request","reason":"upload.chunk_offset","message":"the chunk begins at 60000, but 50000 bytes were received","next_offset":50000`)},
	} {
		if got := u.frame(chunkFrame(tt.chunk, text[:tt.chunk.Len])); got != tt.want {
			t.Errorf("told %s", got)
		}
	}
	status := u.call("skills/upload/status", `{"upload_id":"`+id+`"}`)
	if !strings.Contains(status, `{"upload_id":"`+id+`","status":"receiving","file_name":"documents.tar.gz","received_bytes":50000,"next_offset":50000,"compressed_size_bytes":73422,"expires_at_unix":`) {
		t.Errorf("status: %s", status)
	}
	if got := u.frame(chunkFrame(last, text[50000:])); got != told("chunk_ack", `"offset":50000,"len":23422,"received_bytes":73422,"next_offset":73422`) {
		t.Errorf("told %s", got)
	}
	named := `{"workspace_id":"ws_000000000000000001","upload_id":"` + id + `"}`
	if got, want := u.call("skills/upload/finish", named), `{"jsonrpc":"2.0","id":"1","result":{"upload_id":"`+id+`","status":"ready","sha256":"`+sum+`","compressed_size_bytes":73422}}`; got != want {
		t.Errorf("finish: %s", got)
	}
	if got, want := u.call("skills/upload/abort", named), `{"jsonrpc":"2.0","id":"1","result":{"upload_id":"`+id+`","status":"aborted"}}`; got != want {
		t.Errorf("abort: %s", got)
	}
}

// TestUploadFrameFaults are told, and the connection goes on. "Clients should use next_offset for resumable upload UI and retry from
// the acknowledged offset after reconnect" (Pioneer skills protocol, "Upload Flow"): so a fault names the upload and the offset
// wherever the header tells them.
func TestUploadFrameFaults(t *testing.T) {
	c := newCallable(catalog())
	c.content.Uploads = newUploads(t, t.TempDir())
	path, _ := serve(t, c.handler())
	u := newUploader(t, path)
	text := bytes.Repeat([]byte("z"), 100)
	id := u.begin(text)
	for name, tt := range map[string]struct {
		frame []byte
		want  string
	}{
		"no frame":          {[]byte("hello, world"), `"upload_id":"","offset":0,"code":"skills.upload.invalid_request","reason":"upload.frame"`},
		"a bad sum":         {psu1Frame(`{"chunk_sha256":"00","upload_id":"` + id + `","offset":0,"len":100}`), `"upload_id":"` + id + `","offset":0,"code":"skills.upload.invalid_request","reason":"upload.frame","message":"not a frame of an upload: invalid header: chunk_sha256 is not 64 lower-case hexadecimal digits, or nothing but zeros","next_offset":0`},
		"another workspace": {chunkFrame(pannier.UploadChunk{WorkspaceID: "ws_other", UploadID: id, Len: 100}, text), `"code":"skills.not_found","message":"unknown workspace \"ws_other\"","next_offset":-1`},
		"another upload":    {chunkFrame(pannier.UploadChunk{UploadID: "upl_x", Len: 100}, text), `"upload_id":"upl_x","offset":0,"code":"skills.upload.not_found","reason":"upload.not_found"`},
		"too much":          {chunkFrame(pannier.UploadChunk{UploadID: id, Len: 101}, append(text, 'z')), `"code":"skills.upload.size_limit","reason":"upload.size_limit"`},
		"a wrong digest":    {chunkFrame(pannier.UploadChunk{UploadID: id, Len: 100, SHA256: pannier.Digest{1}}, text), `"reason":"upload.chunk_digest","message":"the chunk does not match the SHA-256 of its header","next_offset":0`},
	} {
		if got := u.frame(tt.frame); !strings.Contains(got, `"skills/upload/chunk_error"`) || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got := u.frame(chunkFrame(pannier.UploadChunk{UploadID: id, Len: 100}, text)); !strings.Contains(got, "chunk_ack") {
		t.Errorf("afterwards: %s", got)
	}
}

// TestUploadOverConnections: an upload goes on over another connection, where one ended in the midst of a frame.
func TestUploadOverConnections(t *testing.T) {
	c, dir := newCallable(catalog()), t.TempDir()
	c.content.Uploads = newUploads(t, dir)
	path, _ := serve(t, c.handler())
	text := bytes.Repeat([]byte("0123456789"), 50_000)
	u := newUploader(t, path)
	id := u.begin(text)
	if got := u.frame(chunkFrame(pannier.UploadChunk{UploadID: id, Len: 200_000}, text[:200_000])); !strings.Contains(got, `"next_offset":200000`) {
		t.Fatalf("told %s", got)
	}
	part, err := u.conn.Writer(u.ctx, websocket.MessageBinary)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := part.Write(chunkFrame(pannier.UploadChunk{UploadID: id, Offset: 200_000, Len: 300_000}, text[200_000:350_000])); err != nil {
		t.Fatal(err)
	}
	fixture.Eventually(t, "a part of the chunk is on disk", func() error { // a chunk that begins later overtakes the next one
		if info, err := os.Stat(filepath.Join(dir, id)); err != nil || info.Size() <= 200_000 {
			return fmt.Errorf("%v, %w", info, err)
		}
		return nil
	})
	u.conn.CloseNow()
	u = newUploader(t, path)
	if got := u.call("skills/upload/status", `{"upload_id":"`+id+`"}`); !strings.Contains(got, `"next_offset":200000`) {
		t.Fatalf("status %s", got)
	}
	if got := u.frame(chunkFrame(pannier.UploadChunk{UploadID: id, Offset: 200_000, Len: 300_000}, text[200_000:])); !strings.Contains(got, `"next_offset":500000`) {
		t.Fatalf("told %s", got)
	}
	if got := u.call("skills/upload/finish", `{"upload_id":"`+id+`"}`); !strings.Contains(got, `"status":"ready"`) {
		t.Errorf("finish: %s", got)
	}
}

// TestUploadErrors have number, code and words, and fit the schemas.
func TestUploadErrors(t *testing.T) {
	c := newCallable(catalog())
	c.content.Uploads = newUploads(t, t.TempDir())
	h := c.handler()
	good := strings.Repeat("0", 63) + "1"
	start := func(format string, size int64, sum string) string {
		return fmt.Sprintf(`{"file_name":"f","archive_format":%q,"compressed_size_bytes":%d,"sha256":%q}`, format, size, sum)
	}
	for _, tt := range []struct {
		method, params string
		number         int
		code, reason   string
	}{
		{"start", `{}`, -32602, "skills.upload.invalid_request", "upload.digest"},
		{"start", start("tar_gz", 1, strings.Repeat("0", 64)), -32602, "skills.upload.invalid_request", "upload.digest"},
		{"start", start("tar_gz", 1, strings.ToUpper("a"+good[1:])), -32602, "skills.upload.invalid_request", "upload.digest"},
		{"start", start("rar", 1, good), -32602, "skills.upload.invalid_request", "upload.format"},
		{"start", start("tar_gz", 0, good), -32602, "skills.upload.size_limit", "upload.size_limit"},
		{"start", start("zip", 1<<40, good), -32602, "skills.upload.size_limit", "upload.size_limit"},
		{"finish", `{}`, -32602, "skills.upload.invalid_request", "upload.id"},
		{"finish", `{"upload_id":"upl_x"}`, -32602, "skills.upload.not_found", "upload.not_found"},
		{"abort", `{"upload_id":"upl_x"}`, -32602, "skills.upload.not_found", "upload.not_found"},
		{"status", `{"upload_id":"upl_x","workspace_id":"ws_other"}`, -32602, "skills.not_found", ""},
		{"status", `{"upload_id":"upl_x","offset":1}`, -32602, "rpc.invalid_params", ""},
	} {
		answered := post(t, h, rpcRequest("1", "skills/upload/"+tt.method, tt.params))
		var answer struct {
			Error struct {
				Code int
				Data struct {
					Code    string
					Details struct{ Code string }
				}
			}
		}
		if err := json.Unmarshal([]byte(answered), &answer); err != nil {
			t.Fatal(err)
		}
		if e := answer.Error; e.Code != tt.number || e.Data.Code != tt.code || e.Data.Details.Code != tt.reason {
			t.Errorf("%s %s: %s", tt.method, tt.params, answered)
		}
	}
	for method, params := range map[string]string{"start": start("zip", 1, good), "finish": `{"upload_id":"x"}`, "abort": `{"upload_id":"x"}`, "status": `{"upload_id":"x"}`} {
		if got := askAs(h, 1000, "POST", "/v1/rpc", rpcRequest("1", "skills/upload/"+method, params)).Body.String(); !strings.Contains(got, "skills.forbidden") {
			t.Errorf("%s by a member of the group: %s", method, got)
		}
	}
}

// TestUploadOfReader: a chunk of who may not write is not taken in either.
func TestUploadOfReader(t *testing.T) {
	c := newCallable(catalog())
	store := newUploads(t, t.TempDir())
	c.content.Uploads = store
	h := c.handler()
	text := []byte("text")
	up, err := store.Start(t.Context(), "uid:0", pannier.UploadStart{Format: pannier.TarGz, Size: 4, SHA256: pannier.DigestOf(text)})
	if err != nil {
		t.Fatal(err)
	}
	path, _ := serve(t, asReader(h))
	u := newUploader(t, path)
	if got := u.frame(chunkFrame(pannier.UploadChunk{UploadID: up.ID, Len: 4}, text)); !strings.Contains(got, `"code":"skills.forbidden","reason":"forbidden"`) || !strings.Contains(got, `"next_offset":-1`) {
		t.Errorf("told %s", got)
	}
	if up, err := store.Status(t.Context(), "uid:0", up.ID); err != nil || up.Received != 0 {
		t.Errorf("%+v, %v", up, err)
	}
}

// asReader has every caller be a member of the socket's group.
func asReader(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r.WithContext(service.WithCaller(r.Context(), service.Caller{UID: 1000, GID: 1000})))
	})
}
