package main

import (
	bytesof "encoding/binary"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// hangingDisk is a file system in this process (fuse(4)), which can be told to stop answering, as a network file system
// does whose server is away, and whose times never change. Only other processes may look into it: a thread of this one that
// waits for an answer may be the one that the runtime needs for giving it.
type hangingDisk struct {
	dir   string
	fd    int
	files map[string]string // by path; directories end in a slash
	nodes []string          // paths, by node - 1
	begun chan struct{}     // closed once the kernel has been greeted: what waits for that can be killed, other than what waits for a disk

	mu   sync.Mutex
	away bool
	kept [][]byte // requests that came meanwhile
}

// The requests that there are answers to; see include/uapi/linux/fuse.h.
const (
	fuseLookup      = 1
	fuseForget      = 2
	fuseGetattr     = 3
	fuseOpen        = 14
	fuseRead        = 15
	fuseStatfs      = 17
	fuseRelease     = 18
	fuseFlush       = 25
	fuseInit        = 26
	fuseOpendir     = 27
	fuseReaddir     = 28
	fuseReleasedir  = 29
	fuseInterrupt   = 36
	fuseBatchForget = 42
)

// mountDisk mounts a disk with these files until the test ends. The test is skipped where that is not allowed.
func mountDisk(t *testing.T, files map[string]string) *hangingDisk {
	t.Helper()
	d := &hangingDisk{dir: shortDir(t), files: map[string]string{"/": ""}, begun: make(chan struct{})}
	for name, text := range files {
		d.files[name] = text
		for dir := path.Dir(name); dir != "/"; dir = path.Dir(dir) {
			d.files[dir+"/"] = ""
		}
	}
	for name := range d.files {
		d.nodes = append(d.nodes, name)
	}
	slices.Sort(d.nodes) // the root is the first
	var err error
	if d.fd, err = syscall.Open("/dev/fuse", syscall.O_RDWR|syscall.O_CLOEXEC, 0); err != nil {
		t.Skipf("there is no FUSE here: %v", err)
	}
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", d.fd)
	if err := syscall.Mount("pannier-test", d.dir, "fuse", 0, options); err != nil {
		syscall.Close(d.fd)
		t.Skipf("nothing can be mounted here: %v", err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		d.serve()
	}()
	t.Cleanup(func() {
		d.answer()
		syscall.Unmount(d.dir, syscall.MNT_DETACH)
		<-ended
		syscall.Close(d.fd)
	})
	<-d.begun
	return d
}

// hang stops answering until the test ends; answer goes on before, with the requests that came meanwhile.
func (d *hangingDisk) hang(t *testing.T) {
	d.answersAtTheEnd(t)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.away = true
}

// put adds a file and the directories above it, or replaces it.
func (d *hangingDisk) put(name, text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.files[name] = text
	for n := name; n != "//"; n = path.Dir(strings.TrimSuffix(n, "/")) + "/" {
		if !slices.Contains(d.nodes, n) {
			d.nodes = append(d.nodes, n) // the others keep their numbers
		}
	}
}

// rename renames a directory; an empty name removes it.
func (d *hangingDisk) rename(from, to string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, n := range d.nodes {
		rest, below := strings.CutPrefix(n, from+"/")
		if !below {
			continue
		}
		text := d.files[n]
		delete(d.files, n)
		if d.nodes[i] = "removed"; to != "" {
			d.nodes[i] = to + "/" + rest
			d.files[d.nodes[i]] = text
		}
	}
}

// answersAtTheEnd has the disk answer before what the test has started so far is ended: the kernel does not even let go what is killed.
func (d *hangingDisk) answersAtTheEnd(t *testing.T) { t.Cleanup(d.answer) }

func (d *hangingDisk) answer() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.away = false
	for _, request := range d.kept {
		d.take(request)
	}
	d.kept = nil
}

// serve answers until the disk is unmounted and nobody has it open.
func (d *hangingDisk) serve() {
	for buf := make([]byte, 1<<18); ; {
		n, err := syscall.Read(d.fd, buf)
		switch {
		case err == syscall.EINTR || err == syscall.ENOENT:
			continue
		case err != nil:
			return
		}
		d.mu.Lock()
		if d.away {
			d.kept = append(d.kept, slices.Clone(buf[:n]))
		} else {
			d.take(buf[:n])
		}
		d.mu.Unlock()
	}
}

var native = bytesof.NativeEndian

func (d *hangingDisk) take(request []byte) {
	op, unique, node := native.Uint32(request[4:]), native.Uint64(request[8:]), native.Uint64(request[16:])
	body, name := request[40:], "/"
	if 1 <= node && node <= uint64(len(d.nodes)) {
		name = d.nodes[node-1]
	}
	switch op {
	case fuseForget, fuseBatchForget, fuseInterrupt: // want no answer
	case fuseInit:
		out := make([]byte, 64)
		native.PutUint32(out[0:], 7)
		native.PutUint32(out[4:], 31)
		native.PutUint32(out[20:], 1<<16) // max_write
		d.reply(unique, 0, out)
		close(d.begun)
	case fuseLookup:
		child, _, _ := strings.Cut(string(body), "\x00")
		found := slices.IndexFunc(d.nodes, func(n string) bool { return n == name+child || n == name+child+"/" })
		if found < 0 {
			d.reply(unique, syscall.ENOENT, nil)
			return
		}
		out := make([]byte, 40)
		native.PutUint64(out, uint64(found+1))
		d.reply(unique, 0, append(out, d.attributes(found)...))
	case fuseGetattr:
		d.reply(unique, 0, append(make([]byte, 16), d.attributes(int(node-1))...))
	case fuseOpen, fuseOpendir:
		d.reply(unique, 0, make([]byte, 16))
	case fuseReaddir:
		d.reply(unique, 0, d.entries(name, native.Uint64(body[8:])))
	case fuseRead:
		text := d.files[name]
		from := min(int(native.Uint64(body[8:])), len(text))
		d.reply(unique, 0, []byte(text[from:min(from+int(native.Uint32(body[16:])), len(text))]))
	case fuseRelease, fuseReleasedir, fuseFlush:
		d.reply(unique, 0, nil)
	case fuseStatfs:
		d.reply(unique, 0, make([]byte, 80))
	default:
		d.reply(unique, syscall.ENOSYS, nil)
	}
}

func (d *hangingDisk) reply(unique uint64, failed syscall.Errno, body []byte) {
	out := make([]byte, 16, 16+len(body))
	native.PutUint32(out[0:], uint32(16+len(body)))
	native.PutUint32(out[4:], uint32(-int32(failed)))
	native.PutUint64(out[8:], unique)
	syscall.Write(d.fd, append(out, body...))
}

// attributes are those of a node, never to be remembered by the kernel.
func (d *hangingDisk) attributes(node int) []byte {
	out := make([]byte, 88)
	native.PutUint64(out[0:], uint64(node+1))
	native.PutUint64(out[8:], uint64(len(d.files[d.nodes[node]])))
	for at := 24; at <= 40; at += 8 {
		native.PutUint64(out[at:], 1_700_000_000)
	}
	mode := uint32(syscall.S_IFREG | 0o644)
	if strings.HasSuffix(d.nodes[node], "/") {
		mode = syscall.S_IFDIR | 0o755
	}
	native.PutUint32(out[60:], mode)
	native.PutUint32(out[64:], 2)
	native.PutUint32(out[80:], 4096)
	return out
}

// entries are what a directory holds, from one on.
func (d *hangingDisk) entries(dir string, from uint64) (out []byte) {
	at := uint64(0)
	for i, n := range d.nodes {
		rest, below := strings.CutPrefix(n, dir)
		name := strings.TrimSuffix(rest, "/")
		if !below || name == "" || strings.Contains(name, "/") {
			continue
		}
		if at++; at <= from {
			continue
		}
		kind := uint32(syscall.DT_REG)
		if name != rest {
			kind = syscall.DT_DIR
		}
		entry := make([]byte, 24, 24+len(name)+8)
		native.PutUint64(entry[0:], uint64(i+1))
		native.PutUint64(entry[8:], at)
		native.PutUint32(entry[16:], uint32(len(name)))
		native.PutUint32(entry[20:], kind)
		entry = append(entry, name...)
		out = append(out, append(entry, make([]byte, -len(entry)&7)...)...)
	}
	return out
}

// diskWithSkill is a workspace with one skill on a disk that can hang.
func diskWithSkill(t *testing.T) *hangingDisk {
	t.Helper()
	return mountDisk(t, map[string]string{"/config.yaml": "name: n\n", "/skills/one/SKILL.md": numbered("one", 0)})
}
