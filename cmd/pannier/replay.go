package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"pannier/internal/plain"
	"pannier/replay"
)

func (p *program) replayCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "replay JOURNAL",
		Short: "Compare recorded events with the workspace",
		Long: `Reads recorded events, builds the catalog from the workspace, and reports the differences: in the
last recorded catalog, and in what was loaded, invoked and read of skills that did not change
afterwards. A turn is resolved again if its event has its text (--turn-events replay) and the
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
			recorded, err := replay.Read(args[0])
			if err != nil {
				return failure("read the recorded events: "+err.Error(),
					"name the directory of a journal, or a file with the output of `pannier events --json`")
			}
			if info, err := os.Stat(s.Workspace); err != nil || !info.IsDir() {
				return failure(s.Workspace+" is not a directory", "name the recorded workspace with --workspace")
			}
			history, err := recorded.History()
			if err != nil {
				return failure("read the recorded events: "+err.Error(), "they may be of another version of pannier")
			}
			report, err := history.Compare(cmd.Context(), s, p.environ)
			report.Journal, report.Workspace = args[0], s.Workspace
			err = output(p, p.printReplay)(report, err)
			if err == nil && report.Verdict == replay.Unknown {
				err = &exitError{code: exitUnknown}
			}
			return judged(err, report.Verdict == replay.Differs)
		},
	}
	return p.share(p.jsonFlag(cmd), append(readsSettings, "root")...)
}

func (s streams) printReplay(r replay.Report) error {
	for _, d := range r.Differences {
		text := d.Subject
		if d.Field != "" {
			text += fmt.Sprintf(": %s was %s, is %s", d.Field, brief(d.Recorded), brief(d.Now))
		}
		if d.Detail != "" {
			text += ": " + d.Detail
		}
		_ = sayf(s.out, "seq %d %s %s", d.Seq, d.Type, text)
	}
	for _, why := range r.Unknown {
		fmt.Fprintf(s.out, "unknown: %s\n", plain.Text(why))
	}
	again := 0
	for _, n := range r.Replayed {
		again += n
	}
	_, err := fmt.Fprintf(s.out, "%s: %d events, %d replayed, %d superseded; snapshot %s\n", r.Verdict, r.Events, again, r.Superseded, r.Digest)
	return err
}

func brief(value any) string {
	text, err := compactJSON(value)
	if err != nil {
		return "?"
	}
	return plain.Shorten(string(text), 120)
}
