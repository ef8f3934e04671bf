// Package scans keeps what security scans have found, over restarts.
//
// A verdict belongs to a fingerprint and not to a place: it holds for each directory with exactly those files, wherever it
// lies and for as long as nothing in it changes. So nothing has to be done when a skill moves, and a skill that has changed
// has no verdict.
//
// # What blocked last
//
// After a start no fingerprint is known until somebody has read every file of every skill, which is put off behind all
// else. A skill that was blocked must not be used meanwhile. So the [Store] also keeps which directories were blocked, by
// which fingerprint: [Store.Blocked]. They are presumed to be what they were, until their fingerprint is known.
//
// # What has no fingerprint
//
// A directory can be too large for a fingerprint, or hold a file that nobody can read. A verdict that blocks it would be
// lost, and whoever wrote the skill could see to that. So it is held by the place of the skill and the digests of its
// SKILL.md and _meta.json, until another scan says otherwise or the skill is gone: [Store.Hold].
//
// # Bounds
//
// A verdict keeps [MaxFindings] findings, those that block before the others. There are [MaxVerdicts] of them. Where there
// is no room for one more, the oldest goes that blocks nothing, then the oldest of the background, then the oldest of all. Of those
// that belong to a place there are [MaxHeld].
package scans

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"

	"pannier"
)

// Where things lie in the state store. The key of a verdict is its fingerprint.
const (
	bucket        = "scans"
	bucketBlocked = "scans_blocked"
	keyBlocked    = "newest"
)

// The bounds of what is kept.
const (
	MaxVerdicts = 10_000
	MaxFindings = 50
)

// Rows is what is needed of the state store. A change is on disk when a call returns, or not made where it fails.
type Rows interface {
	Get(bucket, key string, value any) (found bool, err error)
	Put(bucket, key string, value any) error
	Delete(bucket, key string) error
	All(bucket string) (iter.Seq2[string, json.RawMessage], error)
}

// Store keeps the verdicts. It is for any number of callers, and the only one that writes its rows.
type Store struct {
	rows Rows

	mu sync.Mutex
	// kept is of every verdict what is needed to judge by it. The findings stay in the rows.
	kept    map[pannier.Digest]Summary
	blocked map[string]pannier.Digest // never changed, only replaced
	held    map[string]Held           // by path; never changed, only replaced
}

// Summary is what is needed to judge by a verdict. Its list is never changed.
type Summary struct {
	pannier.ScanSummary
	Ruleset string
}

// Holds reports whether the verdict blocks in every mode: background scans block only where scans are enforced.
func (s Summary) Holds() bool { return len(s.Blocking) > 0 && s.Origin != pannier.ScanBackground }

// weight orders the verdicts by what is lost with them.
func (s Summary) weight() int {
	switch {
	case s.Holds():
		return 2
	case len(s.Blocking) > 0:
		return 1
	}
	return 0
}

// Open reads what is kept. It fails where a row makes no sense: it may be the one that blocks a skill.
func Open(rows Rows) (*Store, error) {
	kept, err := rows.All(bucket)
	if err != nil {
		return nil, fmt.Errorf("open scans: %w", err)
	}
	s := &Store{rows: rows, kept: map[pannier.Digest]Summary{}}
	for name, raw := range kept {
		var v pannier.ScanVerdict
		if err := errors.Join(json.Unmarshal(raw, &v), checkName(name, v)); err != nil {
			return nil, fmt.Errorf("open scans: row %q is %.100s: %w", name, raw, err)
		}
		s.kept[v.Fingerprint] = summarize(v)
	}
	if _, err := rows.Get(bucketBlocked, keyBlocked, &s.blocked); err != nil {
		return nil, fmt.Errorf("open scans: %w", err)
	}
	if err := s.openHeld(); err != nil {
		return nil, fmt.Errorf("open scans: %w", err)
	}
	return s, nil
}

func checkName(name string, v pannier.ScanVerdict) error {
	if v.Fingerprint.IsZero() || v.Fingerprint.String() != name {
		return errors.New("its name is not its fingerprint")
	}
	return nil
}

// summarize returns the summary of a verdict. Verdicts of versions without origins were asked for by clients.
func summarize(v pannier.ScanVerdict) Summary {
	return Summary{
		ScanSummary: pannier.ScanSummary{
			Decision: v.Decision, Origin: cmp.Or(v.Origin, pannier.ScanExplicit), At: v.At, Findings: len(v.Findings), Blocking: v.Blocking(),
		},
		Ruleset: v.Ruleset,
	}
}

