package main

import (
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
)

func commandIn(dir, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// unprivileged returns a command line that can read only what the modes of files allow. An ordinary user needs nothing for that;
// root gives up two capabilities, and the test is skipped where it cannot.
func unprivileged(t *testing.T, command ...string) []string {
	t.Helper()
	if os.Geteuid() != 0 {
		return command
	}
	restrict := []string{"setpriv", "--bounding-set", "-dac_override,-dac_read_search", "--inh-caps", "-all"}
	try := append(slices.Clone(restrict), "true")
	if out, err := commandIn("/", try[0], try[1:]...); err != nil {
		t.Skipf("root cannot give up its capabilities here: %v %s", err, out)
	}
	return append(restrict, command...)
}

// startUnprivileged is startFault for a sidecar that can not read what the modes of files do not let it.
func startUnprivileged(t *testing.T, workspace string, args ...string) *sidecarUnderTest {
	t.Helper()
	s := atSocket(t, workspace)
	command := unprivileged(t, append([]string{
		binary, "run", "--workspace", workspace, "--workspace-id", testWorkspaceID, "--socket", s.socket, "--state-dir", "none",
		"--environment-own", "block", "--log-level", "debug", "--platform-url", "off", "--settle", "50ms", "--debounce", "100ms", "--resync", "1s",
	}, args...)...)
	s.process = startCommand(t, "/", command[0], command[1:]...)
	awaitReady(t, s.Client)
	return s
}

// servesCount waits until that many skills are served.
func (s *sidecarUnderTest) servesCount(t *testing.T, want int) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d skills", want), func() error {
		list, err := s.Skills(t.Context(), "", false)
		if err == nil && (len(list.Skills) != want || len(list.Held.Deleting) > 0) {
			err = fmt.Errorf("%d skills, %d of them held", len(list.Skills), len(list.Held.Deleting))
		}
		return err
	})
}

func TestFaultNewDirectoriesAreFoundToTheirLeaves(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	s := startFault(t, w, "--max-dirs", "100000")
	flat, deep := often(1000, 10_000), often(100, 1000)
	runWriter(t, "skills", filepath.Join(w, "skills"), flat, 1)
	runWriter(t, "skills", filepath.Join(w, "skills"), deep, 6)
	s.servesCount(t, flat+deep)
	s.heard(t)
}

func TestFaultChangesDuringTheStart(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	end := beginWriter(t, "skills", filepath.Join(w, "skills"), 2000, 1)
	s := startFault(t, w)
	end()
	s.servesCount(t, 2000)
	s.heard(t)
}

// TestFaultSuspendedProcess stops the sidecar while more happens than the queue of the kernel holds.
func TestFaultSuspendedProcess(t *testing.T) {
	t.Parallel()
	w, file := oneSkill(t)
	s := startFault(t, w)
	need(t, s.cmd.Process.Signal(syscall.SIGSTOP))
	runWriter(t, "storm", filepath.Join(w, "skills"), often(10_000, 50_000))
	runWriter(t, "skills", filepath.Join(w, "skills"), 3, 2)
	runWriter(t, "replace", file, 5, "0s")
	need(t, s.cmd.Process.Signal(syscall.SIGCONT))
	s.serves(t, "one", number(5))
	s.servesCount(t, 4)
	until(t, "an overflow is counted", func() bool { // it is the last event of the queue
		return s.metric(t, `pannier_watch_errors_total{kind="overflow"}`) > 0
	})
	s.write(t, "sed -i 's/number .*/number 6/' skills/one/SKILL.md; sed -i 's/number .*/number 7/' skills/s2-0g/s2-0/SKILL.md")
	s.serves(t, "one", number(6))
	s.serves(t, "s2-0", number(7))
	s.heard(t)
}

// TestFaultStormOfEvents goes on for longer than the queue could hold it, while a skill changes.
func TestFaultStormOfEvents(t *testing.T) {
	t.Parallel()
	w, file := oneSkill(t)
	s := startFault(t, w)
	end := beginWriter(t, "storm", filepath.Join(w, "skills"), often(30_000, 500_000))
	runWriter(t, "replace", file, 50, "20ms")
	s.serves(t, "one", number(50))
	end()
	runWriter(t, "replace", file, 51, "0s")
	s.serves(t, "one", number(51))
	s.heard(t)
}

