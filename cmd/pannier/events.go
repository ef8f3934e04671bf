package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"pannier"
	"pannier/internal/plain"
	"pannier/publish/client"
)

func (p *program) eventsCommand() *cobra.Command {
	var follow bool
	var after uint64
	var types []string
	cmd := &cobra.Command{
		Use:   "events",
		Short: "Print the recorded events, and with --follow new ones",
		Long: `Prints the recorded events, and with --follow also new ones. On a terminal, each event is a short
line with its number, time, type and summary. Elsewhere, and with --json, it is a JSON object.

With --follow, the exit code is 0 after SIGINT or SIGTERM, and 3 if the sidecar stops.`,
		Example: `  pannier events --follow
  pannier events --types skill_loaded,skill_invoked --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM, syscall.SIGINT)
			defer stop()
			return p.asking(ctx, func(ctx context.Context, c *client.Client) error {
				err := c.Events(ctx, client.EventQuery{After: after, Types: types, Follow: follow}, func(e pannier.Event) error {
					after = e.Seq
					return p.printEvent(e)
				})
				switch {
				case ctx.Err() != nil:
					return nil // the user stopped following
				case follow && (err == nil || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET)):
					return &exitError{
						code: exitNoSidecar, message: "the sidecar ended the event stream",
						hint: fmt.Sprintf("check that it runs; `pannier events --follow --after %d` continues after the last event", after),
					}
				}
				return err
			})
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "also print new events")
	cmd.Flags().Uint64Var(&after, "after", 0, "begin after the event with this `number`")
	cmd.Flags().StringSliceVar(&types, "types", nil, "only events of these `types`, separated by commas")
	return p.share(p.jsonFlag(cmd), asksSidecar...)
}

// printEvent prints an event on one line: a summary on a terminal, JSON elsewhere.
func (p *program) printEvent(e pannier.Event) error {
	if p.json || !p.outTerminal {
		text, err := compactJSON(e)
		if err != nil {
			return err
		}
		return p.printLine(text)
	}
	data, err := json.Marshal(e.Data)
	if err != nil {
		return err
	}
	layout := time.TimeOnly
	if now := time.Now(); e.Time.Local().YearDay() != now.YearDay() || now.Sub(e.Time) > 24*time.Hour {
		layout = time.Stamp
	}
	seq, at, kind := fmt.Sprintf("%4d", e.Seq), e.Time.Local().Format(layout), fmt.Sprintf("%-21s", plain.Text(string(e.Type)))
	width := columns(p.out) - len(seq) - len(at) - plain.Cells(kind) - 3
	_, err = fmt.Fprintln(p.out, p.paint.quiet(seq), p.paint.quiet(at), kind, p.paint.summary(summarize(e.Type, data), width))
	return err
}
