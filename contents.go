package pannier

// Contents are what is found in the files of a skill apart from the reload path, which opens none of them.
type Contents struct {
	// Description is for a skill that has none of its own: the first line of its body or, of one that has tools only, what the
	// docstrings of its tools say. It is one line, and empty where there is none.
	Description string
	// Tools are the `@tool` functions in tools/ and scripts/ and the executable files in scripts/, by path and line, without
	// their parameters.
	Tools []Tool
	// Digest covers Description and Tools; zero where there is nothing.
	Digest Digest
	// Of is the digest of the SKILL.md that they belong to: they do not count for another one. Zero counts for any.
	Of Digest
}
