package pannier

import "time"

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
	// At is when the facts were gathered; zero where nobody said.
	At time.Time `json:"at,omitzero"`
	// Lenient makes an unmet requirement a warning: the environment is not the one that the agent runs in.
	Lenient bool `json:"-"`
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
