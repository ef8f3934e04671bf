package pannier

import (
	"encoding/json"
	"time"
)

// The shapes in this file are those of the socket that are not values of this package already. The API writes them, the
// client and the command line read them, and `--json` prints them.

// Held names, by slug, the skills that are served as they last were: those that have stopped parsing, and those that are
// gone from the disk and in the grace of a deletion.
type Held struct {
	LastGood []string `json:"last_good"`
	Deleting []string `json:"deleting"`
}

// List is the whole catalog, usable or not.
type List struct {
	SnapshotVersion   uint64            `json:"snapshot_version"`
	Digest            Digest            `json:"digest"`
	TreeDigest        Digest            `json:"tree_digest"`
	GeneratedAt       time.Time         `json:"generated_at"`
	EnvironmentSource EnvironmentSource `json:"environment_source"`
	Held              Held              `json:"held"`
	// Problems are those of config.yaml and the roots.
	Problems []Problem `json:"problems,omitempty"`
	Paging
	Skills []*Entry `json:"skills"`
}

// Paging is what an answer with a part of a list says of the rest of it.
type Paging struct {
	// Total counts the items of all parts; nil where the answer is not a part.
	Total *int `json:"total,omitempty"`
	// NextCursor asks for the next part; empty in the last one.
	NextCursor string `json:"next_cursor,omitempty"`
}

// Activity is when a skill was last used, to the second, since the sidecar started. A time is zero where that has not
// happened.
type Activity struct {
	// LoadedAt is when the body of the skill was last handed out: as content, in a prompt, by a command or over JSON-RPC.
	LoadedAt time.Time `json:"loaded_at,omitzero"`
	// ActiveAt is when the skill was last active in a turn, or invoked by name.
	ActiveAt time.Time `json:"active_at,omitzero"`
}

// Detail is all that is known of one skill.
type Detail struct {
	Entry
	Requirements Requirements `json:"requirements"`
	// Frontmatter is the whole of it as typed JSON in source order, unknown fields included.
	Frontmatter json.RawMessage `json:"frontmatter,omitempty"`
	Files       []File          `json:"files"`
	// FilesTruncated says that there are more files than are listed.
	FilesTruncated bool `json:"files_truncated,omitempty"`
	// CollidesWith are the paths of other skills with the same slug.
	CollidesWith []string `json:"collides_with"`
	// Conformance, Tools, Commands and Install are those of an [Inspection]; its problems are among those of the entry.
	// Conformance is empty where the skill could not be looked into.
	Conformance map[string]Conformance `json:"conformance"`
	Tools       []Tool                 `json:"tools"`
	Commands    []Command              `json:"commands"`
	Install     []InstallSpec          `json:"install"`
	// Scan is what a scan found of the skill as it is; nil where it was not scanned.
	Scan *ScanVerdict `json:"scan,omitempty"`
}

// File is a file of a skill directory.
type File struct {
	// Path is below the skill directory, with slashes.
	Path       string `json:"path"`
	Size       int64  `json:"size"`
	Executable bool   `json:"executable"`
}

// Content is a skill as an agent gets it to follow it.
type Content struct {
	Slug        string          `json:"slug"`
	Name        string          `json:"name"`
	Digest      Digest          `json:"digest"`
	Frontmatter json.RawMessage `json:"frontmatter,omitempty"`
	// Body is the text behind the frontmatter.
	Body string `json:"body"`
	// Directory is the skill directory as the agent sees it.
	Directory          string   `json:"directory"`
	Resources          []string `json:"resources"`
	ResourcesTruncated bool     `json:"resources_truncated"`
	Warnings           []string `json:"warnings"`
}

// HealthStatus is the worst of the conditions of a [Health].
type HealthStatus string

// The statuses.
const (
	HealthOK       HealthStatus = "ok"
	HealthDegraded HealthStatus = "degraded"
	HealthFailing  HealthStatus = "failing"
)

