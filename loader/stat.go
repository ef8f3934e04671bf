package loader

import (
	"io/fs"
	"time"

	"pannier/internal/fsx"
)

// isProof reports whether an equal stamp, taken later, proves that nothing changed since a scan at that time. The stamp of a symlink
// proves nothing about the path to its target.
func isProof(s fsx.Stamp, scan time.Time) bool { return !s.IsSymlink() && !s.WithinRacyWindow(scan) }

// statIn returns the stat of what a path leads to, as statBeneath does.
func (s *treeScan) statIn(rel string) (fsx.Stamp, error) {
	info, err := s.statBeneath(rel)
	if err != nil {
		return fsx.Stamp{}, err
	}
	return fsx.StampOf(info), nil
}

// statBeneath tells of what a path leads to, within the root or in a target of its links.
func (s *treeScan) statBeneath(rel string) (fs.FileInfo, error) {
	info, err := s.root.Stat(rel)
	if s.mayLeadOut(err) {
		return s.place.Stat(rel)
	}
	return info, err
}

// mayLeadOut reports whether an error of the root says that a path leads out of it, and links may.
func (s *treeScan) mayLeadOut(err error) bool {
	return len(s.tree.root.LinkTargets) > 0 && fsx.EscapesRoot(err)
}
