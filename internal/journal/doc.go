// Package journal keeps the newest events of a workspace, in order and on disk, for clients that follow them. A [Queue]
// writes events in the background.
//
// [Journal.Append] gives an event the next number, from 1. A [Reader] of [Journal.Follow] returns the events after a
// number and waits for new ones. Appends wait for the kernel to have the event, never for a sync or a reader. One
// process has a directory open at a time; the lock of the state store beside it ensures that.
//
// # What is kept
//
// One range without gaps, from [Journal.First] to [Journal.Last]. A reader gets every event of it, or [ErrTooOld] if
// its next event is no longer kept. If an event is missing, everything before it is dropped as well.
//
// On disk the range is in segments, JSON lines in files named by the number of their first event:
//
//	00000000000000000001.jsonl
//	00000000000000004217.jsonl
//
// A segment has at most an eighth of MaxBytes, unless a single event is longer. The oldest is removed before the sum
// passes MaxBytes. The newest events, up to 1 MiB, are in memory too. Readers keep no file open between two calls of
// Next.
//
// # What survives
//
// kill -9 loses no event that Append has returned. A power cut can lose those that the kernel has not written yet; only
// [Journal.Close] syncs.
//
// [Open] reads all segments and removes what follows the last complete line of the newest one. An invalid line, a wrong
// number and a missing file are gaps, also if a reader finds them later. Files with other names are ignored.
//
// # Write errors
//
// Append succeeds although the disk is full or read-only: the event is in memory, and each later Append and Close
// retry. The first failure is logged, and each is counted. An event that leaves memory before it was written is a gap.
//
// Numbers must be unique, or a reader that resumes would miss events. While writing fails, an empty segment is named by
// the next number, which takes no space. If that fails too and the process ends, numbers repeat for events that can no
// longer be read. A reader that asks for a number after the newest one therefore gets ErrTooOld at once.
//
// [Journal.Interrupt] and [Journal.Skip] are for a disk that does not answer: readers compare the whole state instead.
package journal
