package loader

import (
	"time"

	"pannier/internal/fsx"
)

// isProof reports whether an equal stamp, taken later, proves that nothing changed since a scan at that time. The stamp of a symlink
// proves nothing about the path to its target.
func isProof(s fsx.Stamp, scan time.Time) bool { return !s.IsSymlink() && !s.WithinRacyWindow(scan) }
