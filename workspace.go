package pannier

// Workspace is what pannier takes from the config.yaml of an agent and the files that it names.
type Workspace struct {
	// Name, Description and Version are those of the agent card. Version is the text as it is written.
	Name, Description, Version string
	// Runtime names the agent's adapter; empty where it is not known.
	Runtime string
	// Listed says that config.yaml has a list under `skills:`. Skills is that list, in its order; entries are paths
	// below a root, or folders. Without a list every skill is selected.
	Listed bool
	Skills []string
	// Streaming and PushNotifications are the card's capabilities (`a2a:`).
	Streaming, PushNotifications bool
	// Prompts are the files that the agent's system prompt begins with, in their order: those of `prompt_files`, then
	// MEMORY.md and USER.md where they are there.
	Prompts []PromptFile
	// Fields digests the value of each key at the top of config.yaml, so that two readings tell which have changed. It is
	// no part of what is shown.
	Fields map[string]Digest
	// Keys are the dotted keys of config.yaml whose values are something: no null, no false, no zero and nothing empty;
	// sorted. They are no part of what is shown either.
	Keys []string
	// Problems are those of config.yaml and the prompt files. LastGood says that config.yaml could not be read and that
	// everything else here is what it last said.
	Problems []Problem
	LastGood bool
}

// PromptFile is a file of the agent's system prompt.
type PromptFile struct {
	// Path is relative to the workspace, with slashes.
	Path string
	// Text is what it says, UTF-8, without blanks at its ends; empty where it cannot be read.
	Text   string
	Digest Digest
}
