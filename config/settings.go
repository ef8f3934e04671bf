package config

import (
	"io/fs"
	"math"
	"slices"
	"strings"
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

// Settings are the settings of a sidecar, complete and checked: defaults are filled in and paths are resolved. The help of each
// setting in the table of this package says what it is; the fields say what that leaves open.
type Settings struct {
	pannier.DiscoveryRules // the workspace may not exist; there is at least one root
	Given                  Given
	// WorkspaceID is by default the UUIDv5 of Workspace in the URL name space (RFC 9562, section 5.5), so that it stays the
	// same from start to start.
	WorkspaceID string
	StateDir    string // or [StateNone]
	Log         Log
	Socket      Socket
	TCP         TCP
	Watch       Watch
	// Platforms are the sides with a registry endpoint, at least one. Flags and variables set the first.
	Platforms   []Platform
	Agent       Agent
	Environment Environment
	Policy      Policy
	Trust       Trust
	Scan        string // one of [ScanOff], [ScanReport] and [ScanEnforce]
	Prompt      Prompt
	TurnEvents  TurnEvents
	Install     Install
	MCP         MCP
	Tools       Tools
	Link        []string // hosts or directories, some with =copy
}

// MCP is what hosts of the Model Context Protocol get.
type MCP struct {
	Offers          string // one of [MCPOff], [MCPResources] and [MCPTools]
	CatalogMaxBytes int    // longest list of skills in the description of a tool; 0 means none
}

// Given says what was named and is not the default.
type Given struct{ Workspace, Roots, Socket bool }

// Log is what the log holds and how it is written.
type Log struct{ Level, Format string }

// Socket is the unix socket.
type Socket struct {
	Path      string // a relative one is below the working directory
	Mode      fs.FileMode
	WriteUIDs []uint32
}

// TCP are the listeners beside the socket. An empty address is none, port 0 asks for a free one.
type TCP struct {
	Listen, WebConfig    string
	APIListen, APITokens string
	Console              bool     // needs APIListen
	AllowOrigins         []string // as browsers send them
}

// Watch is how changes are noticed, and how long they wait.
type Watch struct {
	Mode             string
	Settle, Debounce time.Duration
	// MaxWait is the longest that a change waits: 3 s, or Debounce if that is longer.
	MaxWait             time.Duration
	Resync, DeleteGrace time.Duration
}

// Agent is how platforms and the prompt reach what the agent has.
type Agent struct {
	URL       string // where it is empty, what the platform already holds stays
	Workspace string // empty is the same as that of the sidecar
}

// Environment is what requirements of skills are compared with.
type Environment struct {
	File string // empty is none; it need not exist yet
	// Own is block, warn, or auto, which leaves it to the caller to find out whether this is a container.
	Own string
}

// Policy is the gateway layer of policy, and the profile of turns.
type Policy struct {
	Skills    map[string]pannier.Switches // by slug; no entry leaves every switch open
	Profile   string                      // one of the Profile constants of package pannier
	Overrides Overrides
}

// Overrides say what becomes of the overrides that skills propose.
type Overrides struct {
	Mode  string   // one of the Overrides constants of package pannier
	Parts []string // the parts that skills may override
	Trust pannier.Trust
}

// Trust is how far uploaded skills are trusted, and what a skill needs to be usable.
type Trust struct{ Install, Minimum pannier.Trust }

// Prompt is the skills part of the system prompt.
type Prompt struct {
	Format   string // one of the names of publish/prompt
	MaxChars int    // 0 means no limit
}

// TurnEvents is how many events of turns are recorded.
type TurnEvents struct {
	PerMinute int  // 0 is none, [TurnEventsAll] no bound
	Text      bool // with the turns and all arguments
}

// The values of [MCP.Offers]: what hosts of the Model Context Protocol are served.
const (
	MCPOff       = "off"
	MCPResources = "resources"
	MCPTools     = "tools" // and resources
)

// PrivatePaths returns the files and directories that programs of skills must not read: workspace, roots, state, tokens and secrets.
func (s Settings) PrivatePaths() []string {
	paths := []string{s.Workspace}
	for _, root := range s.Roots {
		paths = append(paths, root.Path)
	}
	if s.StateDir != StateNone {
		paths = append(paths, s.StateDir)
	}
	paths = append(paths, s.TCP.APITokens, s.TCP.WebConfig)
	for _, p := range s.Platforms {
		paths = append(paths, p.TokenFile)
		for _, value := range p.Headers {
			if file, ok := strings.CutPrefix(value, "@"); ok && !strings.HasPrefix(file, "@") {
				paths = append(paths, file)
			}
		}
	}
	for _, secret := range s.Tools.Secrets {
		paths = append(paths, secret.File)
	}
	return slices.DeleteFunc(paths, func(path string) bool { return path == "" })
}

// The values of [Platform.Follow]: what tells of cards that were lost or replaced.
const (
	FollowOff = "off"
	// FollowReadBack reads the card back after each push and every five minutes.
	FollowReadBack = "read_back"
	// FollowEvents follows the event stream too.
	FollowEvents = "events"
)

// TurnEventsAll is the [TurnEvents.PerMinute] with which every turn is recorded.
const TurnEventsAll = math.MaxInt

// Install says whether clients may install skills. The other bounds of an archive follow from MaxCompressedBytes.
type Install struct {
	Enabled            bool
	MaxCompressedBytes int64
}

// Platform is a side with a registry endpoint.
type Platform struct {
	// URL is the base address, http or https. Empty asks for the embedded development platform, [PlatformOff] for none;
	// where there are several, each has one.
	URL string
	// WorkspaceID is the id that the platform knows the workspace by; unless it is set apart, [Settings.WorkspaceID].
	WorkspaceID string
	// TokenFile is read anew before each push. It need not exist. Empty means no token: only the first platform has a default,
	// because no other one must see that token.
	TokenFile string
	// TokenChecked says that TokenFile is the default, in a directory of the workspace's owner.
	TokenChecked bool
	// Headers are sent with each request, by canonical name. The values are secrets: they must never reach a log.
	Headers map[string]string
	CAFile  string // empty is none
	Follow  string // one of [FollowOff], [FollowReadBack] and [FollowEvents]
}
