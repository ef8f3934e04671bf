// Package refusals keeps what keeps skills from being used: the policy that clients set, and the blocks of scans.
//
// Both are in the policy file, and a client changes them by an audited request. [Open] compares the policy file with
// its mark in the database and with the audit log. A damaged or older file is restored by an older generation and the
// audit log. If that does not lead to the newest state, the refusals are lost: no skill can be used until
// [State.Recover] has scanned every skill, or an operator acknowledges the loss.
package refusals

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/go-hclog"

	"pannier"
	"pannier/admin"
	"pannier/admin/audit"
	"pannier/admin/policy"
	"pannier/contents"
	"pannier/internal/policyfile"
	"pannier/internal/state"
	"pannier/registry"
)

// CodeLost is the code of the problem of a snapshot while refusals are lost.
const CodeLost = "state_lost"

// codeRestored is the condition of a policy file that was damaged and restored.
const codeRestored = "policy_restored"

const (
	bucketPolicyFile = "policy_file"
	// keyWritten says that there is a policy file.
	keyWritten = "written"
	// keyNewestFile has the mark of the newest policy file. It is written after the file, so it is never ahead of it.
	keyNewestFile = "newest"
)

// Options configure a [State].
type Options struct {
	// Dir is the directory of the state, empty where it is kept in memory.
	Dir string
	// ReadFrom is the directory of another sidecar, whose refusals are read and never written; empty for none.
	ReadFrom string
	Store    *state.Guarded
	Audit    *audit.Log
	Logger   hclog.Logger
	// Inaccessible says why the directory cannot be used, Unread why the database cannot; both are nil where they can.
	Inaccessible, Unread error
}

// State is the policy and the blocks of a workspace. It is known, or lost. It is for any number of callers.
type State struct {
	o    Options
	log  hclog.Logger
	file *policyfile.File
	// Policies and Verdicts are the rows.
	Policies *policy.Store
	Verdicts *contents.Verdicts

	// recorded is the newest policy file by what the database said at the start.
	recorded policyfile.Mark

	// lost says why it is unknown what was refused; nil where it is known.
	lost atomic.Pointer[string]
	// released are the skills that were scanned since then.
	released atomic.Pointer[releasedSkills]
	// replayed says that the audit log has the whole policy, so that scans are all that is missing while state is lost.
	replayed bool
	// ending is held while a loss ends, or what the start left to write is written; it guards unsaved.
	ending sync.Mutex
	// unsaved says that the rows are not those of the current file.
	unsaved bool
	// restored is the condition of a policy file that was restored at the start, until it is acknowledged; nil is none.
	restored atomic.Pointer[pannier.Condition]
}

// policyRows are the rows of policy. While state is lost, no policy is set: it would be kept among others that are
// unknown.
type policyRows struct{ *State }

func (p policyRows) Put(bucket, key string, value any) error {
	if err := p.writable(); err != nil {
		return err
	}
	return p.file.Put(bucket, key, value)
}

func (p policyRows) Delete(bucket, key string) error {
	if err := p.writable(); err != nil {
		return err
	}
	return p.file.Delete(bucket, key)
}

func (p policyRows) All(bucket string) (iter.Seq2[string, json.RawMessage], error) {
	return p.file.All(bucket)
}

// writable refuses a change that would be lost, or be kept among others that are unknown.
func (s *State) writable() error {
	why := s.lost.Load()
	if why == nil {
		return s.o.Store.CheckPlace()
	}
	return &pannier.Refusal{
		Code: "state.lost", Message: "nothing was changed, because it is unknown which skills were disabled or blocked: " + *why,
		Hint: "run \"pannier health acknowledge state_lost\" first",
	}
}

// Open reads policy and blocks. It writes nothing.
func Open(o Options) (*State, error) {
	s := &State{o: o, log: o.Logger.Named("policy")}
	s.released.Store(&releasedSkills{version: 1})
	var found policyfile.Generation
	from, damage := policyfile.Absent, error(nil)
	switch {
	case o.Dir != "":
		found, from, damage = policyfile.Load(o.Dir)
	case o.ReadFrom != "":
		if found, from, damage = policyfile.Load(o.ReadFrom); from == policyfile.Previous {
			from = policyfile.Unreadable // the newest refusals are in the other file
		} else if from == policyfile.Current {
			from = policyfile.Absent // here: there is nothing to catch up with or to restore
		}
	}
	s.recorded = s.newestFile()
	older := from == policyfile.Current && found.Number < s.recorded.Number
	found.Number = max(found.Number, s.recorded.Number) // the numbers go on, whatever was lost
	s.file = policyfile.New(found)
	if err := s.open(); err != nil {
		from, damage = policyfile.Unreadable, err
		s.file = policyfile.New(policyfile.Generation{Number: found.Number})
		if err := s.open(); err != nil {
			return nil, err
		}
	}
	lost := o.Inaccessible
	switch {
	case lost != nil:
	case older:
		lost = s.restore(found.AuditSeq, errors.New("policy.json is older than the one that was written last"))
	case from == policyfile.Current:
		s.catchUp(found)
	case from == policyfile.Previous:
		lost = s.restore(found.AuditSeq, damage)
	case from == policyfile.Unreadable:
		lost = damage
	default:
		lost = s.begin()
	}
	if lost != nil {
		s.markLost(lost)
	}
	if err := s.file.Attach(o.Dir, from, o.Audit.Last, s.mark); err != nil && lost == nil {
		s.markLost(err)
	}
	if s.lost.Load() == nil {
		return s, s.file.Resume(false)
	}
	return s, nil
}

