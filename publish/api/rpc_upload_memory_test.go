package api_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"
	"github.com/hashicorp/go-hclog"

	"pannier"
	"pannier/admin/upload"
	"pannier/internal/state"
	"pannier/publish/api"
)

// takeUploads serves uploads on a socket, beside which they are kept.
func takeUploads(path string) int {
	err := func() error {
		dir := filepath.Dir(path)
		values, err := state.Open(dir)
		if err != nil {
			return err
		}
		store, err := upload.Open(upload.Options{Dir: filepath.Join(dir, "uploads"), Values: values, Limits: uploadLimits})
		if err != nil {
			return err
		}
		c := newCallable(catalog())
		c.content.Uploads = store
		l, err := api.Listen(context.Background(), path, 0o600)
		if err != nil {
			return err
		}
		fmt.Println("ready")
		ctx, stop := context.WithCancel(context.Background())
		go func() {
			io.Copy(io.Discard, os.Stdin)
			stop()
		}()
		return api.Serve(ctx, l, c.handler(), hclog.NewNullLogger())
	}()
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println(peakMemory())
	return 0
}

// peakMemory is the most memory that this process had, in KiB (proc_pid_status(5), VmHWM).
func peakMemory() string {
	status, _ := os.ReadFile("/proc/self/status")
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	peak, _, _ := strings.Cut(rest, "kB")
	return strings.TrimSpace(peak)
}

// TestUploadsTakeLittleMemory, however many come in at once and however large their chunks are.
func TestUploadsTakeLittleMemory(t *testing.T) {
	const uploads, size, chunk, most = 64, 4 << 20, 2 << 20, 100 << 10 // most in KiB
	if info, ok := debug.ReadBuildInfo(); ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		t.Skip("the race detector takes memory of its own")
	}
	path := socketPath(t)
	p := start(t, roleTake, path, umaskVariable+"=077")
	if line := p.line(t); line != "ready" {
		t.Fatal(line)
	}
	text := bytes.Repeat([]byte("0123456789abcdef"), size/16)
	var senders sync.WaitGroup
	for range uploads {
		senders.Go(func() {
			if err := sendAll(t, path, text, chunk); err != nil {
				t.Error(err)
			}
		})
	}
	senders.Wait()
	p.stdin.Close()
	line := p.line(t)
	peak, err := strconv.Atoi(line)
	if err != nil || peak > most {
		t.Errorf("%s KiB at most, which is more than %d", line, most)
	}
	t.Logf("%s KiB at most", line)
	if err := p.cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// sendAll uploads an archive over a connection of its own.
func sendAll(t *testing.T, path string, text []byte, chunk int) error {
	ctx, cancel := context.WithTimeout(t.Context(), 2*deadline)
	defer cancel()
	transport := caller(t, path).Transport
	conn, _, err := websocket.Dial(ctx, "ws://pannier/v1/rpc", &websocket.DialOptions{HTTPClient: &http.Client{Transport: transport}})
	if err != nil {
		return err
	}
	defer conn.CloseNow()
	exchange := func(kind websocket.MessageType, frame []byte) (string, error) {
		if err := conn.Write(ctx, kind, frame); err != nil {
			return "", err
		}
		_, answer, err := conn.Read(ctx)
		return string(answer), err
	}
	started, err := exchange(websocket.MessageText, []byte(rpcRequest("1", "skills/upload/start", fmt.Sprintf(`{"archive_format":"tar_gz","compressed_size_bytes":%d,"sha256":%q}`, len(text), hexOf(string(text))))))
	_, id, _ := strings.Cut(started, `"upload_id":"`)
	id, _, _ = strings.Cut(id, `"`)
	for at := 0; at < len(text) && err == nil; at += chunk {
		part := text[at:min(at+chunk, len(text))]
		var ack string
		ack, err = exchange(websocket.MessageBinary, chunkFrame(pannier.UploadChunk{UploadID: id, Offset: int64(at), Len: int64(len(part))}, part))
		if want := fmt.Sprintf(`"next_offset":%d}`, at+len(part)); err == nil && !strings.Contains(ack, want) {
			return fmt.Errorf("told %s, want %s", ack, want)
		}
	}
	if err != nil {
		return err
	}
	finished, err := exchange(websocket.MessageText, []byte(rpcRequest("2", "skills/upload/finish", fmt.Sprintf(`{"upload_id":%q}`, id))))
	if err == nil && !strings.Contains(finished, `"status":"ready"`) {
		err = fmt.Errorf("finish: %s", finished)
	}
	return err
}
