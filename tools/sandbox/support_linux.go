package sandbox

import (
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Support reports which layers a program gets from a sandbox of this process. The first call starts a supervisor that tries them;
// later ones return the same.
func Support() Report {
	r, g := supported().report, sharedGroups()
	r.Bounds, r.Unbounded = g.bounds, g.why
	return r
}

// layers are what a probe found.
type layers struct {
	report Report
	// namespaces says that a supervisor can have namespaces, user that one of users is among them.
	namespaces, user bool
	// whole says that mounts can be made read-only there, and that it has a /proc and a loopback interface of its own.
	whole bool
}

var supported = sync.OnceValue(probe)

// probe tries namespaces, with and without one of users, and takes the first that works.
func probe() layers {
	uid, gid := (&Spec{}).identity()
	spec := Spec{Level: BestEffort, UID: uid, GID: gid, Argv: []string{"probe"}}
	var st status
	found := layers{}
	for _, try := range []layers{{namespaces: true, user: true}, {namespaces: true}, {}} {
		if try.namespaces && !try.user && os.Getuid() != 0 {
			continue // only root can have namespaces without one of users
		}
		found = try
		var err error
		if st, err = try.run(&spec); err == nil && st.Error == "" {
			break
		}
	}
	found.report, found.whole = describe(found, st), st.ReadOnly && st.Proc && st.Loopback
	return found
}

// run tries the layers.
func (l layers) run(spec *Spec) (status, error) {
	o := order{Spec: *spec, Namespaces: l.namespaces, User: l.user, Probe: true}
	p, err := startSupervisor(&o, l.attributes(spec), nil)
	if err != nil {
		return status{}, err
	}
	ended := make(chan struct{})
	go func() { p.wait(); close(ended) }()
	p.control.Close()
	if !waitFor(ended, killWait) {
		p.kill()
		<-ended
	}
	p.output.Close()
	return p.judge()
}

// attributes are those of a supervisor with these namespaces.
func (l layers) attributes(spec *Spec) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setsid: true}
	if !l.namespaces {
		return attr
	}
	attr.Cloneflags = unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS
	if !spec.Network {
		attr.Cloneflags |= unix.CLONE_NEWNET
	}
	if !l.user {
		return attr
	}
	attr.Cloneflags |= unix.CLONE_NEWUSER
	if own := os.Getuid(); own != 0 {
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: own, HostID: own, Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
		// The supervisor of an ordinary user needs these for its mounts and its loopback interface. The program does not get them.
		attr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP, unix.CAP_NET_ADMIN}
		return attr
	}
	uid, gid := spec.identity()
	attr.UidMappings = []syscall.SysProcIDMap{{Size: 1}, {ContainerID: uid, HostID: uid, Size: 1}}
	attr.GidMappings = []syscall.SysProcIDMap{{Size: 1}, {ContainerID: gid, HostID: gid, Size: 1}}
	attr.GidMappingsEnableSetgroups = true
	return attr
}

// describe turns the outcome of a probe into a report.
func describe(found layers, st status) Report {
	r := Report{Landlock: st.Landlock, Seccomp: st.Seccomp, Level: BestEffort}
	miss := func(text string) { r.Missing = append(r.Missing, text) }
	if st.Error != "" {
		miss(st.Error)
	}
	if st.Landlock < RequiredABI {
		miss(missingLandlock(st.Landlock))
	}
	if !st.Seccomp {
		miss("the kernel refuses seccomp filters: " + st.Refused)
	}
	if len(r.Missing) == 0 {
		r.Level = Required
	}
	if !found.namespaces {
		miss("the kernel refuses namespaces")
		return r
	}
	if found.user {
		r.Namespaces = append(r.Namespaces, "user")
	}
	r.Namespaces = append(r.Namespaces, "mount", "pid", "network", "ipc")
	if r.Loopback = st.Loopback; !r.Loopback {
		miss("a network namespace has no loopback interface, so programs have no network by hosts")
	}
	if !st.ReadOnly {
		miss("mounts cannot be made read-only")
	}
	if !st.Proc {
		miss("a namespace of processes has no /proc of its own, so programs have none")
	}
	return r
}
