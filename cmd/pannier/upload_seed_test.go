package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"github.com/coder/websocket"
)

// The calls of the examples in the Pioneer skills protocol, as they stand there, but for the ids and digests that a gateway
// gives.
const (
	exampleWorkspace = "ws_000000000000000001"
	exampleSize      = 73422
	exampleStart     = `{
  "jsonrpc": "2.0",
  "id": "bbbbbbbbbbbbbbbbbbbbb",
  "method": "skills/upload/start",
  "params": {
    "workspace_id": "ws_000000000000000001",
    "file_name": "documents.tar.gz",
    "archive_format": "tar_gz",
    "compressed_size_bytes": 73422,
    "uncompressed_size_hint_bytes": 240000,
    "sha256": "9f86d081884c7d659a2feaa0c55ad015..."
  }
}`
	exampleFinish = `{
  "jsonrpc": "2.0",
  "id": "ccccccccccccccccccccc",
  "method": "skills/upload/finish",
  "params": {
    "workspace_id": "ws_000000000000000001",
    "upload_id": "upl_000000000000000001"
  }
}`
	exampleInstall = `{
  "jsonrpc": "2.0",
  "id": "ddddddddddddddddddddd",
  "method": "skills/install",
  "params": {
    "workspace_id": "ws_000000000000000001",
    "source": {
      "type": "uploaded_archive",
      "upload_id": "upl_000000000000000001"
    },
    "target_source_kind": "workspace"
  }
}`
	exampleList = `{
  "jsonrpc": "2.0",
  "id": "aaaaaaaaaaaaaaaaaaaaa",
  "method": "skills/list",
  "params": {
    "workspace_id": "ws_000000000000000001",
    "include_health": true,
    "include_policy": true
  }
}`
)

// TestExampleOfTheProtocol goes through the upload flow of the protocol to the byte: start, a frame, finish, install, the
// notification, the list.
func TestExampleOfTheProtocol(t *testing.T) {
	t.Parallel()
	s := startSidecar(t, newWorkspace(t), "--platform-url", "off", "--state-dir", t.TempDir(), "--workspace-id", exampleWorkspace, "--trust-install", "verified")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	conn, _, err := dialWire(ctx, s.socket)
	need(t, err)
	defer conn.CloseNow()
	e := &conversation{t: t, ctx: ctx, conn: conn}
	archive := exampleArchive(t)

	started := e.call(strings.Replace(exampleStart, "9f86d081884c7d659a2feaa0c55ad015...", sumOf(archive), 1))
	e.has(started, "upload_id", "recommended_chunk_size_bytes", "max_chunk_size_bytes", "max_compressed_size_bytes", "max_uncompressed_size_bytes", "expires_at_unix")
	e.holds(started, `"recommended_chunk_size_bytes":1048576,"max_chunk_size_bytes":4194304,"max_compressed_size_bytes":104857600,"max_uncompressed_size_bytes":524288000`)
	id := e.field(started, "upload_id")

	header := fmt.Sprintf(`{
  "workspace_id": "ws_000000000000000001",
  "upload_id": %q,
  "offset": 0,
  "len": 73422,
  "chunk_sha256": %q
}`, id, sumOf(archive))
	need(t, conn.Write(ctx, websocket.MessageBinary, chunkFrame(header, archive)))
	e.told("skills/upload/chunk_ack", fmt.Sprintf(`{"upload_id":%q,"offset":0,"len":73422,"received_bytes":73422,"next_offset":73422}`, id))

	finished := e.call(strings.Replace(exampleFinish, "upl_000000000000000001", id, 1))
	e.holds(finished, fmt.Sprintf(`{"upload_id":%q,"status":"ready","sha256":%q,"compressed_size_bytes":73422}`, id, sumOf(archive)))

	installed := e.call(strings.Replace(exampleInstall, "upl_000000000000000001", id, 1))
	e.has(installed, "status", "skill", "audit", "validation_issues")
	e.holds(installed, `"status":"installed","skill":{"slug":"documents","source_kind":"workspace","version":"0.1.0","fingerprint":"sha256:`)
	e.holds(installed, `"trust_level":"trusted","install_path":"`+s.workspace+`/skills/documents"},"audit":{"events_written":2},"validation_issues":[{"code":"install.explicit_only","level":"info","message":"`)
	e.told("skills/changed", `"workspace_id":"ws_000000000000000001"`)

	list := e.call(exampleList)
	e.has(list, "snapshot_version", "generated_at", "skills")
	e.holds(list, `"slug":"documents","source_kind":"workspace","display_name":"Documents","description":"Work with document files.","version":"0.1.0","fingerprint":"sha256:`)
	e.holds(list, `"trust_level":"trusted","install":{"managed":true,"installed":true,"install_path":"`+s.workspace+`/skills/documents","updated_at":`)
	e.holds(list, `"health":{"status":"ok","dependency_failures":[],"security_blocks":[],"validation_issues":[]`)
	e.holds(list, `"status":"ready"`)
}

