package pannier

import "time"

// Trigger says what made pannier scan the disk.
type Trigger string

// The triggers.
const (
	TriggerStart    Trigger = "start"    // the process started
	TriggerEvent    Trigger = "event"    // the kernel reported a change, or polling found one
	TriggerGrace    Trigger = "grace"    // the grace of a removed skill ended
	TriggerResync   Trigger = "resync"   // it was time to compare everything
	TriggerOverflow Trigger = "overflow" // the kernel's queue overflowed, so events are missing
	TriggerError    Trigger = "error"    // watching failed somewhere
	TriggerManual   Trigger = "manual"   // a client asked
)

// Triggers lists every trigger, for metrics that show each from the start.
func Triggers() []Trigger {
	return []Trigger{TriggerStart, TriggerEvent, TriggerGrace, TriggerResync, TriggerOverflow, TriggerError, TriggerManual}
}

// Batch is what the watcher hands to the loader once the tree has settled: where to scan. It is only a hint:
// the loader reads everything from the disk.
type Batch struct {
	// Seq numbers the batches of a process from 1. Everything that is made from a batch carries its Seq, so that a
	// caller can wait for a scan that began after its own call.
	Seq uint64
	// Full asks for a comparison of everything. Dirs is empty then.
	Full bool
	// Dirs are the directories to scan again, absolute and clean, without repeats, in no order: the directory itself
	// and the entries right in it. What lies below is scanned where it is new. A directory or a symlink that came or went is named
	// itself, instead of the directory that holds it.
	Dirs []string
	// OwnChanges are those directories that pannier itself has changed: what was removed from them is dropped at once, without the grace
	// that a vanished skill has otherwise. Absolute and clean; they are in Dirs too, unless Full is set.
	OwnChanges []string
	// Trigger is why; of several reasons the gravest.
	Trigger Trigger
	// Since is when the first change was noticed.
	Since time.Time
}

// WatchSet is the set of directories that were scanned and must be watched.
type WatchSet struct {
	// Dirs are absolute and clean, sorted, without repeats. A path that leads to a file, or to nothing, stands for that entry: a change of it
	// counts, whatever its name is.
	Dirs []string
	// Entries are the names of what matters right in the workspace besides config.yaml, sorted: whatever else lies there
	// is the agent's own, and may change all the time. Nil stands for [UsualEntries].
	Entries []string
	// Files are single files that are mounted by themselves: their directories tell of no change behind the mount.
	Files []string
	// Version changes whenever Dirs, Entries or Files do, so that an equal set needs no comparison.
	Version uint64
}

// MisplacedDir is a directory that the file writer of Molecule's platform makes in a workspace that is mounted at /configs:
// it saves config.yaml as configs/config.yaml.
const MisplacedDir = "configs"

// UsualEntries returns the Entries of a workspace whose config.yaml names no file: those of the system prompt that the
// agent looks for by itself, sorted.
func UsualEntries() []string { return []string{MemoryFile, UserFile, DefaultPromptFile} }