// open opens the stores over the rows of the file.
func (s *State) open() (err error) {
	if s.Policies, err = policy.Open(policyRows{s}); err != nil {
		return err
	}
	s.Verdicts, err = contents.OpenVerdicts(state.Lenient{Guarded: s.o.Store}, s.file) // a scan that a client asks for is refused by the audit log
	return err
}

// mark records in the database that there is a policy file, and which one is the newest.
func (s *State) mark() {
	var err error
	known := s.o.Store.Failed() != nil
	if !s.marked() {
		err = state.Lenient{Guarded: s.o.Store}.Put(bucketPolicyFile, keyWritten, true)
	}
	if newest := s.file.Newest(); err == nil && newest.Number > s.newestFile().Number {
		err = state.Lenient{Guarded: s.o.Store}.Put(bucketPolicyFile, keyNewestFile, newest)
	}
	if err != nil && !known {
		s.log.Warn("the database does not say which policy file is the newest", "error", err)
	}
}

// FinishStart writes what the start could not write: what was restored; and what a full disk had no room for. The
// goroutine that watches the state calls it again and again.
func (s *State) FinishStart() {
	s.ending.Lock()
	defer s.ending.Unlock()
	lost := s.lost.Load() != nil
	if (s.unsaved || state.NoSpace(s.file.Failed())) && !lost {
		if err := s.file.Resume(true); err != nil {
			return // health says why
		}
		s.unsaved = false
	}
	if lost || s.file.OnDisk() {
		s.mark()
	}
}

func (s *State) marked() bool {
	var marked bool
	found, err := s.o.Store.Get(bucketPolicyFile, keyWritten, &marked)
	return err == nil && found
}

// newestFile returns the mark of the newest policy file, as far as the database has it.
func (s *State) newestFile() (newest policyfile.Mark) {
	_, _ = s.o.Store.Get(bucketPolicyFile, keyNewestFile, &newest) // without it, an older file is not noticed
	return newest
}

// catchUp applies the newest audit entries to the rows of the current file. A change is in the file before its outcome
// is in the log, so this changes something only where an older file was put in its place.
func (s *State) catchUp(found policyfile.Generation) {
	replay := admin.Replay{Policy: s.Policies, Verdicts: s.Verdicts}
	entries, err := s.o.Audit.After(found.AuditSeq, admin.Relevant)
	if err != nil {
		s.log.Warn("the newest audit entries cannot be compared with the policy file", "error", err)
	}
	for _, e := range entries {
		replay.Apply(e)
	}
	if err := replay.Err(); err != nil {
		s.log.Warn("the newest audit entries do not match the policy file", "error", err)
	}
	s.unsaved = !s.file.Same(found.Sections)
}

// restore leads from an older generation to the current one by the audit log.
func (s *State) restore(after uint64, damage error) error {
	interrupted, err := s.replay(after)
	if err == nil && interrupted {
		err = errors.New("a crash interrupted a scan, and its result is unknown")
	}
	if err != nil {
		return fmt.Errorf("%w; an older generation and the audit log do not lead to the newest: %w", damage, err)
	}
	c := pannier.Condition{
		Code: codeRestored, Severity: pannier.SeverityWarning, Subject: policyfile.Name,
		Message: "the policy file was damaged or replaced; policy and blocks were restored from an older generation and the audit log: " + damage.Error(),
		Hint:    "check the disk, then run \"pannier health acknowledge policy_restored\"",
	}
	s.log.Warn(c.Message, "code", c.Code)
	s.restored.Store(&c)
	return nil
}

