package config

import (
	"cmp"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pannier"
)

// setting is one setting: the only place where it is declared. Flags, variables, keys of the settings file, help and
// suggestions follow from it.
type setting struct {
	key      string                // in the settings file; a dot for each nesting
	single   string                // the key of one value, where key is a plural; flag and variable are called by it
	kind     string                // what stands for the value in the help of the flag
	help     string                // of the flag, one line without the default
	fallback string                // the default, as a flag would give it
	told     string                // the default as help tells it, where fallback would not do
	agent    string                // the variable that the agent's platform sets for the same purpose
	split    func(string) []string // the values in a variable, where there can be several
	words    []string              // the values, where only some words are allowed
	read     reader
}

// one is a setting with one value.
func one[T any](s setting, help string, field func(*draft) *T, parse func(string) (T, *Fault)) setting {
	return list(s, help, scalar(field, parse))
}

// word is a setting that is one of a few words.
func word[T ~string](s setting, help string, field func(*draft) *T, words ...T) setting {
	for _, w := range words {
		s.words = append(s.words, string(w))
	}
	return one(s, help, field, func(text string) (T, *Fault) { return oneOf(words, text) })
}

// list is a setting that its own function reads.
func list(s setting, help string, read reader) setting {
	s.help, s.read = help, read
	if s.fallback == "" {
		s.told = cmp.Or(s.told, "none")
	}
	return s
}

// configFile names the settings file, so it cannot stand in it.
var configFile = setting{key: "config", kind: "file", help: "read settings from this YAML file", told: "none"}

