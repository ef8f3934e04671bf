package main

import (
	"pannier/console"
	"pannier/link"
	"pannier/publish/mcp"
	"pannier/sidecar"
	tools "pannier/tools/module"
)

// modules returns the modules of a sidecar.
func modules() []sidecar.Module {
	return []sidecar.Module{tools.Module(), console.Module(), mcp.Module(), link.Module()}
}
