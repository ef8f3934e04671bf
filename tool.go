package pannier

import "encoding/json"

// Tool is something of a skill that an agent can call.
type Tool struct {
	Name string `json:"name"`
	// Kind is that of the runtime tool; empty where a declared tool has none that is known.
	Kind RuntimeToolKind `json:"kind"`
	// Function is the name of a Python function whose decorator gives the tool another one, or CLASS.METHOD.
	Function    string `json:"function,omitempty"`
	Description string `json:"description,omitempty"`
	// Parameters is a JSON Schema of the arguments, an object; empty where nothing is known of them.
	Parameters json.RawMessage `json:"parameters,omitempty"`
	// Path is the file below the skill directory, with slashes, and Line where it begins there, counted from 1.
	Path string `json:"path,omitempty"`
	Line int    `json:"line,omitempty"`
	// Declaration is what the frontmatter says of a declared tool, as typed JSON in source order.
	Declaration json.RawMessage `json:"declaration,omitempty"`
	// Fault is why a declared tool cannot be offered, [ToolInvalidDeclaration], [ToolInvalidSlug] or [ToolDuplicateName],
	// FaultDetail the same in a sentence. Both are empty of a sound one.
	Fault       string `json:"-"`
	FaultDetail string `json:"-"`
}

// InstallSpec is one way that a skill names to get what it needs. pannier shows it and never runs it.
type InstallSpec struct {
	// ID is the author's own name for it, Kind one of brew, node, go, uv, apt and the like, in lower case.
	ID    string `json:"id,omitempty"`
	Kind  string `json:"kind"`
	Label string `json:"label,omitempty"`
	// Bins are what it brings, OS where it works, in Go's words.
	Bins []string `json:"bins,omitempty"`
	OS   []string `json:"os,omitempty"`
	// Commands are the argument vectors that it comes to, to be run without a shell; empty where Refused is not.
	Commands [][]string `json:"commands,omitempty"`
	// Refused says why it is not allowed; empty where it is.
	Refused string `json:"refused,omitempty"`
	// Field is the dotted key that it stands in.
	Field string `json:"field"`
}

// Command is a command-line style command that a skill declares.
type Command struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Args says in one text what the arguments are. It follows from Arguments where the skill declares these.
	Args string `json:"args,omitempty"`
	// Arguments are those that the skill declares one by one, in its order.
	Arguments []CommandArgument `json:"arguments,omitempty"`
}

// CommandArgument is an argument that a [Command] declares.
type CommandArgument struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required"`
}

// Usage returns the argument as a line of usage shows it: `<name>`, or `[name]` where it is optional.
func (a CommandArgument) Usage() string {
	if a.Required {
		return "<" + a.Name + ">"
	}
	return "[" + a.Name + "]"
}

// SkillCommand is a command that can be given to an agent: a usable skill by its own name, or a [Command] that it declares.
type SkillCommand struct {
	// Name is unique among the commands of a snapshot, and fits the flat namespace of a chat platform: 1 to 32 of a to z, 0
	// to 9 and the underscore.
	Name string `json:"name"`
	Slug string `json:"slug"`
	// Command is the name that the skill declares it by; empty for the skill itself. It, Description, Args and the texts of
	// Arguments are one line of at most 100 characters each.
	Command     string            `json:"command,omitempty"`
	Description string            `json:"description"`
	Args        string            `json:"args,omitempty"`
	Arguments   []CommandArgument `json:"arguments,omitempty"`
	SourceKind  SourceKind        `json:"source_kind"`
	Path        string            `json:"path"`
}

// FoundCommand is what a name means as a command. Its skill need not be usable.
type FoundCommand struct {
	// SkillCommand has no Name where it cannot be used as a command just now.
	SkillCommand
	Skill *Entry
	// Others are the names of further commands that are declared by the same name, and are not meant because a skill of
	// higher precedence declares it too.
	Others []string
}

// CommandList is every command of a snapshot, ordered by slug: first the skill itself, then what it declares, in its order.
type CommandList struct {
	SnapshotVersion uint64         `json:"snapshot_version"`
	Digest          Digest         `json:"digest"`
	Commands        []SkillCommand `json:"commands"`
}

// CommandCall is what a command is run with.
type CommandCall struct {
	Args string `json:"args,omitempty"`
}

// CommandRun is what an agent gets to follow a command.
type CommandRun struct {
	Slug string `json:"slug"`
	// Name is that of the [SkillCommand], Command the declared one.
	Name    string `json:"name"`
	Command string `json:"command,omitempty"`
	Args    string `json:"args"`
	Digest  Digest `json:"digest"`
	// Text is the body of the skill, followed by which command is meant, where it declares it, and by the arguments.
	Text string `json:"text"`
	// Directory is the skill directory as the agent sees it.
	Directory string `json:"directory"`
	// EffectiveAllowedTools are those that the skill narrows the agent to; none, where it does not.
	EffectiveAllowedTools []string `json:"effective_allowed_tools"`
	Warnings              []string `json:"warnings"`
}

// Finding is something in a skill directory that a security scan holds against it.
type Finding struct {
	// Rule is the stable code of the rule, dotted, such as "scan.secret.aws_access_key".
	Rule     string   `json:"rule"`
	Severity Severity `json:"severity"`
	// Path is the file below the skill directory, with slashes; Line counts from 1, 0 for the whole file.
	Path string `json:"path"`
	Line int    `json:"line,omitempty"`
	// Message says what was found, without repeating a secret; Hint what to do.
	Message string `json:"message"`
	Hint    string `json:"hint"`
	// Blocking findings keep a skill from being installed, and one that is there from being used.
	Blocking bool `json:"blocking"`
}