// TestFaultTreeThatNeverRests is written to all the time: it is looked at all the same, and not at each event.
func TestFaultTreeThatNeverRests(t *testing.T) {
	t.Parallel()
	w, file := oneSkill(t)
	const settle = 300 * time.Millisecond // a busy machine lets the writer rest for longer than startFault's
	s := startFault(t, w, "--settle", settle.String())
	end := s.watching(t)
	begun := time.Now()
	runWriter(t, "rewrite", file, 600, "20ms")
	s.serves(t, "one", number(600))
	noise := time.Since(begun)
	if n := len(end()); n < 4 || n > 2+int(noise/settle) {
		t.Errorf("%d snapshots in %s of noise", n, noise)
	}
	s.write(t, "for i in $(seq 1000); do printf x >> skills/one/notes; done")
	if n := s.metric(t, `pannier_scans_total{result="unchanged",trigger="event"}`); n > 60 {
		t.Errorf("%v looks for nothing", n)
	}
	s.heard(t)
}

func TestFaultRootComesAndGoes(t *testing.T) {
	t.Parallel()
	w := t.TempDir()
	writeIn(t, w, `printf 'name: n\n' > config.yaml`)
	s := startFault(t, w)
	s.tellsOf(t, "root_missing")
	if n := s.metric(t, "pannier_watch_roots_missing"); n != 1 {
		t.Errorf("%v roots are missing", n)
	}
	s.loggedOnce(t, "a root is not there", filepath.Join(w, "skills"))

	s.write(t, skillScript("one", "number 1")) // it comes
	s.serves(t, "one", number(1))
	s.healthy(t)
	s.write(t, "rm -r skills; mkdir skills;"+skillScript("one", "number 2")) // is made anew
	s.serves(t, "one", number(2))
	s.write(t, "rm -r skills") // goes
	s.tellsOf(t, "root_missing")
	s.gone(t, "one")
	if n := s.metric(t, `pannier_watch_errors_total{kind="lost_root"}`); n == 0 {
		t.Error("no lost root was counted")
	}
	s.write(t, skillScript("one", "number 3")) // and is back
	s.serves(t, "one", number(3))
	s.write(t, "sed -i 's/number 3/number 4/' skills/one/SKILL.md")
	s.serves(t, "one", number(4))
	s.healthy(t)
	if n := s.metric(t, "pannier_watch_roots_missing"); n != 0 {
		t.Errorf("%v roots are missing", n)
	}
	s.heard(t)
}

func TestFaultRootIsReplaced(t *testing.T) {
	t.Parallel()
	w, _ := oneSkill(t)
	s := startFault(t, w)
	s.write(t, "cp -r skills next; sed -i 's/number 0/number 1/' next/one/SKILL.md; mv skills old; mv next skills")
	s.serves(t, "one", number(1))
	until(t, "the change of the root is told", func() bool { return s.metric(t, `pannier_watch_rearms_total{reason="root"}`) != 0 })
	s.loggedOnce(t, "a root was removed or replaced", filepath.Join(w, "skills"))
	s.write(t, "sed -i 's/number ./number 9/' old/one/SKILL.md; sed -i 's/number ./number 2/' skills/one/SKILL.md")
	s.serves(t, "one", number(2))
	s.healthy(t)
	s.heard(t)
}

// TestFaultAncestorIsRenamed moves the directory above the workspace, of which no event tells.
func TestFaultAncestorIsRenamed(t *testing.T) {
	t.Parallel()
	above := t.TempDir()
	w := filepath.Join(above, "a/w")
	writeIn(t, above, "mkdir -p a/w/skills; printf 'name: n\\n' > a/w/config.yaml; cd a/w;"+skillScript("one", "number 0"))
	s := startFault(t, w, "--resync", "1s")
	writeIn(t, above, "mv a b; mkdir -p a/w; cp -r b/w/* a/w; sed -i 's/number 0/number 1/' a/w/skills/one/SKILL.md; sed -i 's/number 0/number 9/' b/w/skills/one/SKILL.md")
	s.serves(t, "one", number(1))
	eventually(t, "the change of the root is told", func() error {
		if s.metric(t, `pannier_watch_errors_total{kind="lost_root"}`) == 0 || s.metric(t, `pannier_watch_rearms_total{reason="root"}`) == 0 {
			return errors.New("no lost root")
		}
		return nil
	})
	s.loggedOnce(t, "a root was removed or replaced", filepath.Join(w, "skills"))
	s.hears(t, "the new tree is watched", func(script string) { writeIn(t, w, script) })
	s.healthy(t)
}

