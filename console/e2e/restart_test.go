package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pannier/internal/testbench/browser"
	"pannier/internal/testbench/fixture"
)

// TestKilledInADrop kills the sidecar while it installs fifty skills, and starts it again. The page says which are installed and which
// are not, and goes on with the others; all of them are offered, as was chosen before.
func TestKilledInADrop(t *testing.T) {
	b := browser.Start(t)
	w := newWorld(t)
	p := w.open(t, b)
	dir := t.TempDir()
	var script strings.Builder
	for i := range 50 {
		name := fmt.Sprintf("part-%02d", i)
		script.WriteString(fixture.SkillScript(name, "Counts.") + "\nfor f in a b c; do seq 2000 > skills/" + name + "/$f.txt; done\n")
	}
	fixture.WriteIn(t, dir, script.String())
	p.Drop(t, filepath.Join(dir, "skills"))
	p.Click(t, ".offer label:last-child input")
	p.ClickText(t, "Install 50 skills")
	placed := func() (names []string) {
		found, err := filepath.Glob(filepath.Join(w.dir, "skills", "part-*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range found {
			names = append(names, filepath.Base(name))
		}
		return names
	}
	fixture.Eventually(t, "some are installed", func() error {
		if n := len(placed()); n < 5 {
			return fmt.Errorf("%d", n)
		}
		return nil
	})
	if err := w.sidecar.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-w.sidecar.done
	p.WaitText(t, "Connection lost")
	w.begin(t)
	p.WaitText(t, "The connection was lost while skills were installed.")

	before := placed()
	if len(before) == 50 {
		t.Fatal("the sidecar was killed too late")
	}
	p.Wait(t, "the page says what was installed, and what was not", fmt.Sprintf(`(() => {
		const of = (verdict) => [...document.querySelectorAll(".drop-row[data-verdict=" + verdict + "]")].map((e) => e.dataset.path);
		return of("installed").sort().join() === %s && of("new").length === %d;
	})()`, browser.Quote(strings.Join(before, ",")), 50-len(before)))
	for _, name := range before {
		checkWhole(t, filepath.Join(dir, "skills", name), filepath.Join(w.dir, "skills", name))
	}
	label := fmt.Sprintf("Install %d skills", 50-len(before))
	if len(before) == 49 {
		label = "Install 1 skill"
	}
	p.ClickText(t, label)
	p.Wait(t, "all are installed", `document.querySelectorAll(".drop-row[data-verdict=installed]").length === 50`)
	for i := range 50 {
		name := fmt.Sprintf("part-%02d", i)
		checkWhole(t, filepath.Join(dir, "skills", name), filepath.Join(w.dir, "skills", name))
		fixture.Eventually(t, name+" is offered", func() error {
			skill, err := w.Skill(t.Context(), name, "")
			if err == nil && (!skill.Usable || !skill.Managed || !skill.Policy.AllowImplicit) {
				err = fmt.Errorf("managed %v, %+v", skill.Managed, skill.Policy)
			}
			return err
		})
	}
	if all := placed(); len(all) != 50 {
		t.Errorf("%q", all)
	}
}

// checkWhole fails where an installed directory has other files than the dropped one.
func checkWhole(t *testing.T, dropped, installed string) {
	t.Helper()
	files, err := os.ReadDir(dropped)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		got, err := os.ReadFile(filepath.Join(installed, f.Name()))
		if err != nil || strings.TrimSpace(string(got)) != readFile(t, filepath.Join(dropped, f.Name())) {
			t.Errorf("%s of %s is not as it was dropped: %v", f.Name(), installed, err)
		}
	}
}
