// Package oracle is for tests and the soak alone: it says what a sidecar should serve, by means that share nothing with it.
//
// [Walk] looks at a workspace by the rules of docs/SKILLS.md and nothing else: it knows neither the loader nor the watcher nor
// the registry, and keeps nothing from one walk to the next. [Compare] holds a list of the socket against such a walk.
// [Endpoint] is a registry endpoint that remembers every card it has taken, and fails as it is told.
//
// # What a walk cannot tell
//
// Which text a skill is served by that is held as last good, since that text is not on the disk any more; which skills are
// in the grace of their deletion; and what lay in a directory that cannot be read, of which the sidecar keeps what it knew.
// The first two are compared by name, the third is an error of the walk.
package oracle
