package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"pannier"
	"pannier/publish/api"
	"pannier/publish/client"
	"pannier/registry"
)

// fieldsOf returns the fields of an event's data as a logger takes them, in the order of its JSON.
func fieldsOf(data any) ([]any, error) {
	text, err := json.Marshal(data)
	if err != nil {
		return nil, err
	}
	var fields []any
	dec := json.NewDecoder(bytes.NewReader(text))
	for _, err := dec.Token(); dec.More() && err == nil; {
		name, err := dec.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, err
		}
		fields = append(fields, name, logValue(value))
	}
	return fields, nil
}

// jsonText is an object of an event in a log record.
type jsonText string

// MarshalJSON implements [json.Marshaler]. A JSON log has the object as a string.
func (t jsonText) MarshalJSON() ([]byte, error) { return json.Marshal(string(t)) }

// logValue returns a value as the logger prints it best: an object stays the JSON that it is.
func logValue(value json.RawMessage) any {
	var v any
	if err := json.Unmarshal(value, &v); err != nil {
		return string(value)
	}
	if _, ok := v.(map[string]any); ok {
		return jsonText(value)
	}
	return v
}

// eventSource is what the event stream of the socket comes from.
func (c *sidecar) eventSource() *api.EventSource {
	return &api.EventSource{
		Follow:      func(after uint64) api.EventReader { return c.memory.journal.Follow(after) },
		Last:        c.events.last,
		Whole:       func(s *pannier.Snapshot) pannier.CatalogUpdated { return registry.Diff(nil, s, c.rules) },
		WorkspaceID: c.settings.WorkspaceID,
	}
}

func (p *program) eventsCommand() *cobra.Command {
	var follow bool
	var after uint64
	var types []string
	cmd := &cobra.Command{
		Use:   "events",
		Short: "Print the events that are kept, and with --follow those to come",
		Long: `Prints the events that are kept, and with --follow those to come: on a terminal a short line for each with its number, time,
type and summary, elsewhere or with --json one JSON object a line.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM, syscall.SIGINT)
			defer stop()
			return p.asking(ctx, func(ctx context.Context, c *client.Client) error {
				err := c.Events(ctx, client.EventQuery{After: after, Types: types, Follow: follow}, p.printEvent)
				if ctx.Err() != nil {
					return nil // whoever follows ends it so
				}
				return err
			})
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on with the events to come")
	cmd.Flags().Uint64Var(&after, "after", 0, "begin behind the event with this number")
	cmd.Flags().StringSliceVar(&types, "types", nil, "only events of these types, separated by commas")
	return p.jsonFlag(cmd)
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
	seq, at, kind := fmt.Sprintf("%4d", e.Seq), e.Time.Local().Format(layout), fmt.Sprintf("%-21s", printable(string(e.Type)))
	width := columns(p.out) - len(seq) - len(at) - cells(kind) - 3
	_, err = fmt.Fprintln(p.out, p.paint.quiet(seq), p.paint.quiet(at), kind, p.paint.summary(summarize(e.Type, data), width))
	return err
}
