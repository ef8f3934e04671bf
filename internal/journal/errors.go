package journal

import (
	"errors"
	"fmt"

	"pannier"
)

// ErrTooOld says that a reader cannot go on from where it is: its next event is not kept any more. The error is a
// [*TooOldError]. The answer to it is to look at the whole, and to follow [Journal.Last] from before that scan.
var ErrTooOld = pannier.ErrTooOld

// ErrClosed says that the journal has been closed.
var ErrClosed = errors.New("the journal is closed")

// ErrTooLarge says that an event is longer than a line may be, which is 4 MiB.
var ErrTooLarge = errors.New("the event is too large")

// TooOldError says which event a reader wanted and which are there. It is an [ErrTooOld].
type TooOldError struct {
	// Seq is the number of the event that was wanted.
	Seq uint64
	// First is the oldest event that is kept; 0 when there is none.
	First uint64
	// Last is the newest number that was given away. It is below Seq where the reader knows of events that this journal
	// never stored; see "Numbers go on" in the package documentation.
	Last uint64
}

// Error implements error.
func (e *TooOldError) Error() string {
	switch {
	case e.Seq > e.Last:
		return fmt.Sprintf("event %d is not of this journal, whose newest is %d", e.Seq, e.Last)
	case e.First == 0:
		return fmt.Sprintf("event %d is not kept any more, nor is any other up to %d", e.Seq, e.Last)
	}
	return fmt.Sprintf("event %d is not kept any more: the first that is kept is %d", e.Seq, e.First)
}

// Is makes the error an ErrTooOld.
func (e *TooOldError) Is(target error) bool { return target == ErrTooOld }
