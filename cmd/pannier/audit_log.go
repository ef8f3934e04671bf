package main

import (
	"cmp"
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
	"pannier/admin/changes"
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
				if _, err := os.Stat(s.Workspace); err != nil && len(entries) == 0 { // one that was removed may still have a log
					return failure("no audit log: "+err.Error(),
						"name the agent's configuration directory with --workspace")
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
		return "", failure("the state is kept in memory; the audit log is not on disk",
			"name the sidecar's directory with PANNIER_STATE_DIR")
	}
	return changes.AuditDirectory(sidecar.StateDirectory(s)), nil
}

func unreadableAudit(err error) error {
	return failure(err.Error(), "run as the sidecar's user, or name its directory with PANNIER_STATE_DIR")
}

func (s streams) printAuditLog(list pannier.AuditList) error {
	if len(list.Entries) == 0 {
		fmt.Fprintln(s.err, "no entries")
		return nil
	}
	rows := [][]string{{"SEQ", "TIME", "ACTION", "PHASE", "WHO", "SLUG", "ERROR"}}
	for _, e := range list.Entries {
		rows = append(rows, []string{
			strconv.FormatUint(e.Seq, 10), e.Time.Format(time.RFC3339), e.Action, string(e.Phase), e.Actor.Owner(),
			plain.Shorten(e.Slug, 40), plain.Shorten(e.Error, 80),
		})
	}
	return s.table(rows, columnPaint{6, s.paint.bad})
}

func (p *program) auditLogVerifyCommand() *cobra.Command {
	var expect string
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Check that no entry of the audit log was changed or removed",
		Long: `Asks the sidecar to follow the chain of digests of its audit log from the oldest entry to the
newest, and to compare the end with the head file of the log. If no sidecar runs, it reads the log
below the state directory. It prints the directory of the log and the newest entry as SEQ:DIGEST:
store that elsewhere, and give it to --expect later to prove that the log still has that entry.

Exit codes: 0 complete, or no entry yet; 1 changed or incomplete; 2 failure, or no state of the
workspace below the state directory.`,
		Example: `  pannier audit-log verify
  pannier audit-log verify --workspace /workspace --expect "$(cat /backup/audit-point)"`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var point *audit.Point
			if expect != "" {
				parsed, err := audit.ParsePoint(expect)
				if err != nil {
					return failure("--expect: "+err.Error(), `give what "pannier audit-log verify" printed before`)
				}
				point = &parsed
			}
			ask := func(ctx context.Context, c *client.Client) error {
				return p.concludeVerify(c.VerifyAudit(ctx, expect))
			}
			return p.askingOr(cmd.Context(), ask, func(s config.Settings) error {
				dir, err := auditDirectory(s)
				if err != nil {
					return err
				}
				check := audit.Check(cmd.Context(), dir, point)
				if check.OK && check.Entries == 0 {
					if _, err := os.Stat(filepath.Dir(dir)); err != nil {
						return failure("there is no audit log: "+err.Error(),
							"name the sidecar's state directory with PANNIER_STATE_DIR, and its workspace with --workspace")
					}
				}
				return p.concludeVerify(check, nil)
			})
		},
	}
	cmd.Flags().StringVar(&expect, "expect", "", "fail unless the log has this entry, `SEQ:DIGEST`")
	return p.share(p.jsonFlag(cmd), asksSidecar...)
}

func (p *program) concludeVerify(check pannier.AuditCheck, err error) error {
	if err == nil && !check.OK && !check.Broken {
		err = unreadableAudit(errors.New(check.Error))
	}
	err = output(p, p.printAuditCheck)(check, err)
	if err == nil && check.Broken {
		err = answerNo("the audit log was changed: "+check.Error,
			"keep a copy of the directory, and compare it with shipped copies")
	}
	return err
}

func (s streams) printAuditCheck(check pannier.AuditCheck) error {
	where := cmp.Or(check.Directory, "in memory")
	if check.Entries == 0 && !check.Broken {
		return sayf(s.out, "%s: there are no entries; no change was audited yet", where)
	}
	text := fmt.Sprintf("%s: %s", plain.Text(where), plain.Count(check.Entries, "entry")+" in an unbroken chain")
	if check.Seq > 0 {
		text += fmt.Sprintf(", newest %d:%s", check.Seq, check.Head)
	}
	if check.RecordedBreaks > 0 {
		text += fmt.Sprintf("\n%d of them record that the log was found broken before", check.RecordedBreaks)
	}
	if check.Headless {
		text += "\nthe log has no head file, so nothing shows whether its newest entries were removed"
	}
	_, err := fmt.Fprintln(s.out, text)
	return err
}
