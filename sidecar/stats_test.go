package sidecar

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"pannier"
)

// TestStatsOfTheLastHour: what is older than an hour is not counted, and memory is bounded.
func TestStatsOfTheLastHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStats()
		if got := s.read(); len(got.Minutes) != 1 || got.Totals != (pannier.StatsCounts{}) {
			t.Errorf("at the start: %+v", got)
		}
		for i := range 1000 {
			s.reloaded(time.Duration(i+1) * time.Millisecond)
		}
		s.pushed(false)
		s.pushed(true)
		s.installed(pannier.StatusInstalled, nil)
		s.installed(pannier.StatusAlreadyInstalled, nil)
		s.installed("", errors.New("refused"))
		want := pannier.StatsCounts{Reloads: 1000, ReloadP50MS: 872, ReloadP99MS: 997, Pushes: 2, PushErrors: 1, Installs: 1, Refusals: 1}
		if got := s.read(); got.Totals != want || got.Minutes[0].StatsCounts != want {
			t.Errorf("%+v, want %+v", got, want)
		}
		time.Sleep(59 * time.Minute)
		s.reloaded(5 * time.Millisecond)
		got := s.read()
		if n := len(got.Minutes); n != 60 || got.Totals.Reloads != 1001 || got.Minutes[59].ReloadP99MS != 5 || got.Minutes[1].Reloads != 0 {
			t.Errorf("after 59 minutes: %d minutes, %+v", n, got.Totals)
		}
		for i := 1; i < len(got.Minutes); i++ {
			if d := got.Minutes[i].At.Sub(got.Minutes[i-1].At); d != time.Minute {
				t.Errorf("minute %d is %s after the one before", i, d)
			}
		}
		time.Sleep(time.Minute)
		if got := s.read(); len(got.Minutes) != 60 || got.Totals.Reloads != 1 || got.Totals.Pushes != 0 {
			t.Errorf("after an hour: %d minutes, %+v", len(got.Minutes), got.Totals)
		}
		time.Sleep(24 * time.Hour)
		s.pushed(false)
		if got := s.read(); len(got.Minutes) != 60 || got.Totals != (pannier.StatsCounts{Pushes: 1}) {
			t.Errorf("after a day: %+v", got.Totals)
		}
	})
}
