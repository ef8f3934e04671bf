package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"pannier"
	"pannier/admin/audit"
	"pannier/config"
	"pannier/publish/client"
)

func (p *program) auditLogCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "audit-log",
		Short: "Show and verify the log of what somebody asked to be changed",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(p.auditLogListCommand(), p.auditLogVerifyCommand())
	return cmd
}

func (p *program) auditLogListCommand() *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use:   "list [SLUG]",
		Short: "List the newest entries, newest first",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			slug := ""
			if len(args) > 0 {
				slug = args[0]
			}
			return p.asking(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				list, err := c.Audit(ctx, slug, limit)
				if err != nil {
					return err
				}
				if p.json {
					return p.printJSON(list)
				}
				return p.printAuditLog(list.Entries)
			})
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 20, "how many entries")
	return p.jsonFlag(cmd)
}

func (s streams) printAuditLog(entries []pannier.AuditEntry) error {
	if len(entries) == 0 {
		fmt.Fprintln(s.err, "no entries")
		return nil
	}
	rows := [][]string{{"SEQ", "TIME", "ACTION", "PHASE", "WHO", "SLUG", "ERROR"}}
	for _, e := range entries {
		rows = append(rows, []string{
			strconv.FormatUint(e.Seq, 10), e.Time.Format(time.RFC3339), e.Action, string(e.Phase), e.Actor.Owner(), shorten(e.Slug, 40), shorten(e.Error, 80),
		})
	}
	return s.paintedTable(rows, func(row, column int, cell string) string {
		switch {
		case row == 0:
			return s.paint.head(cell)
		case column == 6:
			return s.paint.bad(cell)
		}
		return cell
	})
}

// verified is what `pannier audit-log verify --json` prints.
type verified struct {
	Directory string `json:"directory"`
	Entries   int    `json:"entries"`
	// Break says where the chain breaks; empty where it does not.
	Break string `json:"break,omitempty"`
}

func (p *program) auditLogVerifyCommand() *cobra.Command {
	return p.jsonFlag(&cobra.Command{
		Use:   "verify",
		Short: "Check that no entry of the audit log was changed or taken out",
		Long: `Reads the audit log of the workspace below the state directory, and follows the chain of digests from the oldest
entry that is kept to the newest. A sidecar may be running. The exit code is 1 where the chain breaks.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			s, err := p.settings()
			if err != nil {
				return err
			}
			if s.StateDir == config.StateNone {
				return &exitError{code: exitUnknown, message: "the state is kept in memory, so there is no log to verify", hint: "name the sidecar's directory with --state-dir"}
			}
			return p.verifyAuditLog(filepath.Join(s.StateDir, directoryName(s.WorkspaceID), auditDir))
		},
	})
}

func (p *program) verifyAuditLog(dir string) error {
	entries, err := audit.Verify(dir)
	broken, breaks := errors.AsType[*audit.BreakError](err)
	if err != nil && !breaks {
		return &exitError{code: exitUnknown, message: err.Error(), hint: "run as the sidecar's user, or name its directory with --state-dir"}
	}
	v := verified{Directory: dir, Entries: entries}
	if breaks {
		v.Break = broken.Error()
	}
	if p.json {
		err = p.printJSON(v)
	} else {
		_, err = fmt.Fprintf(p.out, "%s: %d entries follow from one another\n", printable(dir), entries)
	}
	if err == nil && breaks {
		err = &exitError{code: exitNo, message: "the audit log is not what was written: " + v.Break, hint: "keep a copy of the directory, and compare with what was shipped elsewhere"}
	}
	return err
}