// Put keeps a verdict, in the place of one with the same fingerprint, and returns it as it is kept. Where it fails, what
// was kept stays. A verdict of the background does not replace one that blocks in every mode.
func (s *Store) Put(v pannier.ScanVerdict) (pannier.ScanVerdict, error) {
	v = bounded(v)
	s.mu.Lock()
	defer s.mu.Unlock()
	if v.Origin == pannier.ScanBackground && s.kept[v.Fingerprint].Holds() {
		return v, nil
	}
	if err := s.makeRoomLocked(v.Fingerprint); err != nil {
		return v, fmt.Errorf("keep the scan of %s: %w", v.Fingerprint, err)
	}
	if err := s.rows.Put(bucket, v.Fingerprint.String(), v); err != nil {
		return v, fmt.Errorf("keep the scan of %s: %w", v.Fingerprint, err)
	}
	s.kept[v.Fingerprint] = summarize(v)
	return v, nil
}

// bounded returns a verdict with as many findings as are kept, in their order. Every rule that blocks stays.
func bounded(v pannier.ScanVerdict) pannier.ScanVerdict {
	if len(v.Findings) <= MaxFindings {
		v.Findings = append([]pannier.Finding{}, v.Findings...)
		return v
	}
	order := make([]int, len(v.Findings))
	weight := make([]int, len(v.Findings))
	told := map[string]bool{}
	for i, f := range v.Findings {
		switch order[i] = i; {
		case f.Blocking && !told[f.Rule]:
			told[f.Rule] = true
		case f.Blocking:
			weight[i] = 1
		default:
			weight[i] = 2
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(weight[a], weight[b]) })
	order = order[:max(MaxFindings, len(told))]
	slices.Sort(order)
	findings := make([]pannier.Finding, 0, len(order))
	for _, i := range order {
		findings = append(findings, v.Findings[i])
	}
	v.Findings, v.Truncated = findings, true
	return v
}

// makeRoomLocked removes a verdict where there is no room for one of that fingerprint.
func (s *Store) makeRoomLocked(fingerprint pannier.Digest) error {
	if _, ok := s.kept[fingerprint]; ok || len(s.kept) < MaxVerdicts {
		return nil
	}
	victim := slices.MinFunc(slices.Collect(maps.Keys(s.kept)), func(a, b pannier.Digest) int {
		of, other := s.kept[a], s.kept[b]
		return cmp.Or(
			cmp.Compare(of.weight(), other.weight()), of.At.Compare(other.At), cmp.Compare(a.String(), b.String()),
		)
	})
	if err := s.rows.Delete(bucket, victim.String()); err != nil {
		return err
	}
	delete(s.kept, victim)
	return nil
}

// Get returns the verdict of a fingerprint, and false where there is none.
func (s *Store) Get(fingerprint pannier.Digest) (v pannier.ScanVerdict, found bool, err error) {
	s.mu.Lock()
	_, kept := s.kept[fingerprint]
	s.mu.Unlock()
	if !kept {
		return pannier.ScanVerdict{}, false, nil
	}
	found, err = s.rows.Get(bucket, fingerprint.String(), &v)
	if err != nil || !found {
		return pannier.ScanVerdict{}, false, err
	}
	v.Origin = cmp.Or(v.Origin, pannier.ScanExplicit)
	return v, true, nil
}

// Summary returns the summary of the verdict of a fingerprint, and false where there is none.
func (s *Store) Summary(fingerprint pannier.Digest) (Summary, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, kept := s.kept[fingerprint]
	return v, kept
}

// Blocked returns which directories were blocked last, with the fingerprint that they had. The map is never changed.
func (s *Store) Blocked() map[string]pannier.Digest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.blocked
}

// SetBlocked keeps which directories are blocked. The map must not be changed any more. What is so already does not reach
// the disk.
func (s *Store) SetBlocked(blocked map[string]pannier.Digest) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if maps.Equal(s.blocked, blocked) {
		return nil
	}
	if err := s.rows.Put(bucketBlocked, keyBlocked, blocked); err != nil {
		return fmt.Errorf("keep which skills are blocked: %w", err)
	}
	s.blocked = blocked
	return nil
}
