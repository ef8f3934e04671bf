package config

import (
	"io/fs"
	"math"
	"time"

	"pannier"
)

// PlatformOff is the [Platform.URL] with which nothing is pushed.
const PlatformOff = "off"

// StateNone is the [Settings.StateDir] with which everything is kept in memory.
const StateNone = "none"

// The values of [Settings.Scan]. Installations and explicit scans block in each of them.
const (
	// ScanOff scans nothing in the background.
	ScanOff = "off"
	// ScanReport scans new and changed skills in the background, and shows what it finds.
	ScanReport = "report"
	// ScanEnforce keeps a skill from being used until it is scanned, and while a finding blocks.
	ScanEnforce = "enforce"
)

// Settings are the settings of a sidecar, complete and checked: defaults are filled in and paths are resolved.
type Settings struct {
	// Workspace is the agent's configuration directory, absolute and clean. It may not exist.
	Workspace string
	// WorkspaceGiven says that the workspace was named; it is not the default.
	WorkspaceGiven bool
	// WorkspaceID names the workspace on every surface. By default it is the UUIDv5 of Workspace in the URL
	// name space (RFC 9562, section 5.5), so that it stays the same from start to start.
	WorkspaceID string
	// Runtime names the agent's adapter; where it is empty, config.yaml may know.
	Runtime string

	// Socket is the path of the unix socket; a relative one is below the working directory. SocketMode are its
	// permissions.
	Socket     string
	SocketMode fs.FileMode
	// WriteUIDs are users that may change things over the socket, besides root and the sidecar's own.
	WriteUIDs []uint32
	// Listen is the TCP address that serves metrics and probes; empty is none. Port 0 asks for a free one. WebConfig is
	// an exporter-toolkit file with TLS and basic auth for it; empty is neither.
	Listen, WebConfig string
	// APIListen is the TCP address that serves the API to clients with a token of APITokens; empty is none.
	APIListen, APITokens string

	// StateDir is where the sidecar keeps what outlives it, or [StateNone]. Each workspace has a directory of its own in it.
	StateDir string

	// LogLevel is trace, debug, info, warn or error. LogFormat is auto, text or json.
	LogLevel, LogFormat string

	// Roots are the directories of skills, the first of which wins a collision. There is at least one.
	Roots []pannier.Root
	// Skip names directories that are not entered, besides those whose names start with a dot.
	Skip []string
	// MaxDepth and MaxDirs bound the walk through a root, in directories below it and in directories looked into.
	MaxDepth, MaxDirs int
	// MaxSkillBytes and MaxFrontmatterBytes bound a SKILL.md and the part of it between the fences.
	MaxSkillBytes, MaxFrontmatterBytes int64

	// Settle is how long a skill directory must have been quiet before a change of it is read. Debounce is the time between two
	// pushes of a card that keeps changing. MaxWait, never less than Debounce, is how long a change waits at most to be read, or to
	// be pushed, while others follow.
	Settle, Debounce, MaxWait time.Duration
	// Resync is how often everything is compared, changed or not; 0 is never.
	Resync time.Duration
	// DeleteGrace is how long a skill that has vanished is still served, so that a rename dance is not a deletion.
	DeleteGrace time.Duration
	// Watch says how changes are noticed: inotify, poll, or auto, by the names of the watcher's modes.
	Watch string

	// Platforms are the sides with a registry endpoint, at least one. Flags and variables set the first.
	Platforms []Platform
	// AgentURL is the address on the agent card; where it is empty, what the platform already holds stays.
	AgentURL string
	// AgentWorkspace is the workspace's path as the agent sees it; empty is the same as Workspace.
	AgentWorkspace string

	// CardMaxBytes bounds the agent card; 0 means unbounded.
	CardMaxBytes int

	// EnvironmentFile holds the facts that `pannier environment` wrote in the agent's container; empty is none. It need
	// not exist yet.
	EnvironmentFile string
	// EnvironmentOwn says what an unmet requirement means when only the sidecar's own container is known: block, warn,
	// or auto, which leaves it to the caller to find out whether this is a container.
	EnvironmentOwn string
	// Blocking names the profiles whose errors make a skill unusable.
	Blocking []string
	// MinimumTrust is what the origin of a skill must be trusted at least.
	MinimumTrust pannier.Trust
	// Scan says what background scans do: one of [ScanOff], [ScanReport] and [ScanEnforce]. ScanInstallers is warn or block.
	Scan, ScanInstallers string
	// InstallTrust is given to uploaded skills.
	InstallTrust pannier.Trust
	// Install bounds what clients put into the workspace.
	Install Install
	// PromotionHeartbeat has a promotion tell the platform by a heartbeat, which zeroes whatever it leaves out.
	PromotionHeartbeat bool
	// AllowMissingFrontmatter takes a SKILL.md without frontmatter as a skill that is called like its folder.
	AllowMissingFrontmatter bool
	// PolicySkills is the gateway layer of policy, by slug. No entry leaves both switches open.
	PolicySkills map[string]pannier.Switches
	// PolicyProfile is one of the Profile constants of package pannier. WidenTools lets skills add to the caller's tools.
	PolicyProfile string
	WidenTools    bool
	// PromptFormat is the format of the system prompt if a turn names none, one of the names of publish/prompt.
	PromptFormat string
	// PromptMaxChars bounds the skills part of the system prompt, in characters; 0 means no limit.
	PromptMaxChars int
	// PromptShowCompatibility and PromptShowAllowedTools show what skills say under these keys of their frontmatter.
	PromptShowCompatibility, PromptShowAllowedTools bool
	// TurnEvents is how many events of turns are recorded in a minute; 0 is none, [TurnEventsAll] no bound. TurnEventsText
	// records the turns themselves.
	TurnEvents     int
	TurnEventsText bool
}

