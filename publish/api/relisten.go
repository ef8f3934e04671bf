package api

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/go-hclog"
)

const watchInterval = time.Second

// Watch listens anew at the same path whenever the file of the socket has been removed or replaced, until ctx is
// done. Connections stay. Where another process holds the claim or answers there, or the directory cannot be written,
// it tries again each second, and [Listener.Lost] says why there is no socket.
func (l *Listener) Watch(ctx context.Context, log hclog.Logger) {
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			l.restore(ctx, log)
		}
	}
}

// Lost says why clients find no socket of this process at the path; nil while they do. It takes no lock. l may be nil.
func (l *Listener) Lost() error {
	if l == nil {
		return nil
	}
	if why := l.lost.Load(); why != nil {
		return errors.New(*why)
	}
	return nil
}

func (l *Listener) restore(ctx context.Context, log hclog.Logger) {
	if l.now.Load().isAt(l.path) {
		l.lost.Store(nil)
		return
	}
	err := l.relisten(ctx)
	switch {
	case err == nil:
		l.lost.Store(nil)
		log.Warn("the socket file was removed or replaced; listening anew", "socket", l.path)
	case ctx.Err() != nil || errors.Is(err, os.ErrClosed):
	default:
		why := fmt.Sprintf("the socket file %s was removed or replaced, and listening anew failed: %v", l.path, err)
		if before := l.lost.Swap(&why); before == nil || *before != why {
			log.Error("socket lost", "error", why)
		}
	}
}

// relisten makes the socket again. The claim is renewed first where its file has gone too, so that of two processes
// that find no file only one listens.
func (l *Listener) relisten(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return os.ErrClosed
	}
	if err := os.MkdirAll(filepath.Dir(l.path), 0o755); err != nil {
		return err
	}
	if !isSameFile(l.claim.file, l.claim.name) {
		renewed, err := acquire(l.claim.name)
		if err != nil {
			return err
		}
		l.claim.release() // which does not remove a file that replaced its own
		l.claim = renewed
	}
	socket, err := listen(ctx, l.path, l.mode)
	if err != nil {
		return err
	}
	return l.now.Swap(socket).Close()
}
