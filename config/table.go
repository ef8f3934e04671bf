package config

import (
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"pannier"
	"pannier/publish/prompt"
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
	read     reader
}

// configFile names the settings file, so it cannot stand in it.
var configFile = setting{key: "config", kind: "file", help: "read settings from this YAML file", told: "none"}

// table holds every setting, in the order in which faults are told.
var table = []setting{
	{
		key: "workspace", kind: "dir", help: "directory of the agent, with config.yaml and skills/",
		fallback: "/configs", agent: "WORKSPACE_CONFIG_PATH",
		read: scalar(func(d *draft) *string { return &d.Workspace }, parseGivenPath),
	},
	{
		key: "workspace_id", kind: "id", help: "the workspace's id", told: "made from its path", agent: "WORKSPACE_ID",
		read: scalar(func(d *draft) *string { return &d.WorkspaceID }, parseText),
	},
	{
		key: "runtime", kind: "name", help: "the agent's adapter", told: "what config.yaml says",
		read: scalar(func(d *draft) *string { return &d.Runtime }, parseText),
	},
	{
		key: "socket", kind: "path", help: "the unix socket of the sidecar", told: defaultSocketTold,
		read: scalar(func(d *draft) *string { return &d.Socket }, parseText),
	},
	{
		key: "socket_mode", kind: "octal", help: "permissions of the socket", fallback: "0660",
		read: scalar(func(d *draft) *fs.FileMode { return &d.SocketMode }, parseMode),
	},
	{
		key: "write_uids", kind: "uids", help: "users that may change things over the socket, besides root and the sidecar's own, separated by commas", told: "none",
		read: readUIDs,
	},
	{
		key: "listen", kind: "address", help: "TCP address that serves /metrics, /healthz, /readyz and /livez, such as 127.0.0.1:9090", told: "none",
		read: scalar(func(d *draft) *string { return &d.Listen }, parseListen),
	},
	{
		key: "web_config", kind: "file", help: "exporter-toolkit file with TLS for listen and api_listen, and basic auth for listen", told: "none",
		read: scalar(func(d *draft) *string { return &d.WebConfig }, parseText),
	},
	{
		key: "api_listen", kind: "address", help: "TCP address that serves the whole API to clients with a token; needs api_tokens", told: "none",
		read: scalar(func(d *draft) *string { return &d.APIListen }, parseListen),
	},
	{
		key: "api_tokens", kind: "file", help: "file with a line NAME SCOPE SHA256 for each token that may use api_listen; the scopes are read, environment and write", told: "none",
		read: scalar(func(d *draft) *string { return &d.APITokens }, parseText),
	},
	{
		key: "state_dir", kind: "dir", help: "directory of the state, with a directory for each workspace; none keeps it in memory",
		told: defaultStateTold, read: scalar(func(d *draft) *string { return &d.StateDir }, parseText),
	},
	{
		key: "log_level", kind: "level", help: "trace, debug, info, warn or error", fallback: "info",
		read: scalar(func(d *draft) *string { return &d.LogLevel }, oneOf("trace", "debug", "info", "warn", "error")),
	},
	{
		key: "log_format", kind: "format", help: "auto, text or json; auto prints short lines on a terminal and text elsewhere", fallback: "auto",
		read: scalar(func(d *draft) *string { return &d.LogFormat }, oneOf("auto", "text", "json")),
	},
	{
		key: "roots", single: "root", kind: "dir", help: "directory of skills, relative to the workspace; repeatable",
		fallback: "skills", split: splitPaths, read: readRoots,
	},
	{
		key: "skip", kind: "names", help: "directories that are not entered, besides dot-directories, separated by commas",
		fallback: ".git,node_modules,.venv,venv,__pycache__", read: readSkip,
	},
	{
		key: "max_depth", kind: "n", help: "how many directories below its root a skill may lie", fallback: "6",
		read: scalar(func(d *draft) *int { return &d.MaxDepth }, atLeast[int](1)),
	},
	{
		key: "max_dirs", kind: "n", help: "how many directories of a root are looked into", fallback: "20000",
		read: scalar(func(d *draft) *int { return &d.MaxDirs }, atLeast[int](1)),
	},
	{
		key: "max_skill_bytes", kind: "bytes", help: "largest SKILL.md", fallback: "1048576",
		read: scalar(func(d *draft) *int64 { return &d.MaxSkillBytes }, atLeast[int64](1)),
	},
	{
		key: "max_frontmatter_bytes", kind: "bytes", help: "largest frontmatter", fallback: "65536",
		read: scalar(func(d *draft) *int64 { return &d.MaxFrontmatterBytes }, atLeast[int64](1)),
	},
	{
		key: "settle", kind: "duration", help: "how long a skill directory must be quiet before a change of it is read", fallback: "100ms",
		read: scalar(func(d *draft) *time.Duration { return &d.Settle }, parseDuration),
	},
	{
		key: "debounce", kind: "duration", help: "time between pushes of a card that keeps changing, at least 1s", fallback: "2s",
		read: scalar(func(d *draft) *time.Duration { return &d.Debounce }, parseDuration),
	},
	{
		key: "max_wait", kind: "duration", help: "longest time that a change waits to be read or pushed while others follow", fallback: "3s",
		read: scalar(func(d *draft) *time.Duration { return &d.MaxWait }, parseDuration),
	},
	{
		key: "resync", kind: "duration", help: "how often everything is compared; 0 is never", fallback: "10s",
		read: scalar(func(d *draft) *time.Duration { return &d.Resync }, parseDuration),
	},
	{
		key: "delete_grace", kind: "duration", help: "how long a skill that has vanished is still served; 0 takes it away at once", fallback: "2s",
		read: scalar(func(d *draft) *time.Duration { return &d.DeleteGrace }, parseDuration),
	},
	{
		key: "watch", kind: "mode", help: "how changes are noticed: by the kernel (inotify), by polling every second (poll), or auto, which polls where the kernel does not tell",
		fallback: "auto",
		read:     scalar(func(d *draft) *string { return &d.Watch }, oneOf("auto", "inotify", "poll")),
	},
	{
		key: "platform.url", kind: "url", help: "base address of the platform, or off to push nothing",
		told: "an embedded development platform", agent: "PLATFORM_URL",
		read: scalar(func(d *draft) *string { return &d.platform.URL }, parsePlatformURL),
	},
	{
		key: "platform.path", kind: "path", help: "path of the endpoint that takes the card", fallback: "/registry/update-card",
		read: scalar(func(d *draft) *string { return &d.platform.Path }, parseURLPath),
	},
	{
		key: "platform.workspace_id", kind: "id", help: "the platform's own id for the workspace", told: "that of the workspace",
		read: scalar(func(d *draft) *string { return &d.platform.WorkspaceID }, parseText),
	},
	{
		key: "platform.token_file", kind: "file", help: "file with the bearer token",
		told: ".auth_token in $CONFIGS_DIR, else in the workspace",
		read: scalar(func(d *draft) *string { return &d.platform.TokenFile }, parseText),
	},
	{
		key: "platform.headers", single: "platform.header", kind: "name=value", help: "a header for each request; a value @FILE is read from that file; repeatable", told: "none",
		split: splitHeaders, read: readHeaders,
	},
	{
		key: "platform.ca_file", kind: "file", help: "PEM file of further authorities to trust", told: "none",
		read: scalar(func(d *draft) *string { return &d.platform.CAFile }, parseText),
	},
	{
		key: "platform.read_back", kind: kindBool, help: "read the card back after each push and every five minutes, and push again what the platform lost", fallback: "true",
		read: scalar(func(d *draft) *bool { return &d.platform.ReadBack }, parseBool),
	},
	{
		key: "platform.events", kind: kindBool, help: "follow the platform's event stream, for cards that are replaced and for peers", fallback: "true",
		read: scalar(func(d *draft) *bool { return &d.platform.Events }, parseBool),
	},
	{
		key: "agent_url", kind: "url", help: "address of the agent on its card", told: "what the platform already holds",
		read: scalar(func(d *draft) *string { return &d.AgentURL }, parseAgentURL),
	},
	{
		key: "agent_workspace", kind: "dir", help: "the workspace's path as the agent sees it", told: "the workspace",
		read: scalar(func(d *draft) *string { return &d.AgentWorkspace }, parseText),
	},
	{
		key: "card_max_bytes", kind: "bytes", help: "largest agent card; a larger one is trimmed; 0 means no limit", fallback: "262144",
		read: scalar(func(d *draft) *int { return &d.CardMaxBytes }, atLeast[int](0)),
	},
	{
		key: "environment.file", kind: "file", help: "facts that pannier environment wrote in the agent's container", told: "none",
		read: scalar(func(d *draft) *string { return &d.EnvironmentFile }, parseText),
	},
	{
		key: "environment.own", kind: "mode", help: "what a requirement means that the sidecar's own container does not meet: block, warn, or auto",
		fallback: "auto",
		read:     scalar(func(d *draft) *string { return &d.EnvironmentOwn }, oneOf("auto", "block", "warn")),
	},
	{
		key: "validation.block", kind: "profiles", help: "profiles whose errors make a skill unusable, separated by commas: agentskills_strict, openclaw_compat, molecule_audit", told: "none",
		read: readBlocking,
	},
	{
		key: "validation.allow_missing_frontmatter", kind: kindBool, help: "take a SKILL.md without frontmatter", fallback: "false",
		read: scalar(func(d *draft) *bool { return &d.AllowMissingFrontmatter }, parseBool),
	},
	{
		key: "policy.skills", single: "policy.skill", kind: "slug:switch=bool", help: "the policy of a skill, such as pdf:enabled=false or pdf:allow_implicit_invocation=true; repeatable",
		told: "none", split: splitCommas, read: readPolicySkills,
	},
	{
		key: "policy.profile", kind: "profile", help: "default, or full_auto, which lets skills add to the caller's tools, and says so wherever they do",
		fallback: pannier.ProfileDefault,
		read:     scalar(func(d *draft) *string { return &d.PolicyProfile }, oneOf(pannier.ProfileDefault, pannier.ProfileFullAuto)),
	},
	{
		key: "policy.widen_tools", kind: kindBool, help: "let what a skill says under allowed-tools add to the caller's tools", fallback: "false",
		read: scalar(func(d *draft) *bool { return &d.WidenTools }, parseBool),
	},
	{
		key: "trust.install", kind: "level", help: "how far uploaded skills are trusted: untrusted, community, verified or internal", fallback: "community",
		read: scalar(func(d *draft) *pannier.Trust { return &d.InstallTrust }, parseTrust),
	},
	{
		key: "trust.minimum", kind: "level", help: "what the origin of a skill must be trusted at least: untrusted, community, verified or internal",
		fallback: "untrusted",
		read:     scalar(func(d *draft) *pannier.Trust { return &d.MinimumTrust }, parseTrust),
	},
	{
		key: "scan", kind: "mode", help: "background security scans: off, report findings, or enforce (a skill is blocked until a scan accepts it)",
		fallback: ScanReport,
		read:     scalar(func(d *draft) *string { return &d.Scan }, oneOf(ScanOff, ScanReport, ScanEnforce)),
	},
	{
		key: "scan_installers", kind: "weight", help: "what a security scan makes of the installer of a known project that is piped into a shell: warn or block",
		fallback: "warn",
		read:     scalar(func(d *draft) *string { return &d.ScanInstallers }, oneOf("warn", "block")),
	},
	{
		key: "prompt.format", kind: "format", help: "format of the system prompt where a turn names none", fallback: prompt.Formats()[0],
		read: scalar(func(d *draft) *string { return &d.PromptFormat }, oneOf(prompt.Formats()...)),
	},
	{
		key: "prompt.max_chars", kind: "n", help: "longest skills part of the system prompt, in characters; 0 means no limit",
		fallback: "24000", read: scalar(func(d *draft) *int { return &d.PromptMaxChars }, atLeast[int](0)),
	},
	{
		key: "prompt.show_compatibility", kind: kindBool, help: "tell in the system prompt what each skill says it is compatible with", fallback: "false",
		read: scalar(func(d *draft) *bool { return &d.PromptShowCompatibility }, parseBool),
	},
	{
		key: "prompt.show_allowed_tools", kind: kindBool, help: "tell in the system prompt which tools each skill expects to use", fallback: "false",
		read: scalar(func(d *draft) *bool { return &d.PromptShowAllowedTools }, parseBool),
	},
	{
		key: "turn_events", kind: "n", help: "events of turns that are recorded in a minute, turns with all of theirs or none; or off, or all", fallback: "120",
		read: scalar(func(d *draft) *int { return &d.TurnEvents }, parseTurnEvents),
	},
	{
		key: "turn_events_text", kind: kindBool, help: "record turns themselves in their events, with their text and with all arguments, so that pannier replay can resolve them again", fallback: "false",
		read: scalar(func(d *draft) *bool { return &d.TurnEventsText }, parseBool),
	},
	{
		key: "install.enabled", kind: kindBool, help: "let clients install, update and uninstall skills", fallback: "true",
		read: scalar(func(d *draft) *bool { return &d.Install.Enabled }, parseBool),
	},
	{
		key: "install.max_compressed_bytes", kind: "bytes", help: "largest archive", fallback: "104857600",
		read: scalar(func(d *draft) *int64 { return &d.Install.MaxCompressedBytes }, atLeast[int64](1)),
	},
	{
		key: "install.max_uncompressed_bytes", kind: "bytes", help: "most that an archive may unpack to", fallback: "524288000",
		read: scalar(func(d *draft) *int64 { return &d.Install.MaxUncompressedBytes }, atLeast[int64](1)),
	},
	{
		key: "install.max_entries", kind: "n", help: "most entries of an archive, directories among them", fallback: "2048",
		read: scalar(func(d *draft) *int { return &d.Install.MaxEntries }, atLeast[int](1)),
	},
	{
		key: "install.max_file_bytes", kind: "bytes", help: "largest file of an archive", fallback: "52428800",
		read: scalar(func(d *draft) *int64 { return &d.Install.MaxFileBytes }, atLeast[int64](1)),
	},
	{
		key: "install.upload_ttl", kind: "duration", help: "how long an upload waits for its next chunk", fallback: "1h",
		read: scalar(func(d *draft) *time.Duration { return &d.Install.UploadTTL }, parseDuration),
	},
	{
		key: "install.max_upload_bytes_pending", kind: "bytes", help: "most that all uploads together may hold on disk", fallback: "1073741824",
		read: scalar(func(d *draft) *int64 { return &d.Install.MaxUploadBytesPending }, atLeast[int64](1)),
	},
	{
		key: "promotion.heartbeat", kind: kindBool, help: "send the platform a heartbeat that names what is promoted; it zeroes whatever a heartbeat leaves out", fallback: "false",
		read: scalar(func(d *draft) *bool { return &d.PromotionHeartbeat }, parseBool),
	},
}

// kindBool is the kind by which pflag knows that a flag can stand without a value.
const kindBool = "bool"

// flag returns the name of the flag, without its dashes.
func (s *setting) flag() string { return strings.NewReplacer(".", "-", "_", "-").Replace(s.singular()) }

// variable returns the name of the variable.
func (s *setting) variable() string {
	return variablePrefix + strings.ToUpper(strings.ReplaceAll(s.singular(), ".", "_"))
}

func (s *setting) singular() string {
	if s.single != "" {
		return s.single
	}
	return s.key
}

// usage returns the help of the flag with its default.
func (s *setting) usage() string {
	if s.told != "" {
		return s.help + " (default: " + s.told + ")"
	}
	return s.help + " (default " + s.fallback + ")"
}

// settingOf returns the setting with a key.
func settingOf(key string) (*setting, bool) {
	for i := range table {
		if table[i].key == key {
			return &table[i], true
		}
	}
	return nil, false
}

// isSection reports whether there are settings below key.
func isSection(key string) bool {
	for i := range table {
		if strings.HasPrefix(table[i].key, key+".") {
			return true
		}
	}
	return false
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
