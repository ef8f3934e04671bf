package pannier

// LinksFile is the file with the links of a skill.
const LinksFile = "links.yaml"

// The codes of the problems of links.yaml and examples/.
const (
	CodeLinks    = "skill.links"
	CodeExamples = "skill.examples"
)

// Resources are what a prompt shows of a skill behind its body: the links of its links.yaml and the files of its examples/.
type Resources struct {
	Links    []Link
	Examples []ExampleFile
	// LinksDigest is the digest of links.yaml; zero if it was not read.
	LinksDigest Digest
	// Incomplete is set where something of them cannot be read or is past a bound.
	Incomplete bool
	// Problems say what is left out and why; there are at most 20.
	Problems []Problem
}

// Link is one reference of a skill.
type Link struct {
	// URL is an absolute http or https address without blanks and hidden characters.
	URL string
	// Title and Description are the author's words; each may be empty.
	Title, Description string
}

// ExampleFile is one text file of the directory examples/ of a skill.
type ExampleFile struct {
	// Path is the file below the skill directory, with slashes.
	Path string
	Text string
}

// LoadedFile is a file of a skill that was shown next to its body.
type LoadedFile struct {
	// Path is the file below the skill directory, with slashes.
	Path   string `json:"path"`
	Digest Digest `json:"digest"`
}

// Files returns the files that the links and examples are from.
func (r Resources) Files() []LoadedFile {
	var files []LoadedFile
	if len(r.Links) > 0 {
		files = append(files, LoadedFile{Path: LinksFile, Digest: r.LinksDigest})
	}
	for _, e := range r.Examples {
		files = append(files, LoadedFile{Path: e.Path, Digest: DigestOf([]byte(e.Text))})
	}
	return files
}
