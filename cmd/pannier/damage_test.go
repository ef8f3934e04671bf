package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"pannier"
	"pannier/internal/policyfile"
	"pannier/internal/state"
	"pannier/publish/client"
)

// otherUser owns nothing, so it is refused what its permissions do not allow, also where the tests run as root.
const otherUser = 65534

// damage is what happens to a state directory while no sidecar runs.
type damage struct {
	name string
	// script runs in the state directory of the workspace.
	script string
	// tells are the conditions of which health must show one; none where nothing of value is gone.
	tells []string
	// recovers says that the skill that was never refused can be used again without an operator.
	recovers bool
	// restricted runs the sidecar as a user to whom permissions apply.
	restricted bool
	// mount puts the directory on another mount, and skips the test where it cannot.
	mount func(t *testing.T, dir string)
}

const (
	current   = "policy.json"
	previous  = "policy.json.previous"
	half      = `half() { truncate -s $(( $(stat -c %s "$1") / 2 )) "$1"; }; half `
	flip      = `flip() { printf X | dd of="$1" bs=1 seek=$(( $(stat -c %s "$1") / 2 )) conv=notrunc status=none; }; flip `
	lost      = "state_lost"
	oneLog    = `log=$(ls audit/*.jsonl | tail -1); `
	older     = `older() { for part; do rm -rf $part*; cp -a older/$part* .; done; }; older `
	allEvents = `for f in journal/*.jsonl; do `
)

