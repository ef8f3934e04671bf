package contents

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"pannier"
)

// bucket has the verdicts in the state store, by fingerprint.
const bucket = "scans"

// The sections of [Blocks]. The key of rules is their fingerprint, that of a directory the digest of its path.
const (
	sectionRules   = "scan_rules"
	sectionBlocked = "scan_blocked"
	sectionHeld    = "scan_held"
)

const (
	// MaxVerdicts is room for the skills of three roots with the default max_dirs. With fewer verdicts than skills, each
	// scan would evict the verdict of a present skill, whose scan evicts the next, without an end.
	MaxVerdicts = 60_000
	MaxFindings = 50
)

// Rows is the state store. A change is on disk when a method returns, or not made if the method fails.
type Rows interface {
	Get(bucket, key string, value any) (found bool, err error)
	Put(bucket, key string, value any) error
	Delete(bucket, key string) error
	All(bucket string) (iter.Seq2[string, json.RawMessage], error)
}

// Blocks is the storage that must not be lost. A change is on disk when a method returns, or not made if the method
// fails.
type Blocks interface {
	All(section string) (iter.Seq2[string, json.RawMessage], error)
	Put(section, key string, value any) error
	Delete(section, key string) error
	// Replace replaces all rows of a section.
	Replace(section string, rows map[string]json.RawMessage) error
}

// Verdicts stores the verdicts of security scans across restarts. It is safe for concurrent use, and the only writer of
// its rows.
//
// A verdict belongs to a fingerprint, not to a path: it applies to every directory with exactly those files. A moved
// skill keeps its verdict, and a changed skill has none.
//
// After a start, fingerprints are unknown until every file was read, which is low-priority work. Until then the
// directories that were blocked before stay blocked: [Verdicts.Blocked].
//
// A directory can have no fingerprint, because it is too large or a file is unreadable. Its author could cause that to
// lose a blocking verdict, so such a verdict is stored by the path of the skill and the digests of its SKILL.md and
// _meta.json, until another scan replaces it or the skill is removed: [Verdicts.Hold].
//
// Verdicts with their findings are in the state store, which can be lost: a scan finds the same again. Blocks and
// acceptances must not be lost, so they are also in [Blocks]: the rules that block a fingerprint, the blocked
// directories, verdicts by path, and [Verdicts.Accept]. A verdict that is recovered from them names the rules without
// places.
//
// A verdict has at most [MaxFindings] findings, blocking ones first. There are at most [MaxVerdicts] verdicts; the
// oldest is evicted, first those without a block, then background scans, then others. There are at most
// [MaxPathVerdicts] verdicts by path and [MaxAccepted] contents with acceptances.
type Verdicts struct {
	rows   Rows
	blocks Blocks
	// onKept is told of each verdict that a scan brought.
	onKept func(pannier.ScanVerdict)

	// writing serializes writers and is held over I/O. mu guards the maps below and is held briefly. Only writers
	// change the maps, so a writer reads them without mu.
	writing sync.Mutex
	mu      sync.Mutex
	// kept has the summaries of all verdicts. The findings are in the rows.
	kept     map[pannier.Digest]Summary
	blocked  map[string]pannier.Digest // never changed, only replaced
	held     map[string]PathVerdict    // by path; never changed, only replaced
	accepted map[content][]pannier.Acceptance
}

// Summary is what the evaluation of skills needs of a verdict. Its list is never changed.
type Summary struct {
	pannier.ScanSummary
	Ruleset string
}

// AlwaysBlocks reports whether the verdict blocks in every mode. Background scans block only if scans are enforced.
func (s Summary) AlwaysBlocks() bool {
	return len(s.Blocking) > 0 && s.Origin != pannier.ScanBackground
}

// weight is the priority of a verdict over eviction.
func (s Summary) weight() int {
	switch {
	case s.AlwaysBlocks():
		return 2
	case len(s.Blocking) > 0:
		return 1
	}
	return 0
}

