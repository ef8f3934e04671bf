package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pannier"
)

// holds is an outcome: the card on the socket, in the platform's store and on its event stream are one, and holds(card)
// is true of it.
func everywhere(t *testing.T, s *sidecarUnderTest, p *platformUnderTest, what string, holds func(card string) bool) {
	t.Helper()
	eventually(t, what, func() error {
		card, err := s.Card(t.Context())
		if err != nil {
			return err
		}
		if !holds(string(card)) {
			return fmt.Errorf("card on the socket: %s", card)
		}
		stored, err := p.stored()
		if err != nil {
			return err
		}
		if stored != string(card) {
			return fmt.Errorf("the platform holds %s", stored)
		}
		if frames := p.frames(); len(frames) == 0 || frames[len(frames)-1] != string(card) {
			return fmt.Errorf("%d frames, the last one another card", len(frames))
		}
		return nil
	})
}

func TestChangesGoLive(t *testing.T) {
	t.Parallel()
	p := startPlatform(t)
	s := startSidecar(t, newWorkspace(t), "--platform-url", p.url, "--platform-token-file", tokenFile(t))
	everywhere(t, s, p, "the first card", func(card string) bool { return strings.Contains(card, `"name":"Test desk"`) })

	s.write(t, skillScript("haiku", "Writes a haiku."))
	everywhere(t, s, p, "a new skill", func(card string) bool { return strings.Contains(card, "Writes a haiku.") })
	if e, err := s.entry(t, "haiku"); err != nil || e.State != pannier.StateEligible || e.Path != "skills/haiku" {
		t.Errorf("entry %+v, %v", e, err)
	}

	s.write(t, skillScript("haiku", "Writes three haiku."))
	everywhere(t, s, p, "an edit in place", func(card string) bool { return strings.Contains(card, "Writes three haiku.") })

	s.write(t, `sed s/three/four/ skills/haiku/SKILL.md > skills/.new; mv skills/.new skills/haiku/SKILL.md`)
	everywhere(t, s, p, "a rename over", func(card string) bool { return strings.Contains(card, "Writes four haiku.") })
	c, err := s.Content(t.Context(), "haiku")
	if err != nil || c.Body != "Do it.\n" || c.Directory != s.workspace+"/skills/haiku" {
		t.Errorf("content %+v, %v", c, err)
	}

	s.write(t, `sed -i 's/Test desk/Night desk/' config.yaml`)
	everywhere(t, s, p, "config.yaml", func(card string) bool { return strings.Contains(card, `"name":"Night desk"`) })

	s.write(t, `mkdir -p skills/group/deep/er; `+strings.ReplaceAll(skillScript("limerick", "Writes a limerick."), "skills/", "skills/group/deep/er/"))
	everywhere(t, s, p, "a skill in new directories", func(card string) bool { return strings.Contains(card, `"id":"limerick"`) })

	s.write(t, `rm -r skills/haiku`)
	everywhere(t, s, p, "a deletion", func(card string) bool { return !strings.Contains(card, `"id":"haiku"`) })
	if _, err := s.entry(t, "haiku"); err == nil {
		t.Error("the deleted skill is still listed")
	}
}

func TestBrokenSkillHarmsItselfAlone(t *testing.T) {
	t.Parallel()
	w := workspaceWith(t, skillScript("good", "Stays as it is.")+skillScript("torn", "Will break.")+`mkdir skills/born-broken; printf -- '---\nname: x\ntags: [asked\n---\n' > skills/born-broken/SKILL.md`)
	s := startSidecar(t, w, "--platform-url", "off")

	born := must(s.entry(t, "born-broken"))(t)
	if born.State != pannier.StateIneligible || len(born.Problems) == 0 || born.Problems[0].Line != 3 || !strings.Contains(born.Problems[0].Hint, "bracket") {
		t.Errorf("the broken skill is %s with %+v; want its line 3 and a hint", born.State, born.Problems)
	}

	s.write(t, `printf -- '---\nname: torn\ntags: [bold\n---\n' > skills/torn/SKILL.md`)
	eventually(t, "the skill that broke is last good", func() error {
		torn, err := s.entry(t, "torn")
		if err != nil {
			return err
		}
		if !torn.LastGood || !torn.Usable || torn.Description != "Will break." || len(torn.Problems) == 0 || torn.Problems[0].Line != 3 {
			return fmt.Errorf("entry %+v", torn)
		}
		return nil
	})
	if good, err := s.entry(t, "good"); err != nil || !good.Usable || len(good.Problems) > 0 {
		t.Errorf("the good skill is %+v, %v", good, err)
	}
	h, err := s.Health(t.Context())
	if err != nil || h.Status != pannier.HealthDegraded || !strings.Contains(fmt.Sprint(h.Conditions), "born-broken, torn") {
		t.Errorf("health %+v, %v", h, err)
	}
}