var damages = []damage{
	{name: "nothing", script: "true", recovers: true},
	{name: "database truncated", script: ": > state.db", recovers: true},
	{name: "database half cut", script: half + "state.db", tells: []string{"state_reset"}, recovers: true},
	{name: "database removed", script: "rm state.db", recovers: true},
	{name: "database with a flipped page", script: "dd if=/dev/urandom of=state.db bs=4096 seek=2 count=2 conv=notrunc status=none", tells: []string{"state_reset", ""}, recovers: true},
	{name: "database a directory", script: "rm state.db; mkdir state.db", tells: []string{"state_reset"}, recovers: true},
	{name: "database a FIFO", script: "rm state.db; mkfifo state.db", tells: []string{"state_reset"}, recovers: true},
	{name: "database a dangling link", script: "rm state.db; ln -s nowhere/at/all state.db", tells: []string{"state_in_memory", "state_unwritable"}, recovers: true},
	{name: "database of garbage", script: "head -c 65536 /dev/urandom > state.db", tells: []string{"state_reset"}, recovers: true},

	{name: "policy truncated", script: ": > " + current, tells: []string{"policy_restored"}, recovers: true},
	{name: "policy half cut", script: half + current, tells: []string{"policy_restored"}, recovers: true},
	{name: "policy removed", script: "rm " + current, tells: []string{"policy_restored"}, recovers: true},
	{name: "policy with a flipped byte", script: flip + current, tells: []string{"policy_restored"}, recovers: true},
	{name: "policy a directory", script: "rm " + current + "; mkdir " + current, tells: []string{"policy_restored"}, recovers: true},
	{name: "policy a FIFO", script: "rm " + current + "; mkfifo " + current, tells: []string{"policy_restored"}, recovers: true},
	{name: "policy a link", script: "rm " + current + "; ln -s /dev/zero " + current, tells: []string{"policy_restored"}, recovers: true},
	{name: "policy huge", script: "truncate -s 1G " + current, tells: []string{"policy_restored"}, recovers: true},
	{name: "previous removed", script: "rm " + previous, recovers: true},
	{name: "previous garbage", script: "echo x > " + previous, recovers: true},
	{name: "both policies removed", script: "rm " + current + " " + previous, recovers: true},
	{name: "both policies truncated", script: ": > " + current + "; : > " + previous, recovers: true},
	{name: "both policies and the database removed", script: "rm " + current + " " + previous + " state.db", recovers: true},
	{name: "both policies and the audit log removed", script: "rm -r " + current + " " + previous + " audit audit.head", tells: []string{lost}},
	{name: "both policies removed, audit log cut", script: "rm " + current + " " + previous + "; " + oneLog + `sed -i '$d' "$log"`, tells: []string{lost}},
	{name: "both policies removed, audit log without its beginning", script: "rm " + current + " " + previous + "; " + oneLog + `sed -i 1d "$log"`, tells: []string{lost}},
	{name: "policy truncated, audit log with a flipped byte", script: ": > " + current + "; " + oneLog + flip + `"$log"`, tells: []string{lost}},
	{name: "policy truncated, audit log removed", script: ": > " + current + "; rm -r audit audit.head", tells: []string{lost}},
	{name: "both policies removed, database half cut, no audit log", script: "rm -r " + current + " " + previous + " audit audit.head; " + half + "state.db", tells: []string{lost}},

	{name: "older policy", script: older + "policy", tells: []string{"policy_restored"}, recovers: true},
	{name: "older policy, audit log removed", script: older + "policy; rm -r audit audit.head", tells: []string{lost}},
	{name: "older policy, audit log cut", script: older + "policy; " + oneLog + `sed -i '$d' "$log"`, tells: []string{lost}},
	{name: "older policy, audit log a file", script: older + "policy; rm -r audit; : > audit", tells: []string{lost}},
	{name: "older policy and audit log", script: older + "policy audit", tells: []string{lost}},
	{name: "older audit log, both policies removed", script: older + "audit; rm " + current + " " + previous, tells: []string{lost}},

	{name: "audit log truncated", script: oneLog + `: > "$log"`, tells: []string{"audit_broken"}, recovers: true},
	{name: "audit log half cut", script: oneLog + half + `"$log"`, tells: []string{"audit_broken"}, recovers: true},
	{name: "audit log removed", script: "rm -r audit", tells: []string{"audit_broken"}, recovers: true},
	{name: "audit log a file", script: "rm -r audit; : > audit", tells: []string{"audit_unusable"}, recovers: true},
	{name: "audit log a FIFO", script: "rm -r audit; mkfifo audit", tells: []string{"audit_unusable"}, recovers: true},
	{name: "audit segment a FIFO", script: oneLog + `rm "$log"; mkfifo "$log"`, tells: []string{"audit_unusable"}, recovers: true},
	{name: "audit head garbage", script: "echo x > audit.head", tells: []string{"audit_broken"}, recovers: true},

	{name: "journal removed", script: "rm -r journal", recovers: true},
	{name: "journal a file", script: "rm -r journal; : > journal", tells: []string{"journal_in_memory"}, recovers: true},
	{name: "journal a FIFO", script: "rm -r journal; mkfifo journal", tells: []string{"journal_in_memory"}, recovers: true},
	{name: "journal segment a FIFO", script: allEvents + `rm "$f"; mkfifo "$f"; done`, tells: []string{"journal_in_memory"}, recovers: true},
	{name: "journal segment a directory", script: allEvents + `rm "$f"; mkdir "$f"; done`, tells: []string{"journal_in_memory"}, recovers: true},
	{name: "journal segment of zeros", script: allEvents + `truncate -s 300M "$f"; done`, recovers: true},
	{name: "journal segment half cut", script: allEvents + half + `"$f"; done`, recovers: true},

	{name: "outbox a file", script: "rm -rf outbox; : > outbox", recovers: true},
	{name: "outbox records truncated", script: `for f in outbox/*; do : > "$f"; done`, recovers: true},
	{name: "uploads a file", script: "rm -rf uploads; : > uploads", recovers: true},
	{name: "uploads a FIFO", script: "rm -rf uploads; mkfifo uploads", recovers: true},
	{name: "lock removed", script: "rm state.lock", recovers: true},
	{name: "lock a directory", script: "rm state.lock; mkdir state.lock", tells: []string{"state_read_only"}, recovers: true},
	{name: "lock a FIFO", script: "rm state.lock; mkfifo state.lock", recovers: true},

	{name: "directory a file", script: `d=$PWD; cd ..; rm -r "$d"; : > "$d"`, tells: []string{lost}},
	{name: "directory a FIFO", script: `d=$PWD; cd ..; rm -r "$d"; mkfifo "$d"`, tells: []string{lost}},
	{name: "directory a dangling link", script: `d=$PWD; cd ..; rm -r "$d"; ln -s nowhere "$d"`, tells: []string{lost}},
	{name: "directory without permissions", script: "chmod 0 .", tells: []string{lost}, restricted: true},
	{name: "directory that cannot be written", script: "chmod 500 .", tells: []string{"state_unwritable", "audit_unusable", "state_read_only", "policy_unwritable"}, recovers: true, restricted: true},
	{name: "policy of another owner", script: "chmod 0 policy.json policy.json.previous; rm -r audit audit.head", tells: []string{lost}, restricted: true},
	{name: "everything read-only", script: "chmod -R a-w .", tells: []string{"state_read_only"}, recovers: true, restricted: true},
	{name: "read-only mount", script: "true", tells: []string{"state_read_only"}, recovers: true, mount: mountReadOnly},
	{name: "full disk", script: "true", recovers: true, mount: mountFull},
}

