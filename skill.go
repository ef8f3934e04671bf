package pannier

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// Skill is what the loader read from one skill directory. It is immutable once it is in a [Catalog].
type Skill struct {
	// Slug is the key: lower-case ASCII letters, digits and single hyphens.
	Slug string `json:"slug"`
	// Owner qualifies the slug. It is never part of the key.
	Owner string `json:"owner,omitempty"`
	// Path is the skill directory, relative to the workspace where it lies in it, else absolute; with slashes.
	Path string `json:"path"`
	// Target is what Path points to, in the same form, if it is a symlink.
	Target string `json:"target,omitempty"`
	// Root is the name of the root that it was found in.
	Root       string     `json:"root"`
	SourceKind SourceKind `json:"source_kind"`

	// Name is for people; it need not be unique (Agent Skills specification, "name").
	Name        string `json:"name"`
	Description string `json:"description"`
	Version     string `json:"version,omitempty"`
	License     string `json:"license,omitempty"`
	Homepage    string `json:"homepage,omitempty"`
	Emoji       string `json:"emoji,omitempty"`

	// Runtimes names the adapters that the skill fits; empty means all.
	Runtimes []string `json:"runtime,omitempty"`
	Tags     []string `json:"tags,omitempty"`
	Examples []string `json:"examples,omitempty"`
	// Triggers are texts that call for the skill; Paths are globs of files that do, relative to the workspace.
	Triggers     []string `json:"triggers,omitempty"`
	Paths        []string `json:"paths,omitempty"`
	AllowedTools []string `json:"allowed_tools,omitempty"`
	// UserInvocable allows a person to select the skill by name.
	UserInvocable bool `json:"user_invocable"`
	// DisableModelInvocation keeps the skill out of what the model is offered by itself.
	DisableModelInvocation bool `json:"disable_model_invocation"`

	// Compatibility is the author's own words on what the skill needs (Agent Skills specification, "compatibility").
	Compatibility string `json:"compatibility,omitempty"`
	// Conflicts are skills that must not be usable together with this one: "slug" of any owner, or "owner/slug".
	Conflicts []string `json:"conflicts,omitempty"`
	// PrimaryEnv is the variable that holds the skill's main credential, SkillKey what OpenClaw keeps its settings under
	// (OpenClaw's `primaryEnv` and `skillKey`). Neither is a requirement.
	PrimaryEnv string `json:"primary_env,omitempty"`
	SkillKey   string `json:"skill_key,omitempty"`

	// Digest is that of the raw bytes of SKILL.md, MetaDigest that of its frontmatter block and _meta.json.
	Digest     Digest `json:"digest,omitzero"`
	MetaDigest Digest `json:"meta_digest,omitzero"`
	// ToolsOnly is set on a directory right below a root that has Python files in tools/ and no SKILL.md: a skill without
	// instructions, called like its folder.
	ToolsOnly bool `json:"tools_only,omitempty"`
	// LastGood is set on a skill whose text has stopped parsing: it stays as it last was, and Problems says why.
	LastGood bool `json:"last_good"`
	// Deleting is set on a skill that is gone from the disk and still stays for the grace of a deletion
	// ([Catalog] has it as it last was), so that a rename dance is none.
	Deleting bool `json:"deleting,omitempty"`

	// TrustLevel is how far the skill's origin is trusted: that of its root, or of its installation.
	TrustLevel Trust `json:"trust_level,omitempty"`
	// Managed is set on a skill that pannier has installed: the lock file of its root names it.
	Managed bool `json:"managed,omitempty"`

	// Locked is set on a managed skill whose entry in the lock file is valid: it has a fingerprint, names this slug, and its
	// digest is that of SKILL.md as served. Fingerprints
	// are computed in the background; they are not compared, so that precedence never depends on how far that has come.
	Locked bool `json:"-"`
	// Commands are those that the skill declares.
	Commands []Command `json:"-"`
	// Overrides are what the skill proposes to override in the turns that choose it.
	Overrides []Override `json:"-"`
	// RuntimeTools are those that the frontmatter declares, with those that have a Fault, each with its
	// Declaration, by name.
	RuntimeTools []Tool `json:"-"`
	// DisabledBy is the field by which the skill itself says that it is not to be used: `eligibility.enabled` (false) or `scope`
	// (disabled). Empty: none.
	DisabledBy string `json:"-"`
	// Blocked names the profiles whose verdicts, by the settings, make the skill unusable.
	Blocked []string `json:"-"`
	// Requirements are judged against an [Environment].
	Requirements Requirements `json:"-"`
	// Problems are those of SKILL.md and _meta.json, in the order of [CompareProblems].
	Problems []Problem `json:"-"`
	// Broken is set where the skill cannot be used at all, whatever the settings say. Problems says why.
	Broken bool `json:"-"`
	// Implicit says that its root allows use without being told, unless policy says otherwise.
	Implicit bool `json:"-"`

	// RootIndex is the precedence of the root: the smaller wins a collision.
	RootIndex int `json:"-"`
	// PathBelowRoot is the skill directory below its root, with slashes; Folder is its last part.
	PathBelowRoot string `json:"-"`
	Folder        string `json:"-"`
	// File is the name of its SKILL.md as it is written on disk; empty where ToolsOnly is set.
	File string `json:"-"`
	// FileDigest and MetaFileDigest are those of the raw files as the disk holds them now. They differ from what Digest
	// tells only while LastGood is set; while Deleting is set, as it last held them. MetaFileDigest is zero where there is no
	// _meta.json.
	FileDigest, MetaFileDigest Digest `json:"-"`
	// Sum is a digest of everything else in the value but Deleting, so that skills compare in one step.
	Sum Digest `json:"-"`
}

