package pannier

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"
)

// Inspection is what is known of a skill only by looking into its directory: too dear for every reload, and needed only
// on demand.
type Inspection struct {
	// Frontmatter is typed JSON in source order, unknown fields included; nil where there is none or it cannot be read.
	Frontmatter json.RawMessage `json:"-"`
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

// Contents are what is found in the files of a skill apart from the reload path, which opens none of them.
type Contents struct {
	// Description is for a skill that has none of its own: the first line of its body or, of one that has tools only, what the
	// docstrings of its tools say. It is one line, and empty where there is none.
	Description string
	// Tools are the `@tool` functions in tools/ and scripts/ and the scripts, by path and line.
	Tools []Tool
	// Resources is the digest of what prompts show of links.yaml and examples/; zero where there is nothing.
	Resources Digest `json:",omitzero"`
	// Digest covers Description, Tools and Resources; zero where there is nothing.
	Digest Digest
	// Of is the digest of the SKILL.md that they belong to: they do not count for another one. Zero counts for any.
	Of Digest
}

// Conformance is the verdict of one profile, such as the Agent Skills standard, on one skill.
type Conformance struct {
	// Compliant says that none of the issues is an error.
	Compliant bool `json:"compliant"`
	// Issues are in the order of [CompareProblems].
	Issues []Problem `json:"issues"`
}

// ConformanceOf returns the verdict that a profile's problems amount to. It keeps them.
func ConformanceOf(issues []Problem) Conformance {
	if issues == nil {
		issues = []Problem{} // `[]` on the wire
	}
	failed := slices.ContainsFunc(issues, func(p Problem) bool { return p.Severity == SeverityError })
	return Conformance{Compliant: !failed, Issues: issues}
}

// ShortProfile returns the name of a profile as people write it, such as "agentskills" for "agentskills_strict".
func ShortProfile(name string) string {
	short, _, _ := strings.Cut(name, "_")
	return short
}

// FileFault says why a file of a skill is not served. It is the code of the answer.
type FileFault string

// The faults.
const (
	// FileMissing is a path at which there is nothing.
	FileMissing FileFault = "file_not_found"
	// FileIsDirectory is a path of a directory.
	FileIsDirectory FileFault = "file_is_directory"
	// FileOutside is a path, or a link on it, that leads out of the skill directory.
	FileOutside FileFault = "file_outside"
	// FileSkipped is a path that is, or that links lead to, a file in a directory that discovery skips, or a dot file that is not
	// served ([DiscoveryRules.Serves]).
	FileSkipped FileFault = "file_skipped"
	// FileForeign is a file with several hard links whose owner is not that of the skill directory.
	FileForeign FileFault = "file_foreign"
	// FileSpecial is a FIFO, a socket or a device.
	FileSpecial FileFault = "file_not_regular"
	// FileTooLarge is a file that is larger than what is served.
	FileTooLarge FileFault = "file_too_large"
	// FileUnreadable is a file that pannier may not read.
	FileUnreadable FileFault = "file_unreadable"
)

// FileError says which file of a skill is not served.
type FileError struct {
	Fault FileFault
	// Path is below the skill directory, as it was asked for.
	Path string
}

// Error implements error.
func (e *FileError) Error() string { return e.Path + ": " + string(e.Fault) }

// ErrChanged says that a file is not what the snapshot says any more. The answer to it is to look again.
var ErrChanged = errors.New("the file has changed since the last scan")

// ErrNotServable says that there is no text to serve of a skill: it cannot be read, or it is held as it last was while
// the disk has moved on.
var ErrNotServable = errors.New("the skill has no readable text")

// Document is the whole of a SKILL.md.
type Document struct {
	// Frontmatter is typed JSON in source order, unknown fields included; nil where there is none.
	Frontmatter json.RawMessage
	// Body is the text behind the frontmatter, with bytes that are not UTF-8 replaced.
	Body string
	// Warnings tell what was changed of the body.
	Warnings []string
}

// The bounds of a manifest that lists files (Model Context Protocol, SEP-2640, "Limits").
const (
	MaxManifestFiles = 512
	MaxManifestBytes = 16 << 20
)

// CodeMCPLimits is the code of the problem of a skill that is past those bounds.
const CodeMCPLimits = "mcp_limits"

// CodeMCPName is the code of the problem of a skill whose name keeps it out of the extension for skills.
const CodeMCPName = "mcp_name"

// maxMCPName is the longest name of the Agent Skills specification.
const maxMCPName = 64

// IsMCPName reports whether a skill of that name can be part of the extension for skills of the Model Context Protocol: its name
// is the last part of a URI (SEP-2640).
func IsMCPName(name string) bool {
	return name != "" && len(name) <= maxMCPName && Slugify(name) == name
}

// Manifest is the frontmatter of a skill with a digest of every file that is served of it, all of one state of its directory.
// It is immutable.
type Manifest struct {
	// Frontmatter is typed JSON in source order, unknown fields included; nil where there is none.
	Frontmatter json.RawMessage
	// Files are ordered by path in bytes. SKILL.md has its name on disk ([Skill.File]). Files of skills in directories below
	// are among them.
	Files []ManifestFile
	// Dynamic is set where there are more files than [MaxManifestFiles], or more bytes than [MaxManifestBytes], or files that
	// cannot be listed. Files has only SKILL.md then.
	Dynamic bool
	// Digest is that of all of these.
	Digest Digest
}

// ManifestFile is a file of a [Manifest].
type ManifestFile struct {
	// Path is below the skill directory, with slashes, as the bytes that the file system has.
	Path string
	// Digest and Size are those of the bytes.
	Digest Digest
	Size   int64
	// Modified is the modification time of the file.
	Modified time.Time
}

// LinksFile is the file with the links of a skill.
const LinksFile = "links.yaml"

// IsPartDir reports whether a directory of that name, right in a skill, holds files that turns and prompts show beside SKILL.md:
// tools or examples.
func IsPartDir(name string) bool { return name == "tools" || name == "scripts" || name == "examples" }

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
