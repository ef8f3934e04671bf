package watcher

import "golang.org/x/sys/unix"

// remoteKinds names the file systems, by the number that statfs(2) has for them, whose files are changed by others than
// this kernel. It takes watches on them and then tells of its own changes alone, so nothing else than looking shows that
// a watch there does not work.
//
// Everything that is served by a process has the number of FUSE: virtiofs and the shares of container machines on other
// systems among it. An overlay is not in the list, because what is changed through it is told of.
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

// remoteKind returns the name of the file system at path if others may change it unseen, or nothing.
func remoteKind(path string) string {
	var st unix.Statfs_t
	for {
		err := unix.Statfs(path, &st)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return ""
		}
		return remoteKinds[uint32(st.Type)] // narrower or signed on some machines
	}
}

// kindOn returns the same for the file system that a watched directory lies on. It asks once for each.
func (w *Watcher) kindOn(dir *watch) string {
	kind, known := w.kinds[dir.id.dev]
	if !known {
		kind = w.remoteKind(dir.path)
		w.kinds[dir.id.dev] = kind
	}
	return kind
}
