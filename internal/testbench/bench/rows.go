package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/coder/websocket"
	"golang.org/x/sync/errgroup"
)

// loadClients is how many clients read at the same time.
const loadClients = 16

// row is a line of the table.
type row struct {
	name, what, unit string
	target           map[int]string // by number of skills
	floor            string         // one of floors, to compare the median with
	run              func(*trial)   // nil: the run of a row above records this one too
}

// rows are in the order of the table.
var rows = []row{
	{"start", "process start to /readyz, uncached", "ms", map[int]string{10000: "≤ 9x", 50000: "≤ 1400"}, "read", starts},
	{"restart", "the same after a stop", "ms", map[int]string{10000: "≤ 6x"}, "read", nil},
	{"change", "one change to POST, shortest waits, card trimmed", "ms", map[int]string{10000: "≤ 10"}, "", changes},
	{"look", "scan of that change", "ms", map[int]string{10000: "≤ 3"}, "", nil},
	{"install", "CPU of an installation among all skills", "ms", nil, "", installs},
	{"install-alone", "CPU of an installation without others", "ms", nil, "", nil},
	{"install-ratio", "the first over the second", "", map[int]string{10000: "≤ 1.5"}, "", nil},
	{"resync", "scan of an unchanged resync", "ms", map[int]string{10000: "≤ 28"}, "list", resyncs},
	{"rescan", "unchanged manual rescan over the socket", "ms", nil, "list", rescans},
	{"rescan-look", "scan of that rescan", "ms", map[int]string{10000: "≤ 1.5x"}, "list", nil},
	{"rest", "RSS at rest, default settings", "MB", map[int]string{100: "≤ 16", 1000: "≤ 22", 10000: "≤ 60"}, "", rest},
	{"peak", "peak RSS while 16 clients read", "MB", map[int]string{10000: "≤ 120"}, "", load},
	{"after", "RSS a third of that time later", "MB", map[int]string{10000: "≤ 66"}, "", nil},
	{"resolve-http", "POST /v1/resolve, each time another", "ms", map[int]string{1000: "p99 ≤ 0.5"}, "", resolveHTTP},
	{"resolve-rpc", "skills/resolve over one WebSocket", "ms", map[int]string{1000: "p99 ≤ 0.8"}, "", resolveRPC},
	{"list", "pannier list without a sidecar", "ms", map[int]string{10000: "≤ 350"}, "read", lists},
	{"audit", "pannier audit without a sidecar", "ms", map[int]string{10000: "≤ 900"}, "read", audits},
	{"size", "size of the binary", "MB", map[int]string{10000: "≤ 18"}, "", size},
}

func (t *trial) add(row string, value float64) { t.results[row] = append(t.results[row], value) }

func (t *trial) addTime(row string, d time.Duration) { t.add(row, float64(d.Nanoseconds())/1e6) }

// steady returns arguments of a sidecar that does nothing by itself, as one that has scanned all skills before.
func steady(more ...string) []string {
	return append([]string{"--scan", "off", "--resync", "0"}, more...)
}

func starts(t *trial) {
	t.addTime("start", t.start(t.tree, .02, steady()...))
	t.stop()
	t.addTime("restart", t.start(t.tree, .02, steady()...))
}

func changes(t *trial) {
	t.start(t.tree, .02, steady("--settle", "1us", "--debounce", "1s")...)
	next := filepath.Join(t.tree.dir, "next")
	for range t.samples {
		t.wait(1200 * time.Millisecond) // so that no push waits for the one before
		mark := fmt.Sprint("Edit ", time.Now().UnixNano())
		must(put(next, skillText(timed, mark)))
		t.measureScans("look", "event", func() {
			start := time.Now()
			must(os.Rename(next, filepath.Join(t.tree.root(), timed, "SKILL.md")))
			t.addTime("change", t.awaitPush(mark).Sub(start))
		})
	}
}

func skillText(name, description string) string {
	return fmt.Sprintf("---\nname: %s\ndescription: %s.\n---\nDo it.\n", name, description)
}

// measureScans records the mean of the scans of a trigger during do.
func (t *trial) measureScans(row, trigger string, do func()) {
	count, sum := t.scans(trigger)
	do()
	if n, total := t.scans(trigger); n > count {
		t.add(row, (total-sum)/(n-count))
	}
}

func installs(t *trial) {
	alone := t.install("install-alone", t.empty)
	t.stop()
	t.add("install-ratio", t.install("install", t.tree)/alone)
}

