package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/coder/websocket"
	"golang.org/x/sys/unix"

	"pannier"
	"pannier/publish/client"
)

// The crowd of TestCrowd, and what the sidecar may take of memory with it.
const (
	crowdStreams    = 1000 / crowdth
	crowdSlow       = 20 // of the streams, which leave what they are sent unread until they are dropped
	crowdWebSockets = 200 / crowdth
	crowdChanges    = 50
	crowdMemory     = 150 // MB
)

// TestCrowd has a thousand callers follow the events and two hundred the changes, while policy changes and a large skill is
// read. Each gets every event, once and in order, those who do not read too when they come back; all of them come back at
// once in the end; and the sidecar stays small.
func TestCrowd(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes both processors for some seconds")
	}
	needFiles(t, 2*2304) // for the whole of the sidecar's capacity
	w := workspaceWith(t, "mkdir skills/large; { printf -- '---\\nname: large\\ndescription: Has much to say.\\nmetadata:\\n  notes: '; head -c 12000 /dev/zero | tr '\\0' x; printf '\\n---\\nDo it.\\n'; } > skills/large/SKILL.md")
	s := startSidecar(t, w, "--platform-url", "off", "--state-dir", filepath.Join(shortDir(t), "state"), "--log-level", "error")
	alone := resident(t, s.cmd.Process.Pid)

	crowd := gather(t, s.socket)
	t.Logf("resident: %.1f MB alone, %.1f MB with the crowd", alone, resident(t, s.cmd.Process.Pid))
	last := s.disturb(t)
	crowd.told(t, "every reader has every event", last, crowd.readers())
	crowd.informed(t, s)
	s.metricIs(t, "pannier_event_streams_dropped_total", crowdSlow)
	close(crowd.awake)
	crowd.told(t, "those who were dropped come back", last, crowd.streams)
	crowd.comeBack()
	crowd.told(t, "all of them come back at once", last, crowd.streams)
	if h, err := s.Health(t.Context()); err != nil || h.WorkspaceID != testWorkspaceID {
		t.Errorf("health in the crowd: %v", err)
	}
	most := resident(t, s.cmd.Process.Pid)
	t.Logf("resident at most: %.1f MB, %d events for each of %d streams", most, last, crowdStreams)
	if !detecting && most > crowdMemory {
		t.Errorf("the sidecar took %.1f MB", most)
	}
}

// disturb makes the changes, and returns the number of the event that tells of the last of them.
func (s *sidecarUnderTest) disturb(t *testing.T) (last uint64) {
	t.Helper()
	for i := range crowdChanges {
		change := pannier.PolicyChange{Enabled: pannier.Toggle{Given: true, To: new(i%2 == 1)}}
		must(s.SetPolicy(t.Context(), "large", "", change))(t)
		if i%2 == 0 {
			continue // it can not be read now
		}
		must(s.Content(t.Context(), "large"))(t)
	}
	list := must(s.Skills(t.Context(), "", false))(t)
	eventually(t, "the last change is told", func() error {
		var told uint64
		err := s.Events(t.Context(), client.EventQuery{Types: []string{string(pannier.EventCatalogUpdated)}}, func(e pannier.Event) error {
			told, last = e.SnapshotVersion, e.Seq
			return nil
		})
		if err == nil && told != list.SnapshotVersion {
			err = fmt.Errorf("told of %d, of %d", told, list.SnapshotVersion)
		}
		return err
	})
	return last
}

// needFiles skips a test where a process may not open as many files, as this one and the sidecar both have to.
func needFiles(t *testing.T, n uint64) {
	t.Helper()
	var files unix.Rlimit
	need(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &files))
	if files.Cur < n { // Go raises the soft limit to the hard one at the start
		t.Skipf("a process may open %d files here, and this takes %d", files.Cur, n)
	}
}

// resident returns how many megabytes of memory a process has had at most: the high-water mark of the kernel.
func resident(t *testing.T, pid int) float64 {
	t.Helper()
	text := must(os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)))(t)
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	kilobytes := must(strconv.ParseFloat(strings.Fields(rest)[0], 64))(t)
	return kilobytes / 1000
}

// crowd are callers that follow a sidecar until the test ends.
type crowd struct {
	streams []*follower
	sockets []*listener
	awake   chan struct{} // closed once the slow ones begin to read
}

