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
	// WorkspaceGiven says that the workspace was named; it is not the default.
	WorkspaceGiven bool
	// RootsGiven and SocketGiven say the same of the roots and the socket.
	RootsGiven, SocketGiven bool
	// WorkspaceID is by default the UUIDv5 of Workspace in the URL name space (RFC 9562, section 5.5), so that it stays the
	// same from start to start.
	WorkspaceID string
	Runtime     string // where it is empty, config.yaml may know

	Socket            string // a relative path is below the working directory
	SocketMode        fs.FileMode
	WriteUIDs         []uint32
	Listen, WebConfig string // empty is none; port 0 asks for a free one
	// APIListen is empty where the API is not served over TCP.
	APIListen, APITokens string
	Console              bool     // needs APIListen
	APIAllowOrigins      []string // as browsers send them
	StateDir             string   // or [StateNone]

	LogLevel, LogFormat string

	// MaxWait is never less than Debounce.
	Settle, Debounce, MaxWait time.Duration
	Resync, DeleteGrace       time.Duration
	Watch                     string

	// Platforms are the sides with a registry endpoint, at least one. Flags and variables set the first.
	Platforms      []Platform
	AgentURL       string // where it is empty, what the platform already holds stays
	AgentWorkspace string // empty is the same as Workspace
	CardMaxBytes   int    // 0 means unbounded

	EnvironmentFile string // empty is none; it need not exist yet
	// EnvironmentOwn is block, warn, or auto, which leaves it to the caller to find out whether this is a container.
	EnvironmentOwn     string
	MinimumTrust       pannier.Trust
	Scan               string // one of [ScanOff], [ScanReport] and [ScanEnforce]
	ScanInstallers     string
	InstallTrust       pannier.Trust
	Install            Install
	PromotionHeartbeat bool
	MCP                MCP
	// PolicySkills is the gateway layer of policy, by slug. No entry leaves both switches open.
	PolicySkills  map[string]pannier.Switches
	PolicyProfile string // one of the Profile constants of package pannier
	WidenTools    bool

	PromptFormat   string // one of the names of publish/prompt
	PromptMaxChars int    // 0 means no limit

	TurnEvents     int // in a minute; 0 is none, [TurnEventsAll] no bound
	TurnEventsText bool

	Tools Tools
}

// PrivatePaths returns the files and directories that programs of skills must not read: workspace, roots, state, tokens and secrets.
func (s Settings) PrivatePaths() []string {
	paths := []string{s.Workspace}
	for _, root := range s.Roots {
		paths = append(paths, root.Path)
	}
	if s.StateDir != StateNone {
		paths = append(paths, s.StateDir)
	}
	paths = append(paths, s.APITokens, s.WebConfig)
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

// TurnEventsAll is the [Settings.TurnEvents] with which every turn is recorded.
const TurnEventsAll = math.MaxInt

// Install says whether clients may install skills. The other bounds of an archive follow from MaxCompressedBytes.
type Install struct {
	Enabled            bool
	MaxCompressedBytes int64
}

// MCP is how hosts of the Model Context Protocol are served.
type MCP struct{ Enabled, Tools bool }

// Platform is a side with a registry endpoint.
type Platform struct {
	// URL is the base address, http or https. Empty asks for the embedded development platform, [PlatformOff] for none;
	// where there are several, each has one.
	URL  string
	Path string // starts with a slash
	// WorkspaceID is the id that the platform knows the workspace by; unless it is set apart, [Settings.WorkspaceID].
	WorkspaceID string
	// TokenFile is read anew before each push. It need not exist. Empty means no token: only the first platform has a default,
	// because no other one must see that token.
	TokenFile string
	// TokenChecked says that TokenFile is the default, in a directory of the workspace's owner.
	TokenChecked bool
	// Headers are sent with each request, by canonical name. The values are secrets: they must never reach a log.
	Headers          map[string]string
	CAFile           string // empty is none
	ReadBack, Events bool
}
