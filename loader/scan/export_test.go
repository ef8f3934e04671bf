package scan

import (
	"context"

	"pannier"
)

// Text returns what is found in the text of one file.
func Text(path string, text []byte) []pannier.Finding {
	found, places := newFindings(Options{}), maxPlaces
	found.addHits(path, searchFile(context.Background(), path, text, &places))
	return found.sorted()
}
