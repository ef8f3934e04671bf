package link

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"pannier"
	"pannier/config"
	"pannier/service"
	"pannier/sidecar"
)

// Module keeps the directories of the setting link in step as long as the sidecar runs.
func Module() sidecar.Module {
	return sidecar.Module{
		Name: "link",
		Settings: func(s config.Settings) error {
			_, err := directoriesOf(s)
			return err
		},
		Open: func(h sidecar.Host) (sidecar.Part, error) {
			dirs, err := directoriesOf(h.Settings)
			if err != nil || len(dirs) == 0 {
				return sidecar.Part{}, err
			}
			var keepers []*keeper
			for _, d := range dirs {
				keepers = append(keepers, &keeper{Directory: d, host: h, log: h.Logger.With("directory", d.Path)})
			}
			return sidecar.Part{
				Run: func(ctx context.Context) error {
					var all sync.WaitGroup
					for _, k := range keepers { // a disk that does not answer keeps no other directory from changes
						all.Go(func() { k.run(ctx) })
					}
					all.Wait()
					return nil
				},
				Conditions: func() (conditions []pannier.Condition) {
					for _, k := range keepers {
						conditions = append(conditions, k.conditions(time.Now())...)
					}
					return conditions
				},
			}, nil
		},
	}
}

// directoriesOf returns the directories of the settings. Those of hosts are below the workspace.
func directoriesOf(s config.Settings) (dirs []*Directory, err error) {
	for _, text := range s.Link {
		name, copies := strings.CutSuffix(text, "=copy")
		d, err := Find(name, s.Workspace, "", s.Workspace)
		if err != nil {
			e, _ := errors.AsType[*sidecar.Error](err)
			return nil, &sidecar.Error{Message: "link: " + e.Message, Hint: e.Hint}
		}
		if d.Copy = copies; checkRoots(s.DiscoveryRules, d.Path) != nil {
			return nil, checkRoots(s.DiscoveryRules, d.Path)
		}
		dirs = append(dirs, d)
	}
	return dirs, nil
}

const (
	// checkInterval is how often a directory is compared without a change of the workspace, to repair it.
	checkInterval = 10 * time.Second
	// copyInterval is how often the fingerprints of copied skills are compared, in memory.
	copyInterval = 500 * time.Millisecond
	// hangTimeout is how long a pass takes before health says that the disk does not answer.
	hangTimeout = 30 * time.Second
)

// keeper keeps a directory in step with the snapshots of a sidecar.
type keeper struct {
	*Directory
	host sidecar.Host
	log  hclog.Logger

	began  atomic.Pointer[time.Time] // of the pass that runs
	failed atomic.Pointer[pannier.Condition]
}

func (k *keeper) run(ctx context.Context) {
	snapshots, cancel := k.host.Subscribe()
	defer cancel()
	check := time.NewTicker(checkInterval)
	defer check.Stop()
	var compare <-chan time.Time
	if k.Copy {
		ticker := time.NewTicker(copyInterval)
		defer ticker.Stop()
		compare = ticker.C
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-snapshots:
		case <-check.C:
		case <-compare:
			if s := k.host.Snapshot(); s == nil || !k.outdated(k.skills(s)) {
				continue
			}
		}
		if s := k.host.Snapshot(); s != nil {
			k.pass(ctx, s)
		}
	}
}

func (k *keeper) skills(s *pannier.Snapshot) []Skill {
	skills := SkillsOf(k.host.Settings.Workspace, s.Entries)
	for i := range skills {
		if e, ok := s.Lookup(skills[i].Slug); ok && k.Copy {
			skills[i].Fingerprint = k.host.Contents.Known(e.Skill).Fingerprint
		}
	}
	return skills
}

// outdated reports whether the files of an offered skill are known to differ from those that were copied last.
func (d *Directory) outdated(skills []Skill) bool {
	for _, s := range skills {
		if s.Offered && !s.Fingerprint.IsZero() && d.compared[s.Slug] != s.Fingerprint {
			return true
		}
	}
	return false
}

// pass makes the directory that of a snapshot, and keeps what health says of it.
func (k *keeper) pass(ctx context.Context, s *pannier.Snapshot) {
	now := time.Now()
	k.began.Store(&now)
	defer k.began.Store(nil)
	o := Options{
		WorkspaceID: k.host.Settings.WorkspaceID, Workspace: k.host.Settings.Workspace, Rules: k.host.Settings.DiscoveryRules,
		Contents: served{k.host.Service, s}, Partial: IsPartial(s.Problems),
	}
	report, err := k.Keep(ctx, o, k.skills(s))
	if ctx.Err() != nil {
		return
	}
	var failed *pannier.Condition
	switch conflicts := report.Conflicts(); {
	case err != nil:
		failed = condition("link_failed", k.Path, "the directory cannot be kept in step with the skills: "+err.Error(),
			"make it a directory that the sidecar can write; the sidecar tries again every "+checkInterval.String())
		if e, ok := errors.AsType[*sidecar.Error](err); ok {
			failed.Hint = e.Hint
		}
	case len(conflicts) > 0:
		failed = condition("link_conflict", k.Path, fmt.Sprintf("%d skills have no up-to-date entry, such as %s", len(conflicts), conflicts[0]),
			"run `pannier link "+k.Path+" --dry-run` to see why, and rename or remove what has their names")
	}
	if last := k.failed.Swap(failed); failed != nil && (last == nil || *last != *failed) {
		k.log.Warn(failed.Message, "hint", failed.Hint)
	}
	count := map[Action]int{}
	for _, c := range report.Changes {
		if count[c.Action]++; c.Action == Kept {
			k.log.Warn("kept files of others", "slug", c.Slug, "detail", c.Message)
		}
	}
	if linked, copied, removed := count[Linked], count[Copied], count[Removed]; linked+copied+removed > 0 {
		k.log.Info("changed the directory", "linked", linked, "copied", copied, "removed", removed, "skills", report.Skills)
	}
}

func condition(code, subject, message, hint string) *pannier.Condition {
	return &pannier.Condition{Code: code, Severity: pannier.SeverityWarning, Subject: subject, Message: message, Hint: hint}
}

func (k *keeper) conditions(now time.Time) []pannier.Condition {
	if began := k.began.Load(); began != nil && now.Sub(*began) > hangTimeout {
		return []pannier.Condition{*condition("link_failed", k.Path,
			"a pass over the directory has not ended for "+now.Sub(*began).Round(time.Second).String(), "see whether its disk answers")}
	}
	if failed := k.failed.Load(); failed != nil {
		return []pannier.Condition{*failed}
	}
	return nil
}

// served reads files of the skills of a snapshot. It implements [Contents].
type served struct {
	*service.Service
	snapshot *pannier.Snapshot
}

// Files implements [Contents].
func (s served) Files(ctx context.Context, slug string) ([]pannier.File, error) {
	e, ok := s.snapshot.Lookup(slug)
	if !ok {
		return nil, os.ErrNotExist
	}
	files, truncated, err := s.Texts.Files(ctx, e.Skill)
	if truncated {
		err = errors.Join(err, ErrTooMany)
	}
	return files, err
}

// ErrTooMany says that a skill has more files than are listed, and so is not copied.
var ErrTooMany = errors.New("the skill has too many files to copy")

// Read implements [Contents].
func (s served) Read(ctx context.Context, slug, path string, to io.Writer) error {
	e, ok := s.snapshot.Lookup(slug)
	if !ok {
		return os.ErrNotExist
	}
	f, err := s.Reading.OpenFile(ctx, e.Skill, path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteTo(to)
	return err
}
