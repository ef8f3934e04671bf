package prompt

import (
	"strings"

	"pannier"
)

// fold cleans a text and drops blanks that repeat or stand at an end. Those of a path are kept: they are part of it.
func fold(text string) string { return strings.Join(strings.Fields(pannier.CleanLine(text)), " ") }
