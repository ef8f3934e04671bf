package client

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"pannier"
)

// EventQuery says which events are wanted.
type EventQuery struct {
	// After is the number of the event to begin behind; 0 begins with the oldest that is kept.
	After uint64
	// Types are those that are wanted; none means all.
	Types []string
	// Follow goes on with the events to come.
	Follow bool
}

// maxEventBytes bounds one event of the stream.
const maxEventBytes = 8 << 20

// Events calls do for each event, in order, until there is none left, ctx is done, the sidecar ends, or do fails. Where
// the events after [EventQuery.After] are not kept any more, the first is one that tells the whole catalog. The data of
// an event is [json.RawMessage].
func (c *Client) Events(ctx context.Context, q EventQuery, do func(pannier.Event) error) error {
	query := url.Values{"follow": {strconv.FormatBool(q.Follow)}}
	if len(q.Types) > 0 {
		query.Set("types", strings.Join(q.Types, ","))
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://pannier/v1/events?"+query.Encode(), nil)
	if err != nil {
		return fmt.Errorf("make request: %w", err)
	}
	req.Header.Set("Last-Event-ID", strconv.FormatUint(q.After, 10))
	streaming := c.HTTP
	streaming.Timeout = 0 // a stream has no end
	res, err := streaming.Do(req)
	if err != nil {
		return classify(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		text, err := c.readAnswer(res.Body)
		if err != nil {
			return fmt.Errorf("read answer: %w", err)
		}
		return decodeError(res, text)
	}
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
