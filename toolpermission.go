package pannier

// ToolPermission shows what the permission of the tools of a skill covers: the files as they are now, how each tool starts, what
// it reaches, and what a security scan found. The permission itself is [PolicyEntry.ToolsAllowed].
type ToolPermission struct {
	Slug       string     `json:"slug"`
	SourceKind SourceKind `json:"source_kind"`
	Path       string     `json:"path"`
	TrustLevel Trust      `json:"trust_level"`
	// Fingerprint is that of the files. A client gives it back to allow exactly these.
	Fingerprint Digest `json:"fingerprint"`
	// Allowed says that these files have the permission, ToolsAllowed which files have it; zero means none.
	Allowed      bool   `json:"allowed"`
	ToolsAllowed Digest `json:"tools_allowed,omitzero"`
	// Files counts the files of the skill, Bytes their size.
	Files int   `json:"files"`
	Bytes int64 `json:"bytes"`
	// Enabled says that the settings let tools be called.
	Enabled bool `json:"enabled"`
	// Tools are those that the permission lets run, Excluded those that are kept back with it too.
	Tools    []PermittedTool `json:"tools"`
	Excluded []ExcludedTool  `json:"excluded_tools"`
	// Network says that programs reach every address. Hosts are those that they reach otherwise. Env are the names of the variables
	// that they get, ProjectDirs the directories that a call may let them write to.
	Network     bool     `json:"network"`
	Hosts       []string `json:"hosts"`
	Env         []string `json:"env"`
	ProjectDirs []string `json:"project_dirs"`
	// Scan is what a security scan found of these files; nil if none has read them.
	Scan *ScanVerdict `json:"scan,omitempty"`
	// Refused says why these files cannot be allowed; nil if they can.
	Refused *ToolError `json:"refused,omitempty"`
}

// PermittedTool says how a tool starts, or which request it sends.
type PermittedTool struct {
	Name        string          `json:"name"`
	Kind        RuntimeToolKind `json:"kind"`
	Description string          `json:"description"`
	// Command is the argument vector of a shell tool.
	Command []string `json:"command,omitempty"`
	// File is the path of a script, or of the Python file with Function, below the skill directory.
	File     string `json:"file,omitempty"`
	Function string `json:"function,omitempty"`
	// Method and URL are those of an http tool, with the placeholders of arguments; Secrets are the names of what it sends.
	Method  string   `json:"method,omitempty"`
	URL     string   `json:"url,omitempty"`
	Secrets []string `json:"secrets,omitempty"`
	// TargetTool is the tool of the agent that a function_proxy stands for.
	TargetTool string `json:"target_tool,omitempty"`
	// Why says why the tool cannot be called even with the permission; nil if it can.
	Why *ToolError `json:"why,omitempty"`
}
