package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"pannier/internal/testbench/oracle"
)

// cadence is one way to write, and what is to come of it with the default settings. Times are from a write until its change is
// listed, or is on the platform.
type cadence struct {
	name   string
	before string // what the tree-wide debounce of earlier versions took
	target string
	skills int
	write  func(ctx context.Context, m *cadenceRun)
	result func(m *cadenceRun) string
}

// calm is how long nothing is written before and after a cadence, longer than every wait of the sidecar.
const calm = 5 * time.Second

func cadences(samples int) []cadence {
	all := []cadence{{
		name: "edits each 2 to 4 s beside a log that grows each 0.3 to 1.5 s, on the platform", before: "7 / 7.9 s", target: "0.3 / 1.2 s",
		skills: 10, result: (*cadenceRun).onPlatform,
		write: func(ctx context.Context, m *cadenceRun) {
			ctx, stop := context.WithCancel(ctx)
			var noise sync.WaitGroup
			noise.Go(func() { m.growLog(ctx) })
			m.edits(ctx, samples, 2*time.Second, 4*time.Second)
			stop()
			noise.Wait()
		},
	}}
	for _, every := range []time.Duration{1000, 1500, 2000, 2500} {
		every *= time.Millisecond
		before := "-"
		if every == 1500*time.Millisecond {
			before = "3.5 / 6.5 s"
		}
		all = append(all, cadence{
			name: fmt.Sprintf("edits each %v, on the platform", every), before: before, target: "0.3 / 1.2 s", skills: 10, result: (*cadenceRun).onPlatform,
			write: func(ctx context.Context, m *cadenceRun) { m.edits(ctx, samples, every, every) },
		})
	}
	quick := func(ctx context.Context, m *cadenceRun) {
		m.edits(ctx, 2*samples, 300*time.Millisecond, 900*time.Millisecond)
	}
	return append(all,
		cadence{"edits each 0.3 to 0.9 s, listed", "-", "p50 0.3 s", 10, quick, (*cadenceRun).onList},
		cadence{"the same, on the platform", "-", "max 3.3 s", 10, quick, (*cadenceRun).onPlatform},
		cadence{"a write each 100 ms for 30 s", "299 pushes, short debounce", "12 pushes", 10, func(ctx context.Context, m *cadenceRun) {
			m.edits(ctx, 300, 100*time.Millisecond, 100*time.Millisecond)
		}, (*cadenceRun).pushCount},
		cadence{"200 files over 3.2 s", "-", "3 pushes", 200, func(ctx context.Context, m *cadenceRun) { m.replaceAll(ctx, 200, 3200*time.Millisecond) }, (*cadenceRun).pushCount},
		cadence{"1,000 files over 2 s, as by git pull", "-", "2 pushes, the first ≤ 0.5 s after", 1000, func(ctx context.Context, m *cadenceRun) { m.replaceAll(ctx, 1000, 2*time.Second) }, (*cadenceRun).pushCount},
	)
}

// measureCadences prints a row for each cadence. They run at the same time, because they mostly wait, but for the last, which does
// not.
func (s *soak) measureCadences(ctx context.Context) error {
	fmt.Fprintln(s.out, "| writes | before | target | p50 / max, or pushes |\n|---|---|---|---|")
	all := cadences(min(s.samples, 20))
	rows, errs := make([]string, len(all)), make([]error, len(all))
	var running sync.WaitGroup
	for i, c := range all {
		if i == len(all)-1 {
			running.Wait()
		}
		running.Go(func() { rows[i], errs[i] = s.measureCadence(ctx, c) })
	}
	running.Wait()
	for i, row := range rows {
		if errs[i] != nil {
			return fmt.Errorf("%s: %w", all[i].name, errs[i])
		}
		fmt.Fprintln(s.out, row)
	}
	return nil
}

// cadenceRun is a cadence on a sidecar and a platform of its own.
type cadenceRun struct {
	root     string
	side     *sidecar
	endpoint *oracle.Endpoint

	mu     sync.Mutex
	pushes []seen
	listed []seen
	// written is when each edit was made, by its number less one; ended is when the last was.
	written []time.Time
	ended   time.Time
	err     error
}

// seen is when a card or a list with an edit was there.
type seen struct {
	at   time.Time
	edit int
}

var editNumber = regexp.MustCompile(`Edit (\d+)\.`)

// newestEdit returns the highest number of an edit in a text.
func newestEdit(text []byte) (newest int) {
	for _, found := range editNumber.FindAllSubmatch(text, -1) {
		if n, err := strconv.Atoi(string(found[1])); err == nil {
			newest = max(newest, n)
		}
	}
	return newest
}

