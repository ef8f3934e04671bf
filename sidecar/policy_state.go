package sidecar

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math"
	"os"
	"path/filepath"
	"slices"
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

// codeStateLost is the code of the problem of a snapshot while state is lost.
const codeStateLost = "state_lost"

// codePolicyRestored is the condition of a policy file that was damaged and restored.
const codePolicyRestored = "policy_restored"

const (
	bucketPolicyFile = "policy_file"
	// keyWritten says that there is a policy file.
	keyWritten = "written"
	// keyNewestFile has the mark of the newest policy file. It is written after the file, so it is never ahead of it.
	keyNewestFile = "newest"
)

// policyState is the policy and the blocks of a workspace: what keeps skills from being used. It is known, or lost.
type policyState struct {
	log      hclog.Logger
	store    *store
	file     *policyfile.File
	policies *policy.Store
	verdicts *contents.Verdicts
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
	// problems are what was found at the start and has not been acknowledged. The list is never changed.
	problems atomic.Pointer[[]pannier.Condition]
}

// policyRows are the rows of policy. While state is lost, no policy is set: it would be kept among others that are unknown.
type policyRows struct{ *policyState }

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
func (p *policyState) writable() error {
	why := p.lost.Load()
	if why == nil {
		return p.store.checkPlace()
	}
	return &pannier.Refusal{
		Code: "state.lost", Message: "nothing was changed, because it is unknown which skills were disabled or blocked: " + *why,
		Hint: "run \"pannier health acknowledge state_lost\" first",
	}
}

// openPolicyState reads policy and blocks. inaccessible says why the directory cannot be used, unread why the database cannot;
// both are nil where they can. It writes nothing.
func openPolicyState(m *stateDir, inaccessible, unread error) (*policyState, error) {
	r := &policyState{log: m.log.Named("policy"), store: m.store}
	r.released.Store(&releasedSkills{version: 1})
	var found policyfile.Generation
	from, damage := policyfile.Absent, error(nil)
	switch {
	case m.dir != "":
		found, from, damage = policyfile.Load(m.dir)
	case m.readFrom != "":
		if found, from, damage = policyfile.Load(m.readFrom); from == policyfile.Previous {
			from = policyfile.Unreadable // the newest refusals are in the other file
		} else if from == policyfile.Current {
			from = policyfile.Absent // here: there is nothing to catch up with or to restore
		}
	}
	r.recorded = m.store.newestFile()
	older := from == policyfile.Current && found.Number < r.recorded.Number
	found.Number = max(found.Number, r.recorded.Number) // the numbers go on, whatever was lost
	r.file = policyfile.New(found)
	if err := r.open(); err != nil {
		from, damage = policyfile.Unreadable, err
		r.file = policyfile.New(policyfile.Generation{Number: found.Number})
		if err := r.open(); err != nil {
			return nil, err
		}
	}
	lost := inaccessible
	switch {
	case lost != nil:
	case older:
		lost = r.restore(m, found.AuditSeq, errors.New("policy.json is older than the one that was written last"))
	case from == policyfile.Current:
		r.catchUp(m, found)
	case from == policyfile.Previous:
		lost = r.restore(m, found.AuditSeq, damage)
	case from == policyfile.Unreadable:
		lost = damage
	default:
		lost = r.begin(m, unread)
	}
	if lost != nil {
		r.markLost(m, lost)
	}
	if err := r.file.Attach(m.dir, from, m.audit.Last, r.mark); err != nil && lost == nil {
		r.markLost(m, err)
	}
	if r.lost.Load() == nil {
		return r, r.file.Resume(false)
	}
	return r, nil
}

// open opens the stores over the rows of the file.
func (p *policyState) open() (err error) {
	if p.policies, err = policy.Open(policyRows{p}); err != nil {
		return err
	}
	p.verdicts, err = contents.OpenVerdicts(lenientStore{p.store}, p.file) // a scan that a client asks for is refused by the audit log
	return err
}

