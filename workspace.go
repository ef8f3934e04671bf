package pannier

// Workspace is what pannier takes from the config.yaml of an agent.
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
	// Problems are those of config.yaml. LastGood says that the file could not be read and that everything else here is
	// what it last said.
	Problems []Problem
	LastGood bool
}