// Requirements are what a skill needs of the agent's container.
type Requirements struct {
	// Bins must all be there as executables, of AnyBins at least one.
	Bins    []string `json:"bins,omitempty"`
	AnyBins []string `json:"any_bins,omitempty"`
	// Env names variables that must be set and not empty.
	Env []string `json:"env,omitempty"`
	// APIKeys names variables that hold keys, which must be set and not empty.
	APIKeys []string `json:"api_keys,omitempty"`
	// Config are files below the workspace, or dotted keys of config.yaml that must hold something. What is missing is a
	// warning.
	Config []string `json:"config,omitempty"`
	// MCP names servers of the Model Context Protocol that must be there.
	MCP []string `json:"mcp,omitempty"`
	// OS names the systems that the skill runs on, in Go's words; empty means all.
	OS []string `json:"os,omitempty"`
	// Always skips the check of all of these but OS.
	Always bool `json:"always,omitempty"`
}

// Qualified returns "owner/slug", or the slug alone where there is no owner.
func (s *Skill) Qualified() string {
	if s.Owner == "" {
		return s.Slug
	}
	return s.Owner + "/" + s.Slug
}

// FilePath returns the path of the skill's SKILL.md in the form of Path; of a skill without one, Path.
func (s *Skill) FilePath() string {
	if s.File == "" {
		return s.Path
	}
	return s.Path + "/" + s.File
}

// Catalog is everything that the loader found at one scan.
type Catalog struct {
	// Seq is that of the [Batch] that it was made for.
	Seq uint64
	// Locks are, by [Skill.RootIndex], what the lock files name with a fingerprint, whether the skill is there or not, ordered
	// by path. The lists are never changed.
	Locks [][]LockedSlug
	// Skills are ordered by root, then by path below the root in bytes.
	Skills []*Skill
	// Problems are those of the roots themselves.
	Problems []Problem
	// Watch is what was looked into.
	Watch WatchSet
}

// LockedSlug is a skill that a lock file names.
type LockedSlug struct {
	Slug string
	// Path is as [Skill.Path] has it.
	Path string
}

// configEndings are those of file names among the items of [Requirements.Config]; a dotted key can look like any other.
var configEndings = []string{".json", ".yaml", ".yml", ".toml", ".ini", ".env", ".conf", ".cfg", ".txt", ".md", ".pem", ".key", ".xml", ".properties"}

// IsConfigFile reports whether an item of [Requirements.Config] is a file below the workspace: it holds a slash or ends
// like a file. Any other is a dotted key of config.yaml.
func IsConfigFile(item string) bool {
	return strings.Contains(item, "/") || slices.ContainsFunc(configEndings, func(e string) bool { return strings.HasSuffix(item, e) })
}

// Slugify returns s as a slug: ASCII letters and digits lower-cased, every other run of bytes one hyphen, hyphens at the
// ends stripped. It is empty where s holds no ASCII letter or digit.
func Slugify(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	gap := false
	for i := range len(s) {
		c := s[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if !('a' <= c && c <= 'z' || '0' <= c && c <= '9') {
			gap = b.Len() > 0
			continue
		}
		if gap {
			b.WriteByte('-')
			gap = false
		}
		b.WriteByte(c)
	}
	return b.String()
}

// FallbackSlug returns the slug of a skill whose own names hold nothing that a slug could be made of: "skill-" and the
// first eight hexadecimal digits of the SHA-256 of its path below the root.
func FallbackSlug(pathBelowRoot string) string {
	sum := sha256.Sum256([]byte(pathBelowRoot))
	return "skill-" + hex.EncodeToString(sum[:4])
}

// SplitQualified splits a reference to a skill, "slug" or "owner/slug", into its owner, empty where none is given, and
// its slug. Both come back in slug form.
func SplitQualified(ref string) (owner, slug string) {
	if o, s, ok := strings.Cut(ref, "/"); ok {
		return Slugify(o), Slugify(s)
	}
	return "", Slugify(ref)
}

// Trust is how far the origin of a skill is trusted.
type Trust string

// The levels, from the lowest. On the wire of the Pioneer skills protocol verified and internal read "trusted".
const (
	TrustUntrusted Trust = "untrusted"
	TrustCommunity Trust = "community"
	TrustVerified  Trust = "verified"
	TrustInternal  Trust = "internal"
)

// TrustLevels lists the levels from the lowest.
func TrustLevels() []Trust {
	return []Trust{TrustUntrusted, TrustCommunity, TrustVerified, TrustInternal}
}

// AtLeast reports whether t is at least another level. An empty or unknown level is untrusted.
func (t Trust) AtLeast(other Trust) bool { return t.rank() >= other.rank() }

func (t Trust) rank() int { return max(0, slices.Index(TrustLevels(), t)) }
