package main

import (
	"os"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// floors are the least that an operation could do. A visit opens a name below an open root, and ignores errors.
var floors = []struct {
	name, what string
	visit      func(root int, skill string, buf []byte)
}{
	{"stat", "list the root, stat each SKILL.md", stat},
	{"list", "list the root and each skill, stat each SKILL.md", func(root int, skill string, buf []byte) {
		open(root, skill, func(fd int) {
			for n, err := unix.ReadDirent(fd, buf); n > 0 && err == nil; n, err = unix.ReadDirent(fd, buf) {
			}
		})
		stat(root, skill, buf)
	}},
	{"read", "list the root, read 4 KiB of each SKILL.md", func(root int, skill string, buf []byte) {
		open(root, skill+"/SKILL.md", func(fd int) { _, _ = unix.Read(fd, buf) })
	}},
}

func stat(root int, skill string, _ []byte) {
	var st unix.Stat_t
	_ = unix.Fstatat(root, skill+"/SKILL.md", &st, 0)
}

func open(root int, name string, do func(fd int)) {
	if fd, err := unix.Openat(root, name, unix.O_RDONLY|unix.O_CLOEXEC, 0); err == nil {
		do(fd)
		_ = unix.Close(fd)
	}
}

// measureFloor returns how long all processors take to list a root and visit each skill.
func measureFloor(root string, visit func(int, string, []byte)) (time.Duration, error) {
	start := time.Now()
	dir, err := os.Open(root)
	if err != nil {
		return 0, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	fd, processors := int(dir.Fd()), runtime.NumCPU()
	var all sync.WaitGroup
	for p := range processors {
		all.Go(func() {
			buf := make([]byte, 4096)
			for _, name := range names[len(names)*p/processors : len(names)*(p+1)/processors] {
				visit(fd, name, buf)
			}
		})
	}
	all.Wait()
	return time.Since(start), err
}