// mark records in the database that there is a policy file, and which one is the newest.
func (p *policyState) mark() {
	var err error
	known := p.store.failed.Load() != nil
	if !p.store.marked() {
		err = lenientStore{p.store}.Put(bucketPolicyFile, keyWritten, true)
	}
	if newest := p.file.Newest(); err == nil && newest.Number > p.store.newestFile().Number {
		err = lenientStore{p.store}.Put(bucketPolicyFile, keyNewestFile, newest)
	}
	if err != nil && !known {
		p.log.Warn("the database does not say which policy file is the newest", "error", err)
	}
}

// finishStart writes what the start could not write: what was restored; and what a full disk had no room for. The goroutine
// that watches the state calls it again and again.
func (p *policyState) finishStart() {
	p.ending.Lock()
	defer p.ending.Unlock()
	lost := p.lost.Load() != nil
	if (p.unsaved || noRoom(p.file.Failed())) && !lost {
		if err := p.file.Resume(true); err != nil {
			return // health says why
		}
		p.unsaved = false
	}
	if lost || p.file.OnDisk() {
		p.mark()
	}
}

// end ends a loss: what is known becomes the policy file.
func (p *policyState) end() error {
	p.ending.Lock()
	defer p.ending.Unlock()
	if err := p.file.Resume(true); err != nil {
		return err
	}
	p.unsaved = false
	p.lost.Store(nil)
	p.log.Info("policy and blocks are known again")
	return nil
}

func (s *store) marked() bool {
	var marked bool
	found, err := s.Get(bucketPolicyFile, keyWritten, &marked)
	return err == nil && found
}

// newestFile returns the mark of the newest policy file, as far as the database has it.
func (s *store) newestFile() (newest policyfile.Mark) {
	_, _ = s.Get(bucketPolicyFile, keyNewestFile, &newest) // without it, an older file is not noticed
	return newest
}

// catchUp applies the newest audit entries to the rows of the current file. A change is in the file before its outcome is in
// the log, so this changes something only where an older file was put in its place.
func (p *policyState) catchUp(m *stateDir, found policyfile.Generation) {
	replay := admin.Replay{Policy: p.policies, Verdicts: p.verdicts}
	for _, e := range m.audit.After(found.AuditSeq, admin.Relevant) {
		replay.Apply(e)
	}
	if err := replay.Err(); err != nil {
		p.log.Warn("the newest audit entries do not match the policy file", "error", err)
	}
	p.unsaved = !p.file.Same(found.Sections)
}

// restore leads from an older generation to the current one by the audit log.
func (p *policyState) restore(m *stateDir, after uint64, damage error) error {
	interrupted, err := p.replay(m, after)
	if err == nil && interrupted {
		err = errors.New("a crash interrupted a scan, and its result is unknown")
	}
	if err != nil {
		return fmt.Errorf("%w; an older generation and the audit log do not lead to the newest: %w", damage, err)
	}
	p.addCondition(condition(codePolicyRestored, pannier.SeverityWarning, policyfile.Name,
		"the policy file was damaged or replaced; policy and blocks were restored from an older generation and the audit log: "+damage.Error(),
		"check the disk, then run \"pannier health acknowledge policy_restored\""))
	return nil
}

// replay applies all audit entries after a number. interrupted says that the result of a scan is unknown.
func (p *policyState) replay(m *stateDir, after uint64) (interrupted bool, err error) {
	if m.dir == "" {
		return false, errors.New("there is no audit log on disk")
	}
	replay := admin.Replay{Policy: p.policies, Verdicts: p.verdicts}
	oldest := uint64(math.MaxUint64)
	report, err := audit.Each(filepath.Join(m.dir, audit.Dir), func(e pannier.AuditEntry) {
		if oldest = min(oldest, e.Seq); e.Seq > after {
			replay.Apply(e)
		}
	})
	p.unsaved = true
	switch {
	case err != nil:
		return false, err
	case report.Headless || report.Recorded > 0:
		return false, errors.New("nothing shows whether the audit log has all entries")
	case report.Newest.Seq < max(after, p.recorded.AuditSeq):
		return false, fmt.Errorf("the audit log ends at entry %d, and had entry %d", report.Newest.Seq, max(after, p.recorded.AuditSeq))
	case oldest > after+1:
		return false, fmt.Errorf("the audit log has no entries between %d and %d", after, oldest)
	}
	err = replay.Finish()
	return replay.Interrupted, err
}

