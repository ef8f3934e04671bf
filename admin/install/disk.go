package install

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"

	"golang.org/x/sys/unix"

	"pannier"
	"pannier/internal/fsx"
	"pannier/loader/fingerprint"
)

func (p *place) exists(rel string) bool {
	_, err := p.dir.Lstat(rel)
	return err == nil
}

// fingerprint returns the fingerprint of a directory, zero if it does not exist.
func (p *place) fingerprint(ctx context.Context, rel string) (pannier.Digest, error) {
	print, err := p.fingerprintKnown(ctx, rel)
	return print.Digest, err
}

// fingerprintKnown reuses the digests that are known of the skill that is being changed, wherever it was moved.
func (p *place) fingerprintKnown(ctx context.Context, rel string) (fingerprint.Print, error) {
	if info, err := p.dir.Lstat(rel); err != nil || !info.IsDir() {
		return fingerprint.Print{}, unlessMissing(err)
	}
	print, err := fingerprint.Of(ctx, p.dir, rel, fingerprint.Options{Known: p.known})
	if errors.Is(err, fs.ErrPermission) {
		err = refuseUnreadable(err)
	}
	return print, err
}

// move is a step: a rename that replaces nothing, and a sync of both directories.
func (p *place) move(step, from, to string) error {
	if err := p.store.step(step); err != nil {
		return err
	}
	err := p.rename(from, to, unix.RENAME_NOREPLACE)
	if unsupported(err) {
		if p.exists(to) {
			return &os.LinkError{Op: "rename", Old: from, New: to, Err: fs.ErrExist}
		}
		err = p.rename(from, to, 0)
	}
	if err != nil {
		return err
	}
	return p.syncBoth(from, to)
}

// moveOnce is [place.move], unless there is nothing to move or it was moved already.
func (p *place) moveOnce(step, from, to string) error {
	if !p.exists(from) || p.exists(to) {
		return nil
	}
	return p.move(step, from, to)
}

// exchange is a step: it swaps two directories atomically.
func (p *place) exchange(step, a, b string) error {
	if err := p.store.step(step); err != nil {
		return err
	}
	if err := p.rename(a, b, unix.RENAME_EXCHANGE); err != nil {
		return err
	}
	return p.syncBoth(a, b)
}

// unsupported reports whether the file system does not support a flag of renameat2(2).
func unsupported(err error) bool {
	return errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EOPNOTSUPP)
}

// rename renames by the descriptors of the parent directories, which [os.Root] keeps below the root.
func (p *place) rename(from, to string, flags uint) error {
	if p.store.plain && flags != 0 {
		return unix.EINVAL
	}
	a, err := p.dir.Open(path.Dir(from))
	if err != nil {
		return err
	}
	defer a.Close()
	b, err := p.dir.Open(path.Dir(to))
	if err != nil {
		return err
	}
	defer b.Close()
	if err := unix.Renameat2(int(a.Fd()), path.Base(from), int(b.Fd()), path.Base(to), flags); err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return nil
}

func (p *place) syncBoth(from, to string) error {
	if err := p.sync(path.Dir(to)); err != nil || path.Dir(from) == path.Dir(to) {
		return err
	}
	return p.sync(path.Dir(from))
}

func (p *place) sync(rel string) error { return fsx.SyncDirIn(p.dir, rel) }

// write is a step: it writes and syncs a file.
func (p *place) write(step, rel string, text []byte) error {
	if err := p.store.step(step); err != nil {
		return err
	}
	f, err := p.dir.OpenFile(rel, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|unix.O_NONBLOCK, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// commitFile is a step: it renames a file over another, and syncs the directory.
func (p *place) commitFile(step, from, to string) error {
	if err := p.store.step(step); err != nil {
		return err
	}
	if err := p.rename(from, to, 0); err != nil {
		return err
	}
	return p.sync(path.Dir(to))
}

// clear is a step: it removes a staging directory.
func (p *place) clear(rel string) error {
	if err := p.store.step("staging.remove"); err != nil {
		return err
	}
	return p.removeAll(rel)
}

// removeAll removes a directory, also if directories in it are read-only.
func (p *place) removeAll(rel string) error {
	err := p.dir.RemoveAll(rel)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	_ = fs.WalkDir(p.dir.FS(), rel, func(sub string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			return p.dir.Chmod(sub, 0o700)
		}
		return nil
	})
	return p.dir.RemoveAll(rel)
}
