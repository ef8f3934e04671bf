package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"pannier/internal/testbench/oracle"
)

// early is how many cards can have been pushed before the end of the first round.
const early = 20

// round lets the writers work, with or without trouble, and then holds everything against the disk.
func (s *soak) round(ctx context.Context) error {
	untold := s.life.resync > 0 && s.rng.IntN(4) == 0
	if err := s.churn(ctx, untold); err != nil {
		return err
	}
	s.tally.rounds++
	if err := s.converges(ctx, untold); err != nil {
		if ctx.Err() == nil { // who is told to end has not compared to the end
			s.tally.divergences++
		}
		return err
	}
	if err := s.published(ctx); err != nil {
		return err
	}
	return s.sample(ctx)
}

// churn lets the writers work for a while. When it returns, no writer and no fault is active.
func (s *soak) churn(ctx context.Context, untold bool) error {
	command := commandGo
	if s.untold = untold; untold {
		command = commandGoAny
	}
	var errs []error
	for _, p := range s.pens {
		errs = append(errs, p.tell(command))
	}
	errs = append(errs, s.chaos.run(ctx, s, s.churnTime()))
	for _, p := range s.pens {
		errs = append(errs, p.tell(commandPause))
	}
	s.tally.ops, s.tally.issued = 0, map[int]int{}
	for i, p := range s.pens {
		done, err := p.rest()
		errs = append(errs, err)
		s.tally.ops += done.ops
		s.tally.issued[i] = done.tokens
		s.tally.quiet = later(s.tally.quiet, done.at)
	}
	errs = append(errs, s.chaos.end(s), (&writer{workspace: s.workspace}).allowAll())
	s.tally.quiet = later(s.tally.quiet, s.chaos.over)
	return errors.Join(errs...)
}

// churnTime returns how long a round lasts. Half of them are so short that nothing else tells of what one event did not.
func (s *soak) churnTime() time.Duration {
	if s.rng.IntN(2) == 0 {
		return time.Duration(20+s.rng.IntN(100)) * time.Millisecond
	}
	return time.Duration(300+s.rng.IntN(2700)) * time.Millisecond
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// eventTime is how long events of a change may take on a busy machine. A resync that runs meanwhile can read the change
// first, and then says nothing about events.
const eventTime = time.Second

// converges waits until the list shows the tree as it is, and then once more, since nothing may change any more. Where
// untold is not set, events alone must have brought that about.
func (s *soak) converges(ctx context.Context, untold bool) error {
	tree, err := oracle.Walk(s.rules)
	if err != nil {
		return fmt.Errorf("walk: %w", err)
	}
	before, err := s.side.metrics(ctx)
	if err != nil {
		return err
	}
	same := func() error { return s.shows(ctx, tree) }
	if err := within(ctx, "the list shows the tree", same); err != nil {
		return err
	}
	took := time.Since(s.tally.quiet)
	s.tally.visible(took)
	after, err := s.side.metrics(ctx)
	if err != nil {
		return err
	}
	const found = "pannier_resync_found_changes_total"
	if grown := after[found] - before[found]; grown > 0 {
		s.tally.resyncFound += int(grown)
		if !untold && took > eventTime {
			return fmt.Errorf("only a resync saw %v changes that the kernel tells of", grown)
		}
	}
	return nil
}

// shows returns nil where the list shows a tree, with nothing in the grace of its deletion.
func (s *soak) shows(ctx context.Context, tree oracle.Tree) error {
	list, err := s.side.list(ctx)
	if err != nil {
		return err
	}
	if len(list.Held.Deleting) > 0 {
		return fmt.Errorf("still in their grace: %q", list.Held.Deleting)
	}
	return list.Against(tree)
}

// published waits until the endpoint holds the card that the sidecar shows, and judges what it was sent.
func (s *soak) published(ctx context.Context) error {
	var card []byte
	err := within(ctx, "the endpoint holds the newest card", func() (err error) {
		if card, err = s.side.get(ctx, "/v1/card"); err != nil {
			return err
		}
		if s.withheld(ctx) {
			return nil
		}
		metrics, err := s.side.metrics(ctx)
		return errors.Join(err, arrived(metrics), s.named(card), s.endpoint.Holds(card))
	})
	if err != nil {
		return err
	}
	// What is not on the card, because config.yaml does not list it, can be held as it was all the same.
	list, err := s.side.get(ctx, "/v1/skills")
	if err != nil {
		return err
	}
	err = s.states.settle(s.workspace, list, s.tally.issued)
	return errors.Join(err, s.states.judge(card), s.endpoint.Err(), s.bounded(ctx))
}

// arrived returns nil where no card is on its way. The endpoint can hold the newest one all the same, where a change was
// taken back, and an older one whose push has begun or failed would still come after it.
func arrived(metrics map[string]float64) error {
	for series, value := range metrics {
		if strings.HasPrefix(series, "pannier_outbox_pending{") && value != 0 {
			return errors.New("a card is on its way")
		}
	}
	return nil
}

// withheld reports whether the sidecar says that it keeps its card back, and may: config.yaml is broken, and has been since before
// this life began.
func (s *soak) withheld(ctx context.Context) bool {
	config, err := os.ReadFile(filepath.Join(s.workspace, "config.yaml"))
	if err != nil || !bytes.Contains(config, []byte("[open")) {
		return false
	}
	health, err := s.side.get(ctx, "/v1/health")
	return err == nil && bytes.Contains(health, []byte(`"card_withheld"`))
}

// named returns nil where a card has the name that config.yaml gives, or config.yaml cannot be read.
func (s *soak) named(text []byte) error {
	config, err := os.ReadFile(filepath.Join(s.workspace, "config.yaml"))
	if err != nil || bytes.Contains(config, []byte("[open")) {
		return err
	}
	var card struct{ Name string }
	if err := json.Unmarshal(text, &card); err != nil {
		return err
	}
	if !bytes.HasPrefix(config, []byte("name: "+card.Name+"\n")) {
		return fmt.Errorf("the card is called %q, config.yaml says %.40q", card.Name, config)
	}
	return nil
}

// bounded returns nil where no more cards were acknowledged than there can have been.
func (s *soak) bounded(ctx context.Context) error {
	list, err := s.side.list(ctx)
	if err != nil {
		return err
	}
	if s.tally.first == 0 {
		s.tally.first = list.SnapshotVersion
	}
	counts := s.endpoint.Counts()
	if counts.Repeated > 0 {
		return fmt.Errorf("%d cards were pushed again though they were acknowledged", counts.Repeated)
	}
	// Each needs a snapshot of its own, but those before the first round, of a new life, or whose answer was lost.
	if most := int(list.SnapshotVersion-s.tally.first) + s.life.number + counts.Lost + early; counts.Acknowledged > most {
		return fmt.Errorf("%d cards were acknowledged, %d can have been", counts.Acknowledged, most)
	}
	return nil
}
