package upload

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"pannier"
)

// pieceBytes is how much of a chunk is in memory. Comparing a chunk with the disk needs it twice.
const pieceBytes = 32 << 10

var pieces = sync.Pool{New: func() any { return new([pieceBytes]byte) }}

// Append receives a chunk, and returns after it is on disk. An invalid chunk is a [*pannier.UploadFault], which has the
// offset to continue at; after any other error, such as a full disk, the chunk can be sent again. In both cases nothing
// of the chunk is stored. chunk is read to its end only if it is valid.
func (s *Store) Append(ctx context.Context, owner string, c pannier.UploadChunk, chunk io.Reader) (pannier.UploadAck, error) {
	w, repeated, err := s.begin(owner, c)
	if err != nil {
		return pannier.UploadAck{}, err
	}
	if repeated {
		err = w.compare(ctx, chunk)
	} else {
		err = w.write(ctx, chunk)
	}
	if err != nil {
		return pannier.UploadAck{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w.session.ExpiresAt = s.now().Add(s.o.Limits.TTL)
	received := w.session.Received
	return pannier.UploadAck{UploadID: c.UploadID, Offset: c.Offset, Len: c.Len, Received: received, Next: received}, nil
}

// writing is a chunk that is being received.
type writing struct {
	store      *Store
	session    *session
	chunk      pannier.UploadChunk
	generation uint64
}

// begin checks the header of a chunk against its session. repeated says that the whole chunk was received before.
func (s *Store) begin(owner string, c pannier.UploadChunk) (w *writing, repeated bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u, ok := s.sessions[c.UploadID]
	if !ok || u.owner != owner {
		return nil, false, fault(c, -1, notFound(c.UploadID))
	}
	if f := s.checkHeader(u, c); f != nil {
		return nil, false, f
	}
	u.ExpiresAt = s.now().Add(s.o.Limits.TTL)
	repeated = c.Offset+c.Len <= u.Received
	if !repeated {
		u.generation++
	}
	return &writing{store: s, session: u, chunk: c, generation: u.generation}, repeated, nil
}

// checkHeader returns what is wrong with the header of a chunk, nil if it is valid.
func (s *Store) checkHeader(u *session, c pannier.UploadChunk) *pannier.UploadFault {
	if status := u.statusAt(s.now()); status != pannier.UploadReceiving {
		return fault(c, -1, wrongStatus(u.ID, status, "receive chunks"))
	}
	var r *pannier.Refusal
	switch {
	case c.Offset < 0 || c.Len < 0:
		r = refuse("upload.chunk_offset", "count bytes from 0", "invalid offset %[2]d of a chunk of %[1]d bytes", c.Len, c.Offset)
	case c.Len > s.o.Limits.MaxChunk:
		r = refuse("upload.chunk_size", "send smaller chunks", "the chunk has %d bytes; at most %d are allowed", c.Len, s.o.Limits.MaxChunk)
	case c.Len > u.Size || c.Offset > u.Size-c.Len:
		r = refuse("upload.size_limit", "send the announced number of bytes", "%d bytes at offset %d exceed the %d bytes of the archive", c.Len, c.Offset, u.Size)
	case c.Offset != u.Received && c.Offset+c.Len > u.Received:
		r = refuse("upload.chunk_offset", "continue at next_offset", "the chunk begins at %d, but %d bytes were received", c.Offset, u.Received)
	default:
		return nil
	}
	return fault(c, u.Received, r)
}

// write streams the chunk to the disk and syncs it. An error removes it.
func (w *writing) write(ctx context.Context, chunk io.Reader) error {
	var file *os.File
	err := w.unlessOvertaken(func() (err error) {
		file, err = os.OpenFile(w.store.path(w.chunk.UploadID), os.O_CREATE|os.O_WRONLY|unix.O_NOFOLLOW, 0o600)
		return w.wrap(err)
	})
	if err != nil {
		return err
	}
	defer file.Close()
	err = w.read(ctx, chunk, func(piece []byte, at int64) error {
		return w.unlessOvertaken(func() error {
			_, err := file.WriteAt(piece, at)
			return w.wrap(err)
		})
	})
	if err == nil {
		err = w.unlessOvertaken(func() error { return w.commit(file) })
	}
	if err != nil {
		_ = w.unlessOvertaken(func() error {
			if err := file.Truncate(w.chunk.Offset); err != nil { // the next chunk overwrites it
				w.store.o.Logger.Warn("removing a refused chunk failed", "upload", w.chunk.UploadID, "error", err)
			}
			return nil
		})
	}
	return err
}

// unlessOvertaken uses the payload, unless another chunk has begun.
func (w *writing) unlessOvertaken(use func() error) error {
	w.session.payload.Lock()
	defer w.session.payload.Unlock()
	w.store.mu.Lock()
	err := w.overtakenLocked()
	w.store.mu.Unlock()
	if err != nil {
		return err
	}
	return use()
}

// commit syncs the chunk and counts it as received.
func (w *writing) commit(file *os.File) error {
	if w.store.syncing != nil {
		w.store.syncing()
	}
	if err := unix.Fdatasync(int(file.Fd())); err != nil {
		return w.wrap(err)
	}
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	if err := w.overtakenLocked(); err != nil { // during the sync: the other chunk was checked without this one
		return err
	}
	w.session.Received = w.chunk.Offset + w.chunk.Len
	return nil
}

// read calls consume with the pieces of the chunk, and checks it against its header.
func (w *writing) read(ctx context.Context, chunk io.Reader, consume func(piece []byte, at int64) error) error {
	buf := pieces.Get().(*[pieceBytes]byte)
	defer pieces.Put(buf)
	sum, got := sha256.New(), int64(0)
	for {
		n, err := chunk.Read(buf[:])
		if got+int64(n) > w.chunk.Len {
			return w.fault("upload.chunk_length", "give the length of the chunk in its header", "the chunk has more than %d bytes", w.chunk.Len)
		}
		if n > 0 {
			sum.Write(buf[:n])
			if err := consume(buf[:n], w.chunk.Offset+got); err != nil {
				return err
			}
			got += int64(n)
		}
		switch {
		case errors.Is(err, io.EOF):
			if got != w.chunk.Len {
				return w.fault("upload.chunk_length", "send the chunk again", "the chunk ended after %d of %d bytes", got, w.chunk.Len)
			}
			if !w.chunk.SHA256.IsZero() && w.chunk.SHA256 != pannier.Digest(sum.Sum(nil)) {
				return w.fault("upload.chunk_digest", "send the chunk again", "the chunk does not match the SHA-256 of its header")
			}
			return nil
		case err != nil:
			return w.fault("upload.chunk_length", "send the chunk again", "the chunk ended after %d of %d bytes: %v", got, w.chunk.Len, err)
		case ctx.Err() != nil:
			return ctx.Err()
		}
	}
}

// overtakenLocked returns why the chunk may no longer be written.
func (w *writing) overtakenLocked() error {
	if status := w.session.Status; status != pannier.UploadReceiving { // an upload that receives a chunk does not expire
		return fault(w.chunk, -1, wrongStatus(w.chunk.UploadID, status, "receive chunks"))
	}
	w.session.ExpiresAt = w.store.now().Add(w.store.o.Limits.TTL)
	if w.generation != w.session.generation {
		return fault(w.chunk, w.session.Received, refuse("upload.chunk_overtaken", "send from one connection at a time", "another chunk of the upload has begun"))
	}
	return nil
}

// compare compares a repeated chunk with the disk.
func (w *writing) compare(ctx context.Context, chunk io.Reader) error {
	file, err := os.Open(w.store.path(w.chunk.UploadID))
	if err != nil {
		return w.wrap(err)
	}
	defer file.Close()
	buf := pieces.Get().(*[pieceBytes]byte)
	defer pieces.Put(buf)
	return w.read(ctx, chunk, func(piece []byte, at int64) error {
		here := buf[:len(piece)]
		if _, err := file.ReadAt(here, at); err != nil {
			return w.wrap(err)
		}
		if string(here) != string(piece) {
			return w.fault("upload.chunk_differs", "continue at next_offset, or abort and start a new upload", "other bytes were received at offset %d before", at)
		}
		return nil
	})
}

func (w *writing) fault(code, hint, format string, args ...any) error {
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	return fault(w.chunk, w.session.Received, refuse(code, hint, format, args...))
}

func (w *writing) wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("append to upload %s: %w", w.chunk.UploadID, err)
}
