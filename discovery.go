package pannier

import (
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// The file names of a skill directory that discovery reads.
const (
	// SkillFile is the one file that a skill directory must hold (Agent Skills specification, "SKILL.md").
	SkillFile = "SKILL.md"
	// MetaFile is the optional identity sidecar beside it.
	MetaFile = "_meta.json"
	// OwnDir is the directory right in a root that is pannier's own, and LockFile the file in it that names what pannier has
	// installed there.
	OwnDir   = ".pannier"
	LockFile = "lock.json"
	// WorkspaceFile is the agent's own configuration, right below the workspace.
	WorkspaceFile = "config.yaml"
	// DefaultPromptFile is the file that the agent's system prompt begins with where config.yaml names none. MemoryFile and
	// UserFile are part of it wherever they are there.
	DefaultPromptFile = "system-prompt.md"
	MemoryFile        = "MEMORY.md"
	UserFile          = "USER.md"
)

// SourceKind says what sort of root a skill comes from.
type SourceKind string

// The kinds of root.
const (
	SourceWorkspace SourceKind = "workspace"
	SourceManaged   SourceKind = "managed"
	SourceBundled   SourceKind = "bundled"
	SourceExtra     SourceKind = "extra"
)

// SourceKinds lists every kind of root.
func SourceKinds() []SourceKind {
	return []SourceKind{SourceWorkspace, SourceManaged, SourceBundled, SourceExtra}
}

// Root is a directory of skills.
type Root struct {
	// Path is absolute and clean.
	Path string
	// Name is how the root is called on every surface: its path below the workspace where it lies there, else Path.
	Name string
	Kind SourceKind
	// Trust is that of the skills that were put there without an installation that says otherwise.
	Trust Trust
	// Implicit allows the agent to use the root's skills without being told to, but for those that pannier installed there.
	Implicit bool
	// LinkTargets are directories, absolute and clean, that links in the root may lead into besides the root itself.
	LinkTargets []string
}

// DiscoveryRules say in which directories skills are searched, how deep, and which files are served. The watcher and the
// loader follow the same rules, so that what is watched is what is read.
type DiscoveryRules struct {
	// Workspace is the agent's configuration directory, absolute and clean.
	Workspace string
	// Roots are in order of precedence: the first wins a collision.
	Roots []Root
	// Skip names directories that are not entered, besides those whose names start with a dot.
	Skip []string
	// MaxDepth bounds how many directories below its root a skill directory may lie.
	MaxDepth int
	// MaxDirs bounds how many directories are read for each root.
	MaxDirs int
	// MaxSkillBytes and MaxFrontmatterBytes bound a SKILL.md and the part of it between the fences.
	MaxSkillBytes, MaxFrontmatterBytes int64
	// AllowMissingFrontmatter takes a SKILL.md without frontmatter as a skill that is called like its folder.
	AllowMissingFrontmatter bool
	// Block names the profiles whose errors make a skill unusable ([Skill.Blocked]).
	Block []string
}

// Skips reports whether a directory with that name is neither searched for skills nor served: [DiscoveryRules.Serves] refuses
// files below it as well. A directory that itself holds a SKILL.md is a skill whatever its name is.
func (r DiscoveryRules) Skips(name string) bool {
	return strings.HasPrefix(name, ".") || slices.Contains(r.Skip, name)
}

// dotFiles are the files with a dot in front that are part of a skill. Others are part of one only if its text names them.
var dotFiles = []string{
	".clawhubignore", ".dockerignore", ".editorconfig", ".env.example", ".gitattributes", ".gitignore", ".gitkeep", ".npmignore",
}

// privateFiles are the files with a dot in front that are never part of a skill, in lower case: they commonly hold secrets, or the
// state of a tool.
var privateFiles = []string{
	".bash_history", ".boto", ".dockercfg", ".ds_store", ".env", ".envrc", ".git", ".git-credentials", ".htpasswd", ".my.cnf", ".netrc",
	".npmrc", ".pgpass", ".pypirc", ".vault-token", ".yarnrc.yml", ".zsh_history",
}

// Serves reports whether a file of a skill is served whatever its text says, by its path below the skill directory: it lies in no
// directory that is skipped, and its name has a dot in front only where it is one of a short list.
func (r DiscoveryRules) Serves(file string) bool {
	name := path.Base(file)
	return r.entersDirsOf(file) && (name[0] != '.' || slices.Contains(dotFiles, name))
}

// ServesIfNamed reports whether a file that [DiscoveryRules.Serves] excludes is served where the text of its skill names it
// ([NamesFile]).
func (r DiscoveryRules) ServesIfNamed(file string) bool {
	name := strings.ToLower(path.Base(file))
	return r.entersDirsOf(file) && !strings.HasPrefix(name, ".env.") && !slices.Contains(privateFiles, name)
}

func (r DiscoveryRules) entersDirsOf(file string) bool {
	dirs := strings.Split(file, "/")
	return !slices.ContainsFunc(dirs[:len(dirs)-1], r.Skips)
}

// NamesFile reports whether a text names a file by its whole path below the skill directory, with or without "./" in front. A path
// that is a part of a longer one, such as that of a file in the home directory, is not a name of it.
func NamesFile(text, file string) bool {
	for rest, before := text, ""; ; {
		head, tail, found := strings.Cut(rest, file)
		if !found {
			return false
		}
		before = strings.TrimSuffix(before+head, "./")
		if !endsInPath(before) && !continuesPath(tail) {
			return true
		}
		before, rest = file, tail
	}
}

func isNameByte(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' || b == '_' || b == '-' || b >= utf8.RuneSelf
}

func endsInPath(text string) bool {
	last := len(text) - 1
	return last >= 0 && (isNameByte(text[last]) || strings.IndexByte("/.~\\", text[last]) >= 0)
}

// continuesPath reports whether a text goes on with a part of a path. A dot that ends a sentence is none.
func continuesPath(text string) bool {
	dots := len(text) - len(strings.TrimLeft(text, "."))
	return text != "" && (text[0] == '/' || dots < len(text) && isNameByte(text[dots]))
}

// ResolvedFile returns the path that decides whether a file at the end of links is served. Directories whose names begin with two
// dots are passed through: Kubernetes keeps the files of a volume in them, and links to them.
func ResolvedFile(file string) string {
	dirs := strings.Split(file, "/")
	name := dirs[len(dirs)-1]
	dirs = slices.DeleteFunc(dirs[:len(dirs)-1], func(dir string) bool { return strings.HasPrefix(dir, "..") })
	return strings.Join(append(dirs, name), "/")
}

// IsSkillFile reports whether a file called name makes its directory a skill. Cases other than [SkillFile] are taken,
// with a warning.
func IsSkillFile(name string) bool {
	return len(name) == len(SkillFile) && strings.EqualFold(name, SkillFile)
}
