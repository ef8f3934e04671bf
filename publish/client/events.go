package client

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"pannier"
)

// EventQuery says which events are wanted.
type EventQuery struct {
	// After is the number of the event to begin after; 0 begins with the oldest that is kept.
	After uint64
	// Types are those that are wanted; none means all.
	Types []string
	// Follow goes on with the events to come.
	Follow bool
}

const maxEventBytes = 8 << 20

// Events calls do for each event, in order, until there is none left, ctx is done, the sidecar ends, or do fails. Where
// the events after [EventQuery.After] are not kept any more, the first one has the whole catalog. The data of
// an event is [json.RawMessage].
func (c *Client) Events(ctx context.Context, q EventQuery, do func(pannier.Event) error) error {
	path := target("/v1/events", "follow", strconv.FormatBool(q.Follow), "types", strings.Join(q.Types, ","))
	req, err := newRequest(ctx, http.MethodGet, path, http.NoBody)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("Last-Event-ID", strconv.FormatUint(q.After, 10))
	res, err := c.withoutTimeout().open(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	return readEvents(bufio.NewScanner(res.Body), do)
}

// readEvents reads a stream whose events have their data on one line each, as the sidecar writes it.
func readEvents(lines *bufio.Scanner, do func(pannier.Event) error) error {
	lines.Buffer(nil, maxEventBytes)
	for lines.Scan() {
		text, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var data json.RawMessage
		e := pannier.Event{Data: &data}
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			return fmt.Errorf("decode event: %w", err)
		}
		e.Data = data
		if err := do(e); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read events: %w", err)
	}
	return nil
}
