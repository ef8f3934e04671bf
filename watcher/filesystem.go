package watcher

// kindOn returns the name of the file system that a watched directory lies on if others may change it without a report from
// this kernel, or nothing. It asks once for each file system.
func (w *Watcher) kindOn(dir *watch) string {
	kind, known := w.kinds[dir.id.Dev]
	if !known {
		kind = w.remoteKind(dir.path)
		w.kinds[dir.id.Dev] = kind
	}
	return kind
}
