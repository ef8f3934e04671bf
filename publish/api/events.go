package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"pannier"
)

// EventReader returns the events after a number, one by one. Next waits for those to come; it fails with
// [pannier.ErrTooOld] where the next one is not kept any more, and with another error where there will be no more.
type EventReader interface {
	Next(ctx context.Context) (pannier.Event, error)
}

// EventSource is where the event stream comes from.
type EventSource struct {
	// Follow returns a reader of the events after a number.
	Follow func(after uint64) EventReader
	// Last returns the number of the newest event, 0 before the first.
	Last func() uint64
	// Whole returns the whole catalog as one event, for a reader that has missed events.
	Whole func(*pannier.Snapshot) pannier.CatalogUpdated
	// WorkspaceID stands in the events.
	WorkspaceID string
}

// The times of streams of events.
const (
	// PingEvery is how often a silent stream shows that it lives.
	PingEvery = 15 * time.Second
	// StreamWrite is how long a reader may leave one event unread before it is dropped.
	StreamWrite = 10 * time.Second
)

// events answers with the stream of events (HTML Living Standard, Server-sent events): those after Last-Event-ID, else
// those from now on.
func (h *Handler) events(w http.ResponseWriter, r *http.Request, _ *pannier.Snapshot) error {
	s, err := h.newStream(w, r)
	if err != nil {
		return err
	}
	leave, err := h.EnterStream(w)
	if err != nil {
		return err
	}
	defer leave()
	ctx, cancel := UntilShutdown(r.Context())
	defer cancel()
	if err := s.run(ctx); errors.Is(err, os.ErrDeadlineExceeded) {
		h.metrics.dropped.Inc()
		h.Logger.Warn(
			"event stream dropped", "reason", "the reader left an event unread for "+StreamWrite.String(), "last_seq",
			s.after,
		)
	}
	return nil // the status has been sent
}

// EnterStream takes one of the places of event streams until leave is called.
func (h *Handler) EnterStream(w http.ResponseWriter) (leave func(), err error) {
	if h.streams.Add(1) > int64(h.capacity.Streams) {
		h.streams.Add(-1)
		endConnection(w)
		return nil, &statusError{
			http.StatusServiceUnavailable, "too_many_streams",
			fmt.Sprintf("%d event streams are open already", h.capacity.Streams), "close one that is not read",
		}
	}
	return func() { h.streams.Add(-1) }, nil
}

type stream struct {
	handler    *Handler
	source     *EventSource
	out        http.ResponseWriter
	control    *http.ResponseController
	types      []string // empty for all
	after      uint64   // the newest event that was sent or left out
	until      uint64   // the event to end with; 0 for none
	catalogDue bool     // the next catalog is sent, whatever the types
}

func (h *Handler) newStream(w http.ResponseWriter, r *http.Request) (*stream, error) {
	s := &stream{handler: h, source: h.Events, out: w, control: http.NewResponseController(w), after: h.Events.Last()}
	query := r.URL.Query()
	if text := query.Get("types"); text != "" {
		s.types = strings.Split(text, ",")
	}
	if query.Get("follow") != "" && !isSet(r, "follow") {
		s.until = max(1, s.after)
	}
	if text := r.Header.Get("Last-Event-ID"); text != "" {
		seq, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return nil, &statusError{
				http.StatusBadRequest, "invalid_last_event_id", fmt.Sprintf("Last-Event-ID is %q", text),
				"send the id of the last event that was read, or leave the header out",
			}
		}
		s.after = seq
	}
	return s, nil
}

// run sends events until ctx is done, the caller has gone, or there will be no more.
func (s *stream) run(ctx context.Context) error {
	header := s.out.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Accel-Buffering", "no")
	// The bounds of one exchange are not those of a stream.
	if err := s.control.SetReadDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if err := s.write([]byte(": pannier\n\n")); err != nil {
		return err
	}
	reader := s.source.Follow(s.after)
	if s.after > s.source.Last() { // the numbers are of another journal
		var err error
		if reader, err = s.restart(); err != nil {
			return err
		}
	}
	for s.until == 0 || s.after < s.until {
		untilPing, cancel := context.WithTimeout(ctx, PingEvery)
		e, err := reader.Next(untilPing)
		cancel()
		switch {
		case errors.Is(err, pannier.ErrTooOld):
			reader, err = s.restart()
		case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
			err = s.write([]byte(": ping\n\n"))
		case err == nil:
			s.after = max(s.after, e.Seq)
			isCatalog := e.Type == pannier.EventCatalogUpdated
			if len(s.types) > 0 && !slices.Contains(s.types, string(e.Type)) && !(isCatalog && s.catalogDue) {
				continue
			}
			s.catalogDue = s.catalogDue && !isCatalog
			var text []byte
			if text, err = s.handler.frames.of(e); err == nil {
				err = s.write(text)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// restart sends the whole catalog in place of events that are no longer stored, and continues after them. The catalog
// is sent whatever the requested types are, since it shows that events are missing. Before the first snapshot, the
// next catalog is sent.
func (s *stream) restart() (EventReader, error) {
	last := s.source.Last() // before the snapshot, so that what follows is not older than it
	s.after = last
	reader := s.source.Follow(last)
	snapshot := s.handler.Service.Snapshot()
	if snapshot == nil {
		s.catalogDue = true
		return reader, nil
	}
	text, err := s.handler.frames.whole(snapshot, last, func() pannier.Event {
		return pannier.Event{
			Seq: last, Time: time.Now().UTC(), Type: pannier.EventCatalogUpdated, WorkspaceID: s.source.WorkspaceID,
			SnapshotVersion: snapshot.Version, Data: s.source.Whole(snapshot),
		}
	})
	if err != nil {
		return nil, err
	}
	return reader, s.write(text)
}

// write sends text at once, and gives the caller a bounded time to take it.
func (s *stream) write(text []byte) error {
	if err := s.control.SetWriteDeadline(time.Now().Add(StreamWrite)); err != nil &&
		!errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if _, err := s.out.Write(text); err != nil {
		return err
	}
	return s.control.Flush()
}

type servingKey struct{}

// UntilShutdown returns a context that is also done when the server stops taking requests: a stream never ends by
// itself.
func UntilShutdown(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	serving, ok := ctx.Value(servingKey{}).(context.Context)
	if !ok {
		return ctx, cancel
	}
	stop := context.AfterFunc(serving, cancel)
	return ctx, func() { stop(); cancel() }
}