// OpenVerdicts reads the stored verdicts. It fails if a row of blocks is invalid: it may be the one that blocks a
// skill. Invalid verdicts are dropped.
func OpenVerdicts(rows Rows, blocks Blocks) (*Verdicts, error) {
	kept, err := rows.All(bucket)
	if err != nil {
		return nil, fmt.Errorf("open scans: %w", err)
	}
	s := &Verdicts{
		rows: rows, blocks: blocks, onKept: func(pannier.ScanVerdict) {},
		kept: map[pannier.Digest]Summary{}, blocked: map[string]pannier.Digest{},
		held: map[string]PathVerdict{}, accepted: map[content][]pannier.Acceptance{},
	}
	for name, raw := range kept {
		var v pannier.ScanVerdict
		if json.Unmarshal(raw, &v) == nil && !v.Fingerprint.IsZero() && v.Fingerprint.String() == name {
			s.kept[v.Fingerprint] = summarize(v)
		}
	}
	wrongKey := errors.New("its key is not the digest of what it is about")
	err = errors.Join(
		eachRow(blocks, sectionRules, func(key string, row rulesRow) error {
			var fingerprint pannier.Digest
			if err := fingerprint.UnmarshalText([]byte(key)); err != nil || fingerprint.IsZero() || len(row.Rules) == 0 {
				return errors.Join(errors.New("it has no fingerprint or no rule"), err)
			}
			if of := s.kept[fingerprint]; !of.AlwaysBlocks() || !slices.Equal(of.Blocking, row.Rules) {
				s.kept[fingerprint] = row.summary() // the verdict is lost
			}
			return nil
		}),
		eachRow(blocks, sectionBlocked, func(key string, row blockedRow) error {
			if pathKey(string(row.Path)) != key {
				return wrongKey
			}
			s.blocked[string(row.Path)] = row.Fingerprint
			return nil
		}),
		eachRow(blocks, sectionHeld, func(key string, row blockRow) error {
			if pathKey(string(row.Path)) != key {
				return wrongKey
			}
			s.held[string(row.Path)] = row.held()
			return nil
		}),
		eachRow(blocks, sectionAccepted, func(key string, row acceptedRow) error {
			of := content{string(row.Path), row.Fingerprint}
			if of.key() != key || row.Fingerprint.IsZero() {
				return wrongKey
			}
			s.accepted[of] = row.Accepted
			return nil
		}),
	)
	if err != nil {
		return nil, fmt.Errorf("open scans: %w", err)
	}
	return s, nil
}

// eachRow calls add with every row of a section.
func eachRow[T any](blocks Blocks, section string, add func(key string, row T) error) error {
	rows, err := blocks.All(section)
	if err != nil {
		return err
	}
	for key, raw := range rows {
		var row T
		err := json.Unmarshal(raw, &row)
		if err == nil {
			err = add(key, row)
		}
		if err != nil {
			return fmt.Errorf("%s row %q is %.100s: %w", section, key, raw, err)
		}
	}
	return nil
}

// summarize returns the summary of a verdict. Verdicts without an origin are from versions with explicit scans only.
func summarize(v pannier.ScanVerdict) Summary {
	return Summary{
		ScanSummary: pannier.ScanSummary{
			Decision: v.Decision, Origin: cmp.Or(v.Origin, pannier.ScanExplicit), At: v.At, Findings: len(v.Findings),
			Blocking: v.Blocking(),
		},
		Ruleset: v.Ruleset,
	}
}

