package latest_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pannier/internal/latest"
)

func TestNewestValueIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var written []int
		w := latest.NewWriter(func(v int) {
			time.Sleep(time.Second)
			written = append(written, v)
		})
		if err := w.Wait(t.Context()); err != nil {
			t.Errorf("nothing to wait for: %v", err)
		}
		begun := time.Now()
		w.Put(1)
		synctest.Wait() // the write of 1 is under way
		for v := 2; v <= 9; v++ {
			w.Put(v)
		}
		if took := time.Since(begun); took > 0 {
			t.Errorf("Put blocked for %s", took)
		}
		short, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		if err := w.Wait(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Wait returned %v before the newest value was written", err)
		}
		if err := w.Wait(t.Context()); err != nil {
			t.Error(err)
		}
		if want := []int{1, 9}; !slices.Equal(written, want) {
			t.Errorf("written %v, want %v", written, want)
		}
		w.Put(10)
		if err := w.Wait(t.Context()); err != nil || written[len(written)-1] != 10 {
			t.Errorf("after a pause: written %v, %v", written, err)
		}
	})
}
