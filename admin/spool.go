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

// spool takes a body to disk, because an archive is read where it needs to be, and not from its beginning to its end. The
// file has no name, so that nothing is left behind however this ends.
func (d *Service) spool(ctx context.Context, src pannier.InstallSource) (opened, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, spoolTimeout, &pannier.Refusal{
		Code: "install.body_timeout", Message: fmt.Sprintf("the archive has not come in within %s", spoolTimeout),
		Hint: "send it as an upload, which goes on where it was cut off",
	})
	defer cancel()
	file, err := os.CreateTemp(d.o.Install.Spool, "body-")
	if err != nil {
		return opened{}, notTakenIn(err)
	}
	if err := os.Remove(file.Name()); err != nil {
		return opened{}, errors.Join(notTakenIn(err), file.Close())
	}
	a := opened{file: file, format: src.Format, release: func(bool) error { return file.Close() }}
	if err := a.fill(ctx, src.Body, d.o.Install.MaxCompressed); err != nil {
		return opened{}, errors.Join(err, file.Close())
	}
	return a, nil
}

// fill takes in a body, and finds out its format where nobody said.
func (a *opened) fill(ctx context.Context, body io.Reader, most int64) (err error) {
	a.size, err = io.Copy(a.file, io.LimitReader(reading{ctx, body}, most+1))
	if err != nil {
		return notTakenIn(err)
	}
	if a.size > most {
		return &pannier.Refusal{
			Code: "upload.size_limit", Message: fmt.Sprintf("the archive has more than %d bytes", most),
			Hint: "leave out what the skill does not need, or raise install.max_compressed_bytes",
		}
	}
	head := make([]byte, 512)
	n, err := a.file.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return notTakenIn(err)
	}
	format, ok := archive.Detect(head[:n])
	if !ok || a.format != "" && a.format != format {
		return &pannier.Refusal{
			Code: "archive.format", Message: "this is not the archive that it should be: a tar.gz or a zip",
			Hint: "pack the skill's folder with `tar czf`, or name the folder to `pannier install`",
		}
	}
	a.format = format
	return nil
}

// notTakenIn says that a body could not be taken in, and refuses it where the disk is full.
func notTakenIn(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		full := &pannier.Refusal{
			Code: "install.disk_full", Message: "there is no room left in the state directory, where an archive is kept while it comes in",
			Hint: "make room on its file system, and try again; nothing was changed",
		}
		return fmt.Errorf("%w: %w", full, err)
	}
	return fmt.Errorf("take in the archive: %w", err)
}

// reading ends with its context.
type reading struct {
	ctx context.Context
	io.Reader
}

// Read implements [io.Reader].
func (r reading) Read(b []byte) (int, error) {
	if err := context.Cause(r.ctx); err != nil {
		return 0, err
	}
	return r.Reader.Read(b)
}
