package sidecar

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"pannier"
)

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
	e.Bins = executables(filepath.SplitList(path))
	slices.Sort(e.Env)
	e.Env = slices.Compact(e.Env)
	e.Lenient = lenience == "warn" || lenience == "auto" && inContainer(environ)
	return e
}

// executables returns the names of the executable files in some directories, sorted.
func executables(dirs []string) []string {
	names := []string{}
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue // a PATH names directories that are not there; so do shells treat it
		}
		for _, e := range entries {
			if strings.Contains(e.Name(), "=") {
				continue // no skill asks for such a name, and an environment does not take it
			}
			if info, err := os.Stat(filepath.Join(dir, e.Name())); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
				names = append(names, e.Name())
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
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
