// Package pannier holds the types shared by pannier's packages, and pure functions of them.
//
// pannier is a sidecar that keeps an agent's skills live. A skill is a folder with a SKILL.md in the workspace of an
// agent. pannier watches the workspace, keeps a catalog of what it finds, judges each skill, pushes the agent card that
// follows from it to a registry endpoint, and serves the catalog on a local unix socket.
//
// # One way
//
// Data flows once and one way, and each arrow carries a value of this package:
//
//	disk ─> watcher ─Batch─> loader ─Catalog─> registry ─*Snapshot─> publish/{card,push,prompt,api}
//	           ↑               │                  ↑
//	           └── WatchSet ───┘     config.yaml, environment, policy
//
// The packages watcher, loader, registry and publish do not import one another. They import this package, and the
// package sidecar connects them.
//
// # What is here, and what never will be
//
// Here are values and functions that compute one value from another. There is no goroutine, no file, no socket and no
// logger, so everything here can be called from anywhere and tested without a machine.
//
// # Ownership
//
// A value that has been handed on is never changed again: [Skill], [Catalog] and [Snapshot] are immutable once they
// leave the stage that made them, including everything that they point to. Readers may keep them for as long as they
// like and must not write to them.
package pannier
