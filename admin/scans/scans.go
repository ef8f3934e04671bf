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
// # Where it lies
//
// Verdicts with their findings lie in the state store, which can be lost: a scan finds the same again. What blocks is a
// refusal and must not be lost with it. So the rules that block a fingerprint, the blocked directories and what is held
// lie in a [Blocks] as well, and so does what was accepted: [Store.Accept]. Where only those are left, a verdict names the rules and not the places.
//
// # Bounds
//
// A verdict keeps [MaxFindings] findings, those that block before the others. There are [MaxVerdicts] of them. Where there
// is no room for one more, the oldest goes that blocks nothing, then the oldest of the background, then the oldest of all. Of those
// that belong to a place there are [MaxHeld], and accepted contents [MaxAccepted].
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
	"time"

	"pannier"
)

// bucket has the verdicts in the state store. The key of one is its fingerprint.
const bucket = "scans"

// The sections of [Blocks]. The key of a rule set is its fingerprint, that of a directory the digest of its path, which may
// be of any bytes.
const (
	sectionRules   = "scan_rules"
	sectionBlocked = "scan_blocked"
	sectionHeld    = "scan_held"
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

// Blocks keeps what must not be lost. A change is on disk when a call returns, or not made where it fails.
type Blocks interface {
	All(section string) (iter.Seq2[string, json.RawMessage], error)
	Put(section, key string, value any) error
	Delete(section, key string) error
	// Replace changes all rows of a section.
	Replace(section string, rows map[string]json.RawMessage) error
}

// rulesRow is which rules block a fingerprint.
type rulesRow struct {
	At    time.Time `json:"at"`
	Rules []string  `json:"rules"`
}

func (r rulesRow) summary() Summary {
	return Summary{ScanSummary: pannier.ScanSummary{
		Decision: pannier.ScanBlock, Origin: pannier.ScanExplicit, At: r.At, Findings: len(r.Rules), Blocking: r.Rules,
	}}
}

// blockedRow is a blocked directory.
type blockedRow struct {
	Path        []byte         `json:"path"` // of any bytes
	Fingerprint pannier.Digest `json:"fingerprint"`
}

// Store keeps the verdicts. It is for any number of callers, and the only one that writes its rows.
type Store struct {
	rows   Rows
	blocks Blocks

	// writing is held over writes to the disk, by writers alone. mu guards what readers see and is held for a moment; only
	// writers change that, so a writer reads it without mu.
	writing sync.Mutex
	mu      sync.Mutex
	// kept is of every verdict what is needed to judge by it. The findings stay in the rows.
	kept     map[pannier.Digest]Summary
	blocked  map[string]pannier.Digest // never changed, only replaced
	held     map[string]Held           // by path; never changed, only replaced
	accepted map[content][]pannier.Acceptance
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

// Open reads what is kept. It fails where a row of blocks makes no sense: it may be the one that blocks a skill. A verdict
// that makes no sense is dropped.
func Open(rows Rows, blocks Blocks) (*Store, error) {
	kept, err := rows.All(bucket)
	if err != nil {
		return nil, fmt.Errorf("open scans: %w", err)
	}
	s := &Store{rows: rows, blocks: blocks, kept: map[pannier.Digest]Summary{}}
	for name, raw := range kept {
		var v pannier.ScanVerdict
		if err := errors.Join(json.Unmarshal(raw, &v), checkName(name, v)); err == nil {
			s.kept[v.Fingerprint] = summarize(v)
		}
	}
	if err := errors.Join(s.openRules(), s.openBlocked(), s.openHeld(), s.openAccepted()); err != nil {
		return nil, fmt.Errorf("open scans: %w", err)
	}
	return s, nil
}

// TakeOver copies what blocks from the rows of a version that had no [Blocks].
func TakeOver(rows Rows, blocks Blocks) error {
	verdicts, err := rows.All(bucket)
	if err != nil {
		return err
	}
	for name, raw := range verdicts {
		var v pannier.ScanVerdict
		if err := errors.Join(json.Unmarshal(raw, &v), checkName(name, v)); err != nil {
			return fmt.Errorf("row %q is %.100s: %w", name, raw, err)
		}
		if of := summarize(v); of.Holds() {
			if err := blocks.Put(sectionRules, name, rulesRow{of.At, of.Blocking}); err != nil {
				return err
			}
		}
	}
	held, err := rows.All(bucketHeld)
	if err != nil {
		return err
	}
	for name, raw := range held {
		var row heldRow
		if err := json.Unmarshal(raw, &row); err != nil {
			return fmt.Errorf("row %q is %.100s: %w", name, raw, err)
		}
		if err := blocks.Put(sectionHeld, name, row.block()); err != nil {
			return err
		}
	}
	s := &Store{blocks: blocks}
	var blocked map[string]pannier.Digest
	if _, err := rows.Get("scans_blocked", "newest", &blocked); err != nil {
		return err
	}
	return s.SetBlocked(blocked)
}

// openRules takes the rules that block from either place.
func (s *Store) openRules() error {
	return eachRow(s.blocks, sectionRules, func(key string, row rulesRow) error {
		var fingerprint pannier.Digest
		if err := fingerprint.UnmarshalText([]byte(key)); err != nil || fingerprint.IsZero() || len(row.Rules) == 0 {
			return errors.Join(errors.New("it has no fingerprint or no rule"), err)
		}
		if of := s.kept[fingerprint]; !of.Holds() || !slices.Equal(of.Blocking, row.Rules) {
			s.show(func() { s.kept[fingerprint] = row.summary() })
		}
		return nil
	})
}

func (s *Store) openBlocked() error {
	s.blocked = map[string]pannier.Digest{}
	return eachRow(s.blocks, sectionBlocked, func(key string, row blockedRow) error {
		if pathKey(string(row.Path)) != key {
			return errors.New("its name is not the digest of its path")
		}
		s.blocked[string(row.Path)] = row.Fingerprint
		return nil
	})
}

// eachRow calls take with every row of a section.
func eachRow[T any](blocks Blocks, section string, take func(key string, row T) error) error {
	rows, err := blocks.All(section)
	if err != nil {
		return err
	}
	for key, raw := range rows {
		var row T
		err := json.Unmarshal(raw, &row)
		if err == nil {
			err = take(key, row)
		}
		if err != nil {
			return fmt.Errorf("%s row %q is %.100s: %w", section, key, raw, err)
		}
	}
	return nil
}

// pathKey names a directory, whose path may be of any bytes.
func pathKey(path string) string { return pannier.DigestOf([]byte(path)).String() }

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

// show changes what readers see.
func (s *Store) show(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// Put keeps a verdict, in the place of one with the same fingerprint, and returns it as it is kept. Where it fails, what
// was kept stays. A verdict of the background does not replace one that blocks in every mode.
func (s *Store) Put(v pannier.ScanVerdict) (pannier.ScanVerdict, error) {
	v = bounded(v)
	s.writing.Lock()
	defer s.writing.Unlock()
	if v.Origin == pannier.ScanBackground && s.kept[v.Fingerprint].Holds() {
		return v, nil
	}
	if err := s.makeRoomLocked(v.Fingerprint); err != nil {
		return v, fmt.Errorf("keep the scan of %s: %w", v.Fingerprint, err)
	}
	if err := s.putLocked(v); err != nil {
		return v, fmt.Errorf("keep the scan of %s: %w", v.Fingerprint, err)
	}
	s.show(func() { s.kept[v.Fingerprint] = summarize(v) })
	return v, nil
}

// putLocked writes in an order that leaves a block in place where the second write fails.
func (s *Store) putLocked(v pannier.ScanVerdict) error {
	key, sum := v.Fingerprint.String(), summarize(v)
	if sum.Holds() {
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
	if err := errors.Join(s.rows.Delete(bucket, victim.String()), s.blocks.Delete(sectionRules, victim.String())); err != nil {
		return err
	}
	s.show(func() { delete(s.kept, victim) })
	return nil
}

// Get returns the verdict of a fingerprint, and false where there is none.
func (s *Store) Get(fingerprint pannier.Digest) (v pannier.ScanVerdict, found bool, err error) {
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
	if !sum.Holds() {
		return pannier.ScanVerdict{}, false, err
	}
	return withoutPlaces(fingerprint, sum.At, sum.Blocking), true, nil
}

// withoutPlaces returns the verdict of which only the blocking rules are left.
func withoutPlaces(fingerprint pannier.Digest, at time.Time, rules []string) pannier.ScanVerdict {
	v := pannier.ScanVerdict{Fingerprint: fingerprint, At: at, Decision: pannier.ScanBlock, Origin: pannier.ScanExplicit, Truncated: true}
	for _, rule := range rules {
		v.Findings = append(v.Findings, pannier.Finding{
			Rule: rule, Severity: pannier.SeverityError, Blocking: true,
			Message: "an earlier scan found this; its details are lost", Hint: "scan the skill again to see where",
		})
	}
	return v
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
	s.writing.Lock()
	defer s.writing.Unlock()
	return s.setBlockedLocked(blocked)
}

func (s *Store) setBlockedLocked(blocked map[string]pannier.Digest) error {
	if maps.Equal(s.blocked, blocked) {
		return nil
	}
	rows := make(map[string]json.RawMessage, len(blocked))
	for path, fingerprint := range blocked {
		raw, err := json.Marshal(blockedRow{[]byte(path), fingerprint})
		if err != nil {
			return err
		}
		rows[pathKey(path)] = raw
	}
	if err := s.blocks.Replace(sectionBlocked, rows); err != nil {
		return fmt.Errorf("keep which skills are blocked: %w", err)
	}
	s.show(func() { s.blocked = blocked })
	return nil
}

// Restore sets which rules block a fingerprint, none where the list is empty, and that the directory at a path has it.
func (s *Store) Restore(path string, fingerprint pannier.Digest, rules []string, at time.Time) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := s.releaseLocked(path); err != nil {
		return err
	}
	blocked := maps.Clone(s.blocked)
	before := s.kept[fingerprint]
	switch {
	case len(rules) > 0:
		blocked[path] = fingerprint
		if before.Holds() && slices.Equal(before.Blocking, rules) {
			break
		}
		if err := s.blocks.Put(sectionRules, fingerprint.String(), rulesRow{at, rules}); err != nil {
			return err
		}
		s.show(func() { s.kept[fingerprint] = rulesRow{at, rules}.summary() })
	case before.Holds():
		if err := s.blocks.Delete(sectionRules, fingerprint.String()); err != nil {
			return err
		}
		s.show(func() { delete(s.kept, fingerprint) })
	}
	if len(rules) == 0 {
		delete(blocked, path)
	}
	return s.setBlockedLocked(blocked)
}

// RestoreHeld sets which rules block the skill at a path for as long as its files have these digests.
func (s *Store) RestoreHeld(path string, digest, metaDigest pannier.Digest, rules []string, at time.Time) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	row := blockRow{[]byte(path), digest, metaDigest, len(rules), rulesRow{at, rules}}
	if err := s.blocks.Put(sectionHeld, pathKey(path), row); err != nil {
		return err
	}
	held := maps.Clone(s.held)
	held[path] = row.held()
	s.show(func() { s.held = held })
	return nil
}
