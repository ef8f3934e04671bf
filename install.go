package pannier

import (
	"io"
	"time"
)

// InstallStatus says what came of an install, an update, an uninstall or a rollback (Pioneer skills protocol).
type InstallStatus string

// The statuses.
const (
	StatusInstalled        InstallStatus = "installed"
	StatusAlreadyInstalled InstallStatus = "already_installed"
	StatusUpdated          InstallStatus = "updated"
	StatusAlreadyUpToDate  InstallStatus = "already_up_to_date"
	StatusUninstalled      InstallStatus = "uninstalled"
	StatusNotInstalled     InstallStatus = "not_installed"
	StatusRolledBack       InstallStatus = "rolled_back"
)

// Unchanged reports whether the same skill was there already.
func (s InstallStatus) Unchanged() bool {
	return s == StatusAlreadyInstalled || s == StatusAlreadyUpToDate
}

// ArchiveFormat is how an archive is packed.
type ArchiveFormat string

// The formats. TarGz is that of the Pioneer skills protocol, Zip an addition.
const (
	TarGz ArchiveFormat = "tar_gz"
	Zip   ArchiveFormat = "zip"
)

// InstallRequest asks for a skill to be put into a root of the workspace.
type InstallRequest struct {
	// SourceKind names the kind of root; empty is the workspace's own. Roots that are bundled or extra are not written to.
	SourceKind SourceKind
	// Slug is, of an update, the skill that is to be replaced; empty installs what the archive holds.
	Slug string
	// Expected is the fingerprint that the skill must have before it is replaced; zero is any.
	Expected Digest
	// Origin says where it comes from, for the lock file: "upload:<id>", "archive:<file name>", "directory:<name>".
	Origin string
	// AllowMissing installs a skill that lacks what it needs where it is to run. It can be used once that is there.
	AllowMissing bool
	// Accept installs a skill despite the blocking findings of these rules.
	Accept AcceptRequest
	// DryRun stops before anything is touched.
	DryRun bool
}

// InstallSource is where the files of an installation come from: an upload that is ready, or else a body.
type InstallSource struct {
	// UploadID names an upload of the caller.
	UploadID string
	// Body is an archive that is read once, Name what it is called where it comes from, for the lock file. In the place of Body,
	// Write writes an archive.
	Body  io.Reader
	Write func(io.Writer) error
	Name  string
	// Format is that of Body; empty finds it out.
	Format ArchiveFormat
}

// InstallSeveral asks for every skill of an archive to be installed.
type InstallSeveral struct {
	// InstallRequest is for all of them; it has neither a slug nor a fingerprint.
	InstallRequest
	// Items say what differs for some.
	Items []InstallItem
}

// InstallItem says what differs for one skill of an archive.
type InstallItem struct {
	// Path is the directory of the skill in the archive, empty for its top.
	Path string
	// Skip leaves it out. Replace replaces the skill that has its slug, if that has the fingerprint Expected; zero is any.
	Skip, Replace bool
	Expected      Digest
	AllowMissing  bool
	Accept        AcceptRequest
}

// InstalledFolder is what came of one skill of an archive.
type InstalledFolder struct {
	// Path is its directory in the archive. Slug is empty where it is not known.
	Path, Slug string
	Result     InstallResult
	// Err says why it was not installed; nil where it was.
	Err error
}

// RemoveRequest asks for an installed skill to be removed, or brought back to the version before.
type RemoveRequest struct {
	SourceKind SourceKind
	Slug       string
	// Expected is the fingerprint that the skill must have; zero is any.
	Expected Digest
	DryRun   bool
}

// InstallResult is the answer to a change of what is installed, or the plan of one.
type InstallResult struct {
	Status InstallStatus `json:"status"`
	// DryRun says that nothing was touched: Status is what would come of it.
	DryRun bool           `json:"dry_run,omitempty"`
	Skill  InstalledSkill `json:"skill"`
	// Previous is the fingerprint of what was there before, zero where nothing was.
	Previous Digest `json:"previous_fingerprint,omitzero"`
	// Removed is the directory that is gone.
	Removed string `json:"removed_install_path,omitempty"`
	// Files and Bytes count what was unpacked; Ignored names what was left out of it, such as __MACOSX.
	Files   int      `json:"files,omitempty"`
	Bytes   int64    `json:"bytes,omitempty"`
	Ignored []string `json:"ignored,omitempty"`
	// Reasons are what stands in the way of its use, Findings what the security scan says, Problems what is wrong with its
	// files. What blocks an installation is an error, and not here.
	Reasons  []Reason  `json:"reasons,omitempty"`
	Findings []Finding `json:"findings,omitempty"`
	Problems []Problem `json:"problems,omitempty"`
	// Accepted are the rules whose blocking findings were accepted.
	Accepted []Acceptance `json:"accepted,omitempty"`
	// Config says what became of the `skills:` list of config.yaml: "added", "removed", or empty where it was left alone.
	Config string `json:"config,omitempty"`
	// AuditEntries counts those that were written.
	AuditEntries int `json:"audit_entries"`
}

// InstallConflict is what is in the way of an installation.
type InstallConflict struct {
	Slug string `json:"slug"`
	// Path is the skill directory as [Skill.Path] has it, Fingerprint what a client can expect of it; zero where it is not known.
	Path        string `json:"path"`
	Fingerprint Digest `json:"fingerprint,omitzero"`
	// Version is that of the skill there; empty where it has none.
	Version string `json:"installed_version,omitempty"`
	// Managed says that pannier installed it.
	Managed bool `json:"managed"`
}

// InstalledSkill is a skill as it lies in a root.
type InstalledSkill struct {
	Slug        string     `json:"slug"`
	Owner       string     `json:"owner,omitempty"`
	Name        string     `json:"name,omitempty"`
	SourceKind  SourceKind `json:"source_kind"`
	Version     string     `json:"version,omitempty"`
	Fingerprint Digest     `json:"fingerprint,omitzero"`
	TrustLevel  Trust      `json:"trust_level,omitempty"`
	// Path is the skill directory as [Skill.Path] has it, InstallPath the same directory on this side, absolute.
	Path        string `json:"path"`
	InstallPath string `json:"install_path"`
}

// SkillInstalled tells of a change of what is installed: the data of install_added, install_replaced, install_removed and
// install_rolled_back.
type SkillInstalled struct {
	InstalledSkill
	Previous Digest `json:"previous_fingerprint,omitzero"`
	Origin   string `json:"origin,omitempty"`
}

// LockEntry is one skill in a lock file.
type LockEntry struct {
	Slug        string `json:"slug"`
	Owner       string `json:"owner,omitempty"`
	Version     string `json:"version,omitempty"`
	Fingerprint Digest `json:"fingerprint"`
	// Digest is that of SKILL.md as it was installed. It tells without reading the rest of the directory whether the entry
	// is still about the skill that lies there.
	Digest      Digest    `json:"digest"`
	Trust       Trust     `json:"trust"`
	Origin      string    `json:"origin,omitempty"`
	InstalledAt time.Time `json:"installed_at"`
	// RolledBack says that a rollback brought it back, at InstalledAt.
	RolledBack bool `json:"rolled_back,omitempty"`
	// By is who asked for it.
	By Actor `json:"by"`
	// Accepted are the rules whose blocking findings were accepted. It is a record: what counts is in the state store.
	Accepted []Acceptance `json:"accepted,omitempty"`
	// Previous is what a rollback brings back; nil where there is nothing.
	Previous *LockEntry `json:"previous,omitempty"`
}
