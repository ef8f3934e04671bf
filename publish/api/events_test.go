package api_test

import (
	"context"
	"strings"
	"testing"

	"pannier"
	"pannier/publish/api"
)

// readerFunc is a reader of events.
type readerFunc func(context.Context) (pannier.Event, error)

func (f readerFunc) Next(ctx context.Context) (pannier.Event, error) { return f(ctx) }

func untilDone(ctx context.Context) (pannier.Event, error) {
	<-ctx.Done()
	return pannier.Event{}, ctx.Err()
}

// silent is a source of no event.
func silent() *api.EventSource {
	return &api.EventSource{Follow: func(uint64) api.EventReader { return readerFunc(untilDone) }, Last: func() uint64 { return 0 }}
}

// newest is the number of the newest event of a gap, oldest that of the oldest one that is kept.
const newest, oldest = 9, 5

// gap keeps a few events, of policy_changed but for the last, and no more of them.
func gap() *api.EventSource {
	return &api.EventSource{
		Last:  func() uint64 { return newest },
		Whole: func(*pannier.Snapshot) pannier.CatalogUpdated { return pannier.CatalogUpdated{Count: 4} },
		Follow: func(after uint64) api.EventReader {
			return readerFunc(func(ctx context.Context) (pannier.Event, error) {
				switch after++; {
				case after < oldest || after > newest+1:
					return pannier.Event{}, pannier.ErrTooOld
				case after == newest+1:
					return untilDone(ctx)
				case after == newest:
					return pannier.Event{Seq: after, Type: pannier.EventCatalogUpdated}, nil
				}
				return pannier.Event{Seq: after, Type: pannier.EventPolicyChanged}, nil
			})
		},
	}
}

// TestGapIsToldWhateverTypes are asked for, whether the stream goes on or not.
func TestGapIsToldWhateverTypes(t *testing.T) {
	const whole = "id: 9\nevent: skill_catalog_updated\ndata: {\"seq\":9,"
	for _, tt := range []struct {
		last     string
		ready    bool
		catalogs int
		others   int
	}{
		{"999999", true, 1, 0},
		{"1", true, 1, 0},
		{"9", true, 0, 0},
		{"6", true, 0, 2},
		{"999999", false, 0, 0}, // nothing is there to be told yet
	} {
		h := newHouse()
		h.options.Events = gap()
		if !tt.ready {
			h.snapshot = nil
		}
		body := ask(h.handler(), "GET", "/v1/events?follow=0&types=policy_changed", "", "Last-Event-ID", tt.last).Body.String()
		if strings.Count(body, whole) != tt.catalogs || strings.Count(body, "event: skill_catalog_updated") != tt.catalogs || strings.Count(body, "event: policy_changed") != tt.others {
			t.Errorf("after %s, ready %t: %q", tt.last, tt.ready, body)
		}
	}
}

// TestGapBeforeTheFirstSnapshot is told by the event of that one.
func TestGapBeforeTheFirstSnapshot(t *testing.T) {
	last := uint64(0)
	h := newHouse()
	h.snapshot = nil
	h.options.Events = &api.EventSource{
		Last: func() uint64 { return last },
		Follow: func(after uint64) api.EventReader {
			return readerFunc(func(context.Context) (pannier.Event, error) {
				if after++; after > 3 {
					return pannier.Event{}, context.Canceled
				}
				last = max(last, after)
				return pannier.Event{Seq: after, Type: pannier.EventCatalogUpdated}, nil
			})
		},
	}
	body := ask(h.handler(), "GET", "/v1/events?types=policy_changed", "", "Last-Event-ID", "7").Body.String()
	if got := strings.Count(body, "event: skill_catalog_updated"); got != 1 {
		t.Errorf("the catalog is told %d times: %q", got, body)
	}
}