// publish changes what readers see.
func (s *Verdicts) publish(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// Put stores a verdict in place of one with the same fingerprint, and returns it as stored. An error leaves the old one
// in place. A background verdict does not replace one that always blocks.
func (s *Verdicts) Put(v pannier.ScanVerdict) (pannier.ScanVerdict, error) {
	v = bounded(v)
	s.writing.Lock()
	defer s.writing.Unlock()
	if v.Origin == pannier.ScanBackground && s.kept[v.Fingerprint].AlwaysBlocks() {
		return v, nil
	}
	err := s.evictLocked(v.Fingerprint)
	if err == nil {
		err = s.putLocked(v)
	}
	if err != nil {
		return v, fmt.Errorf("store the scan of %s: %w", v.Fingerprint, err)
	}
	s.publish(func() { s.kept[v.Fingerprint] = summarize(v) })
	s.onKept(v)
	return v, nil
}

// putLocked writes in an order that leaves a block in place if the second write fails.
func (s *Verdicts) putLocked(v pannier.ScanVerdict) error {
	key, sum := v.Fingerprint.String(), summarize(v)
	if sum.AlwaysBlocks() {
		if err := s.blocks.Put(sectionRules, key, rulesRow{sum.At, sum.Blocking}); err != nil {
			return err
		}
		return s.rows.Put(bucket, key, v)
	}
	if err := s.rows.Put(bucket, key, v); err != nil {
		return err
	}
	return s.blocks.Delete(sectionRules, key)
}

// bounded returns a verdict with at most MaxFindings findings, in their order. Every blocking rule keeps a finding.
func bounded(v pannier.ScanVerdict) pannier.ScanVerdict {
	if len(v.Findings) <= MaxFindings {
		v.Findings = append([]pannier.Finding{}, v.Findings...)
		return v
	}
	order := make([]int, len(v.Findings))
	weight := make([]int, len(v.Findings))
	listed := map[string]bool{}
	for i, f := range v.Findings {
		switch order[i] = i; {
		case f.Blocking && !listed[f.Rule]:
			listed[f.Rule] = true
		case f.Blocking:
			weight[i] = 1
		default:
			weight[i] = 2
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(weight[a], weight[b]) })
	order = order[:max(MaxFindings, len(listed))]
	slices.Sort(order)
	findings := make([]pannier.Finding, 0, len(order))
	for _, i := range order {
		findings = append(findings, v.Findings[i])
	}
	v.Findings, v.Truncated = findings, true
	return v
}

// evictLocked removes a verdict if there is no space for one with the fingerprint.
func (s *Verdicts) evictLocked(fingerprint pannier.Digest) error {
	if _, ok := s.kept[fingerprint]; ok || len(s.kept) < MaxVerdicts {
		return nil
	}
	victim := slices.MinFunc(slices.Collect(maps.Keys(s.kept)), func(a, b pannier.Digest) int {
		of, other := s.kept[a], s.kept[b]
		return cmp.Or(
			cmp.Compare(of.weight(), other.weight()), of.At.Compare(other.At), bytes.Compare(a[:], b[:]),
		)
	})
	key := victim.String()
	if err := errors.Join(s.rows.Delete(bucket, key), s.blocks.Delete(sectionRules, key)); err != nil {
		return err
	}
	s.publish(func() { delete(s.kept, victim) })
	return nil
}

// Get returns the verdict of a fingerprint, and false if there is none.
func (s *Verdicts) Get(fingerprint pannier.Digest) (v pannier.ScanVerdict, found bool, err error) {
	s.mu.Lock()
	sum, kept := s.kept[fingerprint]
	s.mu.Unlock()
	if !kept {
		return pannier.ScanVerdict{}, false, nil
	}
	found, err = s.rows.Get(bucket, fingerprint.String(), &v)
	if err == nil && found && slices.Equal(v.Blocking(), sum.Blocking) {
		v.Origin = cmp.Or(v.Origin, pannier.ScanExplicit)
		return v, true, nil
	}
	if !sum.AlwaysBlocks() {
		return pannier.ScanVerdict{}, false, err
	}
	return withoutLocations(fingerprint, sum.At, sum.Blocking), true, nil
}

// withoutLocations returns the verdict of blocking rules whose findings are lost.
func withoutLocations(fingerprint pannier.Digest, at time.Time, rules []string) pannier.ScanVerdict {
	v := pannier.ScanVerdict{
		Fingerprint: fingerprint, At: at, Decision: pannier.ScanBlock, Origin: pannier.ScanExplicit, Truncated: true,
	}
	for _, rule := range rules {
		v.Findings = append(v.Findings, pannier.Finding{
			Rule: rule, Severity: pannier.SeverityError, Blocking: true,
			Message: "an earlier scan found this; its details are lost", Hint: "scan the skill again to see where",
		})
	}
	return v
}

// Summary returns the summary of a verdict, and false if there is none.
func (s *Verdicts) Summary(fingerprint pannier.Digest) (Summary, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, kept := s.kept[fingerprint]
	return v, kept
}