// table holds every setting, in the order in which faults are told.
var table = append([]setting{
	one(setting{key: "workspace", kind: "dir", fallback: "/configs", agent: "WORKSPACE_CONFIG_PATH"},
		"directory of the agent, with config.yaml and skills/",
		func(d *draft) *string { return &d.Workspace }, parseGivenPath),
	one(setting{key: "workspace_id", kind: "id", told: "made from its path", agent: "WORKSPACE_ID"}, "the workspace's id",
		func(d *draft) *string { return &d.WorkspaceID }, parseText),
	one(setting{key: "socket", kind: "path", told: defaultSocketTold}, "the unix socket of the sidecar",
		func(d *draft) *string { return &d.Socket.Path }, parseText),
	one(setting{key: "socket_mode", kind: "octal", fallback: "0660"}, "permissions of the socket",
		func(d *draft) *fs.FileMode { return &d.Socket.Mode }, parseMode),
	list(setting{key: "write_uids", kind: "uids"},
		"users that may change things over the socket, besides root and the sidecar's own, separated by commas",
		texts(func(d *draft) *[]uint32 { return &d.Socket.WriteUIDs }, parseUID)),
	one(setting{key: "listen", kind: "address"},
		"TCP address that serves /metrics, /healthz, /readyz and /livez, such as 127.0.0.1:9090",
		func(d *draft) *string { return &d.TCP.Listen }, parseListen),
	one(setting{key: "web_config", kind: "file"},
		"exporter-toolkit file with TLS for listen and api_listen, and basic auth for listen",
		func(d *draft) *string { return &d.TCP.WebConfig }, parseText),
	one(setting{key: "api_listen", kind: "address"},
		"TCP address that serves the whole API to clients with a token; needs api_tokens",
		func(d *draft) *string { return &d.TCP.APIListen }, parseListen),
	one(setting{key: "api_tokens", kind: "file"},
		"file with a line NAME SCOPE SHA256 for each token that may use api_listen; the scopes are read, environment, call and write",
		func(d *draft) *string { return &d.TCP.APITokens }, parseText),
	one(setting{key: "console", kind: kindBool, fallback: "false"},
		"serve the console at /console/ of api_listen, which needs TLS or a loopback address",
		func(d *draft) *bool { return &d.TCP.Console }, parseBool),
	list(setting{key: "api_allow_origins", kind: "origins"},
		"origins whose pages may call api_listen with a token and embed the console, such as https://canvas.example, separated by commas",
		texts(func(d *draft) *[]string { return &d.TCP.AllowOrigins }, parseOrigin)),
	one(setting{key: "state_dir", kind: "dir", told: defaultStateTold},
		"directory of the state, with a directory for each workspace; none keeps it in memory",
		func(d *draft) *string { return &d.StateDir }, parseText),
	word(setting{key: "log_level", kind: "level", fallback: "info"}, "trace, debug, info, warn or error",
		func(d *draft) *string { return &d.Log.Level }, "trace", "debug", "info", "warn", "error"),
	word(setting{key: "log_format", kind: "format", fallback: "auto"},
		"auto, text or json; auto prints short lines on a terminal and text elsewhere",
		func(d *draft) *string { return &d.Log.Format }, "auto", "text", "json"),
	list(setting{key: "roots", single: "root", kind: "dir", fallback: "skills", split: splitPaths},
		"directory of skills, relative to the workspace; repeatable", readRoots),
	list(setting{key: "skip", kind: "names", fallback: "node_modules,venv,__pycache__"},
		"directories that are not entered, besides dot-directories, separated by commas",
		texts(func(d *draft) *[]string { return &d.Skip }, parseSkip)),
	one(setting{key: "max_dirs", kind: "n", fallback: "20000"}, "how many directories of a root are scanned",
		func(d *draft) *int { return &d.MaxDirs }, atLeast[int](1)),
	one(setting{key: "settle", kind: "duration", fallback: "100ms"},
		"how long a skill directory must be quiet before a change of it is read",
		func(d *draft) *time.Duration { return &d.Watch.Settle }, parseDuration),
	one(setting{key: "debounce", kind: "duration", fallback: "2s"},
		"time between pushes of a card that keeps changing; less than 1s counts as 1s; a change is read or pushed after 3s, or this if it is longer",
		func(d *draft) *time.Duration { return &d.Watch.Debounce }, parseDuration),
	one(setting{key: "resync", kind: "duration", fallback: "10s"}, "how often everything is compared; 0 is never",
		func(d *draft) *time.Duration { return &d.Watch.Resync }, parseDuration),
	one(setting{key: "delete_grace", kind: "duration", fallback: "2s"},
		"how long a skill that has vanished is still served; 0 takes it away at once",
		func(d *draft) *time.Duration { return &d.Watch.DeleteGrace }, parseDuration),
	word(setting{key: "watch", kind: "mode", fallback: "auto"},
		"how changes are noticed: by the kernel (inotify), by polling every second (poll), or auto, which polls where the kernel does not tell",
		func(d *draft) *string { return &d.Watch.Mode }, "auto", "inotify", "poll"),
	one(setting{key: "platform.url", kind: "url", told: "an embedded development platform", agent: "PLATFORM_URL"},
		"base address of the platform, or off to push nothing",
		func(d *draft) *string { return &d.platform.URL }, parsePlatformURL),
	one(setting{key: "platform.workspace_id", kind: "id", told: "that of the workspace"},
		"the platform's own id for the workspace",
		func(d *draft) *string { return &d.platform.WorkspaceID }, parseText),
	one(setting{key: "platform.token_file", kind: "file", told: ".auth_token in $CONFIGS_DIR, else in the workspace"},
		"file with the bearer token",
		func(d *draft) *string { return &d.platform.TokenFile }, parseText),
	list(setting{key: "platform.headers", single: "platform.header", kind: "name=value", split: splitHeaders},
		"a header for each request; a value @FILE is read from that file; repeatable", readHeaders),
	one(setting{key: "platform.ca_file", kind: "file"}, "PEM file of further authorities to trust",
		func(d *draft) *string { return &d.platform.CAFile }, parseText),
	word(setting{key: "platform.follow", kind: "mode", fallback: FollowEvents},
		"what tells of lost or replaced cards: events (its event stream, and the card read back every five minutes), read_back, or off",
		func(d *draft) *string { return &d.platform.Follow }, FollowEvents, FollowReadBack, FollowOff),
	one(setting{key: "agent_url", kind: "url", told: "what the platform already holds"}, "address of the agent on its card",
		func(d *draft) *string { return &d.Agent.URL }, parseAgentURL),
	one(setting{key: "agent_workspace", kind: "dir", told: "the workspace"}, "the workspace's path as the agent sees it",
		func(d *draft) *string { return &d.Agent.Workspace }, parseText),
	one(setting{key: "environment.file", kind: "file"}, "facts that pannier environment wrote in the agent's container",
		func(d *draft) *string { return &d.Environment.File }, parseText),
	word(setting{key: "environment.own", kind: "mode", fallback: "auto"},
		"what a requirement means that the sidecar's own container does not meet: block, warn, or auto",
		func(d *draft) *string { return &d.Environment.Own }, "auto", "block", "warn"),
	list(setting{key: "validation.block", kind: "profiles"},
		"profiles whose errors make a skill unusable, separated by commas: agentskills, openclaw, molecule",
		texts(func(d *draft) *[]string { return &d.Block }, parseBlocking)),
	one(setting{key: "validation.allow_missing_frontmatter", kind: kindBool, fallback: "false"},
		"take a SKILL.md without frontmatter",
		func(d *draft) *bool { return &d.AllowMissingFrontmatter }, parseBool),
	list(setting{key: "policy.skills", single: "policy.skill", kind: "slug:switch=bool", split: splitCommas},
		"the policy of a skill, such as pdf:enabled=false or pdf:allow_implicit_invocation=true; repeatable", readPolicySkills),
	word(setting{key: "policy.profile", kind: "profile", fallback: pannier.ProfileDefault},
		"default, or full_auto, which lets skills add to the caller's tools, and says so wherever they do",
		func(d *draft) *string { return &d.Policy.Profile }, pannier.ProfileDefault, pannier.ProfileFullAuto),
	word(setting{key: "policy.overrides", kind: "mode", fallback: pannier.OverridesIgnore},
		"overrides that skills propose for their turns: ignore, suggest (tell the agent), or apply",
		func(d *draft) *string { return &d.Policy.Overrides.Mode }, pannier.OverridesIgnore, pannier.OverridesSuggest, pannier.OverridesApply),
	list(setting{key: "policy.overrides_parts", kind: "parts", fallback: "tools,model,context"},
		"parts of a turn that skills may override, separated by commas: tools, model, context",
		texts(func(d *draft) *[]string { return &d.Policy.Overrides.Parts }, func(text string) (string, *Fault) {
			return oneOf([]string{pannier.OverrideTools, pannier.OverrideModel, pannier.OverrideContext}, text)
		})),
	word(setting{key: "policy.overrides_trust", kind: "level", fallback: "verified"},
		"what the origin of a skill must be trusted at least for its overrides: untrusted, community, verified or internal",
		func(d *draft) *pannier.Trust { return &d.Policy.Overrides.Trust }, pannier.TrustLevels()...),
	word(setting{key: "trust.install", kind: "level", fallback: "community"},
		"how far uploaded skills are trusted: untrusted, community, verified or internal",
		func(d *draft) *pannier.Trust { return &d.Trust.Install }, pannier.TrustLevels()...),
	word(setting{key: "trust.minimum", kind: "level", fallback: "untrusted"},
		"what the origin of a skill must be trusted at least: untrusted, community, verified or internal",
		func(d *draft) *pannier.Trust { return &d.Trust.Minimum }, pannier.TrustLevels()...),
	word(setting{key: "scan", kind: "mode", fallback: ScanReport},
		"background security scans: off, report findings, or enforce (a skill is blocked until a scan accepts it)",
		func(d *draft) *string { return &d.Scan }, ScanOff, ScanReport, ScanEnforce),
	word(setting{key: "prompt.format", kind: "format", fallback: pannier.PromptFormats()[0]},
		"format of the system prompt where a turn names none",
		func(d *draft) *string { return &d.Prompt.Format }, pannier.PromptFormats()...),
	one(setting{key: "prompt.max_chars", kind: "n", fallback: "24000"},
		"longest skills part of the system prompt, in characters; 0 means no limit",
		func(d *draft) *int { return &d.Prompt.MaxChars }, atLeast[int](0)),
	one(setting{key: "turn_events", kind: "n", fallback: "120"},
		"events of turns that are recorded in a minute, turns with all of theirs or none; or off, all, or replay: all, with their text and all arguments",
		func(d *draft) *TurnEvents { return &d.TurnEvents }, parseTurnEvents),
	one(setting{key: "install.enabled", kind: kindBool, fallback: "true"},
		"let clients install, update and uninstall skills",
		func(d *draft) *bool { return &d.Install.Enabled }, parseBool),
	one(setting{key: "install.max_compressed_bytes", kind: "bytes", fallback: "104857600"}, "largest archive",
		func(d *draft) *int64 { return &d.Install.MaxCompressedBytes }, atLeast[int64](1)),
	word(setting{key: "mcp", kind: "mode", fallback: MCPTools},
		"what /mcp offers hosts of the Model Context Protocol: tools (and resources), resources, or off",
		func(d *draft) *string { return &d.MCP.Offers }, MCPTools, MCPResources, MCPOff),
	one(setting{key: "mcp_catalog_max_bytes", kind: "bytes", fallback: "1900"},
		"longest list of skills in the description of activate_skill; 0 means none",
		func(d *draft) *int { return &d.MCP.CatalogMaxBytes }, atLeast[int](0)),
	list(setting{key: "link", kind: "hosts"},
		"directories of hosts that are kept in step with the offered skills, such as claude-code or /srv/skills=copy, separated by commas",
		texts(func(d *draft) *[]string { return &d.Link }, parseGivenPath)),
}, toolSettings...)

