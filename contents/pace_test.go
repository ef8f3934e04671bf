package contents

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		p := &pace{rate: 1000}
		for range 100 {
			if err := p.wait(t.Context(), 50); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); took != 5*time.Second {
			t.Errorf("5,000 at 1,000 a second took %s", took)
		}
		<-time.After(time.Hour) // what is not spent is not saved
		began = time.Now()
		for range 1000 {
			if err := p.wait(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); took < 980*time.Millisecond || took > time.Second {
			t.Errorf("1,000 took %s", took)
		}
		gone, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := p.wait(gone, 1_000_000); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
	})
}
