// Package journal keeps the newest events of a workspace, on disk and in order, for clients that follow them.
//
// A [Journal] numbers events. [Journal.Append] gives an event the next number, from 1, and stores it; a [Reader] of
// [Journal.Follow] returns the events after a number, one by one, and waits for those to come. Any number of callers may
// append and any number of readers may follow at their own pace: no writer waits for a reader.
//
// # What is kept
//
// What is kept is one range without gaps, from [Journal.First] to [Journal.Last]. A reader gets every event of it, or is
// told by [ErrTooOld] that its next one is not kept any more; it never skips one unawares. Whatever goes wrong, one rule
// follows: where an event is missing, everything before it is given up as well.
//
// On disk the range is in segments, JSON lines in files that are called by the number of their first event:
//
//	00000000000000000001.jsonl
//	00000000000000004217.jsonl
//
// A segment is at most an eighth of MaxBytes long, unless a single event is longer, and before the sum passes MaxBytes the
// oldest is removed. The newest events, up to 1 MiB, are in memory too, so that following costs no disk reads. Readers of
// older ones read 64 KiB at a time and keep no file open between two calls of Next.
//
// # What survives
//
// Events are observations, which the next look at the disk would make again, so they are not worth a sync each:
//
//   - kill -9 loses no event that Append has returned, since by then the kernel has it;
//   - a power cut may lose the events since the last sync, which is made when a segment is full and by [Journal.Close].
//
// [Open] reads all segments. Behind the last whole line of the newest one it cuts off what a power cut has left, and goes
// on with the next number. A line that is not an event, has the wrong number, or is missing in between is a gap, and the rule
// applies. So it does when a reader, later, finds a segment gone or unreadable. A file whose name is not that of a segment
// is left alone.
//
// # When the disk does not take an event
//
// A full or read-only disk does not keep anything from happening, so Append succeeds. The event is in memory and readers
// get it. The log tells of it once, not for each event; the counter counts each write that failed. Each Append, and Close,
// first tries again what has not been written. When that works in time, the journal on disk is as if nothing had been.
// When an event leaves memory before it was written, it is a gap, and the segments before it are given up, which on a full
// disk also makes room.
//
// # Numbers go on
//
// A number must not be given away twice, or a reader that comes back with one would miss events. While writing fails, an
// empty segment is therefore kept whose name is the next number; it takes no space, so that a full disk has room for it.
// Open never begins below the name of a segment. Only where not even an empty file can be made, as on a read-only disk,
// and the process then ends, numbers repeat that readers have seen, for events that cannot be read any more. As a guard,
// a reader that asks for what comes after a number that was not given away yet gets ErrTooOld at once, rather than wait
// for a number that would be another event. So a reader that wants "from now on" follows [Journal.Last].
//
// # Who waits for whom
//
// Append waits until the kernel has the event, and never for a sync: a segment that is full is synced in the background, and Close
// waits for that. First, Last and readers of the newest events wait for nothing. A disk that does not answer holds Append up;
// [Journal.Interrupt] then has readers look at the whole, and [Journal.Skip] tells them of events that were dropped meanwhile. One process may have a directory open at a time; the journal does not
// lock it, since the state store beside it does.
//
// # Metrics
//
// Each exists from the start:
//
//	pannier_journal_events_total        events appended
//	pannier_journal_write_errors_total  writes and syncs that failed
//	pannier_journal_gaps_total          gaps, made by Skip
//	pannier_journal_bytes               size of what is kept: of the segments, or in memory where there is no directory
package journal
