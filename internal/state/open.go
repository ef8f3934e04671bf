package state

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"pannier/internal/fsx"
)

// The files of a state directory.
const (
	databaseName = "state.db"
	lockName     = "state.lock"
	brokenSuffix = ".broken-"
)

// lockTimeout is how long Open waits for a process that is about to end, lockRetry how often it looks.
const (
	lockTimeout = time.Second
	lockRetry   = 20 * time.Millisecond
)

// openDisk opens the database, or moves it aside and begins another one. It only reads: a new database is created in
// the background. What cannot be written is opened for reading.
func openDisk(dir string) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	lock, err := lockFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE)
	if errors.Is(err, ErrLocked) {
		return nil, err
	}
	if err != nil {
		return openReadOnly(dir, err)
	}
	s, err := openWritable(filepath.Join(dir, databaseName), lock)
	if err != nil {
		err = errors.Join(err, lock.Close())
	}
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return openReadOnly(dir, err)
	}
	return s, err
}

func openWritable(path string, lock *os.File) (*Store, error) {
	if info, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode().IsRegular() && info.Size() == 0 {
		return &Store{engine: newDisk(path, lock, nil)}, nil
	}
	db, err := openDatabase(path, false)
	if errors.Is(err, errBroken) {
		var broken string
		if broken, err = moveAside(path, err); err == nil {
			return &Store{engine: newDisk(path, lock, nil), recovered: broken}, nil
		}
	}
	if err != nil {
		return nil, err
	}
	return &Store{engine: newDisk(path, lock, db)}, nil
}

// openReadOnly opens the database of a directory in which something cannot be written. why says what.
func openReadOnly(dir string, why error) (*Store, error) {
	lock, err := lockFile(filepath.Join(dir, lockName), os.O_RDONLY)
	if errors.Is(err, ErrLocked) {
		return nil, err
	}
	path := filepath.Join(dir, databaseName)
	db, err := openDatabase(path, true)
	if err != nil {
		if lock != nil {
			_ = lock.Close()
		}
		return nil, errors.Join(why, err)
	}
	return &Store{engine: newDisk(path, lock, db), readOnly: why}, nil
}

// lockFile opens a file and locks it. The lock goes with the file: it ends when the file is closed or the process ends.
func lockFile(path string, flags int) (*os.File, error) {
	f, err := os.OpenFile(path, flags|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), lockTimeout, ErrLocked)
	defer cancel()
	if err := fsx.LockContext(ctx, f, lockRetry); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// database is one of bbolt with the file that bbolt has open, and closes.
type database struct {
	*bbolt.DB
	file *os.File
}

// openDatabase opens a database that can be read to the end, or fails with errBroken where its bytes are at fault. A
// file that is missing or empty becomes a new database.
func openDatabase(path string, readOnly bool) (*database, error) {
	f, _, err := fsx.OpenRegular(path, 0)
	switch {
	case err == nil:
		_ = f.Close()
	case errors.Is(err, fsx.ErrNotRegular), errors.Is(err, syscall.ENXIO): // a socket
		return nil, fmt.Errorf("%w: %s is not a regular file", errBroken, path)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	db, err := openBolt(path, readOnly)
	if err != nil {
		return nil, err
	}
	if err := contain(func() error { return check(db.DB) }); err != nil {
		return nil, errors.Join(err, contain(db.Close))
	}
	return db, nil
}

// openBolt holds on to the file, because bbolt leaves it open and locked when it panics.
func openBolt(path string, readOnly bool) (*database, error) {
	var db database
	options := bbolt.Options{
		Timeout:      lockTimeout,
		FreelistType: bbolt.FreelistMapType,
		ReadOnly:     readOnly,
		OpenFile: func(name string, flag int, mode os.FileMode) (f *os.File, err error) {
			db.file, err = os.OpenFile(name, flag|syscall.O_NONBLOCK, mode) // a FIFO in its place must not wait
			return db.file, err
		},
	}
	err := contain(func() (err error) {
		db.DB, err = bbolt.Open(path, 0o600, &options)
		return err
	})
	if err == nil {
		return &db, nil
	}
	if db.file != nil {
		_ = db.file.Close() // bbolt has closed it, unless it panicked
	}
	if errors.Is(err, bolterrors.ErrTimeout) {
		return nil, ErrLocked
	}
	if _, system := errors.AsType[syscall.Errno](err); system || errors.Is(err, errBroken) {
		return nil, err
	}
	return nil, fmt.Errorf("%w: %w", errBroken, err)
}

// check reads every key and value. The length comes first: what a shortened file lacks cannot be read through a
// mapping.
func check(db *bbolt.DB) error {
	return db.View(func(tx *bbolt.Tx) error {
		info, err := os.Stat(db.Path())
		if err != nil {
			return err
		}
		if info.Size() < tx.Size() {
			return fmt.Errorf("%w: it has %d of %d bytes", errBroken, info.Size(), tx.Size())
		}
		return tx.ForEach(func(name []byte, b *bbolt.Bucket) error {
			var last []byte
			return b.ForEach(func(k, v []byte) error {
				if v == nil || string(k) <= string(last) || !json.Valid(v) { // a bucket in a bucket has no value
					return fmt.Errorf("%w: bucket %q, key %q", errBroken, name, k)
				}
				last = k
				return nil
			})
		})
	})
}

// moveAside renames a broken database to a name that is free, and returns that.
func moveAside(path string, why error) (string, error) {
	for now := time.Now().Unix(); ; now++ {
		aside := path + brokenSuffix + strconv.FormatInt(now, 10)
		if _, err := os.Lstat(aside); err == nil {
			continue
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if err := os.Rename(path, aside); err != nil {
			return "", fmt.Errorf("move it aside: %w, since %w", err, why)
		}
		return aside, nil
	}
}
