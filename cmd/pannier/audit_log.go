package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"pannier"
	"pannier/admin/audit"
	"pannier/config"
	"pannier/internal/plain"
	"pannier/publish/client"
	"pannier/sidecar"
)

func (p *program) auditLogCommand() *cobra.Command {
	return parent(&cobra.Command{
		Use:   "audit-log",
		Short: "Show or verify the audit log",
		Example: `  pannier audit-log list
  pannier audit-log verify`,
	}, p.auditLogListCommand(), p.auditLogVerifyCommand())
}

func (p *program) auditLogListCommand() *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use:   "list [SLUG]",
		Short: "List the newest entries, newest first",
		Long: `Lists the newest entries of the audit log, newest first. If no sidecar runs, it reads the log
below the state directory.`,
		Example: `  pannier audit-log list --limit 5
  pannier audit-log list pdf-forms`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			slug := ""
			if len(args) > 0 {
				slug = args[0]
			}
			ask := func(ctx context.Context, c *client.Client) error {
				return output(p, p.printAuditLog)(c.Audit(ctx, slug, limit))
			}
			return p.askingOr(cmd.Context(), ask, func(s config.Settings) error {
				dir, err := auditDirectory(s)
				if err != nil {
					return err
				}
				_, slug := pannier.SplitQualified(slug)
				entries, err := audit.Read(dir, slug, limit)
				if err != nil {
					return unreadableAudit(err)
				}
				if len(entries) == 0 {
					if err := checkWorkspaceDirectory(s); err != nil {
						return err
					}
				}
				return output(p, p.printAuditLog)(pannier.AuditList{Entries: entries}, nil)
			})
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 20, "maximal `number` of entries")
	return p.share(p.jsonFlag(cmd), asksSidecar...)
}

func auditDirectory(s config.Settings) (string, error) {
	if s.StateDir == config.StateNone {
		return "", &exitError{code: exitUnknown, message: "the state is kept in memory; the audit log is not on disk", hint: "name the sidecar's directory with PANNIER_STATE_DIR"}
	}
	return sidecar.AuditDirectory(s), nil
}

// checkWorkspaceDirectory returns an error if the workspace does not exist. A workspace that was removed may still have a log.
func checkWorkspaceDirectory(s config.Settings) error {
	if _, err := os.Stat(s.Workspace); err != nil {
		return &exitError{code: exitUnknown, message: "no audit log: " + err.Error(), hint: "name the agent's configuration directory with --workspace"}
	}
	return nil
}

func unreadableAudit(err error) error {
	return &exitError{code: exitUnknown, message: err.Error(), hint: "run as the sidecar's user, or name its directory with PANNIER_STATE_DIR"}
}

func (s streams) printAuditLog(list pannier.AuditList) error {
	if len(list.Entries) == 0 {
		fmt.Fprintln(s.err, "no entries")
		return nil
	}
	rows := [][]string{{"SEQ", "TIME", "ACTION", "PHASE", "WHO", "SLUG", "ERROR"}}
	for _, e := range list.Entries {
		rows = append(rows, []string{
			strconv.FormatUint(e.Seq, 10), e.Time.Format(time.RFC3339), e.Action, string(e.Phase), e.Actor.Owner(), plain.Shorten(e.Slug, 40), plain.Shorten(e.Error, 80),
		})
	}
	return s.table(rows, columnPaint{6, s.paint.bad})
}

// verified is what `pannier audit-log verify --json` prints.
type verified struct {
	Directory string `json:"directory"`
	Entries   int    `json:"entries"`
	// Newest is the newest entry as SEQ:DIGEST; empty where there is none.
	Newest string `json:"newest,omitempty"`
	// RecordedBreaks counts entries that record that the log was found broken before.
	RecordedBreaks int `json:"recorded_breaks,omitempty"`
	// Head says whether the log has a head; without one, nothing shows that the newest entries were removed.
	Head bool `json:"head"`
	// Break says where the log is not what was written; empty where it is.
	Break string `json:"break,omitempty"`
}

func (p *program) auditLogVerifyCommand() *cobra.Command {
	var expect string
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Check that no entry of the audit log was changed or removed",
		Long: `Reads the audit log of the workspace below the state directory, follows the chain of digests from
the oldest entry to the newest, and compares the end with the head file of the log. A sidecar may
be running. It prints the directory of the log and the newest entry as SEQ:DIGEST: store that
elsewhere, and give it to --expect later to prove that the log still has that entry.

Exit codes: 0 complete, or no entry yet; 1 changed or incomplete; 2 failure, or no state of the
workspace below the state directory.`,
		Example: `  pannier audit-log verify --workspace /workspace
  pannier audit-log verify --workspace /workspace --expect "$(cat /backup/audit-point)"`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			s, err := p.settings()
			if err != nil {
				return err
			}
			dir, err := auditDirectory(s)
			if err != nil {
				return err
			}
			var point *audit.Point
			if expect != "" {
				parsed, err := audit.ParsePoint(expect)
				if err != nil {
					return &exitError{code: exitUnknown, message: "--expect: " + err.Error(), hint: `give what "pannier audit-log verify" printed before`}
				}
				point = &parsed
			}
			return p.verifyAuditLog(dir, point)
		},
	}
	cmd.Flags().StringVar(&expect, "expect", "", "fail unless the log has this entry, `SEQ:DIGEST`")
	return p.share(p.jsonFlag(cmd), readsSettings...)
}

func (p *program) verifyAuditLog(dir string, expect *audit.Point) error {
	report, err := audit.Verify(dir, expect)
	broken, breaks := errors.AsType[*audit.BreakError](err)
	if err != nil && !breaks {
		return unreadableAudit(err)
	}
	if state := filepath.Dir(dir); report.Entries == 0 && !breaks {
		if _, err := os.Stat(state); err != nil {
			return &exitError{code: exitUnknown, message: "there is no audit log: " + err.Error(), hint: "name the sidecar's state directory with PANNIER_STATE_DIR, and its workspace with --workspace"}
		}
	}
	v := verified{Directory: dir, Entries: report.Entries, RecordedBreaks: report.Recorded, Head: !report.Headless}
	if report.Entries > 0 {
		v.Newest = report.Newest.String()
	}
	if breaks {
		v.Break = broken.Error()
	}
	err = output(p, func(v verified) error { _, err := fmt.Fprintln(p.out, v.text()); return err })(v, nil)
	if err == nil && breaks {
		err = &exitError{code: exitNo, message: "the audit log was changed: " + v.Break, hint: "keep a copy of the directory, and compare it with shipped copies"}
	}
	return err
}

func (v verified) text() string {
	if v.Entries == 0 && v.Break == "" {
		return plain.Text(v.Directory) + ": there are no entries; no change was audited yet"
	}
	text := fmt.Sprintf("%s: %d entries follow from one another", plain.Text(v.Directory), v.Entries)
	if v.Newest != "" {
		text += ", newest " + v.Newest
	}
	if v.RecordedBreaks > 0 {
		text += fmt.Sprintf("\n%d of them record that the log was found broken before", v.RecordedBreaks)
	}
	if !v.Head {
		text += "\nthe log has no head file, so nothing shows whether its newest entries were removed"
	}
	return text
}
