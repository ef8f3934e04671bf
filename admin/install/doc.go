// Package install installs, updates, removes and rolls back skill directories in a root. At any moment, and after any
// crash, a reader finds either the old or the new directory.
//
// # Installing
//
// [Store.Stage] calls a function that writes the files of a skill into a staging directory, syncs them, reads them with
// the loader, computes the fingerprint and scans them. The result is a [Staged] or a refusal. [Store.Install] and
// [Store.Update] move it to `<root>/<slug>`. [Store.Rollback] swaps it with the previous version, so that a rollback
// can be rolled back. [Store.Uninstall] removes both.
//
// The lock file of the root lists what pannier installed. A directory that it does not list, or that was changed after
// it was installed, is replaced or removed only if the request contains its fingerprint. The fingerprint is computed
// before the decision, and again after the old directory was moved away, so that no concurrent write is lost.
//
// A refused change leaves nothing behind: pannier's own directory, and a root that was created for the change, are
// removed again. A dry run creates nothing in a root; it stages elsewhere.
//
// # On disk
//
//	<root>/.pannier/lock.json          what is installed; the loader reads it too
//	<root>/.pannier/busy               locked by the process that changes the root
//	<root>/.pannier/intent.json        the change in progress
//	<root>/.pannier/previous/<slug>    the previous version
//	<root>/.pannier/staging/<id>/      one for each change; abandoned if no process locks its `held`
//	<root>/.pannier/staging/<id>/new/<slug>, gone, older, lock.json, intent.json
//
// Discovery and the watcher skip directories whose names begin with a dot. Staging is in the root, so that every move
// is a rename on one file system.
//
// # Steps
//
// [Options.Step] is called with the name of each step that changes the disk, before the step:
//
//	own.make                      .pannier and its directories, and the root itself if it is missing
//	stage.make                    the staging directory
//	stage.fill, stage.name        the files; the rename of the directory to the slug
//	stage.sync                    files and directories are synced
//	lock.write                    the new lock file, in the staging directory, synced
//	intent.write, intent.commit   the intent; from its rename on, another process can finish the change
//	previous.take                 rollback: the previous version moves to staging
//	swap                          the new directory moves into place, or is exchanged with the old one
//	swap.aside, swap.second       the same in two steps, if the file system cannot exchange
//	remove.target                 uninstall: the directory moves to staging
//	remove.previous               uninstall: the previous version moves to staging
//	previous.clear, previous.keep the previous version moves to staging, the old directory becomes the previous version
//	lock.commit                   the lock file is renamed: the change is done
//	config.write, config.commit   the list of config.yaml, by a temporary file and a rename
//	intent.remove, staging.remove
//	undo                          each move that reverts a move, after an error
//
// After each move both directories are synced.
//
// # Recovery
//
// [Open], [Store.Recover] and every change first resolve an intent that another process left. The intent says what was
// to be done, the disk how far it got: "new" is recognized by its fingerprint, in staging, where no other process
// writes.
//
//	no intent                                                         staging is removed
//	new is in staging (rollback: or still in previous)                undone
//	new is in staging, and the old directory moved aside              finished
//	new is missing, and the old directory is in place                 undone
//	new is not in staging, and something else is in place             finished
//	what was moved aside does not match the intent                    undone
//	uninstall, the directory is in place                              undone
//	uninstall, it is not                                              finished
//	the lock file matches the intent                                  finished
//
// A directory that is too large for a fingerprint matches none. If an intent can neither be finished nor undone, it
// stays, [Store.Unsettled] reports it, and every change of its root is refused until it is resolved.
//
// Finishing and undoing only make moves that were not made yet, so that a crash during recovery is one more row of the
// table. An error in a change is undone at once in the same way. If that fails, or the lock file is in place already,
// the intent stays.
//
// # config.yaml
//
// If the file has a list of skills, the folder name of an installed skill is added and that of an uninstalled one is
// removed; nothing else changes. If the list cannot be edited, or the file is a link, a mount or read-only, it stays
// unchanged and a problem is reported. The installation succeeds anyway.
//
// # Concurrency
//
// A [Store] makes one change at a time, and one process changes a root at a time. Staging runs concurrently with
// changes. The package has no goroutines.
package install
