package journal

import "pannier/internal/seqlog"

// OpenWith opens a journal that creates its segments by create.
func OpenWith(o Options, create func(path string, existing int) (seqlog.File, error)) (*Journal, error) {
	o.create = create
	return Open(o)
}

// MaxLine is the bound on the line of an event.
const MaxLine = maxLine