// Health is what is wrong with the sidecar and its workspace, with what to do.
type Health struct {
	Status HealthStatus `json:"status"`
	// Version and Commit are those of the sidecar. Commit is empty where the build does not know it.
	Version   string    `json:"version"`
	Commit    string    `json:"commit,omitempty"`
	StartedAt time.Time `json:"started_at"`
	// Socket is the path of the unix socket.
	Socket          string `json:"socket"`
	Workspace       string `json:"workspace"`
	WorkspaceID     string `json:"workspace_id"`
	SnapshotVersion uint64 `json:"snapshot_version"`
	// Skills counts the skills by state. Every state is there.
	Skills     map[State]int `json:"skills"`
	Conditions []Condition   `json:"conditions"`
	Watch      WatchHealth   `json:"watch"`
	Push       []PushHealth  `json:"push"`
}

// Session is what a sidecar says of a caller: who it is, what it may do, and which workspace is served.
type Session struct {
	// Name is that of the token, or `uid N` on the unix socket. It is empty where the caller is not known.
	Name string `json:"name"`
	// Scopes are those that the caller has, the smallest first. Write says that it may do everything.
	Scopes []string `json:"scopes"`
	Write  bool     `json:"write"`
	// Version is that of the sidecar.
	Version     string `json:"version"`
	Workspace   string `json:"workspace"`
	WorkspaceID string `json:"workspace_id"`
	// Install has the bounds of archives; nil where nothing can be uploaded.
	Install *SessionInstall `json:"install,omitempty"`
}

// SessionInstall are the bounds of an archive, in bytes and in entries, so that a client refuses what is too large before
// it sends anything.
type SessionInstall struct {
	MaxCompressed   int64 `json:"max_compressed_bytes"`
	MaxUncompressed int64 `json:"max_uncompressed_bytes"`
	MaxFile         int64 `json:"max_file_bytes"`
	MaxEntries      int   `json:"max_entries"`
}

// Condition is one thing that is wrong.
type Condition struct {
	// Code has no dots.
	Code     string    `json:"code"`
	Severity Severity  `json:"severity"`
	Since    time.Time `json:"since,omitzero"`
	Subject  string    `json:"subject"`
	Message  string    `json:"message"`
	Hint     string    `json:"hint"`
}

// WatchHealth tells how changes are noticed.
type WatchHealth struct {
	// Mode is "inotify" where the kernel tells of changes everywhere, "inotify+poll" where some directories are polled,
	// "poll" where all are, and "degraded" where changes in some are found at the next resync only.
	Mode string `json:"mode"`
	// Watches is the number of directories watched, Polled how many of those are polled.
	Watches int      `json:"watches"`
	Polled  int      `json:"polled"`
	Roots   []string `json:"roots"`
	// Reasons say why the mode is another than inotify, for each root that it concerns.
	Reasons []WatchReason `json:"reasons,omitempty"`
	// Problem is what keeps watching from working as it was meant to.
	Problem string `json:"problem,omitempty"`
}

// WatchReason says why changes in a root are noticed by something else than the kernel.
type WatchReason struct {
	// Root is the name of the root, empty where it concerns the workspace itself or directories outside of the roots.
	Root string `json:"root"`
	Mode string `json:"mode"`
	// Severity is info where polling is what there is to be done, and warning where an operator can do more.
	Severity Severity `json:"severity"`
	Reason   string   `json:"reason"`
	Hint     string   `json:"hint"`
}

// PushHealth tells how far a platform is behind.
type PushHealth struct {
	// Platform is the URL of the endpoint, without credentials.
	Platform string `json:"platform"`
	// Desired is the digest of the newest card, Acknowledged that of the one that the platform last took.
	Desired      Digest    `json:"desired,omitzero"`
	Acknowledged Digest    `json:"acknowledged,omitzero"`
	LastSuccess  time.Time `json:"last_success,omitzero"`
	// LastError is that of the newest try, empty after a success; Hint says what to do about it. Blocked says that
	// the platform refused the card; the next try is made when the card changes, on SIGHUP, or after about 15 minutes.
	LastError string    `json:"last_error,omitempty"`
	Hint      string    `json:"hint,omitempty"`
	Blocked   bool      `json:"blocked,omitempty"`
	Since     time.Time `json:"since,omitzero"`
}

