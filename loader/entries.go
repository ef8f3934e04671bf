package loader

import (
	"pannier"
	"pannier/internal/fsx"
)

// maxEntries is how many entries of one directory are scanned one by one. Where there are more, the directory is listed.
const maxEntries = 64

// takesEntries reports whether an entry may be added to or removed from what is known of a directory: its entries were read, and
// only the directories among them count.
func (n *node) takesEntries(name string, maxDepth int) bool {
	return !n.due() && n.record == nil && !n.shallow && n.list().listed != (fsx.Stamp{}) && n.depth < maxDepth &&
		n.toolSet == nil && name != toolsDir && !n.holdsScripts() && n.list().otherCase == "" && !pannier.IsSkillFile(name)
}