// mountReadOnly mounts a directory on itself, for reading.
func mountReadOnly(t *testing.T, dir string) {
	if err := syscall.Mount(dir, dir, "", syscall.MS_BIND, ""); err != nil {
		t.Skipf("a mount needs root: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	if err := syscall.Mount("", dir, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Skipf("a read-only mount needs root: %v", err)
	}
}

// mountFull moves a directory to a disk without room.
func mountFull(t *testing.T, dir string) {
	kept := t.TempDir()
	writeIn(t, dir, "cp -a . "+kept)
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m,mode=777"); err != nil {
		t.Skipf("a mount needs root: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	writeIn(t, dir, "cp -a "+kept+"/. .; dd if=/dev/zero of=filler bs=4096 status=none || true")
}

// damaged is a workspace with a skill that was never refused, one that policy disables, and one that a scan blocks, with the
// state that a killed sidecar left.
type damaged struct {
	workspace, state, program string
	platform                  *recorder
}

func newDamaged(t *testing.T) damaged {
	t.Helper()
	base := shortDir(t)
	platform := newRecorder(t)
	platform.up(t)
	d := damaged{filepath.Join(base, "w"), filepath.Join(base, "state"), filepath.Join(base, "pannier"), platform}
	writeIn(t, base, "mkdir w w/skills state; chmod 755 . w; chmod 777 state; cp "+binary+" pannier; chmod 755 pannier")
	writeIn(t, d.workspace, `printf 'name: Desk\n' > config.yaml; `+skillScript("plain", "Never refused.")+skillScript("off", "Disabled by policy.")+
		skillScript("evil", "Blocked by a scan.")+`printf '\177ELF\002\001\001' > skills/evil/tool; chmod -R a+rX .`)
	s := startSidecar(t, d.workspace, "--platform-url", "http://"+d.platform.addr, "--state-dir", d.state)
	dir := filepath.Join(d.state, testWorkspaceID)
	s.runs(t, exitYes, "", "policy", "set", "plain", "--implicit=true")
	writeIn(t, dir, "mkdir older; cp -a policy.json* audit audit.head older")
	s.runs(t, exitYes, "", "policy", "set", "off", "--enabled=false")
	s.runs(t, exitNo, "", "scan", "evil")
	s.refuses(t)
	eventually(t, "a card is in the outbox", func() error {
		waiting, err := filepath.Glob(filepath.Join(d.state, testWorkspaceID, "outbox", "*.json"))
		if len(waiting) == 0 {
			err = errors.Join(err, errors.New("none"))
		}
		return err
	})
	eventually(t, "the database has the mark of the newest policy file", func() error {
		var newest policyfile.Mark
		text, err := os.ReadFile(filepath.Join(dir, current))
		if err != nil {
			return err
		}
		if err := json.Unmarshal(text, &newest); err != nil {
			return err
		}
		if got, err := committedMark(t, dir); err != nil || got != newest {
			return fmt.Errorf("it has %+v, want %+v: %w", got, newest, err)
		}
		return nil
	})
	s.process.kill()
	return d
}

// start starts a sidecar on a copy of the state that was damaged. The platform has forgotten its cards.
func (d damaged) start(t *testing.T, how damage) *sidecarUnderTest {
	t.Helper()
	base := shortDir(t)
	writeIn(t, base, "chmod 755 .; mkdir run; chmod 777 run; cp -a "+d.state+" state; chmod 777 state")
	dir := filepath.Join(base, "state", testWorkspaceID)
	t.Cleanup(func() { _ = exec.Command("chmod", "-R", "u+rwX", base).Run() })
	if how.restricted && os.Geteuid() == 0 {
		writeIn(t, base, fmt.Sprintf("chown -R %d:%[1]d state", otherUser))
	}
	if how.mount != nil {
		how.mount(t, dir)
	}
	writeIn(t, dir, how.script)
	d.platform.forget()
	return d.run(t, base, how.restricted)
}

func (r *recorder) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cards = nil
}

// committedMark returns the mark of the newest policy file from a copy of the database. A look at its bytes would also find a mark
// whose transaction is not committed yet, which a kill takes back.
func committedMark(t *testing.T, dir string) (mark policyfile.Mark, err error) {
	t.Helper()
	database, err := os.ReadFile(filepath.Join(dir, "state.db"))
	if err != nil {
		return mark, err
	}
	apart := t.TempDir()
	if err := os.WriteFile(filepath.Join(apart, "state.db"), database, 0o600); err != nil {
		return mark, err
	}
	s, err := state.Open(apart)
	if err != nil {
		return mark, err
	}
	defer s.Close()
	_, err = s.Get("policy_file", "newest", &mark)
	return mark, err
}

func (d damaged) run(t *testing.T, base string, restricted bool) *sidecarUnderTest {
	t.Helper()
	socket := filepath.Join(base, "run", "s")
	cmd := exec.Command(d.program, "run", "--workspace", d.workspace, "--workspace-id", testWorkspaceID, "--socket", socket,
		"--state-dir", filepath.Join(base, "state"), "--environment-own", "block", "--resync", "0", "--log-level", "debug",
		"--platform-url", "http://"+d.platform.addr)
	cmd.Dir = base
	if restricted && os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: otherUser, Gid: otherUser}}
	}
	s := &sidecarUnderTest{workspace: d.workspace, socket: socket, Client: client.New(socket)}
	s.process = startProcess(t, cmd)
	t.Cleanup(s.Close)
	awaitReady(t, s.Client)
	return s
}