func TestFaultLinkIsTurned(t *testing.T) {
	t.Parallel()
	w := t.TempDir()
	writeIn(t, w, `printf 'name: n\n' > config.yaml
		for v in 1 2; do mkdir -p v$v/one v$v/.store/a; printf -- "---\nname: one\ndescription: number $v\n---\nx\n" > v$v/one/SKILL.md; done; ln -s v1 skills`)
	s := startFault(t, w)
	s.serves(t, "one", number(1))
	s.write(t, "ln -s v2 t; mv -T t skills")
	s.serves(t, "one", number(2))
	s.loggedOnce(t, "a root was removed or replaced", filepath.Join(w, "skills"))
	if n := s.metric(t, `pannier_watch_rearms_total{reason="root"}`); n == 0 {
		t.Error("no rearm was counted")
	}
	s.write(t, "sed -i 's/number ./number 3/' v2/one/SKILL.md")
	s.serves(t, "one", number(3))

	// A skill that is a link within the root, and its file behind a link.
	s.write(t, `cd skills; printf -- '---\nname: two\ndescription: number 1\n---\nx\n' > .store/a/SKILL.md; ln -s .store/a two`)
	s.serves(t, "two", number(1))
	s.write(t, "sed -i 's/number ./number 2/' skills/.store/a/SKILL.md")
	s.serves(t, "two", number(2))
	s.write(t, "cd skills; cp -r .store/a .store/b; sed -i 's/number ./number 3/' .store/b/SKILL.md; ln -s .store/b t; mv -T t two")
	s.serves(t, "two", number(3))
	s.write(t, "sed -i 's/number ./number 4/' skills/.store/b/SKILL.md")
	s.serves(t, "two", number(4))
	s.heard(t)
}

// TestFaultStopInAStorm ends the sidecar in the midst of a burst.
func TestFaultStopInAStorm(t *testing.T) {
	t.Parallel()
	for range often(3, 50) {
		w, _ := oneSkill(t)
		s := startFault(t, w)
		end := beginWriter(t, "storm", filepath.Join(w, "skills"), 5_000)
		s.stops(t)
		end()
	}
}

// TestFaultLimitsOfTheKernel goes from too few watches and instances to enough, in a sidecar with limits of its own.
func TestFaultLimitsOfTheKernel(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, limit, low, kind, word string }{
		{"watches", "max_inotify_watches", "5", "enospc", "fs.inotify.max_user_watches"},
		{"instances", "max_inotify_instances", "0", "emfile", "fs.inotify.max_user_instances"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w, file := oneSkill(t)
			runWriter(t, "skills", filepath.Join(w, "skills"), 20, 1)
			// The limit of the namespace: those below fs/inotify are the whole machine's, also when they are written from within one.
			limit := "/proc/sys/user/" + tt.limit
			s := startIsolated(t, w, "echo "+tt.low+" > "+limit, "--resync", "0")
			if c := s.tellsOf(t, "watch_degraded"); !strings.Contains(c.Hint, tt.word) {
				t.Errorf("condition %+v", c)
			}
			if n := s.metric(t, `pannier_watch_errors_total{kind="`+tt.kind+`"}`); n == 0 {
				t.Error("nothing is counted")
			}
			if n := s.metric(t, "pannier_watches_polled"); n == 0 {
				t.Error("nothing is polled")
			}
			s.loggedOnce(t, "[WARN]", "how changes are noticed has changed", tt.word)
			runWriter(t, "replace", file, 3, "0s")
			s.serves(t, "one", number(3)) // by polling
			s.enter(t, "echo 1000 > "+limit)
			s.healthy(t)
			s.loggedOnce(t, "[INFO]", "how changes are noticed has changed", "mode=inotify ")
			runWriter(t, "replace", file, 4, "0s")
			s.serves(t, "one", number(4))
			s.heard(t)
		})
	}
}

// TestFaultMounts mounts over a root, takes it away again, and changes what an overlay shows from behind.
func TestFaultMounts(t *testing.T) {
	t.Parallel()
	w, _ := oneSkill(t)
	writeIn(t, w, "mkdir lower upper work; cp -r skills/one lower/one; sed -i 's/number ./number 5/' lower/one/SKILL.md")
	s := startIsolated(t, w, "mount -t tmpfs none /mnt; umount /mnt", "--resync", "500ms")
	s.enter(t, "cp -r skills t; mount -t tmpfs none skills; cp -r t/one skills/; sed -i 's/number ./number 1/' skills/one/SKILL.md")
	s.serves(t, "one", number(1))
	s.found(t)
	until(t, "the loss is told", func() bool { return s.metric(t, `pannier_watch_errors_total{kind="lost_root"}`) != 0 })
	s.loggedOnce(t, "a root was removed or replaced", filepath.Join(w, "skills"))
	s.hears(t, "what is mounted is watched", func(script string) { s.enter(t, script) })
	s.enter(t, "umount -l skills")
	s.serves(t, "one", number(0))
	s.enter(t, "sed -i 's/number ./number 3/' skills/one/SKILL.md")
	s.serves(t, "one", number(3))
	s.enter(t, "mount --bind t skills; mount -o remount,ro,bind skills")
	s.serves(t, "one", number(0))
	s.enter(t, "umount -l skills")
	s.serves(t, "one", number(3))
	s.healthy(t)
	t.Run("overlay", s.changesBehindAnOverlay)
}

