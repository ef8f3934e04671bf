package oracle

import (
	"fmt"
	"net/http"

	"pannier/publish/molecule"
)

// Fault is how an [Endpoint] fails.
type Fault int

// The faults.
const (
	// Up is none.
	Up Fault = iota
	// Down refuses connections.
	Down
	// Broken answers 500, Busy 429 with a Retry-After of a second.
	Broken
	Busy
	// Hang takes the request and does not answer until the fault is over, then closes the connection.
	Hang
	// Reset closes the connection without an answer, ResetAfter does the same once it has taken the card in.
	Reset
	ResetAfter
)

// Faults lists every fault, without [Up].
func Faults() []Fault { return []Fault{Down, Broken, Busy, Hang, Reset, ResetAfter} }

// String names the fault.
func (f Fault) String() string {
	names := []string{"up", "down", "500", "429", "hang", "reset", "reset after"}
	if f < 0 || int(f) >= len(names) {
		return fmt.Sprintf("fault %d", int(f))
	}
	return names[f]
}

// fails answers a request as the fault has it, and reports whether it did. over is closed when the fault ends.
func (f Fault) fails(w http.ResponseWriter, r *http.Request, over <-chan struct{}) bool {
	switch f {
	case Broken:
		refuse(w, http.StatusInternalServerError)
	case Busy:
		w.Header().Set("Retry-After", "1")
		refuse(w, http.StatusTooManyRequests)
	case Hang:
		select {
		case <-over:
		case <-r.Context().Done():
		}
		panic(http.ErrAbortHandler)
	case Reset:
		panic(http.ErrAbortHandler) // the server closes the connection and logs nothing
	default:
		return false
	}
	return true
}

// isUnclear reports whether the fault leaves open whether a card was taken in that was not. [ResetAfter] takes it in.
func (f Fault) isUnclear() bool { return f == Broken || f == Hang || f == Reset }

func refuse(w http.ResponseWriter, status int) {
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"error":%q}`, http.StatusText(status))
}

// isUpdate reports whether a request brings a card.
func isUpdate(r *http.Request) bool {
	return r.Method == http.MethodPost && r.URL.Path == molecule.PathUpdateCard
}
