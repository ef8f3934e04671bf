// Package sandbox runs a program of a skill with the least rights that the kernel allows.
//
// [Run] hands the program to a supervisor, a process without the state of the sidecar: it sets up namespaces, starts the tool after
// every right was given up, and kills whatever the tool leaves behind. Where the kernel has namespaces, supervisors are forked by a
// starter, and one waits for the next call. Elsewhere, each is this executable again, with the hidden subcommand "sandbox-exec". Both
// run and exit while this package is initialized, before the main function.
//
//	layer       what it does
//	identity    root becomes another user; no capabilities, no new privileges, a session of its own
//	landlock    files below the given paths only; no TCP, no abstract sockets, no signals to other processes
//	seccomp     no sockets, tracing, mounts, keys, namespaces or other rare parts of the kernel
//	limits      processor time, memory, processes, size of files, open files
//	namespaces  processes, mounts, network and IPC of their own; everything read-only that may not be written
//
// With [Required], Landlock and seccomp have to be there; with [BestEffort], a program runs with the layers that there are.
// Namespaces are never required.
package sandbox

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// command is the hidden subcommand of the supervisor.
const command = "sandbox-exec"

// The values of [Spec].Level.
const (
	Required   = "required"
	BestEffort = "best_effort"
)

// RequiredABI is the oldest version of Landlock that Required accepts: the first one that confines signals.
const RequiredABI = 6

// ErrUnavailable is the error of Run where the kernel does not have what the level requires.
var ErrUnavailable = errors.New("sandbox not available")

// ErrNotStarted is the error of Run where the program could not be executed.
var ErrNotStarted = errors.New("program not started")

// Spec describes one run. Paths are absolute.
type Spec struct {
	// Argv is the program and its arguments. A program without a slash is searched in PATH of Env.
	Argv []string `json:"argv"`
	Dir  string   `json:"dir"`
	// Env is the whole environment of the program.
	Env []string `json:"env"`
	// Stdin is what the program reads. StdinFile is used instead if it is set; the caller closes it.
	Stdin     []byte   `json:"-"`
	StdinFile *os.File `json:"-"`
	// Read may be read and executed, besides the directories of the system. Write may be changed as well. A path that does not
	// exist is an error, and so is a link on the way to one of Write or to Scratch, which could lead elsewhere meanwhile.
	Read  []string `json:"read,omitempty"`
	Write []string `json:"write,omitempty"`
	// Scratch is a private directory. It may be written, and the program is killed when it holds more than Limits.ScratchBytes.
	Scratch string `json:"scratch,omitempty"`
	// UID and GID are those of the program if the caller is root; 0 is 65534. An ordinary user stays as it is.
	UID int `json:"uid"`
	GID int `json:"gid"`
	// Network allows IPv4 and IPv6. Without it, and where the kernel allows it, the program has a loopback interface that only it uses.
	Network bool `json:"network,omitempty"`
	// Serve gets a socket that listens on 127.0.0.1:ProxyPort of that loopback interface, which has to be there, and owns it. It returns
	// how to end, and Run calls that when the program has ended. It is optional.
	Serve func(socket *os.File) (stop func()) `json:"-"`
	// Level is Required or BestEffort; everything else counts as Required.
	Level  string `json:"level"`
	Limits Limits `json:"limits"`
	// Grace is the time between SIGTERM and SIGKILL when the context is done; 0 is two seconds.
	Grace time.Duration `json:"-"`
}

// ProxyPort is the port of the listener of [Spec].Serve.
const ProxyPort = 3128

// Limits are the resources of a run; 0 is the default. Memory, processes and processor time are also those of all processes together,
// where a control group can be made.
type Limits struct {
	CPUSeconds   int   `json:"cpu_seconds"`   // of each process; 60
	MemoryBytes  int64 `json:"memory_bytes"`  // data of each process; 1 GiB
	Processes    int   `json:"processes"`     // with threads; 128
	FileBytes    int64 `json:"file_bytes"`    // of each file that is written; 64 MiB
	OpenFiles    int   `json:"open_files"`    // of each process; 256
	OutputBytes  int64 `json:"output_bytes"`  // given to the writer; 1 MiB
	ScratchBytes int64 `json:"scratch_bytes"` // of all files in Scratch; 256 MiB
}

// withDefaults returns the limits with a number in each place.
func (l Limits) withDefaults() Limits {
	set := func(field *int64, value int64) {
		if *field <= 0 {
			*field = value
		}
	}
	setInt := func(field *int, value int) {
		if *field <= 0 {
			*field = value
		}
	}
	setInt(&l.CPUSeconds, 60)
	set(&l.MemoryBytes, 1<<30)
	setInt(&l.Processes, 128)
	set(&l.FileBytes, 64<<20)
	setInt(&l.OpenFiles, 256)
	set(&l.OutputBytes, 1<<20)
	set(&l.ScratchBytes, 256<<20)
	return l
}

// Exit says how a program ended. All its descendants have ended as well.
type Exit struct {
	// Code is the exit code; -1 where a signal ended the program.
	Code int
	// Signal is the number of the signal that ended the program, or 0.
	Signal int
	// TimedOut and Canceled say that the context was done first: by its deadline, or otherwise.
	TimedOut, Canceled bool
	// ScratchFull says that the program was killed because it wrote more than Limits.ScratchBytes, or too many files.
	ScratchFull bool
	// Exceeded is the bound of the whole call for which the program was killed: BoundMemory or BoundProcessor; usually empty.
	Exceeded string
	// OutputBytes counts what the program wrote. Truncated says that not all of it was given to the writer.
	OutputBytes int64
	Truncated   bool
	Duration    time.Duration
}

// Report says which layers the kernel offers to this process.
type Report struct {
	// Landlock is the version of its interface, 0 where there is none.
	Landlock int
	Seccomp  bool
	// Namespaces are those that a program gets: user, mount, pid, network, ipc.
	Namespaces []string
	// Loopback says that a program without a network has a loopback interface of its own.
	Loopback bool
	// Level is the strictest level that is fulfilled: Required, or BestEffort.
	Level string
	// Missing are sentences about the layers that a program does not get.
	Missing []string
	// Bounds are those that a control group has for all processes of a call together: BoundMemory, BoundProcesses, BoundProcessor. The
	// limits bound each process besides. Unbounded says why one of them is missing.
	Bounds    []string
	Unbounded string
}

// The values of [Report].Bounds.
const (
	BoundMemory    = "memory"
	BoundProcesses = "processes"
	BoundProcessor = "processor_time"
)

// unavailable returns ErrUnavailable with what is missing.
func unavailable(missing []string) error {
	return fmt.Errorf("%w: %s", ErrUnavailable, strings.Join(missing, "; "))
}