// refuses checks every surface: neither the skill that policy disables nor the one that a scan blocks is offered.
func (s *sidecarUnderTest) refuses(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	list, err := s.Skills(ctx, "", false)
	if err != nil || len(list.Skills) != 3 {
		t.Errorf("%d skills: %v", len(list.Skills), err)
	}
	for _, e := range list.Skills {
		if e.Slug != "plain" && (e.Usable || len(e.Reasons) == 0 || e.Reasons[0].Remedy == "") {
			t.Errorf("%s is %s, %+v", e.Slug, e.State, e.Reasons)
		}
	}
	turn := pannier.Turn{
		Text:         "$off $evil @skill:off @skill:evil /skill:evil x",
		Capabilities: []pannier.Capability{{ID: "1", Slug: "off"}, {ID: "2", Slug: "evil"}},
	}
	resolution, err := s.Resolve(ctx, turn)
	if err != nil {
		t.Error(err)
	}
	for _, active := range resolution.Active {
		if active.Slug != "plain" {
			t.Errorf("a turn has %s active", active.Slug)
		}
	}
	shown := []string{}
	for _, format := range []string{"compact", "available_skills", "openclaw", "skills_xml", "molecule"} {
		turn.Format = format
		p, err := s.Prompt(ctx, turn)
		if err != nil {
			t.Error(format, err)
		}
		shown = append(shown, p.Text)
	}
	card, err := s.Card(ctx)
	if err != nil {
		t.Error(err)
	}
	commands, err := s.Commands(ctx)
	if err != nil {
		t.Error(err)
	}
	shown = append(shown, string(card), fmt.Sprint(commands))
	for _, text := range shown {
		if strings.Contains(text, "Disabled by policy.") || strings.Contains(text, "Blocked by a scan.") {
			t.Errorf("it is offered:\n%s", text)
		}
	}
	for _, slug := range []string{"off", "evil"} {
		if _, err := s.Content(ctx, slug); err == nil {
			t.Errorf("the content of %s is served", slug)
		}
		if _, err := s.RunCommand(ctx, "/"+slug, ""); err == nil {
			t.Errorf("/%s runs", slug)
		}
	}
}

// offeredNothing checks the cards that a platform got.
func (r *recorder) offeredNothing(t *testing.T) {
	t.Helper()
	for _, card := range r.received() {
		if strings.Contains(card, "Disabled by policy.") || strings.Contains(card, "Blocked by a scan.") {
			t.Errorf("the platform got %s", card)
		}
	}
}