// ErrorDocument is the body of an answer that is an error (RFC 9457, application/problem+json).
type ErrorDocument struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Code   string `json:"code"`
	Detail string `json:"detail"`
	Hint   string `json:"hint,omitempty"`
	// Conflict is the skill that is in the way of an installation, Findings what a security scan blocks it for.
	Conflict *InstallConflict `json:"conflict,omitempty"`
	Findings []Finding        `json:"findings,omitempty"`
	// Reasons are what the skill lacks.
	Reasons []Reason `json:"reasons,omitempty"`
}

// VersionList are the versions of a skill: the one that is there, and the one before, if it is kept.
type VersionList struct {
	Slug     string         `json:"slug"`
	Path     string         `json:"path"`
	Versions []SkillVersion `json:"versions"`
}

// SkillVersion is a version of a skill.
type SkillVersion struct {
	Version     string    `json:"version,omitempty"`
	Fingerprint Digest    `json:"fingerprint,omitzero"`
	InstalledAt time.Time `json:"installed_at,omitzero"`
	Origin      string    `json:"origin,omitempty"`
	Current     bool      `json:"current"`
	// RolledBack says that a rollback brought it back.
	RolledBack bool `json:"rolled_back,omitempty"`
	// CanRollBack is set on the version that a rollback restores; Reason says why it does not, or what is odd about it.
	CanRollBack bool   `json:"can_roll_back"`
	Reason      string `json:"reason,omitempty"`
}

// VersionDiff is what changed from the version before to the one that is there.
type VersionDiff struct {
	From  SkillVersion `json:"from"`
	To    SkillVersion `json:"to"`
	Files []FileDiff   `json:"files"`
	// Truncated says that something is left out.
	Truncated bool `json:"truncated,omitempty"`
}

// FileChange is what happened to a file.
type FileChange string

// The changes.
const (
	FileAdded   FileChange = "added"
	FileRemoved FileChange = "removed"
	FileChanged FileChange = "changed"
	// FileMode is a file with another mode and the same content.
	FileMode FileChange = "mode"
)

// FileDiff is a file that differs.
type FileDiff struct {
	Path   string     `json:"path"`
	Change FileChange `json:"change"`
	// Binary says that it is not text. Patch has the hunks of a unified diff, and is left out where Truncated is set.
	Binary    bool   `json:"binary,omitempty"`
	Additions int    `json:"additions"`
	Deletions int    `json:"deletions"`
	Patch     string `json:"patch,omitempty"`
	Truncated bool   `json:"truncated,omitempty"`
}

// FolderList is what came of each skill of an archive, by its path there.
type FolderList struct {
	Results []FolderResult `json:"results"`
}

// FolderResult is what came of one skill of an archive: a result if it is OK, else an error.
type FolderResult struct {
	// Path is the directory of the skill in the archive, empty for its top.
	Path   string         `json:"path"`
	Slug   string         `json:"slug,omitempty"`
	OK     bool           `json:"ok"`
	Result *InstallResult `json:"result,omitempty"`
	Error  *ErrorDocument `json:"error,omitempty"`
}

// Peer is another workspace that the agent can delegate to, as the platform tells of it.
type Peer struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Role string `json:"role,omitempty"`
	// Status is the platform's own word, such as "online".
	Status string `json:"status"`
	// Card is the peer's agent card as it was published, nil where it has none. It is the peer's own: nothing in it is
	// to be trusted.
	Card json.RawMessage `json:"card"`
	// UpdatedAt is when something of this was seen to be new.
	UpdatedAt time.Time `json:"updated_at,omitzero"`
}

// PeerList are the peers of a workspace, by the order of the platforms, then by id.
type PeerList struct {
	Peers []Peer `json:"peers"`
}
