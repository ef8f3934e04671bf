// Package install puts a skill directory into a root, replaces it, removes it, and brings the version before back, so that
// whoever looks, at any moment and after any crash, finds the one or the other and nothing between.
//
// # The life of an installation
//
// [Store.Stage] has somebody write the files of a skill into a directory of their own, syncs them, reads them as a skill by
// the loader's own code, computes the fingerprint and scans them. What comes out is a [Staged], or a refusal. [Store.Install]
// and [Store.Update] then move it to `<root>/<slug>`. [Store.Rollback] exchanges it with the version before, which itself
// becomes the version before, so that a rollback can be rolled back. [Store.Uninstall] removes both.
//
// What pannier installed stands in the lock file of the root. A directory that does not stand there is somebody's own: it is
// neither removed nor replaced, unless who asks gives its fingerprint. Neither is one that stands there and was changed by hand
// removed without it. The fingerprint is taken when a change is decided, and again when the old directory is out of its place,
// so that nothing is lost that somebody writes between.
//
// A change that is refused leaves nothing behind: in a root in which nothing is installed, pannier's own directory is removed
// again, and so is a root that was made for the change.
//
// A dry run reads a root and makes nothing in it; what it needs to unpack, [Store.StageDryRun] stages elsewhere.
//
// # On disk
//
//	<root>/.pannier/lock.json          what is installed, for the loader too
//	<root>/.pannier/busy               locked by the process that changes the root
//	<root>/.pannier/intent.json        the change that is under way
//	<root>/.pannier/previous/<slug>    the version before
//	<root>/.pannier/staging/<id>/      one for each change; whose `held` no process has locked is rubbish
//	<root>/.pannier/staging/<id>/new/<slug>, gone, older, lock.json, intent.json
//
// Discovery and the watcher enter no directory whose name begins with a dot. Staging lies in the root, so that it is on its
// file system and every move is one rename.
//
// # Steps
//
// Before each step that changes the disk [Options.Step] is called with its name:
//
//	own.make                      .pannier and what is always in it, and the root itself where it is missing
//	stage.make                    the directory of a change
//	stage.fill, stage.name        the files; and the directory is called by its slug
//	stage.sync                    files and directories are synced
//	lock.write                    the lock file as it will be, into the staging directory, synced
//	intent.write, intent.commit   the intent; with its rename the change can be finished by whoever comes next
//	previous.take                 of a rollback: the version before moves to staging
//	swap                          the new directory takes its place; where there is an old one, the two are exchanged at once
//	swap.aside, swap.second       in place of that, where the file system can not exchange: the old one moves aside first
//	remove.target                 of an uninstallation: the directory moves to staging
//	remove.previous               of an uninstallation: the version before does
//	previous.clear, previous.keep the older generation moves to staging, the old directory to previous
//	lock.commit                   the lock file is renamed: from here on the change is done
//	config.write, config.commit   the list of config.yaml, by a file beside it and a rename
//	intent.remove, staging.remove
//	undo                          each move that takes back what was done, after an error
//
// Behind each move both directories are synced, before the next step.
//
// # Recovery
//
// [Open], [Store.Recover] and every change begin with what another process left. The intent says what was meant, the disk
// how far it went: "new" is told by its fingerprint, in staging, where nobody else writes.
//
//	no intent                                                         staging is removed
//	new is in staging (of a rollback: or still in previous)           undone
//	new is in staging, and the old directory moved aside              finished
//	new is nowhere, and the old directory is in its place             undone
//	new is not in staging, and something else is in its place         finished
//	what was moved aside is not what the intent says                  undone
//	uninstallation, the directory is in its place                     undone
//	uninstallation, it is not                                         finished
//	the lock file says what the intent wants                          finished
//
// A directory that is too large for a fingerprint is something else than any that has one. An intent that can be neither finished
// nor undone stays, [Store.Unsettled] tells of it, and each change of its root is refused until it is settled.
//
// To finish and to undo are made of moves that are done only where they are not done yet, so that a crash in a recovery is
// one more row of the same table. An error in a change is undone at once, in the same way, and the caller has an error and
// what was there before. Only where that fails too, or the lock file is in place already, the intent stays for the next.
//
// # config.yaml
//
// Where it has a list of skills, an installed one is added to the list by the name of its folder, and an uninstalled one is
// taken out; nothing else in the file changes by a byte. Where the list can not be edited so, where the file is a link, a
// mount or read-only, it stays as it is, and a problem says so. That never fails an installation.
//
// # Who waits for whom
//
// A [Store] makes one change at a time, and a root is changed by one process at a time. Staging goes on beside changes. The
// package has no goroutines.
package install