// changesBehindAnOverlay mounts one over the root, and changes its lower directory.
func (s *inNamespace) changesBehindAnOverlay(t *testing.T) {
	w := s.workspace
	if out, err := commandIn(w, "nsenter", "-t", fmt.Sprint(s.cmd.Process.Pid), "-U", "-m", "--preserve-credentials", "mount", "-t", "overlay", "none",
		"-o", fmt.Sprintf("lowerdir=%[1]s/lower,upperdir=%[1]s/upper,workdir=%[1]s/work,userxattr", w), w+"/skills"); err != nil {
		t.Skipf("no overlay here: %v %s", err, out)
	}
	s.serves(t, "one", number(5))
	s.write(t, "sed 's/number ./number 6/' lower/one/SKILL.md > t6; cat t6 > lower/one/SKILL.md") // behind the overlay
	s.serves(t, "one", number(6))
	s.write(t, "cp -r lower/one lower/two; sed -i 's/name: one/name: two/' lower/two/SKILL.md") // the merged directory keeps its times
	s.serves(t, "two", number(6))
	s.write(t, "mv lower/two lower/three")
	s.servesSlugs(t, "one", "three")
}

// TestFaultSingleFileIsMounted mounts one SKILL.md and config.yaml alone, as subPath does.
func TestFaultSingleFileIsMounted(t *testing.T) {
	t.Parallel()
	w, _ := oneSkill(t)
	writeIn(t, w, "mkdir src; cp skills/one/SKILL.md src; cp config.yaml src")
	s := startIsolated(t, w, "mount --bind src/SKILL.md skills/one/SKILL.md; mount --bind src/config.yaml config.yaml", "--resync", "500ms")
	c := s.tellsOf(t, "mount_single_file")
	if c.Severity != pannier.SeverityWarning || !strings.Contains(c.Hint, "mount the directory") || c.Subject != "config.yaml" {
		t.Errorf("condition %+v", c)
	}
	s.write(t, "sed 's/number ./number 1/' src/SKILL.md > t1; cat t1 > src/SKILL.md") // in place it shows
	s.serves(t, "one", number(1))
	s.enter(t, "umount skills/one/SKILL.md; umount config.yaml")
	s.healthy(t)
}

// TestFaultMountedFileIsPolled writes behind the mounts of single files. No directory tells of that, and there are no resyncs.
func TestFaultMountedFileIsPolled(t *testing.T) {
	t.Parallel()
	w, _ := oneSkill(t)
	writeIn(t, w, "mkdir src; cp skills/one/SKILL.md src; cp config.yaml src")
	s := startIsolated(t, w, "mount --bind src/SKILL.md skills/one/SKILL.md; mount --bind src/config.yaml config.yaml", "--resync", "0")
	s.tellsOf(t, "mount_single_file")
	for n := 1; n <= 3; n++ {
		s.write(t, fmt.Sprintf("sed 's/number ./number %d/' src/SKILL.md > t1; cat t1 > src/SKILL.md", n))
		s.serves(t, "one", number(n))
	}
	s.write(t, "echo 'skills: [none]' >> src/config.yaml")
	eventually(t, "config.yaml is read", func() error {
		if e, err := s.Skill(t.Context(), "one", ""); err != nil || e.State != pannier.StateUnlisted {
			return fmt.Errorf("skill %+v, error %v", e, err)
		}
		return nil
	})
}

// TestFaultDirectoryIsMounted changes the directory behind a bind mount.
func TestFaultDirectoryIsMounted(t *testing.T) {
	t.Parallel()
	w, _ := oneSkill(t)
	writeIn(t, w, "mv skills src; mkdir skills")
	s := startIsolated(t, w, "mount --bind src skills", "--resync", "0")
	for i := 1; i <= 3; i++ {
		runWriter(t, "replace", filepath.Join(w, "src/one/SKILL.md"), i, "0s")
		s.serves(t, "one", number(i))
	}
	s.write(t, strings.ReplaceAll(skillScript("two", "Is new."), "skills/", "src/"))
	s.serves(t, "two", "Is new.")
	s.heard(t)
	s.healthy(t)
}
