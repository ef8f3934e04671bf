package main

import (
	"os"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// floors are the least that an operation could do. A visit gets a skill as a name below an open root, and ignores errors.
var floors = []struct {
	name, what string
	visit      func(root int, name string, buf []byte)
}{
	{"stat", "list the root, stat each SKILL.md", statSkill},
	{"list", "list the root and each skill, stat each SKILL.md", listSkill},
	{"read", "list the root, read 4 KiB of each SKILL.md", readSkill},
}

func statSkill(root int, name string, _ []byte) {
	var st unix.Stat_t
	_ = unix.Fstatat(root, name+"/SKILL.md", &st, 0)
}

func listSkill(root int, name string, buf []byte) {
	if fd, err := unix.Openat(root, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err == nil {
		for n, err := unix.ReadDirent(fd, buf); n > 0 && err == nil; {
			n, err = unix.ReadDirent(fd, buf)
		}
		_ = unix.Close(fd)
	}
	statSkill(root, name, buf)
}

func readSkill(root int, name string, buf []byte) {
	if fd, err := unix.Openat(root, name+"/SKILL.md", unix.O_RDONLY|unix.O_CLOEXEC, 0); err == nil {
		_, _ = unix.Read(fd, buf)
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
