//go:build !linux

package sandbox

import (
	"context"
	"io"
)

// onlyLinux says why there is no sandbox.
const onlyLinux = "local tools run on Linux only"

// Run returns ErrUnavailable.
func Run(context.Context, Spec, io.Writer) (Exit, error) {
	return Exit{}, unavailable([]string{onlyLinux})
}

// Support reports that no layer is available.
func Support() Report { return Report{Missing: []string{onlyLinux}} }

// Release does nothing.
func Release() {}

// Exposed returns nothing.
func Exposed([]string) (path, system string) { return "", "" }

// IsSystem returns false.
func IsSystem(string) bool { return false }
