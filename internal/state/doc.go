// Package state keeps small values across restarts, by bucket and key.
//
// A [Store] holds what is few and precious, such as the version of the snapshot and the environment that the agent
// reported. A value is anything that encoding/json can write. [Memory] returns a store without a disk.
//
// # On disk
//
//	state.db                the values, a bbolt file
//	state.lock              locked while the store is open; empty
//	state.db.broken-<unix>  a file that could not be read
//
// [Store.Put] and [Store.Delete] return after the change is on disk. A change is complete or not made, also after a
// crash, a power cut or an error.
//
// [Open] only reads. A database that does not exist is created in the background, and only writes wait for it: a start
// must not wait for a slow disk when there is nothing to read.
//
// One process has a directory at a time. The lock has its own file, because state.db may be moved aside. bbolt's own
// lock is taken too, against its tools. The kernel releases both when the process ends.
//
// # A directory that is moved or replaced
//
// Open files can be written although their directory was deleted, moved or replaced, but the next process does not find
// what is written. [Store.InPlace] compares device and inode of the open files with those at the paths. Put does not
// call it: a caller that confirms a change does.
//
// # A broken file
//
// Open reads every value once. If that fails, it moves the file aside and begins an empty one; [Store.Recovered] has
// the new name of the file, which is never removed. Errors of the system, such as a missing permission, move nothing.
//
// bbolt reads through a mapping and panics on invalid pages. Such a panic, and a fault in the mapping, is an error of
// the call.
package state