// exampleArchive is documents.tar.gz of as many bytes as the example has.
func exampleArchive(t *testing.T) []byte {
	t.Helper()
	source := rand.New(rand.NewSource(1))
	made := func(noise, comment int) []byte {
		random := make([]byte, noise)
		source.Read(random)
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		z.Comment = strings.Repeat("c", comment) // makes up for what noise can not
		err := tarInto(z, map[string]string{
			"documents/SKILL.md":     "---\nname: Documents\nslug: documents\ndescription: Work with document files.\nversion: 0.1.0\n---\n# Documents\nWork.\n",
			"documents/template.bin": string(random),
		})
		need(t, err)
		return b.Bytes()
	}
	for noise, comment := 70_000, 100; ; {
		archive := made(noise, comment)
		missing := exampleSize - len(archive)
		switch {
		case missing == 0:
			return archive
		case max(missing, -missing) < 100:
			comment += missing
		default:
			noise += missing
		}
	}
}

// conversation is one WebSocket on which the calls of an example are made.
type conversation struct {
	t    *testing.T
	ctx  context.Context
	conn *websocket.Conn
	kept []message
}

type message struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  json.RawMessage
}

// call makes a call as it is written, and returns its result.
func (e *conversation) call(text string) string {
	e.t.Helper()
	var asked message
	err := json.Unmarshal([]byte(text), &asked)
	if err == nil {
		err = fits(asked.Method, "params", asked.Params)
	}
	if err == nil {
		err = e.conn.Write(e.ctx, websocket.MessageText, []byte(text))
	}
	need(e.t, err)
	m := e.next(func(m message) bool { return bytes.Equal(m.ID, asked.ID) })
	if err := fits(asked.Method, "result", m.Result); m.Error != nil || err != nil {
		e.t.Fatalf("%s: %s %s %v", asked.Method, m.Error, m.Result, err)
	}
	return string(m.Result)
}

// told waits for a notification whose parameters hold a text.
func (e *conversation) told(method, text string) {
	e.t.Helper()
	m := e.next(func(m message) bool { return m.Method == method && strings.Contains(string(m.Params), text) })
	if err := fits(method, "params", m.Params); err != nil {
		e.t.Error(err)
	}
}

// next returns the next message that is one, of those that were kept and those that come. The others are kept.
func (e *conversation) next(is func(message) bool) message {
	e.t.Helper()
	for i, m := range e.kept {
		if is(m) {
			e.kept = append(e.kept[:i], e.kept[i+1:]...)
			return m
		}
	}
	for {
		_, text, err := e.conn.Read(e.ctx)
		if err != nil {
			e.t.Fatalf("%v; kept %+v", err, e.kept)
		}
		var m message
		need(e.t, json.Unmarshal(text, &m))
		if is(m) {
			return m
		}
		e.kept = append(e.kept, m)
	}
}

// has checks that the members of the example's answer are all in an answer.
func (e *conversation) has(result string, members ...string) {
	e.t.Helper()
	var got map[string]json.RawMessage
	need(e.t, json.Unmarshal([]byte(result), &got))
	for _, name := range members {
		if got[name] == nil {
			e.t.Errorf("no %s in %s", name, result)
		}
	}
}

func (e *conversation) holds(result, part string) {
	e.t.Helper()
	if !strings.Contains(result, part) {
		e.t.Errorf("%s does not hold %s", result, part)
	}
}

func (e *conversation) field(result, name string) string {
	e.t.Helper()
	var got map[string]any
	need(e.t, json.Unmarshal([]byte(result), &got))
	text, _ := got[name].(string)
	return text
}