// install records the CPU of installations, each until its card is pushed and the sidecar is at rest again, and returns
// the median.
func (t *trial) install(row string, on tree) float64 {
	t.start(on, .02, steady("--debounce", "1s")...)
	var used []float64
	for range max(1, t.samples/3) {
		mark, dir := fmt.Sprint("Version ", time.Now().UnixNano()), filepath.Join(t.dir, "aaa-installed")
		must(put(filepath.Join(dir, "SKILL.md"), skillText("aaa-installed", mark)))
		must(put(filepath.Join(dir, "data.txt"), strings.Repeat(mark+"\n", 3000)))
		before := t.cpu()
		must(t.command(on, "install", dir).Run())
		t.awaitPush(mark)
		t.waitIdle(.02)
		used = append(used, t.cpu()-before)
		must(t.command(on, "uninstall", "aaa-installed").Run())
		t.wait(3 * time.Second) // past delete_grace
		t.waitIdle(.02)
	}
	t.results[row] = append(t.results[row], used...)
	return quantile(used, .5)
}

func resyncs(t *trial) {
	t.start(t.tree, .5, "--scan", "off", "--resync", "1s")
	for range t.samples {
		t.measureScans("resync", "resync", func() { t.wait(1100 * time.Millisecond) })
	}
}

func rescans(t *trial) {
	t.start(t.tree, .02, steady()...)
	for range t.samples {
		t.measureScans("rescan-look", "manual", func() {
			start := time.Now()
			must(t.request("POST", "/v1/rescan?wait=1", "", io.Discard))
			t.addTime("rescan", time.Since(start))
		})
		t.waitIdle(.1)
	}
}

func rest(t *trial) {
	t.start(t.tree, 2)
	t.wait(t.rest)
	t.add("rest", t.memory("VmRSS"))
}

func load(t *trial) {
	t.start(t.tree, .5)
	must(os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", t.sidecar.Pid), []byte("5"), 0)) // VmHWM begins anew
	var clients errgroup.Group
	end := time.Now().Add(t.load)
	for client := range loadClients {
		clients.Go(func() (err error) {
			for n := client; err == nil && time.Now().Before(end); n += loadClients {
				err = errors.Join(t.request("GET", "/v1/skills", "", io.Discard),
					t.request("GET", "/v1/prompt", "", io.Discard), t.request("POST", "/v1/prompt", t.turn(n), io.Discard))
			}
			return err
		})
	}
	must(clients.Wait())
	t.add("peak", t.memory("VmHWM"))
	t.wait(t.load / 3)
	t.add("after", t.memory("VmRSS"))
}

// turn returns a turn that names two skills. No two have the same text.
func (t *trial) turn(n int) string {
	names := t.tree.names
	const form = `{"text":"/skill:%s fill in %d.pdf\nAsk @skill:gone-%[2]d.","capabilities":[{"id":"c","slug":%[3]q}]}`
	return fmt.Sprintf(form, names[n*13%len(names)], n, names[n*7%len(names)])
}

// repeat records calls with other turns each time, after a few that warm the connection.
func (t *trial) repeat(row string, call func(n int) error) {
	for n := range 50*t.samples + 20 {
		start := time.Now()
		must(call(n))
		if n >= 20 {
			t.addTime(row, time.Since(start))
		}
	}
}

func resolveHTTP(t *trial) {
	t.start(t.tree, .02, steady()...)
	t.repeat("resolve-http", func(n int) error { return t.request("POST", "/v1/resolve", t.turn(n), io.Discard) })
}

func resolveRPC(t *trial) {
	t.start(t.tree, .02, steady()...)
	conn, _, err := websocket.Dial(t.ctx, "ws://pannier/v1/rpc", &websocket.DialOptions{HTTPClient: &t.client})
	must(err)
	defer conn.CloseNow()
	conn.SetReadLimit(-1)
	t.repeat("resolve-rpc", func(n int) error {
		call := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"skills/resolve","params":%s}`, n, t.turn(n))
		must(conn.Write(t.ctx, websocket.MessageText, []byte(call)))
		_, answer, err := conn.Read(t.ctx)
		if err == nil && !strings.Contains(fmt.Sprintf("%.100s", answer), `"result"`) {
			err = fmt.Errorf("skills/resolve: %.500s", answer)
		}
		return err
	})
}

func lists(t *trial)  { t.process("list") }
func audits(t *trial) { t.process("audit") }

// process measures a whole command. Exit code 1 is a negative answer.
func (t *trial) process(name string) {
	cmd, start := t.command(t.tree, name), time.Now()
	err := cmd.Run()
	t.addTime(name, time.Since(start))
	if cmd.ProcessState.ExitCode() != 1 {
		must(err)
	}
}

func size(t *trial) {
	info, err := os.Stat(t.binary)
	must(err)
	t.add("size", float64(info.Size())/1e6)
}
