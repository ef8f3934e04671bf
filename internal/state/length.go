package state

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// Where the fields of a meta page of bbolt lie (bbolt, internal/common/meta.go): after the header of the page.
const (
	metaMagic    = 16
	metaPageSize = 24
	metaPages    = 56
	metaTxid     = 64
	metaChecksum = 72
	metaEnd      = 80

	boltMagic = 0xED0CDAED
)

// checkFile fails with errBroken where a file is not a regular one, or is shorter than its meta pages say: bbolt would map
// pages that the file does not have, and reading those is a fault. A file that is missing or empty becomes a new database.
func checkFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if errors.Is(err, syscall.ENXIO) { // a socket
		return fmt.Errorf("%w: %s is not a regular file", errBroken, path)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%w: %s is not a regular file", errBroken, path)
	}
	if want := lengthOf(f); info.Size() < want {
		return fmt.Errorf("%w: %s has %d of %d bytes", errBroken, path, info.Size(), want)
	}
	return nil
}

// lengthOf returns how long a database is by its newest intact meta page, 0 where there is none.
func lengthOf(f io.ReaderAt) (length int64) {
	var newest uint64
	for _, at := range []int64{0, int64(os.Getpagesize())} {
		meta := make([]byte, metaEnd)
		if _, err := f.ReadAt(meta, at); err != nil {
			continue
		}
		sum := fnv.New64a()
		_, _ = sum.Write(meta[metaMagic:metaChecksum])
		u64 := func(at int) uint64 { return binary.NativeEndian.Uint64(meta[at:]) }
		if binary.NativeEndian.Uint32(meta[metaMagic:]) != boltMagic || u64(metaChecksum) != sum.Sum64() {
			continue
		}
		if txid := u64(metaTxid); length == 0 || txid > newest {
			newest, length = txid, int64(u64(metaPages))*int64(binary.NativeEndian.Uint32(meta[metaPageSize:]))
		}
	}
	return length
}
