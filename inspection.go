package pannier

// Inspection is what is known of a skill only by looking into its directory: too dear for every reload, and needed only
// on demand.
type Inspection struct {
	// Conformance holds the verdict of every profile by its name.
	Conformance map[string]Conformance `json:"conformance"`
	// Tools are those that the frontmatter declares, by name, then those in files, by path and line.
	Tools []Tool `json:"tools"`
	// Commands are those that the skill declares.
	Commands []Command `json:"commands"`
	// Install lists every way to install what the skill needs, refused ones too, in source order.
	Install []InstallSpec `json:"install"`
	// Problems are those of what is listed here, in the order of [CompareProblems].
	Problems []Problem `json:"problems"`
}