func (s *soak) measureCadence(ctx context.Context, c cadence) (string, error) {
	dir, err := os.MkdirTemp(s.dir, "c")
	if err != nil {
		return "", err
	}
	m := &cadenceRun{root: filepath.Join(dir, "ws", "skills")}
	for i := range c.skills {
		if err := m.write(i, 0); err != nil {
			return "", err
		}
	}
	if m.endpoint, err = oracle.NewEndpoint(workspaceID, authToken, m.take); err != nil {
		return "", err
	}
	defer m.endpoint.Close()
	if err := os.Symlink(filepath.Join(s.dir, "pannier"), filepath.Join(dir, "pannier")); err != nil {
		return "", err
	}
	m.side, err = startSidecar(ctx, dir, 0, "run", "--workspace", filepath.Dir(m.root), "--workspace-id", workspaceID, "--socket", filepath.Join(dir, "s"),
		"--state-dir", filepath.Join(dir, "state"), "--environment-own", "block",
		"--platform-url", m.endpoint.URL(), "--platform-token-file", filepath.Join(s.dir, "token"))
	if err != nil {
		return "", err
	}
	defer m.side.kill()
	pause(ctx, calm)
	m.mu.Lock()
	m.pushes = nil
	m.mu.Unlock()
	watching, stop := context.WithCancel(ctx)
	var watch sync.WaitGroup
	if c.skills <= 10 {
		watch.Go(func() { m.watchList(watching) })
	}
	c.write(ctx, m)
	m.ended = time.Now()
	pause(ctx, calm)
	stop()
	watch.Wait()
	if err := errors.Join(m.err, ctx.Err()); err != nil {
		return "", err
	}
	return fmt.Sprintf("| %s | %s | %s | %s |", c.name, c.before, c.target, c.result(m)), nil
}

// take records a card that the platform was given.
func (m *cadenceRun) take(card json.RawMessage) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pushes = append(m.pushes, seen{time.Now(), newestEdit(card)})
	return nil
}

// watchList asks for the list all the time.
func (m *cadenceRun) watchList(ctx context.Context) {
	for newest := 0; ctx.Err() == nil; pause(ctx, 5*time.Millisecond) {
		if text, err := m.side.get(ctx, "/v1/skills"); err == nil && newestEdit(text) > newest {
			newest = newestEdit(text)
			m.listed = append(m.listed, seen{time.Now(), newest})
		}
	}
}

// write writes skill number i with an edit, as editors and git do.
func (m *cadenceRun) write(i, edit int) error {
	dir := filepath.Join(m.root, fmt.Sprintf("s%04d", i))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	text := fmt.Sprintf("---\nname: s%04d\ndescription: Edit %d.\n---\nDo it.\n", i, edit)
	return replaceFile(filepath.Join(dir, "SKILL.md"), text)
}

// edits makes n edits of one skill, a random time of least to most apart.
func (m *cadenceRun) edits(ctx context.Context, n int, least, most time.Duration) {
	for next := time.Now(); len(m.written) < n && ctx.Err() == nil; {
		m.written = append(m.written, time.Now())
		if err := m.write(0, len(m.written)); err != nil {
			m.err = err
			return
		}
		next = next.Add(least + time.Duration(rand.Int64N(int64(most-least)+1)))
		pause(ctx, time.Until(next))
	}
}

// replaceAll edits many skills, evenly over some time.
func (m *cadenceRun) replaceAll(ctx context.Context, n int, during time.Duration) {
	began := time.Now()
	for i := range n {
		if err := m.write(i, i+1); err != nil {
			m.err = err
			return
		}
		pause(ctx, time.Until(began.Add(during*time.Duration(i+1)/time.Duration(n))))
	}
}

// growLog appends to a file beside another skill.
func (m *cadenceRun) growLog(ctx context.Context) {
	for ctx.Err() == nil {
		file, err := os.OpenFile(filepath.Join(m.root, "s0001", "run.log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
		if err == nil {
			_, _ = file.WriteString("line\n")
			file.Close()
		}
		pause(ctx, 300*time.Millisecond+rand.N(1200*time.Millisecond))
	}
}

func (m *cadenceRun) onPlatform() string { return m.delays(m.pushes) }

func (m *cadenceRun) onList() string { return m.delays(m.listed) }

// delays returns p50 and maximum of the time from each edit to the first that shows it.
func (m *cadenceRun) delays(shown []seen) string {
	var took []time.Duration
	for i, at := range m.written {
		first := slices.IndexFunc(shown, func(s seen) bool { return s.edit > i })
		if first < 0 {
			return fmt.Sprintf("edit %d is lost", i+1)
		}
		took = append(took, shown[first].at.Sub(at))
	}
	slices.Sort(took)
	return fmt.Sprintf("%.2f / %.2f s, %d pushes", quantile(took, .5).Seconds(), quantile(took, 1).Seconds(), len(m.pushes))
}

// pushCount returns how many pushes there were, and when each was after the last write.
func (m *cadenceRun) pushCount() string {
	var after []string
	for _, p := range m.pushes {
		if late := p.at.Sub(m.ended); late > 0 {
			after = append(after, fmt.Sprintf("%.2f s", late.Seconds()))
		}
	}
	return fmt.Sprintf("%d pushes, after the last write: %s", len(m.pushes), strings.Join(after, ", "))
}
