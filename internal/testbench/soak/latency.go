package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// setting is one way to run the sidecar in a measurement.
type setting struct {
	name string
	args []string
	// rest is how long nothing is written before the next change, so that nothing settles any more.
	rest time.Duration
	// together measures all kinds at the same time, which disturbs nothing where they mostly wait.
	together bool
}

func measuredSettings() []setting {
	return []setting{
		{"`--settle 1ms`", []string{"--settle", "1ms"}, 100 * time.Millisecond, false},
		{"defaults", nil, 700 * time.Millisecond, true},
	}
}

// measure prints how long isolated changes of each kind take: from when the writing process is done with its last call to the
// answer of the list that shows them, which is asked for whenever the event stream tells of something.
func (s *soak) measure(ctx context.Context) error {
	s.endpoint.Close() // nothing is pushed
	fmt.Fprintln(s.out, "| change | settings | p50 | p99 | worst | samples |\n|---|---|---|---|---|---|")
	for _, setting := range measuredSettings() {
		rows, err := s.measureKinds(ctx, setting)
		if err != nil {
			return err
		}
		fmt.Fprintln(s.out, strings.Join(rows, "\n"))
	}
	return nil
}

// measureKinds returns a row for each kind, of a sidecar of its own.
func (s *soak) measureKinds(ctx context.Context, setting setting) ([]string, error) {
	var all sync.WaitGroup
	rows, errs := make([]string, len(kinds())), make([]error, len(kinds()))
	for i := range kinds() {
		all.Go(func() { rows[i], errs[i] = s.measureKind(ctx, setting, i) })
		if !setting.together {
			all.Wait()
		}
	}
	all.Wait()
	return rows, errors.Join(errs...)
}

// measureKind returns a row of the table.
func (s *soak) measureKind(ctx context.Context, setting setting, which int) (string, error) {
	p, err := s.newProbe(ctx, setting, which)
	if err != nil {
		return "", err
	}
	defer p.close()
	var samples []time.Duration
	for n := range s.samples {
		took, err := p.sample(ctx, n+1)
		if err != nil {
			return "", fmt.Errorf("%s, %s, sample %d: %w", kinds()[which].name, setting.name, n, err)
		}
		samples = append(samples, took)
		// A different rest each time, so that no timer of the sidecar keeps step with it.
		pause(ctx, setting.rest+time.Duration(n%10)*7*time.Millisecond)
	}
	slices.Sort(samples)
	ms := func(q float64) string {
		return fmt.Sprintf("%.1f ms", float64(quantile(samples, q).Microseconds())/1000)
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %d |", kinds()[which].name, setting.name, ms(.5), ms(.99), ms(1), len(samples)), nil
}

// probe measures one kind of change on a sidecar of its own.
type probe struct {
	which  int
	dir    string
	side   *sidecar
	hand   *pen
	events *http.Response
	told   chan struct{} // has a value when the event stream told of something
	ended  chan struct{} // closed when listen has ended
}

func (s *soak) newProbe(ctx context.Context, setting setting, which int) (*probe, error) {
	dir, err := os.MkdirTemp(s.dir, "l")
	if err != nil {
		return nil, err
	}
	root := filepath.Join(dir, "ws", "skills")
	if err := prepare(root); err != nil {
		return nil, err
	}
	if err := os.Symlink(filepath.Join(s.dir, "pannier"), filepath.Join(dir, "pannier")); err != nil {
		return nil, err
	}
	p := &probe{which: which, dir: dir, told: make(chan struct{}, 1), ended: make(chan struct{})}
	if p.hand, err = startPen(roleHand, root); err != nil {
		return nil, err
	}
	args := append([]string{
		"run", "--workspace", filepath.Dir(root), "--socket", filepath.Join(dir, "s"), "--state-dir", filepath.Join(dir, "state"),
		"--environment-own", "block", "--platform-url", "off",
	}, setting.args...)
	if p.side, err = startSidecar(ctx, dir, 0, args...); err != nil {
		return nil, err
	}
	pause(ctx, setting.rest)
	return p, p.follow(ctx)
}

// follow opens the event stream.
func (p *probe) follow(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://pannier/v1/events?types=skill_catalog_updated", nil)
	if err != nil {
		return err
	}
	streaming := p.side.client
	streaming.Timeout = 0
	if p.events, err = streaming.Do(req); err != nil {
		return err
	}
	go p.listen()
	return nil
}

// listen ends with the stream.
func (p *probe) listen() {
	defer close(p.ended)
	for lines := bufio.NewScanner(p.events.Body); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "id: ") || strings.HasPrefix(lines.Text(), "data: ") {
			select {
			case p.told <- struct{}{}:
			default:
			}
		}
	}
}

func (p *probe) close() {
	p.events.Body.Close()
	<-p.ended
	p.side.kill()
	p.hand.close()
}

// sample makes a change and returns how long it took to become visible.
func (p *probe) sample(ctx context.Context, n int) (time.Duration, error) {
	if err := p.hand.tell(strconv.Itoa(p.which) + " " + strconv.Itoa(n)); err != nil {
		return 0, err
	}
	change, err := p.hand.rest()
	if err != nil {
		return 0, err
	}
	deadline := time.After(patience)
	for {
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-deadline:
			return 0, errors.New("the change does not become visible")
		case <-p.told:
		}
		if visible, err := p.visible(ctx, n); visible || err != nil {
			return time.Since(change.at), err
		}
	}
}

// visible reports whether the list shows change number n everywhere.
func (p *probe) visible(ctx context.Context, n int) (bool, error) {
	list, err := p.side.list(ctx)
	if err != nil {
		return false, err
	}
	sum := sha256.Sum256([]byte(newToken(p.which, n).text(1000)))
	want, changed := "sha256:"+hex.EncodeToString(sum[:]), map[string]bool{}
	for _, skill := range list.Skills {
		changed[skill.Path] = skill.Digest == want
	}
	for _, name := range kinds()[p.which].skills(n) {
		if !changed["skills/"+name] {
			return false, nil
		}
	}
	return true, nil
}