func TestTouchPushesNothing(t *testing.T) {
	t.Parallel()
	p := startPlatform(t)
	w := workspaceWith(t, skillScript("still", "Does not change."))
	s := startSidecar(t, w, "--platform-url", p.url, "--platform-token-file", tokenFile(t))
	s.settled(t)
	before := must(s.Skills(t.Context(), "", false))(t)
	s.write(t, `touch skills/still/SKILL.md config.yaml; chmod 600 skills/still/SKILL.md; cp skills/still/SKILL.md skills/still/x; mv skills/still/x skills/still/SKILL.md`)
	s.settled(t)
	after, err := s.Skills(t.Context(), "", false)
	if err != nil || after.SnapshotVersion != before.SnapshotVersion || after.Digest != before.Digest {
		t.Errorf("version %d became %d, %v", before.SnapshotVersion, after.SnapshotVersion, err)
	}
	// A change that is pushed proves that nothing before it was still on its way.
	s.write(t, skillScript("last", "Ends the test."))
	everywhere(t, s, p, "a change after the touch", func(card string) bool { return strings.Contains(card, "Ends the test.") })
	if frames := p.frames(); len(frames) != 2 {
		t.Errorf("%d cards were pushed, want the first and the one with the change", len(frames))
	}
}

func TestManyFilesMakeFewPushes(t *testing.T) {
	t.Parallel()
	p := startPlatform(t)
	s := startSidecar(t, newWorkspace(t), "--platform-url", p.url, "--platform-token-file", tokenFile(t))
	s.settled(t)
	first := len(p.frames())
	var script strings.Builder
	for i := range 200 {
		script.WriteString(skillScript(fmt.Sprintf("skill-%03d", i), "One of many."))
	}
	s.write(t, script.String())
	everywhere(t, s, p, "200 skills", func(card string) bool { return strings.Count(card, "One of many.") == 200 })
	s.settled(t)
	if pushes := len(p.frames()) - first; pushes > 2 {
		t.Errorf("200 files made %d pushes, want at most 2", pushes)
	}
}

func TestPlatformThatWasAwayGetsTheNewestCardAlone(t *testing.T) {
	t.Parallel()
	platform := newRecorder(t)
	s := startSidecar(t, newWorkspace(t), "--platform-url", "http://"+platform.addr, "--platform-token-file", tokenFile(t))
	away := time.NewTimer(10 * time.Second)
	defer away.Stop()
	for i := range 5 {
		s.write(t, skillScript(fmt.Sprintf("step-%d", i), "Made meanwhile."))
		s.listed(t, fmt.Sprintf("step-%d", i))
	}
	<-away.C
	h, err := s.Health(t.Context())
	if err != nil || h.Status == pannier.HealthOK || h.Push[0].LastError == "" {
		t.Errorf("health does not tell that the platform is away: %+v, %v", h, err)
	}
	platform.up(t)
	s.acknowledged(t)
	card := must(s.Card(t.Context()))(t)
	got := platform.received()
	if len(got) != 1 {
		t.Fatalf("the platform got %d cards, want the newest alone", len(got))
	}
	if !strings.Contains(got[0], testWorkspaceID) || string(sentCard(got[0])) != string(card) {
		t.Errorf("the platform got %s, want %s", got[0], card)
	}
}

func TestSigtermLeavesNothing(t *testing.T) {
	t.Parallel()
	p := startPlatform(t)
	s := startSidecar(t, newWorkspace(t), "--platform-url", p.url, "--platform-token-file", tokenFile(t))
	s.write(t, skillScript("late", "In the midst of work."))
	if code := s.terminate(t); code != exitYes {
		t.Errorf("exit code %d, want %d", code, exitYes)
	}
	if _, err := os.Lstat(s.socket); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
	if code := p.terminate(t); code != exitYes {
		t.Errorf("platform: exit code %d, want %d", code, exitYes)
	}
}

