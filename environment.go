package pannier

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// EnvironmentSource says whose environment skills were judged by.
type EnvironmentSource string

// The sources.
const (
	// EnvironmentAgent is what the agent itself put.
	EnvironmentAgent EnvironmentSource = "agent"
	// EnvironmentFile is what `pannier environment` wrote in the agent's container.
	EnvironmentFile EnvironmentSource = "file"
	// EnvironmentSidecar is the sidecar's own container.
	EnvironmentSidecar EnvironmentSource = "sidecar"
)

// Environment is what a container offers to skills. It holds names, never the value of a variable.
type Environment struct {
	// OS and Arch are in Go's words: "linux", "darwin", "windows"; "amd64", "arm64".
	OS   string `json:"os"`
	Arch string `json:"arch"`
	// Bins are the names of executables on the PATH, Env those of the variables that are set and not empty, Config the
	// configuration keys that hold something, MCP the names of servers of the Model Context Protocol. All are sorted and
	// without repeats.
	Bins   []string          `json:"bins"`
	Env    []string          `json:"env"`
	Config []string          `json:"config"`
	MCP    []string          `json:"mcp"`
	Source EnvironmentSource `json:"source"`
	// At is when the facts were gathered; zero if unknown.
	At time.Time `json:"at,omitzero"`
	// Lenient makes an unmet requirement a warning: the environment is not the one that the agent runs in.
	Lenient bool `json:"-"`
}

// SameFacts reports whether two environments offer the same to skills. Whose they are and when that was found out does not
// count.
func (e Environment) SameFacts(other Environment) bool {
	return e.OS == other.OS && e.Arch == other.Arch && slices.Equal(e.Bins, other.Bins) && slices.Equal(e.Env, other.Env) &&
		slices.Equal(e.Config, other.Config) && slices.Equal(e.MCP, other.MCP)
}

// Changed returns what an event tells of the environment once skills are judged by it.
func (e Environment) Changed() EnvironmentChanged {
	return EnvironmentChanged{
		Source: e.Source, OS: e.OS, Arch: e.Arch, Bins: len(e.Bins), Env: len(e.Env), Config: len(e.Config), MCP: len(e.MCP),
	}
}

// NormalizeOS returns the name that Go has for an operating system: "macos" is darwin, "win" and "win32" are windows.
func NormalizeOS(name string) string {
	switch name {
	case "macos", "osx":
		return "darwin"
	case "win", "win32":
		return "windows"
	}
	return name
}

// The bounds of an environment that is taken in.
const (
	maxEnvironmentNames = 20000
	maxNameBytes        = 256
)

// Normalized returns the environment with its lists trimmed, sorted and without repeats, and its system in Go's words. It
// refuses what no container has, and what may be the value of a variable: the error, a [*Refusal], does not repeat it.
func (e Environment) Normalized() (Environment, error) {
	e.OS, e.Arch = NormalizeOS(strings.ToLower(strings.TrimSpace(e.OS))), strings.ToLower(strings.TrimSpace(e.Arch))
	if e.OS == "" && e.Bins == nil && e.Env == nil && e.Config == nil && e.MCP == nil {
		return Environment{}, refuseEnvironment("empty", "it says nothing: neither os nor any list is there", "send what `pannier environment` prints")
	}
	if !isWord(e.OS) || !isWord(e.Arch) {
		return Environment{}, refuseEnvironment("os", "os or arch is not a name", "give the words of Go, such as linux and amd64")
	}
	total := 0
	for _, list := range []struct {
		field string
		names *[]string
	}{{"bins", &e.Bins}, {"env", &e.Env}, {"config", &e.Config}, {"mcp", &e.MCP}} {
		names, err := normalNames(list.field, *list.names)
		if err != nil {
			return Environment{}, err
		}
		*list.names = names
		total += len(names)
	}
	if total > maxEnvironmentNames {
		return Environment{}, refuseEnvironment("size", fmt.Sprintf("there are %d names, and %d are allowed", total, maxEnvironmentNames), "leave out what no skill needs")
	}
	return e, nil
}

// isWord reports whether a text can be the name of a system or of an architecture; empty is not known.
func isWord(text string) bool {
	return len(text) <= maxNameBytes && !strings.ContainsFunc(text, func(r rune) bool {
		return !('a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '_' || r == '-' || r == '.')
	})
}

func normalNames(field string, names []string) ([]string, error) {
	normal := make([]string, 0, len(names))
	for i, name := range names {
		switch name = strings.TrimSpace(name); {
		case name == "":
		case len(name) > maxNameBytes:
			return nil, refuseEnvironment(field, fmt.Sprintf("entry %d of %s has more than %d bytes", i+1, field, maxNameBytes), "give names, not values")
		case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }):
			return nil, refuseEnvironment(field, fmt.Sprintf("entry %d of %s holds a control character", i+1, field), "give names, not values")
		case strings.Contains(name, "="):
			return nil, refuseEnvironment(field, fmt.Sprintf("entry %d of %s holds an equals sign, so it may be a value", i+1, field), "give names alone")
		default:
			normal = append(normal, name)
		}
	}
	slices.Sort(normal)
	return slices.Compact(normal), nil
}

func refuseEnvironment(field, message, hint string) error {
	return &Refusal{Code: "environment." + field, Message: message, Hint: hint}
}