// replay applies all audit entries after a number. interrupted says that the result of a scan is unknown.
func (s *State) replay(after uint64) (interrupted bool, err error) {
	if s.o.Dir == "" {
		return false, errors.New("there is no audit log on disk")
	}
	replay := admin.Replay{Policy: s.Policies, Verdicts: s.Verdicts}
	oldest := uint64(math.MaxUint64)
	report, err := audit.Each(filepath.Join(s.o.Dir, audit.Dir), func(e pannier.AuditEntry) {
		if oldest = min(oldest, e.Seq); e.Seq > after {
			replay.Apply(e)
		}
	})
	s.unsaved = true
	switch {
	case err != nil:
		return false, err
	case report.Headless || report.Recorded > 0:
		return false, errors.New("nothing shows whether the audit log has all entries")
	case report.Newest.Seq < max(after, s.recorded.AuditSeq):
		return false, fmt.Errorf("the audit log ends at entry %d, and had entry %d", report.Newest.Seq, max(after, s.recorded.AuditSeq))
	case oldest > after+1:
		return false, fmt.Errorf("the audit log has no entries between %d and %d", after, oldest)
	}
	err = replay.Finish()
	return replay.Interrupted, err
}

// begin decides what it means that there is no policy file: a first start, or a loss.
func (s *State) begin() error {
	switch {
	case s.o.Dir == "":
		return nil
	case s.marked():
		return errors.New("policy.json is missing, and the database says that there was one")
	case s.o.Store.Recovered() != "":
		return errors.New("there is no policy.json, and the database is damaged")
	case s.o.Unread != nil:
		if _, err := os.Lstat(filepath.Join(s.o.Dir, "state.db")); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("there is no policy.json, and the database cannot be read: %w", s.o.Unread)
		}
	}
	return s.checkFirst()
}

// checkFirst returns an error if the audit log has a policy or a block: then there was a policy file.
func (s *State) checkFirst() error {
	file := policyfile.New(policyfile.Generation{})
	said := State{o: Options{Store: state.NewGuarded(state.Memory(), s.log)}, log: s.log, file: file}
	if err := said.open(); err != nil {
		return err
	}
	replay := admin.Replay{Policy: said.Policies, Verdicts: said.Verdicts}
	if _, err := audit.Each(filepath.Join(s.o.Dir, audit.Dir), replay.Apply); err != nil {
		return fmt.Errorf("there is no policy.json, and the audit log cannot be read: %w", err)
	}
	if policies, blocked := len(said.Policies.All()), len(said.Verdicts.Blocked()); policies+blocked > 0 {
		return fmt.Errorf("there is no policy.json, and the audit log has policies of %d skills and scans that block %d", policies, blocked)
	}
	return nil
}

// markLost says that it is unknown what was refused. What is known all the same is kept in memory, for an operator who
// acknowledges the loss. Where the audit log goes back to its first entry, all of the policy is known.
func (s *State) markLost(err error) {
	why := err.Error()
	s.log.Error("policy and scan results are lost; no skill can be used until that is recovered", "error", err)
	_, err = s.replay(0)
	s.replayed = err == nil
	if s.o.Store.Recovered() != "" {
		s.mark() // the database is a new one, and must not look like one of a first start
	}
	s.lost.Store(&why)
}

// Judge refuses every skill while it is unknown which ones were disabled or blocked.
func (s *State) Judge() registry.Judge {
	why := s.lost.Load()
	if why == nil {
		return registry.Judge{}
	}
	released := s.released.Load()
	return registry.Judge{
		Version: released.version,
		Of: func(s *pannier.Skill) (known registry.Judgement) {
			if sum, scanned := released.sums[s.Path]; !scanned || sum != s.Sum {
				known.Reasons = []pannier.Reason{{
					Code: pannier.ReasonStateLost, Subject: "state",
					Remedy: "policy and scan results were lost; `pannier health` says how to recover them",
				}}
			}
			return known
		},
		Problems: []pannier.Problem{{
			Code: CodeLost, Severity: pannier.SeverityError, Path: "state",
			Message: "it is unknown which skills were disabled or blocked, so none can be used and no card is pushed: " + *why,
			Hint:    "restore the state directory from a backup and restart, or check policy and scans and run \"pannier health acknowledge state_lost\"",
		}},
	}
}

// Conditions returns what health says of the refusals.
func (s *State) Conditions() []pannier.Condition {
	var conditions []pannier.Condition
	if restored := s.restored.Load(); restored != nil {
		conditions = append(conditions, *restored)
	}
	if err := s.file.Failed(); err != nil {
		conditions = append(conditions, pannier.Condition{
			Code: "policy_unwritable", Severity: pannier.SeverityError, Subject: policyfile.Name,
			Message: "policy and blocks cannot be kept: " + err.Error(),
			Hint:    "make room in the state directory, which pannier notices, or make it writable; the next change tries again",
		})
	}
	if count := len(s.Policies.All()) + len(s.Verdicts.Blocked()); s.o.Dir == "" && count > 0 {
		conditions = append(conditions, pannier.Condition{
			Code: "refusals_in_memory", Severity: pannier.SeverityInfo, Subject: "state",
			Message: fmt.Sprintf("%d policies and blocks end with this process", count),
			Hint:    "give the sidecar a state directory that outlives it with --state-dir",
		})
	}
	return conditions
}

// Close lets go of the policy file.
func (s *State) Close() error { return s.file.Close() }
