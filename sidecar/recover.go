package sidecar

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"pannier"
	"pannier/registry"
)

const (
	// recoverAgain is how long the recovery waits after a skill that could not be scanned.
	recoverAgain = 5 * time.Second
	// releaseEvery is how often skills that were scanned are released while there are more to come.
	releaseEvery = time.Second
)

// recoverRefusals scans every skill while the results of scans are lost and policy is known from the audit log, one at a time.
// A skill is released once its scan is through; one with a blocking finding is blocked by that. After the last one, nothing is
// lost any more.
func (c *core) recoverRefusals(ctx context.Context) error {
	r := c.state.refusals
	if !r.replayed {
		return nil
	}
	snapshots, cancel := c.registry.Subscribe()
	defer cancel()
	released := map[string]pannier.Digest{}
	for r.lost.Load() != nil {
		var again <-chan time.Time
		if c.registry.Current() != nil {
			left := c.scanLost(ctx, released)
			if ctx.Err() != nil {
				return nil
			}
			if left == nil {
				if left = r.end(); left == nil {
					c.log.Info("policy and blocks are recovered", "skills", len(released))
					c.showRefusals()
					return nil
				}
			}
			c.log.Warn("policy and blocks are not recovered yet", "error", left)
			again = time.After(recoverAgain)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-snapshots:
		case <-again:
		}
	}
	return nil
}

// scanLost scans the skills that are not released, and fails with the first that cannot be scanned, after the others.
func (c *core) scanLost(ctx context.Context, released map[string]pannier.Digest) (failed error) {
	shown := time.Now()
	for {
		s := unreleased(c.registry.Current(), released)
		if s == nil {
			break
		}
		released[s.Path] = s.Sum
		if err := c.scanOne(ctx, s); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			failed = errors.Join(failed, err)
			defer delete(released, s.Path) // so that each is tried once
			continue
		}
		if time.Since(shown) >= releaseEvery && failed == nil {
			shown = time.Now()
			c.release(released)
		}
	}
	return failed
}

// unreleased returns a skill that was not scanned as it is now, nil where there is none.
func unreleased(s *pannier.Snapshot, released map[string]pannier.Digest) *pannier.Skill {
	for i := range s.Entries {
		skill := s.Entries[i].Skill
		if sum, ok := released[skill.Path]; !skill.Deleting && (!ok || sum != skill.Sum) {
			return skill
		}
	}
	return nil
}

func (c *core) scanOne(ctx context.Context, s *pannier.Skill) error {
	report, _, err := c.admin.Scan(ctx, pannier.Actor{Kind: pannier.ActorSidecar}, s, pannier.ScanRequest{})
	if err == nil && report.Unkept != "" && report.Truncated {
		err = errors.New(report.Unkept)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.Path, err)
	}
	return nil
}

// release lets skills be used that were scanned.
func (c *core) release(released map[string]pannier.Digest) {
	lost := c.state.refusals.input(maps.Clone(released))
	c.registry.Update(func(in *registry.Inputs) { in.Lost = lost })
}
