package audit

import "pannier/internal/seqlog"

// OpenWith opens a log that creates its files by create.
func OpenWith(o Options, create func(path string, existing int) (seqlog.File, error)) (*Log, error) {
	o.create = create
	return Open(o)
}

// MaxLine is the bound on a line.
const MaxLine = maxLine
