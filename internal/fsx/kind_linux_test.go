package fsx

import (
	"testing"

	"golang.org/x/sys/unix"
)

// TestNumbersOfRemoteFileSystems holds the table against the numbers that golang.org/x/sys has from the kernel's
// headers.
func TestNumbersOfRemoteFileSystems(t *testing.T) {
	for number, want := range map[uint32]string{
		unix.NFS_SUPER_MAGIC: "NFS", unix.SMB_SUPER_MAGIC: "SMB", unix.SMB2_SUPER_MAGIC: "SMB2", unix.V9FS_MAGIC: "9p",
		unix.FUSE_SUPER_MAGIC: "FUSE", unix.OCFS2_SUPER_MAGIC: "OCFS2", unix.AFS_SUPER_MAGIC: "AFS", unix.AFS_FS_MAGIC: "AFS",
		unix.CEPH_SUPER_MAGIC: "Ceph", unix.CODA_SUPER_MAGIC: "Coda",
	} {
		if got := remoteKinds[number]; got != want {
			t.Errorf("%#x is %q, want %q", number, got, want)
		}
	}
}

// TestKindIsAskedOfTheKernel takes a file system that every machine has for one that others change.
func TestKindIsAskedOfTheKernel(t *testing.T) {
	remoteKinds[unix.PROC_SUPER_MAGIC] = "proc"
	defer delete(remoteKinds, unix.PROC_SUPER_MAGIC)
	if kind := RemoteKind("/proc"); kind != "proc" {
		t.Errorf("/proc is on %q", kind)
	}
}

func TestDirTimesHold(t *testing.T) {
	remoteKinds[unix.PROC_SUPER_MAGIC] = "proc"
	defer delete(remoteKinds, unix.PROC_SUPER_MAGIC)
	if DirTimesHold("/proc") || DirTimesHold("/proc/absent") {
		t.Error("times are trusted on a remote file system, or on none")
	}
	if overlayKind != unix.OVERLAYFS_SUPER_MAGIC {
		t.Error("not the number of an overlay")
	}
}