// TurnEventsAll is the [Settings.TurnEvents] with which every turn is recorded.
const TurnEventsAll = math.MaxInt

// Install bounds uploads and what is unpacked of them.
type Install struct {
	// Enabled lets clients install, update and uninstall.
	Enabled bool
	// MaxCompressedBytes bounds an archive, MaxUncompressedBytes all and MaxFileBytes one of its files, MaxEntries their
	// number with directories.
	MaxCompressedBytes, MaxUncompressedBytes, MaxFileBytes int64
	MaxEntries                                             int
	// UploadTTL is how long an upload waits for its next chunk, MaxUploadBytesPending what all of them may hold on disk.
	UploadTTL             time.Duration
	MaxUploadBytesPending int64
}

// Platform is a side with a registry endpoint.
type Platform struct {
	// URL is the base address, http or https. Empty asks for the embedded development platform, [PlatformOff] for none;
	// where there are several, each has one.
	URL string
	// Path is that of the endpoint that takes the card, below URL. It starts with a slash.
	Path string
	// WorkspaceID is the id that the platform knows the workspace by; unless it is set apart, [Settings.WorkspaceID].
	WorkspaceID string
	// TokenFile is the file with the bearer token, read anew before each push. It need not exist. Empty means no token: only
	// the first platform has a default, because no other one must see that token.
	TokenFile string
	// Headers are sent with each request, by canonical name. The values are secrets: they must never reach a log.
	Headers map[string]string
	// CAFile is a PEM file of authorities to trust besides those of the system; empty is none.
	CAFile string
	// ReadBack asks for the card to be read back, and pushed again where the platform lost or replaced it.
	ReadBack bool
	// Events has the platform's event stream followed, for cards that are replaced and for peers.
	Events bool
}

// Rules returns the part of the settings that says where skills are looked for.
func (s Settings) Rules() pannier.DiscoveryRules {
	return pannier.DiscoveryRules{
		Workspace:               s.Workspace,
		Roots:                   s.Roots,
		Skip:                    s.Skip,
		MaxDepth:                s.MaxDepth,
		MaxDirs:                 s.MaxDirs,
		MaxSkillBytes:           s.MaxSkillBytes,
		MaxFrontmatterBytes:     s.MaxFrontmatterBytes,
		AllowMissingFrontmatter: s.AllowMissingFrontmatter,
		Block:                   s.Blocking,
	}
}