// tellsOne checks that health shows one of the conditions, with what to do.
func (s *sidecarUnderTest) tellsOne(t *testing.T, codes []string) {
	t.Helper()
	if len(codes) == 0 || slices.Contains(codes, "") {
		return
	}
	eventually(t, "health tells", func() error {
		h, err := s.Health(t.Context())
		for _, c := range h.Conditions {
			if slices.Contains(codes, c.Code) && c.Hint != "" {
				return nil
			}
		}
		return fmt.Errorf("conditions %+v, %v, want one of %q", h.Conditions, err, codes)
	})
}

// TestRefusalsSurviveDamage damages the state directory in every way: what was disabled or blocked stays so.
func TestRefusalsSurviveDamage(t *testing.T) {
	t.Parallel()
	d := newDamaged(t)
	for _, how := range damages {
		t.Run(how.name, func(t *testing.T) {
			s := d.start(t, how)
			s.refuses(t)
			if status := s.status(t, "/livez"); status != 200 {
				t.Errorf("/livez answers %d", status)
			}
			s.tellsOne(t, how.tells)
			if how.recovers {
				s.judged(t, "plain", pannier.StateEligible, pannier.EnvironmentSidecar)
			} else {
				e, err := s.entry(t, "plain")
				if err != nil || e.State != pannier.StateIneligible || e.Reasons[0].Code != pannier.ReasonStateLost {
					t.Errorf("the other skill is %s, %+v, %v", e.State, e.Reasons, err)
				}
				if cards := d.platform.received(); len(cards) > 0 {
					t.Errorf("the platform lost its card: %q", cards)
				}
			}
			s.refuses(t)
			d.platform.offeredNothing(t)
		})
	}
}

// TestLossThatIsAcknowledged ends a loss by the word of an operator: skills can be used, a new policy file holds, and changes are
// taken again.
func TestLossThatIsAcknowledged(t *testing.T) {
	t.Parallel()
	d := newDamaged(t)
	s := d.start(t, damage{script: "rm -r policy.json policy.json.previous audit audit.head"})
	s.tellsOne(t, []string{lost})
	no := false
	change := pannier.PolicyChange{Enabled: pannier.Toggle{Given: true, To: &no}}
	_, err := s.SetPolicy(t.Context(), "plain", "", change)
	if e, ok := errors.AsType[*client.Error](err); !ok || e.Code != "state.lost" {
		t.Errorf("a policy is answered with %v", err)
	}
	if out, code := s.run("health", "acknowledge", "nothing"); code == exitYes || !strings.Contains(out, "hint: ") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	s.runs(t, exitYes, "acknowledged state_lost", "health", "acknowledge", lost)
	s.judged(t, "plain", pannier.StateEligible, pannier.EnvironmentSidecar)
	until(t, "the platform has a card", func() bool { return len(d.platform.received()) != 0 })
	s.runs(t, exitYes, "", "policy", "set", "plain", "--enabled=false")
	entries, err := s.Audit(t.Context(), "", 10)
	if err != nil || !slices.ContainsFunc(entries.Entries, func(e pannier.AuditEntry) bool { return e.Action == pannier.ActionAcknowledge }) {
		t.Errorf("audit log %+v, %v", entries, err)
	}
	s.process.kill()
	s = d.run(t, filepath.Dir(filepath.Dir(s.socket)), false)
	s.judged(t, "plain", pannier.StateDisabled, pannier.EnvironmentSidecar)
	s.toldNoMore(t, lost)
}

// TestRefusalsInMemory says that they end with the process.
func TestRefusalsInMemory(t *testing.T) {
	t.Parallel()
	s := startSidecar(t, workspaceWith(t, skillScript("one", "One.")), "--platform-url", "off")
	s.toldNoMore(t, "refusals_in_memory")
	s.runs(t, exitYes, "", "policy", "set", "one", "--enabled=false")
	s.tellsOf(t, "refusals_in_memory")
	if h, err := s.Health(t.Context()); err != nil || h.Status != pannier.HealthOK {
		t.Errorf("health is %s, %v", h.Status, err)
	}
}

// TestStartOnDamageIsQuick bounds the start on a journal of zeros.
func TestStartOnDamageIsQuick(t *testing.T) {
	t.Parallel()
	d := newDamaged(t)
	began := time.Now()
	d.start(t, damage{script: allEvents + `truncate -s 300M "$f"; done`})
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("the start took %s", took)
	}
}
