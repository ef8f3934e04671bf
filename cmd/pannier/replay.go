package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"pannier"
	"pannier/config"
	"pannier/internal/plain"
)

func (p *program) replayCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "replay JOURNAL",
		Short: "Compare recorded events with the workspace",
		Long: `Reads recorded events, builds the catalog from the workspace, and reports the differences: in the
last recorded catalog, and in what was loaded, invoked and read of skills that did not change
afterwards. A turn is resolved again if its event has its text (--turn-events-text) and the
catalog is the same. Calls of tools are decided again; no tool is run. Policy comes from the
events; settings and environment come from this command: give it the file and the variables of
the sidecar.

JOURNAL is the directory <state_dir>/<workspace_id>/journal, which is only read, a file with the
output of "pannier events --json", or "-" for standard input.

Exit codes: 0 equal; 1 different; 2 unknown (something could not be compared), wrong usage or
failure.`,
		Example: `  pannier replay /var/lib/pannier/6c5f6b0e-3c52-4d0e-9f4e-0f4a3c9a2b11/journal
  pannier events --json | pannier replay -`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := p.settings()
			if err != nil {
				return err
			}
			recorded, err := readRecording(args[0])
			if err != nil {
				return &exitError{code: exitUnknown, message: "read the recorded events: " + err.Error(), hint: "name the directory of a journal, or a file with the output of `pannier events --json`"}
			}
			if info, err := os.Stat(s.Workspace); err != nil || !info.IsDir() {
				return &exitError{code: exitUnknown, message: s.Workspace + " is not a directory", hint: "name the recorded workspace with --workspace"}
			}
			report, err := p.replay(cmd.Context(), s, recorded)
			if err != nil {
				return err
			}
			report.Journal, report.Workspace = args[0], s.Workspace
			if err := p.printReplay(report); err != nil {
				return err
			}
			return report.exit()
		},
	}
	return p.share(p.jsonFlag(cmd), append(readsSettings, "root", "runtime")...)
}

type replayVerdict string

// The verdicts.
const (
	replayEqual   replayVerdict = "equal"
	replayDiffers replayVerdict = "differs"
	replayUnknown replayVerdict = "unknown"
)

// replayReport is what `pannier replay --json` prints.
type replayReport struct {
	Verdict   replayVerdict `json:"verdict"`
	Journal   string        `json:"journal"`
	Workspace string        `json:"workspace"`
	// Events counts those that were recorded, First and Last are their numbers.
	Events int    `json:"events"`
	First  uint64 `json:"first"`
	Last   uint64 `json:"last"`
	// RecordedDigest is that of the last catalog that was recorded, Digest that of the workspace as it is.
	RecordedDigest pannier.Digest `json:"recorded_digest"`
	Digest         pannier.Digest `json:"digest"`
	// Replayed counts the events that were made again and compared, by type. Superseded are those that could not be: the
	// skill that they are about changed afterwards, or another process went on.
	Replayed    map[pannier.EventType]int `json:"replayed"`
	Superseded  int                       `json:"superseded"`
	Differences []difference              `json:"differences"`
	// Unknown says what could not be found out.
	Unknown []string `json:"unknown"`
}

// difference is one thing that was recorded otherwise than it is.
type difference struct {
	// Seq and Type are those of the event.
	Seq  uint64            `json:"seq"`
	Type pannier.EventType `json:"type"`
	// Subject is what the event is about: the path of a skill, or of a file.
	Subject string `json:"subject"`
	// Field is the part of the event that differs; empty where the event does not come about again.
	Field    string `json:"field,omitempty"`
	Recorded any    `json:"recorded,omitempty"`
	Now      any    `json:"now,omitempty"`
	Detail   string `json:"detail,omitempty"`
}

func (p *program) replay(ctx context.Context, s config.Settings, recorded recording) (replayReport, error) {
	h, err := historyOf(recorded)
	if err != nil {
		return replayReport{}, &exitError{code: exitUnknown, message: "read the recorded events: " + err.Error(), hint: "they may be of another version of pannier"}
	}
	a, err := p.begin(ctx, s, h.policies)
	if err != nil {
		return replayReport{}, err
	}
	defer a.close()
	r := replayReport{
		Events: len(recorded.events), First: recorded.first(), Last: recorded.last(), Digest: a.Snapshot.Digest,
		Replayed: map[pannier.EventType]int{}, Differences: []difference{}, Unknown: []string{},
	}
	current := h.unsuperseded(a.Snapshot.Digest, a.slugAt)
	r.Superseded = h.requests - len(current)
	for _, e := range current {
		found, err := a.again(ctx, h, e)
		if err != nil {
			return replayReport{}, err
		}
		r.Replayed[e.Type]++
		r.Differences = append(r.Differences, found...)
	}
	r.compareCatalog(h, a)
	r.conclude()
	return r, nil
}

func (r *replayReport) conclude() {
	switch {
	case len(r.Differences) > 0:
		r.Verdict = replayDiffers
	case len(r.Unknown) > 0:
		r.Verdict = replayUnknown
	default:
		r.Verdict = replayEqual
	}
}

func (r *replayReport) exit() error {
	switch r.Verdict {
	case replayEqual:
		return nil
	case replayDiffers:
		return &exitError{code: exitNo}
	}
	return &exitError{code: exitUnknown}
}

func (p *program) printReplay(r replayReport) error {
	if p.json {
		return p.printJSON(r)
	}
	for _, d := range r.Differences {
		_ = sayf(p.out, "seq %d %s %s", d.Seq, d.Type, d.words())
	}
	for _, why := range r.Unknown {
		fmt.Fprintf(p.out, "unknown: %s\n", plain.Text(why))
	}
	again := 0
	for _, n := range r.Replayed {
		again += n
	}
	_, err := fmt.Fprintf(p.out, "%s: %d events, %d replayed, %d superseded; snapshot %s\n", r.Verdict, r.Events, again, r.Superseded, r.Digest)
	return err
}

func (d difference) words() string {
	text := d.Subject
	if d.Field != "" {
		text += fmt.Sprintf(": %s was %s, is %s", d.Field, brief(d.Recorded), brief(d.Now))
	}
	if d.Detail != "" {
		text += ": " + d.Detail
	}
	return text
}

func brief(value any) string {
	text, err := compactJSON(value)
	if err != nil {
		return "?"
	}
	return plain.Shorten(string(text), 120)
}
