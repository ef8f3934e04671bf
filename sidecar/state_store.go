package sidecar

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"pannier"
	"pannier/internal/state"
)

// placeEvery is how often it is made sure that the state directory is the one that is open: two files are looked at.
const placeEvery = time.Second

// goneHint is what to do about a state directory that is gone.
const goneHint = "move the directory back, or restart, which begins with what is there then"

// store is the state store, and remembers whether it can be written and is where it was.
type store struct {
	*state.Store
	log    hclog.Logger
	failed atomic.Pointer[error] // of the last write; nil after one that did not fail
	gone   atomic.Pointer[error] // nil while the directory is in its place
}

// Put keeps a value, unless it would be lost with this process.
func (s *store) Put(bucket, key string, value any) error {
	return s.change(func() error { return s.Store.Put(bucket, key, value) })
}

// Delete removes a value, unless it would come back with the next process.
func (s *store) Delete(bucket, key string) error {
	return s.change(func() error { return s.Store.Delete(bucket, key) })
}

func (s *store) change(write func() error) error {
	if err := s.checkPlace(); err != nil {
		return err
	}
	return s.recordWrite(write())
}

func (s *store) recordWrite(err error) error {
	if err == nil {
		s.failed.Store(nil)
	} else if !errors.Is(err, state.ErrClosed) {
		s.failed.Store(&err)
	}
	return err
}

// checkPlace refuses where a change would be lost with this process, because the state directory is gone.
func (s *store) checkPlace() error {
	err := s.checkPlaceNow()
	if err == nil {
		return nil
	}
	return &pannier.Refusal{Code: "state.gone", Message: "nothing was changed, because it would be lost with this process: " + err.Error(), Hint: goneHint}
}

// checkPlaceNow finds out whether the directory is in its place, and tells the log where that has changed.
func (s *store) checkPlaceNow() error {
	err := s.InPlace()
	switch {
	case err == nil:
		if s.gone.Swap(nil) != nil {
			s.log.Info("the state directory is back")
		}
	case s.gone.Swap(&err) == nil:
		s.log.Error("changes are refused, because they would be lost with this process", "error", err)
	}
	return err
}

// watchPlace looks again and again until ctx is done, apart from everything else: the disk may not answer.
func (m *stateDir) watchPlace(ctx context.Context) error {
	m.refusals.settle()
	tick := time.NewTicker(placeEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			m.store.checkPlaceNow()
			m.refusals.settle()
		}
	}
}

// conditions tells what is wrong with the store, by what was found last.
func (s *store) conditions() (conditions []pannier.Condition) {
	if err := s.gone.Load(); err != nil {
		conditions = append(conditions, pannier.Condition{
			Code: "state_gone", Severity: pannier.SeverityError, Subject: "state", Message: "changes are refused, because they would be lost with this process: " + (*err).Error(), Hint: goneHint,
		})
	}
	if err := s.failed.Load(); err != nil {
		conditions = append(conditions, pannier.Condition{
			Code: "state_unwritable", Severity: pannier.SeverityError, Subject: "state", Message: "state cannot be written: " + (*err).Error(),
			Hint: "make room in the state directory, and make it writable; the next change tries again",
		})
	}
	return conditions
}

// lenientStore is the store for what no client asks to be kept, such as the version of the snapshot, or which skills are blocked. No
// client can be refused: it is written wherever the directory is by now, and is there once that is moved back. Nothing else is
// asked of the disk.
type lenientStore struct{ *store }

// Put keeps a value.
func (k lenientStore) Put(bucket, key string, value any) error {
	return k.recordWrite(k.Store.Put(bucket, key, value))
}

// Delete removes a value.
func (k lenientStore) Delete(bucket, key string) error {
	return k.recordWrite(k.Store.Delete(bucket, key))
}
