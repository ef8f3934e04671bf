package sandbox

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// isolateMounts makes all mounts read-only except those of the paths that may be written, and mounts a /proc of the namespace of
// processes. It runs in a mount namespace of its own. A layer that the kernel refuses is missing in the answer.
func isolateMounts(writable []string) (has isolation) {
	has.processes = true
	if unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "") != nil {
		return has
	}
	flags := uintptr(unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC | unix.MS_RDONLY)
	has.proc = unix.Mount("proc", "/proc", "proc", flags, "") == nil
	has.readOnly = makeReadOnly(writable) == nil
	return has
}

// makeReadOnly binds the writable paths to themselves, so that they are mounts and stay as they are. Each path is looked up once and
// without links, because another program can replace it meanwhile.
func makeReadOnly(writable []string) error {
	trees := make([]int, 0, len(writable))
	defer func() {
		for _, tree := range trees {
			unix.Close(tree)
		}
	}()
	for _, path := range writable {
		tree, err := bindToItself(path)
		if err != nil {
			return fmt.Errorf("bind %s: %w", path, err)
		}
		trees = append(trees, tree)
	}
	readOnly := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, &readOnly); err != nil {
		return fmt.Errorf("make the mounts read-only: %w", err)
	}
	for i, tree := range trees {
		if err := unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY}); err != nil {
			return fmt.Errorf("make %s writable: %w", writable[i], err)
		}
	}
	return nil
}

// bindToItself mounts what a path names on itself and returns the mount.
func bindToItself(path string) (tree int, err error) {
	at, err := openWritable(path)
	if err != nil {
		return -1, err
	}
	defer unix.Close(at)
	tree, err = unix.OpenTree(at, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE|unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	if err != nil {
		return -1, err
	}
	if err := unix.MoveMount(tree, "", at, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH); err != nil {
		unix.Close(tree)
		return -1, err
	}
	return tree, nil
}

// openWritable opens a path that a program may change. It must not have links, so that it still leads where the caller has looked.
func openWritable(path string) (int, error) {
	return unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
}
