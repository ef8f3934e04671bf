package sidecar

// Error is an error that an operator can act on.
type Error struct {
	Message string // empty where nothing is to be printed
	Hint    string // what to do, beginning with a verb
}

// Error implements error.
func (e *Error) Error() string { return e.Message }