// gather connects the crowd, one caller after the other, so that all of them are there before anything happens.
func gather(t *testing.T, socket string) *crowd {
	t.Helper()
	c := &crowd{awake: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	t.Cleanup(func() { cancel(); all.Wait() })
	for i := range crowdStreams {
		f := &follower{socket: socket, slow: i < crowdSlow}
		need(t, f.connect(ctx))
		c.streams = append(c.streams, f)
		all.Go(func() { f.run(ctx, c.awake) })
	}
	client := &http.Client{Transport: overSocket(socket)}
	for range crowdWebSockets {
		conn, _, err := websocket.Dial(ctx, "ws://pannier/v1/rpc", &websocket.DialOptions{HTTPClient: client})
		need(t, err)
		l := &listener{conn: conn}
		c.sockets = append(c.sockets, l)
		all.Go(func() { l.run(ctx) })
	}
	return c
}

// readers are the streams that read from the start.
func (c *crowd) readers() []*follower { return c.streams[crowdSlow:] }

// told waits until streams have all events up to a number, for as long as any of them gets on: how long all take is up to the machine.
func (c *crowd) told(t *testing.T, what string, last uint64, streams []*follower) {
	t.Helper()
	state := func() (sum uint64, behind error) {
		for i, f := range streams {
			if fault := f.fault.Load(); fault != nil {
				t.Fatalf("stream %d: %v", i, *fault)
			}
			anew, got := f.anew.Load(), f.last.Load()
			if sum += got; behind == nil && (anew || got < last) {
				behind = fmt.Errorf("stream %d has %d of %d events", i, got, last)
			}
		}
		return sum, behind
	}
	for done := false; !done; {
		before, _ := state()
		eventually(t, what, func() error {
			sum, behind := state()
			if done = behind == nil; sum != before {
				return nil
			}
			return behind
		})
	}
}

// informed waits until every WebSocket knows of the newest snapshot.
func (c *crowd) informed(t *testing.T, s *sidecarUnderTest) {
	t.Helper()
	list := must(s.Skills(t.Context(), "", false))(t)
	eventually(t, "every WebSocket knows of the last change", func() error {
		for i, l := range c.sockets {
			if got := l.version.Load(); got != list.SnapshotVersion {
				return fmt.Errorf("WebSocket %d knows of %d, not of %d", i, got, list.SnapshotVersion)
			}
		}
		return nil
	})
}

// comeBack has every stream begin anew behind the first event.
func (c *crowd) comeBack() {
	for _, f := range c.streams {
		f.anew.Store(true)
		f.mu.Lock()
		f.conn.Close()
		f.mu.Unlock()
	}
}

// follower follows the events, and comes back behind the last one that it has whenever its stream ends.
type follower struct {
	socket string
	slow   bool
	last   atomic.Uint64 // the number of the newest event that it has
	anew   atomic.Bool   // begin behind the first event when the stream has ended
	fault  atomic.Pointer[error]

	mu   sync.Mutex
	conn net.Conn
	in   *bufio.Reader
}

func (f *follower) connect(ctx context.Context) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", f.socket)
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, func() { conn.Close() })
	f.mu.Lock()
	f.conn, f.in = conn, bufio.NewReader(conn)
	f.mu.Unlock()
	_, err = fmt.Fprintf(conn, "GET /v1/events HTTP/1.1\r\nHost: pannier\r\nLast-Event-ID: %d\r\n\r\n", f.last.Load())
	return err
}

// run reads events until ctx is done, and notes the first fault.
func (f *follower) run(ctx context.Context, awake <-chan struct{}) {
	if f.slow {
		select {
		case <-awake:
		case <-ctx.Done():
			return
		}
	}
	for ctx.Err() == nil {
		err := f.read()
		if f.anew.Load() {
			f.last.Store(1)
			f.anew.Store(false)
		}
		if err == nil {
			err = f.connect(ctx)
		}
		if err != nil {
			f.fault.CompareAndSwap(nil, &err)
			return
		}
	}
}

// read takes in events until the stream ends. It fails where one does not follow the one before. What is neither the line
// with a number nor the last of an event is passed over: the sizes of chunks among them.
func (f *follower) read() error {
	var seq uint64
	for {
		line, err := f.in.ReadString('\n')
		if err != nil {
			return nil
		}
		if text, ok := strings.CutPrefix(line, "id: "); ok {
			seq, _ = strconv.ParseUint(strings.TrimSpace(text), 10, 64)
			continue
		}
		if seq == 0 || line != "\n" {
			continue
		}
		if before := f.last.Load(); seq != before+1 || !f.last.CompareAndSwap(before, seq) {
			return fmt.Errorf("event %d came behind event %d", seq, before)
		}
		seq = 0
	}
}

// listener is told of changes over a WebSocket.
type listener struct {
	conn    *websocket.Conn
	version atomic.Uint64
}

func (l *listener) run(ctx context.Context) {
	defer l.conn.CloseNow()
	for {
		_, text, err := l.conn.Read(ctx)
		if err != nil {
			return
		}
		var told struct {
			Params struct {
				SnapshotVersion uint64 `json:"snapshot_version"`
			} `json:"params"`
		}
		if json.Unmarshal(text, &told) == nil {
			l.version.Store(told.Params.SnapshotVersion)
		}
	}
}
