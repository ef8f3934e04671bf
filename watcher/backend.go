package watcher

import "github.com/fsnotify/fsnotify"

// backend is the source of events of the kernel. Add and Remove are called by Run's goroutine alone; both channels
// are read by the drain goroutine alone, and are closed by the time that Close returns.
type backend interface {
	// Add watches a directory, not what is below it. Adding it again is not an error.
	Add(path string) error
	Remove(path string) error
	// WatchList returns the paths that are watched, in no order.
	WatchList() []string
	Events() <-chan fsnotify.Event
	Errors() <-chan error
	Close() error
}

// notify is the backend of the product.
type notify struct{ watcher *fsnotify.Watcher }

func openNotify() (backend, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	return notify{w}, nil
}

func (n notify) Add(path string) error         { return n.watcher.Add(path) }
func (n notify) Remove(path string) error      { return n.watcher.Remove(path) }
func (n notify) WatchList() []string           { return n.watcher.WatchList() }
func (n notify) Events() <-chan fsnotify.Event { return n.watcher.Events }
func (n notify) Errors() <-chan error          { return n.watcher.Errors }
func (n notify) Close() error                  { return n.watcher.Close() }
