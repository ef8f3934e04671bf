// Package policyfile keeps what must never be forgotten in one small file: which skills clients disabled, and which
// skills a scan blocked.
//
// A [File] holds sections of rows. A row is a key and a JSON value. The whole content is small, so every change writes
// the whole file. The database of package state holds what can be rebuilt; the two fail apart.
//
// # On disk
//
//	policy.json                the newest generation
//	policy.json.previous       the generation before it
//	policy.json.damaged-<unix> a file that could not be read, as it was
//
// A generation has a format version, its number, the number of the newest audit entry whose effect it can contain, a
// digest over all of that and the rows, and the rows. A change writes a temporary file, syncs it, keeps the current
// file as the previous one, renames the temporary file and syncs the directory. A reader finds the old or the new
// generation. The first change writes a generation without that change first: from then on a missing file means a loss.
//
// # After damage
//
// [Load] returns the current generation, or else the previous one. The audit entries after [Generation.AuditSeq] lead
// from the previous generation to the current one, because policy and scans are audited. A change that has no audit
// entry is written as two generations by [File.Replace], so both files hold it. The package knows neither the audit log
// nor the rows: the caller replays the entries, and decides what a loss means.
package policyfile
