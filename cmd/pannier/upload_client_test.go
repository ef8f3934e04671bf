package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/creachadair/jrpc2"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schemas are those of docs/schemas, by the name of their file.
var schemas = sync.OnceValues(func() (map[string]*jsonschema.Schema, error) {
	const at = "https://pannier.example/"
	files, err := filepath.Glob("../../docs/schemas/*.json")
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no schemas: %w", err)
	}
	c := jsonschema.NewCompiler()
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err := errors.Join(err, c.AddResource(at+filepath.Base(file), doc)); err != nil {
			return nil, err
		}
	}
	all := map[string]*jsonschema.Schema{}
	for _, file := range files {
		if all[filepath.Base(file)], err = c.Compile(at + filepath.Base(file)); err != nil {
			return nil, err
		}
	}
	return all, nil
})

// fits holds a value against what docs/schemas says of a method's params or result.
func fits(method, part string, value []byte) error {
	all, err := schemas()
	if err != nil {
		return err
	}
	name := strings.ReplaceAll(method, "/", "-") + "." + part + ".json"
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		return err
	}
	if all[name] == nil {
		return errors.New("there is no schema " + name)
	}
	return all[name].Validate(doc)
}

// wire is a connection that can be cut off after so many bytes, in the midst of whatever is written.
type wire struct {
	net.Conn
	left atomic.Int64
}

var errCut = errors.New("the connection was cut off")

// cutAfter closes the connection once n more bytes have been written.
func (w *wire) cutAfter(n int64) { w.left.Store(n) }

func (w *wire) Write(b []byte) (int, error) {
	if left := w.left.Add(-int64(len(b))); left > 0 {
		return w.Conn.Write(b)
	} else if keep := left + int64(len(b)); keep > 0 {
		_, _ = w.Conn.Write(b[:keep])
	}
	_ = w.Conn.Close()
	return 0, errCut
}

// wasCut reports whether it was closed so.
func (w *wire) wasCut() bool { return w.left.Load() <= 0 }

// uncut is more than any test writes.
const uncut = 1 << 40

// dialWire makes a WebSocket to a socket, over a connection that can be cut off.
func dialWire(ctx context.Context, socket string) (*websocket.Conn, *wire, error) {
	var w wire
	w.cutAfter(uncut)
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		var err error
		w.Conn, err = d.DialContext(ctx, "unix", socket)
		return &w, err
	}}
	conn, _, err := websocket.Dial(ctx, "ws://pannier/v1/rpc", &websocket.DialOptions{HTTPClient: &http.Client{Transport: transport}})
	return conn, &w, err
}

// peer moves skills over one WebSocket, by the JSON-RPC client of another author. What is asked and answered is held
// against docs/schemas.
type peer struct {
	rpc  *jrpc2.Client
	conn *websocket.Conn
	wire *wire
	ctx  context.Context
	// told has what the chunks came to, changed what else was told.
	told    chan chunkTold
	changed chan json.RawMessage
}

// chunkTold is a chunk_ack, or a chunk_error where there is a reason.
type chunkTold struct {
	UploadID string `json:"upload_id"`
	Offset   int64  `json:"offset"`
	Next     int64  `json:"next_offset"`
	Reason   string `json:"reason"`
	Message  string `json:"message"`
}

// textFrames makes a WebSocket what jrpc2 sends and receives by.
type textFrames struct{ p *peer }

func (f textFrames) Send(text []byte) error {
	return f.p.conn.Write(f.p.ctx, websocket.MessageText, text)
}

func (f textFrames) Recv() ([]byte, error) {
	_, text, err := f.p.conn.Read(f.p.ctx)
	return text, err
}

func (f textFrames) Close() error { return f.p.conn.CloseNow() }

// dialPeer connects to a sidecar, until the test ends or the peer is closed.
func dialPeer(t testing.TB, socket string) *peer {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 4*patience)
	p := &peer{ctx: ctx, told: make(chan chunkTold, 256), changed: make(chan json.RawMessage, 256)}
	var err error
	if p.conn, p.wire, err = dialWire(ctx, socket); err != nil {
		t.Fatal(err)
	}
	p.conn.SetReadLimit(64 << 20)
	p.rpc = jrpc2.NewClient(textFrames{p}, &jrpc2.ClientOptions{OnNotify: func(r *jrpc2.Request) { p.hear(t, r) }})
	t.Cleanup(func() { cancel(); p.close() })
	return p
}

func (p *peer) close() { _ = p.rpc.Close() }

func (p *peer) hear(t testing.TB, r *jrpc2.Request) {
	if err := fits(r.Method(), "params", []byte(r.ParamString())); err != nil {
		t.Errorf("%s %s: %v", r.Method(), r.ParamString(), err)
	}
	var told chunkTold
	if strings.HasPrefix(r.Method(), "skills/upload/") && json.Unmarshal([]byte(r.ParamString()), &told) == nil {
		p.told <- told
		return
	}
	select {
	case p.changed <- json.RawMessage(r.ParamString()):
	default: // nobody in this test wants to know
	}
}

