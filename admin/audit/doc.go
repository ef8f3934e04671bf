// Package audit keeps who asked for which change, in a log that is only ever added to.
//
// A [Log] numbers entries. [Log.Append] gives an entry the next number, from 1, the time, and the digest of the line
// before it, and returns when the line has reached the disk: a mutation that is done can be relied upon to be there. Where
// that can not be, Append fails with [pannier.ErrNotAudited], and whoever asked must not go on.
//
// # On disk
//
// The log is JSON lines in files that are called by the number of their first entry, readable by the owner alone:
//
//	00000000000000000001.jsonl
//	00000000000000028114.jsonl
//
// A line goes into the newest file, until that would be longer than MaxBytes; then another one begins, and the oldest is
// removed where there are more than MaxFiles. A number is given away once and none is left out, over files and restarts.
//
// # The chain
//
// "previous" in a line is the SHA-256 of the line before it without its line feed, also where that one ends another file.
// So a line that was changed, taken out or put in shows, and [Verify] says where. The chain begins with the oldest line
// that is kept.
//
// # The head
//
// What the chain cannot show is that the newest lines were cut off or changed. So the file DIR.head beside the directory
// holds the number and digest of the newest line and the number of the oldest file. It is written after the line has
// reached the disk. [Open] and Verify compare:
//
//	log ahead of a head that is in its chain   adopted: a crash came between the two
//	head past the end, or not in the chain     broken
//	oldest file newer than the head says       broken
//	head file damaged                          broken
//	no head beside a log                       of an older version, or lost: logged, and adopted with the next entry
//
// A log that is broken goes on in a file of its own, whose first entry, "audit.broken", records the reason; no number is
// given twice. [Log.Broken] says so, also after a restart, until [Log.Acknowledge]. A user who can write the directory can
// still replace log and head together: to know that, compare with a [Point] noted elsewhere, or with a copy.
//
// # What survives
//
// Each line is synced, and with the first line of a file its name. What a crash leaves behind the last whole line was
// never confirmed to anybody; [Open] cuts it off and says so. A whole line is never cut, whatever is in it: one that is no
// entry stays for Verify to name, and the log goes on behind it.
//
// A write or a sync that fails is taken back, so that the entry has no number and the log stays readable. Where not even
// that works, the next Append begins with it. A file that somebody else removed, replaced or wrote to is left as it is,
// and the next line begins another one.
//
// # Who waits for whom
//
// Append waits for the disk, and for other callers of it. Readers do not hold it up. The package has no goroutines. One
// process may have a directory open at a time; the log does not lock it, since the state store beside it does.
//
// # Without a disk
//
// Without a directory the newest entries are kept in memory, up to MaxBytes, and are lost with the process.
package audit
