package pannier

import "encoding/json"

// ToolKind says where a tool of a skill comes from.
type ToolKind string

// The kinds of tool.
const (
	// ToolDeclared stands under `runtime.tools` in the frontmatter (Pioneer skills architecture, "Runtime tools").
	ToolDeclared ToolKind = "declared"
	// ToolFunction is a Python function in tools/ or scripts/ that is decorated with `@tool`.
	ToolFunction ToolKind = "function"
	// ToolScript is an executable file in scripts/ or tools/.
	ToolScript ToolKind = "script"
)

// Tool is something of a skill that an agent can call. pannier lists tools and never runs one.
type Tool struct {
	Name        string   `json:"name"`
	Kind        ToolKind `json:"kind"`
	Description string   `json:"description,omitempty"`
	// Parameters is a JSON Schema of the arguments, an object; empty where nothing is known of them.
	Parameters json.RawMessage `json:"parameters,omitempty"`
	// Path is the file below the skill directory, with slashes, and Line where it begins there, counted from 1.
	Path string `json:"path,omitempty"`
	Line int    `json:"line,omitempty"`
	// Declaration is what the frontmatter says of a declared tool, as typed JSON in source order.
	Declaration json.RawMessage `json:"declaration,omitempty"`
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
	Args        string `json:"args,omitempty"`
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