// call asks a method for a result.
func (p *peer) call(method string, params map[string]any, result any) error {
	asked, err := json.Marshal(params)
	if err == nil {
		err = fits(method, "params", asked)
	}
	if err != nil {
		return fmt.Errorf("%s is asked %s: %w", method, asked, err)
	}
	answer, err := p.rpc.Call(p.ctx, method, params)
	if err != nil {
		return err
	}
	if err := fits(method, "result", []byte(answer.ResultString())); err != nil {
		return fmt.Errorf("%s answers %s: %w", method, answer.ResultString(), err)
	}
	return answer.UnmarshalResult(result)
}

// frame is a chunk as it is sent.
func frame(id string, offset int, chunk []byte) []byte {
	return chunkFrame(fmt.Sprintf(`{"upload_id":%q,"offset":%d,"len":%d}`, id, offset, len(chunk)), chunk)
}

// chunkFrame puts a header before a chunk.
func chunkFrame(header string, chunk []byte) []byte {
	n := len(header)
	b := append([]byte("PSU1"), byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
	return append(append(b, header...), chunk...)
}

// start announces an archive.
func (p *peer) start(archive []byte) (id string, err error) {
	var started struct {
		UploadID string `json:"upload_id"`
	}
	err = p.call("skills/upload/start", map[string]any{
		"file_name": "moved.tar.gz", "archive_format": "tar_gz", "compressed_size_bytes": len(archive), "sha256": sumOf(archive),
	}, &started)
	return started.UploadID, err
}

func sumOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// send sends an archive from an offset on, in chunks, each once the one before is acknowledged.
func (p *peer) send(id string, archive []byte, offset, chunk int) error {
	for offset < len(archive) {
		end := min(offset+chunk, len(archive))
		if err := p.conn.Write(p.ctx, websocket.MessageBinary, frame(id, offset, archive[offset:end])); err != nil {
			return err
		}
		told, err := p.hears()
		if err != nil {
			return err
		}
		if told.UploadID != id || told.Offset != int64(offset) || told.Reason == "" && told.Next != int64(end) || told.Next < 0 {
			return fmt.Errorf("the chunk from %d to %d came to %+v", offset, end, told)
		}
		offset = int(told.Next)
	}
	return nil
}

func (p *peer) hears() (chunkTold, error) {
	select {
	case told := <-p.told:
		return told, nil
	case <-p.ctx.Done():
		return chunkTold{}, p.ctx.Err()
	case <-time.After(patience):
		return chunkTold{}, errors.New("no chunk is acknowledged")
	}
}

func (p *peer) finish(id string) error {
	var finished struct {
		Status, SHA256 string
	}
	if err := p.call("skills/upload/finish", map[string]any{"upload_id": id}, &finished); err != nil {
		return err
	}
	if finished.Status != "ready" {
		return errors.New("finished as " + finished.Status)
	}
	return nil
}

// upload sends an archive as a whole.
func (p *peer) upload(archive []byte) (id string, err error) {
	if id, err = p.start(archive); err == nil {
		err = p.send(id, archive, 0, 1<<20)
	}
	if err == nil {
		err = p.finish(id)
	}
	return id, err
}

// movedSkill is the answer to a change.
type movedSkill struct {
	Status string
	Skill  struct {
		Slug, Version, Fingerprint string
		InstallPath                string `json:"install_path"`
	}
}

func uploaded(id string) map[string]any {
	return map[string]any{"type": "uploaded_archive", "upload_id": id}
}

func (p *peer) install(id string) (m movedSkill, err error) {
	err = p.call("skills/install", map[string]any{"source": uploaded(id)}, &m)
	return m, err
}

func (p *peer) update(slug, id string) (m movedSkill, err error) {
	err = p.call("skills/update", map[string]any{"slug": slug, "source": uploaded(id)}, &m)
	return m, err
}

func (p *peer) uninstall(slug string) (m movedSkill, err error) {
	err = p.call("skills/uninstall", map[string]any{"slug": slug}, &m)
	return m, err
}

// packed makes a tar.gz of files.
func packed(files map[string]string) []byte {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err := tarInto(z, files); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func tarInto(z *gzip.Writer, files map[string]string) error {
	var errs []error
	t := tar.NewWriter(z)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		err := t.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(files[name])), ModTime: time.Unix(1, 0)})
		_, err2 := t.Write([]byte(files[name]))
		errs = append(errs, err, err2)
	}
	return errors.Join(append(errs, t.Close(), z.Close())...)
}

// skillFile is the SKILL.md of a version of a skill.
func skillFile(slug, version string) string {
	return fmt.Sprintf("---\nname: %s\ndescription: Is moved, as %s.\nversion: %s\n---\nDo it.\n", slug, version, version)
}

// archiveOf packs a version of a skill.
func archiveOf(slug, version string) []byte {
	return packed(map[string]string{slug + "/SKILL.md": skillFile(slug, version), slug + "/references/a.md": version + "\n"})
}