func TestChangesGoLiveByPolling(t *testing.T) {
	t.Parallel()
	s := startSidecar(t, newWorkspace(t), "--platform-url", "off", "--watch", "poll", "--resync", "0")
	for _, text := range []string{"Writes a haiku.", "Writes two haiku.", "Writes three haiku."} {
		s.write(t, skillScript("haiku", text))
		eventually(t, text, func() error {
			e, err := s.entry(t, "haiku")
			if err == nil && e.Description != text {
				err = errors.New(e.Description)
			}
			return err
		})
	}
	h, err := s.Health(t.Context())
	if err != nil || h.Watch.Mode != "poll" || h.Watch.Polled != h.Watch.Watches || h.Status != pannier.HealthOK {
		t.Errorf("health %+v, %v, want polling and nothing wrong with it", h, err)
	}
}

// TestNoiseBesideASkill has a log grow beside a skill, an editor's backup come and go in the root, and a skill that is written all
// the time, by another process, while another skill is edited. Each edit is served soon.
func TestNoiseBesideASkill(t *testing.T) {
	t.Parallel()
	for name, noise := range map[string]string{
		"log":    "echo line >> skills/noisy/run.log",
		"backup": "echo text > skills/.swp; mv skills/.swp skills/notes~; rm skills/notes~",
		"skill":  "echo more >> skills/noisy/SKILL.md",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, _ := oneSkill(t)
			writeIn(t, w, "mkdir skills/noisy; sed 's/^name: .*/name: noisy/' skills/one/SKILL.md > skills/noisy/SKILL.md")
			s := startFault(t, w, "--settle", "100ms", "--debounce", "2s", "--resync", "0")
			s.serves(t, "one", number(0))
			busy := exec.CommandContext(t.Context(), "sh", "-c", "while :; do "+noise+"; sleep 0.03; done")
			busy.Dir = w
			need(t, busy.Start())
			defer busy.Wait()
			defer busy.Process.Kill()
			var worst time.Duration
			for n := range 3 {
				text := must(os.ReadFile(filepath.Join(w, "skills/one/SKILL.md")))(t)
				edited := strings.ReplaceAll(string(text), number(n), number(n+1))
				need(t, os.WriteFile(filepath.Join(w, "skills/one/SKILL.md"), []byte(edited), 0o600))
				began := time.Now()
				s.serves(t, "one", number(n+1))
				worst = max(worst, time.Since(began))
			}
			if worst > 2*time.Second { // far more than it takes, far less than the longest wait
				t.Errorf("an edit was served after %v", worst)
			}
		})
	}
}

// TestNoiseWithoutEndHoldsNoPush touches a skill without a pause. The first card waits for the longest wait, and health says that it is on its
// way. Later ones do not wait for the noise.
func TestNoiseWithoutEndHoldsNoPush(t *testing.T) {
	t.Parallel()
	const maxWait = 3 * time.Second
	w, file := oneSkill(t)
	writeIn(t, w, "mkdir skills/noisy; sed 's/^name: .*/name: noisy/' skills/one/SKILL.md > skills/noisy/SKILL.md")
	platform := newRecorder(t)
	platform.up(t)
	// On a busy machine the writer can pause for longer than the settle of 100 ms, and would not be noise without end.
	s := startSidecar(t, w, "--platform-url", "http://"+platform.addr, "--settle", "600ms", "--resync", "0")
	s.acknowledged(t)
	busy := exec.CommandContext(t.Context(), "sh", "-c", "while :; do touch skills/noisy/SKILL.md; sleep 0.02; done")
	busy.Dir = w
	need(t, busy.Start())
	defer busy.Wait()
	defer busy.Process.Kill()
	begun := time.Now()
	time.Sleep(2 * time.Second) // which is not what the next push waits for

	edit := func(n int) (waited time.Duration) {
		t.Helper()
		need(t, os.WriteFile(file, []byte(numbered("one", n)), 0o600))
		began := time.Now()
		s.serves(t, "one", number(n))
		h := must(s.Health(t.Context()))(t)
		if cards := platform.received(); !strings.Contains(cards[len(cards)-1], number(n)) && h.Push[0].Desired == h.Push[0].Acknowledged {
			t.Error("health says that the platform has the newest card, which waits")
		}
		s.acknowledged(t)
		return time.Since(began)
	}
	if took := edit(1); took < time.Second {
		t.Logf("the first card did not wait, but took %v", took)
	}
	time.Sleep(time.Until(begun.Add(2 * maxWait)))
	if took := edit(2); took > maxWait*2/3 {
		t.Errorf("a card was pushed %v after the edit, want it not to wait for the noise", took)
	}
}
