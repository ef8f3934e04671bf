package sidecar

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/pflag"

	"pannier/config"
	"pannier/internal/testbench/fixture"
	"pannier/publish/client"
)

// optionsFor returns the options of a sidecar for a workspace, with more flags as "name", "value" pairs.
func optionsFor(t *testing.T, workspace string, more ...string) Options {
	t.Helper()
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	config.AddFlags(flags)
	dir := fixture.ShortDir(t)
	for pairs := append([]string{"workspace", workspace, "socket", filepath.Join(dir, "s"), "state-dir", filepath.Join(dir, "state")}, more...); len(pairs) > 1; pairs = pairs[2:] {
		if err := flags.Set(pairs[0], pairs[1]); err != nil {
			t.Fatal(err)
		}
	}
	settings, err := config.Load(flags, []string{"HOME=" + t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return Options{
		Settings: settings, Build: Build{Version: "test"}, LogTo: io.Discard, Changes: noChanges,
		NewLogger: func(io.Writer) hclog.Logger { return hclog.NewNullLogger() },
	}
}

func TestRunServesUntilItsContextEnds(t *testing.T) {
	w := fixture.NewWorkspace(t)
	fixture.WriteIn(t, w, fixture.SkillScript("haiku", "Writes a haiku."))
	o := optionsFor(t, w)
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	c := client.New(o.Settings.Socket.Path)
	defer c.Close()
	fixture.Eventually(t, "the skill is served", func() error {
		_, err := c.Skill(t.Context(), "haiku", "")
		return err
	})
	checkTaskNames(t, s.tasks)
	if _, err := New(o); !errors.As(err, new(*Error)) {
		t.Errorf("a second sidecar on the socket: %v, want an error with a hint", err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// checkTaskNames waits until the tasks of a core run, and checks that the log can tell each by its name.
func checkTaskNames(t *testing.T, all *tasks) {
	t.Helper()
	var names []string
	fixture.Eventually(t, "all tasks run", func() error {
		all.mu.Lock()
		defer all.mu.Unlock()
		if names = slices.Sorted(slices.Values(all.running)); !slices.Contains(names, "announcements") {
			return fmt.Errorf("tasks %q", names)
		}
		return nil
	})
	if once := slices.Compact(slices.Clone(names)); len(once) < len(names) {
		t.Errorf("two tasks have one name: %q", names)
	}
}

func TestReadDirectoryScansOnce(t *testing.T) {
	w := fixture.NewWorkspace(t)
	fixture.WriteIn(t, w, fixture.SkillScript("haiku", "Writes a haiku."))
	d, err := ReadDirectory(t.Context(), DirectoryOptions{Settings: optionsFor(t, w).Settings})
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Snapshot.Entries) != 1 || d.Snapshot.Entries[0].Slug != "haiku" {
		t.Errorf("got %+v", d.Snapshot.Entries)
	}
}

// TestBriefDirectory reads a directory for a list of its skills, which shows what each is about and none of the tools.
func TestBriefDirectory(t *testing.T) {
	w := fixture.NewWorkspace(t)
	fixture.WriteIn(t, w, fixture.SkillScript("haiku", "Writes a haiku.")+`mkdir -p skills/haiku/tools skills/poem/tools
		printf 'from langchain_core.tools import tool\n\n@tool\ndef rhyme(word: str) -> str:\n    """Finds a rhyme."""\n' | tee skills/haiku/tools/rhyme.py > skills/poem/tools/rhyme.py`)
	for _, brief := range []bool{false, true} {
		d, err := ReadDirectory(t.Context(), DirectoryOptions{Settings: optionsFor(t, w).Settings, Brief: brief})
		if err != nil {
			t.Fatal(err)
		}
		if len(d.Snapshot.Entries) != 2 || d.Snapshot.Entries[1].Slug != "poem" {
			t.Fatalf("got %+v", d.Snapshot.Entries)
		}
		haiku, poem := d.Snapshot.Entries[0], d.Snapshot.Entries[1]
		if haiku.Description != "Writes a haiku." || poem.Description != "Finds a rhyme." || (len(haiku.FileTools) == 0) != brief {
			t.Errorf("brief %t: %q, %q, %d tools", brief, haiku.Description, poem.Description, len(haiku.FileTools))
		}
	}
}
