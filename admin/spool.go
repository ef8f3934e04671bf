package admin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"pannier"
	"pannier/admin/archive"
)

// spool writes a body to disk, because archives need random access. The file is unlinked at once, so that a crash
// leaves nothing behind.
func (s *Service) spool(ctx context.Context, src pannier.InstallSource) (archiveFile, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, spoolTimeout, &pannier.Refusal{
		Code: "install.body_timeout", Message: fmt.Sprintf("the archive was not received within %s", spoolTimeout),
		Hint: "send it as an upload, which can be resumed",
	})
	defer cancel()
	file, err := os.CreateTemp(s.o.Install.Spool, "body-")
	if err != nil {
		return archiveFile{}, spoolError(err)
	}
	if err := os.Remove(file.Name()); err != nil {
		return archiveFile{}, errors.Join(spoolError(err), file.Close())
	}
	a := archiveFile{archive.File{From: file, Format: src.Format}, func(bool) error { return file.Close() }}
	if err := a.fill(ctx, file, src, s.o.Install.MaxCompressed); err != nil {
		return archiveFile{}, errors.Join(err, file.Close())
	}
	return a, nil
}

// fill receives a body, and detects its format if the client did not give it.
func (a *archiveFile) fill(ctx context.Context, file *os.File, src pannier.InstallSource, limit int64) error {
	stopped := func() error { return context.Cause(ctx) }
	to := &boundedFile{stopped: stopped, file: file, limit: limit}
	write := src.Write
	if write == nil {
		write = func(w io.Writer) error {
			_, err := io.Copy(w, stoppedReader{stopped, src.Body})
			return err
		}
	}
	if err := write(to); err != nil {
		return spoolError(err)
	}
	a.Size = to.size
	head := make([]byte, 512)
	n, err := file.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return spoolError(err)
	}
	format, ok := archive.Detect(head[:n])
	if !ok || a.Format != "" && a.Format != format {
		return &pannier.Refusal{
			Code: "archive.format", Message: "the body is not an archive of the expected format: a tar.gz or a zip",
			Hint: "pack the skill's folder with `tar czf`, or pass the folder to `pannier install`",
		}
	}
	a.Format = format
	return nil
}

// spoolError wraps an error of receiving a body; a full disk is a refusal.
func spoolError(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		full := &pannier.Refusal{
			Code: "install.disk_full", Message: "no space left in the state directory, where archives are received",
			Hint: "free space on its file system and retry; nothing was changed",
		}
		return fmt.Errorf("%w: %w", full, err)
	}
	return fmt.Errorf("receive the archive: %w", err)
}

// boundedFile is a file that takes only so many bytes, until it is stopped.
type boundedFile struct {
	stopped     func() error
	file        *os.File
	size, limit int64
}

// Write implements [io.Writer].
func (b *boundedFile) Write(text []byte) (int, error) {
	if err := b.stopped(); err != nil {
		return 0, err
	}
	if int64(len(text)) > b.limit-b.size {
		return 0, &pannier.Refusal{
			Code: "upload.size_limit", Message: fmt.Sprintf("the archive has more than %d bytes", b.limit),
			Hint: "leave out unneeded files, or raise install.max_compressed_bytes",
		}
	}
	n, err := b.file.Write(text)
	b.size += int64(n)
	return n, err
}

// stoppedReader fails when it is stopped.
type stoppedReader struct {
	stopped func() error
	io.Reader
}

// Read implements [io.Reader].
func (r stoppedReader) Read(b []byte) (int, error) {
	if err := r.stopped(); err != nil {
		return 0, err
	}
	return r.Reader.Read(b)
}
