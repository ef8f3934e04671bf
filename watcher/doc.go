// Package watcher turns events of the kernel, or what polling finds, into settled [pannier.Batch] values:
// hints where to scan, sent once what changed has been quiet for a moment.
//
// # Units
//
// A unit settles by itself: a skill's directory, or a directory whose entries come and go, with everything below it. In a skill
// these names count: SKILL.md in any case, _meta.json, lock.json, links.yaml, names that begin with "..", directories and symlinks.
// Other names only signal [Watcher.Touched]. A skill's directory is not listed, so the removal of a directory or symlink in it
// counts only where it is watched, or the symlink came while the skill was. What is moved from one unit to another makes one
// unit of both. config.yaml settles with everything.
//
// # What a batch promises
//
// A change that is noticed is in a batch that is handed over after the change. Directories are armed before they
// are read, and whatever is armed later than the rest is then marked as dirty, so that no change is lost between
// a scan and a watch. A mark is cleared when the batch that carries it is handed over, and what is noticed while the
// consumer is busy waits for the next batch; so a consumer that scans the disk after it received a batch has seen
// every change that the batch stands for, and later ones come in later batches. Batches repeat themselves rather than leave
// something out, and say nothing of what changed: the disk does.
//
// Where events were lost, or may have been, the batch is full. A full batch also comes at the start and at each resync,
// which finds changes without an event: writes through a mapping, renamed ancestors, mounts.
//
// What pannier itself has changed goes by another lane ([Watcher.ScanDirs]): it is complete, so it waits neither to settle nor for
// what is settling, which in turn keeps its time. And a consumer that wants to scan once more at some moment, because the
// grace of a skill that vanished ends then, gets a batch for that ([Watcher.RevisitAt]).
//
// # Two goroutines
//
// The kernel's queue is bounded, so its reader must never wait. [Watcher.Run] starts one goroutine that drains fsnotify:
// it takes the lock for the length of a few map lookups, marks, signals and does nothing else. Everything that may block
// (stat, reading directories, arming, polling, handing over) is done by the goroutine that called Run. That one alone
// writes the table of watches; it does so under the lock, because the drain goroutine and [Watcher.Health] read it.
//
// Run opens the fsnotify watcher and closes it, which ends the drain goroutine, and waits for that before it returns. The
// channel of [Watcher.Batches] is never closed, because its consumer has a context of its own, and a closed channel would
// hand it empty batches while that one ends.
//
// # What is watched
//
// Directories, never files: editors replace files, and a watch stays with the file that was replaced.
//
//   - the workspace, for its config.yaml alone, since the agent works there;
//   - each root with the directories below it that the rules reach, down to those that hold a SKILL.md;
//   - directories that the rules skip by name, but not what is in them, and only for the SKILL.md that would make them
//     skills;
//   - whatever else the consumer names in a [pannier.WatchSet], such as the targets of symlinks, and the entries on the symlink chains to them;
//   - where a root or the workspace is missing, its nearest ancestor that exists, and where a link leads to it, the
//     directory of the symlink: there only the entries on the chain count.
//
// The kernel watches inodes, while everybody else thinks in paths. The table keeps the device and inode number for each
// path, so that a directory that was renamed, replaced or mounted over is noticed and armed anew.
//
// # Polling
//
// With [Auto] a directory is polled as long as the kernel does not report all changes in it: where it refuses the watch,
// where it cannot be asked at all, and beside its events where others than this kernel change the file system. With [Poll]
// all are, with [Inotify] none.
//
// To poll is to stat each directory and the files that matter in it, about once a second, and to mark
// what is another than before as events do: (dev, ino, size, mode, mtime, ctime) of what the path shows
// now. A difference is reported once more two seconds later, since clocks of file systems are coarse; that is not a change of its own,
// so it keeps no other waiting. What polling cannot see
// is a write that changes nothing of that, as one through a mapping may do; a resync may not see it either. A file system
// that does not answer blocks all watching, as it blocks every other reader.
//
// # When watching fails
//
// Never does it end the process. What cannot be armed is polled, shown by [Watcher.Health] with what to do about it, and
// tried again after a second, then less and less often, but once a minute at least. When it works it is left to the kernel
// again. Each of these is one line in the log and a change of the mode.
package watcher
