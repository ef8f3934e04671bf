// Package audit keeps an append-only log of requested changes and their outcomes.
//
// [Log.Append] gives an entry the next number, the time, and the digest of the line before it, and returns after the
// line is on disk. If that fails, the error is [pannier.ErrNotAudited] and the caller must not make the change.
//
// # On disk
//
// The log is JSON lines, in files named by the number of their first entry and readable by the owner only:
//
//	00000000000000000001.jsonl
//	00000000000000028114.jsonl
//
// A file has at most MaxBytes; the oldest file is removed if there are more than MaxFiles. Numbers are unique and have
// no gaps, over files and restarts.
//
// # The chain
//
// "previous" in a line is the SHA-256 of the line before it, without the line feed, also across files. [Verify] finds
// lines that were changed, removed or inserted. The chain begins with the oldest line that is kept.
//
// # The head
//
// The chain does not show that the newest lines were removed or changed. The file DIR.head beside the directory has the
// number and digest of the newest line and the number of the oldest file. It is written after the line is on disk.
// [Open] and Verify compare:
//
//	log ahead of a head that is in its chain   adopted: a crash came between the two
//	head past the end, or not in the chain     broken
//	oldest file newer than the head says       broken
//	head file damaged                          broken
//	no head beside a log                       lost: logged, and adopted with the next entry
//
// A broken log continues in a new file, whose first entry, "audit.broken", records the reason. [Log.Broken] reports it,
// also after a restart, until [Log.Acknowledge]. A user who can write the directory can still replace log and head
// together: to detect that, compare with a [Point] recorded elsewhere, or with a copy.
//
// # Errors
//
// A torn last line, as a crash leaves it, was never confirmed; [Open] removes and logs it. A complete line is never
// removed: an invalid one is reported by Verify, and the log continues after it.
//
// A failed write or sync is reverted, so that the number is free and the log stays readable; if reverting fails too,
// the next Append retries it. A file that another process removed, replaced or wrote to is left as it is, and the next
// line begins a new file.
//
// # Concurrency
//
// Append waits for the disk and for other appends. Readers wait for neither. The package has no goroutines. One process
// may have a directory open at a time; the lock of the state store beside it ensures that.
//
// # Without a directory
//
// The newest entries are kept in memory, up to MaxBytes, and are lost with the process.
package audit