// begin decides what it means that there is no policy file: a first start, or a loss.
func (p *policyState) begin(m *stateDir, unread error) error {
	switch {
	case m.dir == "":
		return nil
	case m.store.marked():
		return errors.New("policy.json is missing, and the database says that there was one")
	case m.store.Recovered() != "":
		return errors.New("there is no policy.json, and the database is damaged")
	case unread != nil:
		if _, err := os.Lstat(filepath.Join(m.dir, "state.db")); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("there is no policy.json, and the database cannot be read: %w", unread)
		}
	}
	return p.checkFirst(m)
}

// checkFirst returns an error if the audit log has a policy or a block: then there was a policy file.
func (p *policyState) checkFirst(m *stateDir) error {
	file := policyfile.New(policyfile.Generation{})
	said := policyState{store: &store{Store: state.Memory(), log: p.log}, file: file}
	if err := said.open(); err != nil {
		return err
	}
	replay := admin.Replay{Policy: said.policies, Verdicts: said.verdicts}
	if _, err := audit.Each(filepath.Join(m.dir, audit.Dir), replay.Apply); err != nil {
		return fmt.Errorf("there is no policy.json, and the audit log cannot be read: %w", err)
	}
	if policies, blocked := len(said.policies.All()), len(said.verdicts.Blocked()); policies+blocked > 0 {
		return fmt.Errorf("there is no policy.json, and the audit log has policies of %d skills and scans that block %d", policies, blocked)
	}
	return nil
}

// markLost says that it is unknown what was refused. What is known all the same is kept in memory, for an operator who
// acknowledges the loss. Where the audit log goes back to its first entry, all of the policy is known.
func (p *policyState) markLost(m *stateDir, err error) {
	why := err.Error()
	p.log.Error("policy and scan results are lost; no skill can be used until that is recovered", "error", err)
	_, err = p.replay(m, 0)
	p.replayed = err == nil
	if m.store.Recovered() != "" {
		p.mark() // the database is a new one, and must not look like one of a first start
	}
	p.lost.Store(&why)
}

// releasedSkills are skills by path, with their Sum. They are never changed.
type releasedSkills struct {
	version uint64
	sums    map[string]pannier.Digest
}

// release lets skills be used, by path, that were scanned with these Sums since state was lost. It is for one caller at a time.
func (p *policyState) release(sums map[string]pannier.Digest) {
	p.released.Store(&releasedSkills{p.released.Load().version + 1, sums})
}

// judge refuses every skill while it is unknown which ones were disabled or blocked.
func (p *policyState) judge() registry.Judge {
	why := p.lost.Load()
	if why == nil {
		return registry.Judge{}
	}
	released := p.released.Load()
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
			Code: codeStateLost, Severity: pannier.SeverityError, Path: "state",
			Message: "it is unknown which skills were disabled or blocked, so none can be used and no card is pushed: " + *why,
			Hint:    "restore the state directory from a backup and restart, or check policy and scans and run \"pannier health acknowledge state_lost\"",
		}},
	}
}

// addCondition adds a condition that lasts until it is acknowledged or the process ends.
func (p *policyState) addCondition(c pannier.Condition) {
	p.log.Warn(c.Message, "code", c.Code)
	p.problems.Store(&[]pannier.Condition{c})
}

func (p *policyState) conditions(inMemory bool) []pannier.Condition {
	var conditions []pannier.Condition
	if found := p.problems.Load(); found != nil {
		conditions = slices.Clone(*found)
	}
	if err := p.file.Failed(); err != nil {
		conditions = append(conditions, condition("policy_unwritable", pannier.SeverityError, policyfile.Name,
			"policy and blocks cannot be kept: "+err.Error(),
			"make room in the state directory, which pannier notices, or make it writable; the next change tries again"))
	}
	if count := len(p.policies.All()) + len(p.verdicts.Blocked()); inMemory && count > 0 {
		conditions = append(conditions, condition("refusals_in_memory", pannier.SeverityInfo, "state",
			fmt.Sprintf("%d policies and blocks end with this process", count),
			"give the sidecar a state directory that outlives it with --state-dir"))
	}
	return conditions
}