// kindBool is the kind by which pflag knows that a flag can stand without a value.
const kindBool = "bool"

func (s *setting) flag() string { return strings.NewReplacer(".", "-", "_", "-").Replace(s.singular()) }

func (s *setting) variable() string {
	return variablePrefix + strings.ToUpper(strings.ReplaceAll(s.singular(), ".", "_"))
}

func (s *setting) singular() string { return cmp.Or(s.single, s.key) }

func (s *setting) usage() string {
	if s.told != "" {
		return s.help + " (default: " + s.told + ")"
	}
	return s.help + " (default " + s.fallback + ")"
}

func settingOf(key string) (*setting, bool) {
	if i := slices.IndexFunc(table, func(s setting) bool { return s.key == key }); i >= 0 {
		return &table[i], true
	}
	return nil, false
}

func isSection(key string) bool {
	return slices.ContainsFunc(table, func(s setting) bool { return strings.HasPrefix(s.key, key+".") })
}

func splitPaths(text string) []string { return withoutBlanks(filepath.SplitList(text)) }

// splitHeaders splits at commas only where there is no line end, so that a value with a comma can be written.
func splitHeaders(text string) []string {
	if strings.Contains(text, "\n") {
		return withoutBlanks(strings.Split(text, "\n"))
	}
	return splitCommas(text)
}

func splitCommas(text string) []string { return withoutBlanks(strings.Split(text, ",")) }

func withoutBlanks(texts []string) []string {
	var kept []string
	for _, text := range texts {
		if text = strings.TrimSpace(text); text != "" {
			kept = append(kept, text)
		}
	}
	return kept
}
