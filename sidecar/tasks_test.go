package sidecar

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"pannier/internal/testbench/fixture"
)

// TestPartsThatAreInterrupted: a task that shutdown interrupts has not failed; any other error is a failure.
func TestPartsThatAreInterrupted(t *testing.T) {
	interrupted := fmt.Errorf("open what is installed: %w", context.Canceled)
	broken := errors.New("broken")
	for _, tt := range []struct {
		name   string
		ended  bool
		fails  error
		result error
	}{
		{"interrupted by the end", true, interrupted, nil},
		{"broken at the end", true, broken, broken},
		{"cut off by itself", false, interrupted, interrupted},
		{"well", true, nil, nil},
	} {
		ctx, end := context.WithCancel(t.Context())
		p, ctx := newTasks(ctx)
		p.run(ctx, "start", func(ctx context.Context) error {
			if tt.ended {
				<-ctx.Done()
			}
			return tt.fails
		})
		if tt.ended {
			end()
		}
		left, err := p.wait(ctx, fixture.Patience)
		end()
		if !errors.Is(err, tt.result) || tt.result == nil && err != nil || len(left) > 0 {
			t.Errorf("%s: %v, %q left, want %v", tt.name, err, left, tt.result)
		}
	}
	p, ctx := newTasks(t.Context())
	p.run(ctx, "first", func(context.Context) error { return broken })
	p.run(ctx, "second", func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	})
	if _, err := p.wait(ctx, fixture.Patience); !errors.Is(err, broken) {
		t.Errorf("%v, want what has ended the others", err)
	}
}
