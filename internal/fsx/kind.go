// Package fsx has the operations on files that several packages need, each in one place.
//
// No function waits for the writer of a FIFO that was put in the place of a file or a directory: a process that can
// write beside the skills could block a scan for good.
package fsx

import "golang.org/x/sys/unix"

// remoteKinds names the file systems, by the number that statfs(2) has for them, whose files are changed by other
// machines or processes than this kernel. inotify takes watches on them and then reports local changes alone, so
// nothing but polling shows that a watch there does not work.
//
// Everything that a process serves has the number of FUSE: virtiofs and the shares of container machines on other
// systems among it. An overlay is not in the list, because changes made through it are reported.
var remoteKinds = map[uint32]string{
	0x6969:     "NFS",
	0xff534d42: "CIFS",
	0xfe534d42: "SMB2",
	0x517b:     "SMB",
	0x01021997: "9p",
	0x65735546: "FUSE",
	0x0bd00bd0: "Lustre",
	0x01161970: "GFS2",
	0x7461636f: "OCFS2",
	0x5346414f: "AFS",
	0x6b414653: "AFS",
	0x00c36400: "Ceph",
	0x73757245: "Coda",
	0x47504653: "GPFS",
	0x19830326: "BeeGFS",
	0x786f4256: "vboxsf",
	0x7c7c6673: "prl_fs",
	0xbacbacbc: "vmhgfs",
}

// overlayKind is the number of an overlay: its lower layers may be changed without a change of the merged directory's
// times.
const overlayKind = 0x794c7630

// kindOf returns the number of the file system at path, and false where it cannot be asked.
func kindOf(path string) (kind uint32, ok bool) {
	var st unix.Statfs_t
	for {
		err := unix.Statfs(path, &st)
		if err == unix.EINTR {
			continue
		}
		return uint32(st.Type), err == nil // narrower or signed on some machines
	}
}

// RemoteKind returns the name of the file system at path if other machines or processes may change it without a report
// from this kernel, or nothing.
func RemoteKind(path string) string {
	kind, _ := kindOf(path)
	return remoteKinds[kind]
}

// DirTimesHold reports whether a directory at path gets another time whenever an entry of it comes or goes. On remote
// file systems, those that a process serves (object stores report one constant time) and overlays, equal times prove
// nothing.
func DirTimesHold(path string) bool {
	kind, ok := kindOf(path)
	return ok && kind != overlayKind && remoteKinds[kind] == ""
}
