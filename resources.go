package pannier

// Resources are what a prompt shows of a skill behind its body: the links of its links.yaml and the files of its examples/.
type Resources struct {
	Links    []Link
	Examples []ExampleFile
	// Incomplete is set where something of them cannot be read or is past a bound.
	Incomplete bool
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
