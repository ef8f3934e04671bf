package main

import (
	"pannier/console"
	"pannier/publish/mcp"
	"pannier/sidecar"
)

// modules returns the modules of a sidecar.
func modules() []sidecar.Module {
	return []sidecar.Module{console.Module(), mcp.Module()}
}
