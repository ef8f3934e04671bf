package sidecar

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"pannier"
	"pannier/config"
	"pannier/internal/fsx"
)

// environments are what is known of containers: that of the sidecar, what the agent put, and the environment file.
type environments struct {
	own  pannier.Environment
	file *config.EnvironmentReader // its owner is who takes batches in

	mu       sync.Mutex
	put      *pannier.Environment // nil until the agent has put one
	inFile   *pannier.Environment // what the file says, nil where there is none
	reported *pannier.Environment // by which skills are judged, as last reported; nil before the first scan
}

// readFile reads the file and returns what is wrong with it, and whether the agent has written it since the last call.
func (e *environments) readFile() (problems []pannier.Problem, written bool) {
	found, problems := e.file.Read()
	e.mu.Lock()
	defer e.mu.Unlock()
	written = found != nil && (e.inFile == nil || found.At.After(e.inFile.At))
	e.inFile = found
	return problems, written
}

// markReported returns what skills are judged by, and whether it differs from what the last call returned. The first
// call reports no change.
func (e *environments) markReported() (now pannier.Environment, changed bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now = e.effectiveLocked()
	changed = e.reported != nil && (e.reported.Source != now.Source || !e.reported.SameFacts(now))
	e.reported = &now
	return now, changed
}

// set keeps what the agent put.
func (e *environments) set(put pannier.Environment) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.put = &put
}

// effective returns what skills are judged by: the newer of what the agent put and what the file says, and where there is
// neither, the sidecar's own.
func (e *environments) effective() pannier.Environment {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.effectiveLocked()
}

func (e *environments) effectiveLocked() pannier.Environment {
	switch {
	case e.put == nil && e.inFile == nil:
		return e.own
	case e.put == nil || e.inFile != nil && e.inFile.At.After(e.put.At):
		return *e.inFile
	}
	return *e.put
}

// configItems returns what the workspace has of the configuration that skills ask for: the dotted keys of config.yaml, and
// the files below the workspace that some skill names; sorted. A file that comes later is found at the next resync.
func configItems(workspace string, skills []*pannier.Skill, keys []string) []string {
	asked := map[string]bool{}
	for _, s := range skills {
		for _, item := range s.Requirements.Config {
			if pannier.IsConfigFile(item) {
				asked[item] = true
			}
		}
	}
	if len(asked) == 0 {
		return keys
	}
	root, err := fsx.OpenRoot(workspace)
	if err != nil {
		return keys // health says what is wrong with the workspace
	}
	defer root.Close()
	items := slices.Clone(keys)
	for item := range asked {
		if _, err := root.Stat(item); err == nil {
			items = append(items, item)
		}
	}
	slices.Sort(items)
	return items
}

// watchSetMerger adds directories, and entries of the workspace, to those that the loader wants watched: they decide too. It is for
// one caller at a time.
type watchSetMerger struct {
	set      pannier.WatchSet
	loaders  uint64 // the version of the loader's set that it is made from
	added    []string
	versions uint64
}

// merge returns the loader's set with the directories and entries in it.
func (w *watchSetMerger) merge(set pannier.WatchSet, dirs, entries []string) pannier.WatchSet {
	if w.versions > 0 && w.loaders == set.Version && slices.Equal(w.added, dirs) && slices.Equal(w.set.Entries, entries) {
		return w.set
	}
	w.loaders, w.added = set.Version, slices.Clone(dirs)
	w.versions++
	all := slices.Concat(set.Dirs, dirs) // the loader's own is not written to
	slices.Sort(all)
	w.set = pannier.WatchSet{Dirs: slices.Compact(all), Entries: entries, Files: set.Files, Version: w.versions}
	return w.set
}

// OwnEnvironment returns the facts of the container that this process runs in. lenience is the setting
// environment.own.
func OwnEnvironment(environ []string, lenience string) pannier.Environment {
	e := pannier.Environment{OS: runtime.GOOS, Arch: runtime.GOARCH, Env: []string{}, Config: []string{}, MCP: []string{}, Source: pannier.EnvironmentSidecar}
	path := ""
	for _, variable := range environ {
		name, value, _ := strings.Cut(variable, "=")
		if name == "PATH" {
			path = value
		}
		if value != "" {
			e.Env = append(e.Env, name)
		}
	}
	e.Bins = []string{}
	seen := map[fsx.FileID]bool{}
	for _, dir := range filepath.SplitList(path) {
		if d, err := fsx.OpenDir(dir); err == nil { // a PATH names directories that are not there; so do shells treat it
			e.Bins = appendExecutables(e.Bins, d, seen)
			d.Close()
		}
	}
	slices.Sort(e.Bins)
	e.Bins = slices.Compact(e.Bins)
	slices.Sort(e.Env)
	e.Env = slices.Compact(e.Env)
	e.Lenient = lenience == "warn" || lenience == "auto" && inContainer(environ)
	return e
}

// appendExecutables appends the names of the executable files in an open directory, unless the directory was seen before: on
// many systems /bin leads to /usr/bin.
func appendExecutables(names []string, d *os.File, seen map[fsx.FileID]bool) []string {
	fd := int(d.Fd())
	self, err := fsx.Fstat(fd)
	if err != nil || seen[self.FileID] {
		return names
	}
	seen[self.FileID] = true
	entries, err := d.ReadDir(-1)
	if err != nil {
		return names
	}
	for _, e := range entries {
		if e.IsDir() || strings.Contains(e.Name(), "=") {
			continue // no skill asks for a name with an equals sign, and an environment does not take it
		}
		if found, err := fsx.StatAt(fd, e.Name()); err == nil && found.IsRegular() && found.Mode&0o111 != 0 {
			names = append(names, e.Name())
		}
	}
	return names
}

// inContainer reports whether this process runs in a container, by the marks that the engines leave.
func inContainer(environ []string) bool {
	for _, variable := range environ {
		if strings.HasPrefix(variable, "KUBERNETES_SERVICE_HOST=") || strings.HasPrefix(variable, "container=") {
			return true
		}
	}
	for _, mark := range []string{"/.dockerenv", "/run/.containerenv"} {
		if _, err := os.Stat(mark); err == nil {
			return true
		}
	}
	return false
}
