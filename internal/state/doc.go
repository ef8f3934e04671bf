// Package state keeps what must survive a restart: small values under a bucket and a key.
//
// A [Store] holds the version of the snapshot, the policy, the environment that the agent put, upload sessions: things
// that are few, small and precious. What is plentiful belongs elsewhere, such as events, which have a journal. A value is
// whatever encoding/json can write, and the store neither knows its type nor keeps it apart from its bytes.
//
// # On disk
//
// [Open] keeps the values in one bbolt file:
//
//	state.db                the values
//	state.lock              held for as long as the store is open; empty
//	state.db.broken-<unix>  what could not be read, as it was
//
// [Store.Put] and [Store.Delete] return when the change has reached the disk. A change is there whole or not at all,
// whether the process is killed, the power is cut or the disk is full: where a call returns an error, the old value stays.
//
// Open only reads. A database that does not exist is created in the background, and only writes wait for it: a start must not
// wait for a slow disk when there is nothing to read.
//
// One process has a directory at a time. The lock is a file of its own, since state.db may be moved aside, and a lock on
// it would then protect the wrong file; bbolt's own lock is taken too, against its tools. The kernel lets go of both when
// the process ends, however it ends.
//
// # When the directory goes
//
// Files that are open can be written although their directory was deleted, moved away or replaced, and the next process does
// not find what was put into them. [Store.InPlace] says whether that is so, by device and inode of what the paths lead to. A
// directory that comes back is the same one as before. Put does not check by itself: a caller that confirms that a
// change is kept asks first.
//
// # When the file is broken
//
// A sidecar that refuses to start over a broken file does not help. Open reads every value once, which costs nothing for
// what is small. Where that fails, it moves the file aside, begins an empty one, and [Store.Recovered] says where the old
// one is: the opener has to report it, and to go on without what was in it. Files that were moved aside
// are never removed. What the system refuses, such as a directory without permission, is an error and moves nothing.
//
// bbolt reads through a mapping and panics on pages that make no sense. Such a panic, and a fault in the mapping, becomes
// an error of the call that met it.
//
// # Without a disk
//
// [Memory] returns a store that forgets everything when the process ends, for a sidecar that was told to keep no state.
package state
