// Package sidecar is the engine as a library: it connects the watcher, the loader, the registry, the publishers and the API.
//
//	disk -> watcher -Batch-> loader -Catalog-> registry -Snapshot-> publish/{card, push, prompt, api}
//
// [New] opens the log and the listeners; [Sidecar.Run] opens the state directory, starts the parts and waits for them. A request
// is answered from the moment that the socket is open: before the first scan ends, by what health knows.
//
// [ReadDirectory] and [ChangeDirectory] do the same for one command, without a running sidecar, through the same code.
package sidecar
