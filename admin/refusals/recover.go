package refusals

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"pannier"
	"pannier/admin/audit"
	"pannier/internal/policyfile"
	"pannier/registry"
)

// Acknowledge ends a condition that lasts until an operator acknowledges it. known says that policy and blocks were
// lost and are known again. Other conditions are refused.
func (s *State) Acknowledge(condition string) (known bool, err error) {
	switch condition {
	case CodeLost:
		if s.lost.Load() == nil {
			break
		}
		// A policy file must be writable, and one that is intact again is read by the next start.
		if s.o.Dir == "" {
			return false, &pannier.Refusal{
				Code: "state.unwritable", Message: "the state directory cannot be used, so a new policy file would not outlive this process",
				Hint: "repair the state directory or choose another with --state-dir, and restart",
			}
		}
		if _, from, _ := policyfile.Load(s.o.Dir); from == policyfile.Current {
			return false, &pannier.Refusal{
				Code: "state.intact", Message: "the policy file can be read again, so nothing is lost",
				Hint: "restart the sidecar, which reads it",
			}
		}
		err := s.end()
		return err == nil, err
	case codeRestored:
		if s.restored.Swap(nil) != nil {
			return false, nil
		}
	case audit.CodeBroken:
		if s.o.Audit.Acknowledge() {
			return false, nil
		}
	}
	return false, &pannier.Refusal{
		Code: "health.condition", Message: fmt.Sprintf("health has no condition %.80q that can be acknowledged", condition),
		Hint: fmt.Sprintf("run \"pannier health\"; the conditions that can be acknowledged are %s, %s and %s", CodeLost, codeRestored, audit.CodeBroken),
	}
}

// end ends a loss: what is known becomes the policy file.
func (s *State) end() error {
	s.ending.Lock()
	defer s.ending.Unlock()
	if err := s.file.Resume(true); err != nil {
		return err
	}
	s.unsaved = false
	s.lost.Store(nil)
	s.log.Info("policy and blocks are known again")
	return nil
}

const (
	// recoverAgain is how long the recovery waits after a skill that could not be scanned.
	recoverAgain = 5 * time.Second
	// releaseEvery is how often skills that were scanned are released while there are more to come.
	releaseEvery = time.Second
)

// Recovery has what [State.Recover] needs of the sidecar.
type Recovery struct {
	Registry *registry.Registry
	// Scan scans a skill and stores the verdict.
	Scan func(context.Context, *pannier.Skill) error
	// Recovered is called when nothing is lost any more.
	Recovered func()
}

// Recover scans every skill while the results of scans are lost and policy is known from the audit log, one at a time.
// A skill is released once its scan is through; one with a blocking finding is blocked by that. After the last one,
// nothing is lost any more.
func (s *State) Recover(ctx context.Context, r Recovery) error {
	if !s.replayed {
		return nil
	}
	snapshots, cancel := r.Registry.Subscribe()
	defer cancel()
	released := map[string]pannier.Digest{}
	for s.lost.Load() != nil {
		var again <-chan time.Time
		if r.Registry.Current() != nil {
			left := s.scanLost(ctx, r, released)
			if ctx.Err() != nil {
				return nil
			}
			if left == nil {
				if left = s.end(); left == nil {
					s.log.Info("policy and blocks are recovered", "skills", len(released))
					r.Recovered()
					return nil
				}
			}
			s.log.Warn("policy and blocks are not recovered yet", "error", left)
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
func (s *State) scanLost(ctx context.Context, r Recovery, released map[string]pannier.Digest) (failed error) {
	shown := time.Now()
	for {
		var next *pannier.Skill // that was not scanned as it is now
		for _, e := range r.Registry.Current().Entries {
			if sum, ok := released[e.Path]; !e.Deleting && (!ok || sum != e.Sum) {
				next = e.Skill
				break
			}
		}
		if next == nil {
			return failed
		}
		released[next.Path] = next.Sum
		if err := r.Scan(ctx, next); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			failed = errors.Join(failed, fmt.Errorf("%s: %w", next.Path, err))
			defer delete(released, next.Path) // so that each is tried once
			continue
		}
		if time.Since(shown) >= releaseEvery && failed == nil {
			shown = time.Now()
			s.released.Store(&releasedSkills{s.released.Load().version + 1, maps.Clone(released)})
			r.Registry.Rejudge()
		}
	}
}

// releasedSkills are skills by path, with their Sum. They are never changed.
type releasedSkills struct {
	version uint64
	sums    map[string]pannier.Digest
}
