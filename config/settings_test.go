package config_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"pannier"
	"pannier/config"
)

// configsID is the UUIDv5 of /configs, as Python's uuid.uuid5 makes it.
const configsID = "d5920347-b149-5dcd-ac7f-edb41ce8e918"

// load loads settings from arguments, variables and the text of a settings file, where it is not empty.
func load(t testing.TB, args, environ []string, file string) (config.Settings, error) {
	t.Helper()
	if file != "" {
		path := filepath.Join(t.TempDir(), "pannier.yaml")
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append([]string{"--config", path}, args...)
	}
	flags := pflag.NewFlagSet("pannier", pflag.ContinueOnError)
	config.AddFlags(flags)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	return config.Load(flags, append([]string{"HOME=/home/ann"}, environ...))
}

func mustLoad(t testing.TB, args, environ []string, file string) config.Settings {
	t.Helper()
	s, err := load(t, args, environ, file)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// sample is a value of a setting that is not its default, in its spellings.
type sample struct {
	text string // in a flag and a variable
	file string // in the settings file, where it looks different
	get  func(config.Settings) any
	want any
}

var samples = map[string]sample{
	"workspace":                            {"/srv/agent", "", func(s config.Settings) any { return s.Workspace }, "/srv/agent"},
	"workspace_id":                         {"ws-1", "", func(s config.Settings) any { return s.WorkspaceID }, "ws-1"},
	"socket":                               {"/tmp/p.sock", "", func(s config.Settings) any { return s.Socket.Path }, "/tmp/p.sock"},
	"socket_mode":                          {"0600", "", func(s config.Settings) any { return s.Socket.Mode }, os.FileMode(0o600)},
	"write_uids":                           {"1000, 0", "[1000, 0]", func(s config.Settings) any { return s.Socket.WriteUIDs }, []uint32{1000, 0}},
	"link":                                 {"codex, /srv/skills=copy", "[codex, /srv/skills=copy]", func(s config.Settings) any { return s.Link }, []string{"codex", "/srv/skills=copy"}},
	"listen":                               {":9090", "':9090'", func(s config.Settings) any { return s.TCP.Listen }, ":9090"},
	"web_config":                           {"/web.yml", "", func(s config.Settings) any { return s.TCP.WebConfig }, "/web.yml"},
	"state_dir":                            {"/s", "", func(s config.Settings) any { return s.StateDir }, "/s"},
	"log_level":                            {"trace", "", func(s config.Settings) any { return s.Log.Level }, "trace"},
	"log_format":                           {"json", "", func(s config.Settings) any { return s.Log.Format }, "json"},
	"roots":                                {"more", "[{path: more}]", func(s config.Settings) any { return s.Roots }, []pannier.Root{{Path: "/configs/more", Name: "more", Kind: "workspace", Trust: pannier.TrustVerified, Implicit: true}}},
	"skip":                                 {"a, b", "[a, b]", func(s config.Settings) any { return s.Skip }, []string{"a", "b"}},
	"max_dirs":                             {"30", "", func(s config.Settings) any { return s.MaxDirs }, 30},
	"settle":                               {"0", "", func(s config.Settings) any { return s.Watch.Settle }, time.Duration(0)},
	"debounce":                             {"1s", "", func(s config.Settings) any { return s.Watch.Debounce }, time.Second},
	"resync":                               {"0s", "", func(s config.Settings) any { return s.Watch.Resync }, time.Duration(0)},
	"watch":                                {"poll", "", func(s config.Settings) any { return s.Watch.Mode }, "poll"},
	"platform.url":                         {"https://p:8080/x", "", func(s config.Settings) any { return s.Platforms[0].URL }, "https://p:8080/x"},
	"platform.workspace_id":                {"theirs", "", func(s config.Settings) any { return s.Platforms[0].WorkspaceID }, "theirs"},
	"platform.token_file":                  {"/t", "", func(s config.Settings) any { return s.Platforms[0].TokenFile }, "/t"},
	"platform.headers":                     {"x-tenant=a=b", "{x-tenant: a=b}", func(s config.Settings) any { return s.Platforms[0].Headers }, map[string]string{"X-Tenant": "a=b"}},
	"platform.ca_file":                     {"/ca.pem", "", func(s config.Settings) any { return s.Platforms[0].CAFile }, "/ca.pem"},
	"platform.follow":                      {"read_back", "", func(s config.Settings) any { return s.Platforms[0].Follow }, config.FollowReadBack},
	"agent_url":                            {"http://agent:1", "", func(s config.Settings) any { return s.Agent.URL }, "http://agent:1"},
	"agent_workspace":                      {"/workspace", "", func(s config.Settings) any { return s.Agent.Workspace }, "/workspace"},
	"environment.file":                     {"/run/env.json", "", func(s config.Settings) any { return s.Environment.File }, "/run/env.json"},
	"environment.own":                      {"block", "", func(s config.Settings) any { return s.Environment.Own }, "block"},
	"validation.allow_missing_frontmatter": {"true", "", func(s config.Settings) any { return s.AllowMissingFrontmatter }, true},
	"validation.block":                     {"molecule_audit, agentskills_strict", "[molecule, agentskills, molecule_audit]", func(s config.Settings) any { return s.Block }, []string{"molecule_audit", "agentskills_strict"}},
	"trust.install":                        {"untrusted", "", func(s config.Settings) any { return s.Trust.Install }, pannier.TrustUntrusted},
	"delete_grace":                         {"5s", "", func(s config.Settings) any { return s.Watch.DeleteGrace }, 5 * time.Second},
	"api_listen":                           {"127.0.0.1:8443", "", func(s config.Settings) any { return s.TCP.APIListen }, "127.0.0.1:8443"},
	"api_tokens":                           {"/etc/tokens", "", func(s config.Settings) any { return s.TCP.APITokens }, "/etc/tokens"},
	"console":                              {"true", "", func(s config.Settings) any { return s.TCP.Console }, true},
	"api_allow_origins":                    {"https://a.example,http://b:8080", "['https://a.example', 'http://b:8080']", func(s config.Settings) any { return s.TCP.AllowOrigins }, []string{"https://a.example", "http://b:8080"}},
	"install.enabled":                      {"false", "", func(s config.Settings) any { return s.Install.Enabled }, false},
	"install.max_compressed_bytes":         {"1000", "", func(s config.Settings) any { return s.Install.MaxCompressedBytes }, int64(1000)},
	"scan":                                 {"enforce", "", func(s config.Settings) any { return s.Scan }, config.ScanEnforce},
	"trust.minimum":                        {"community", "", func(s config.Settings) any { return s.Trust.Minimum }, pannier.TrustCommunity},
	"policy.skills":                        {"pdf:enabled=false", "{pdf: {enabled: false}}", func(s config.Settings) any { return s.Policy.Skills }, map[string]pannier.Switches{"pdf": {Enabled: new(false)}}},
	"policy.profile":                       {"full_auto", "", func(s config.Settings) any { return s.Policy.Profile }, "full_auto"},
	"policy.overrides":                     {"apply", "", func(s config.Settings) any { return s.Policy.Overrides.Mode }, "apply"},
	"policy.overrides_parts":               {"model,tools", "[model, tools]", func(s config.Settings) any { return s.Policy.Overrides.Parts }, []string{"model", "tools"}},
	"policy.overrides_trust":               {"community", "", func(s config.Settings) any { return s.Policy.Overrides.Trust }, pannier.TrustCommunity},
	"prompt.format":                        {"molecule_system", "", func(s config.Settings) any { return s.Prompt.Format }, "molecule_system"},
	"turn_events":                          {"replay", "", func(s config.Settings) any { return s.TurnEvents }, config.TurnEvents{PerMinute: config.TurnEventsAll, Text: true}},
	"mcp":                                  {"resources", "", func(s config.Settings) any { return s.MCP.Offers }, config.MCPResources},
	"mcp_catalog_max_bytes":                {"900", "", func(s config.Settings) any { return s.MCP.CatalogMaxBytes }, 900},
	"tools.trust":                          {"internal", "", func(s config.Settings) any { return s.Tools.Trust }, pannier.TrustInternal},
	"tools.enabled":                        {"true", "", func(s config.Settings) any { return s.Tools.Enabled }, true},
	"tools.kinds":                          {"http,script", "[http, script]", func(s config.Settings) any { return s.Tools.Kinds }, []pannier.RuntimeToolKind{"http", "script"}},
	"tools.runner":                         {"self", "", func(s config.Settings) any { return s.Tools.Runner }, config.RunnerSelf},
	"tools.runner_uids":                    {"1000, 7", "[1000, 7]", func(s config.Settings) any { return s.Tools.RunnerUIDs }, []uint32{1000, 7}},
	"tools.call_uids":                      {"1000", "[1000]", func(s config.Settings) any { return s.Tools.CallUIDs }, []uint32{1000}},
	"tools.sandbox":                        {"best_effort", "", func(s config.Settings) any { return s.Tools.Sandbox }, pannier.SandboxBestEffort},
	"tools.network":                        {"true", "", func(s config.Settings) any { return s.Tools.Network }, config.ToolNetwork{Full: true}},
	"tools.uid":                            {"1234", "", func(s config.Settings) any { return s.Tools.UID }, uint32(1234)},
	"tools.env":                            {"LANG,TZ", "[LANG, TZ]", func(s config.Settings) any { return s.Tools.Env }, []string{"LANG", "TZ"}},
	"tools.http_allow":                     {"Intranet.", "[Intranet.]", func(s config.Settings) any { return s.Tools.HTTPAllow }, []string{"intranet"}},
	"tools.secrets":                        {"KEY@api.example.com/a+b=@/run/key", "{KEY@api.example.com: {file: /run/key, skills: [a, b]}}", func(s config.Settings) any { return s.Tools.Secrets }, []config.ToolSecret{{Name: "KEY", Host: "api.example.com", File: "/run/key", Skills: []string{"a", "b"}}}},
	"tools.project_dirs":                   {"/home/a/", "[/home/a/]", func(s config.Settings) any { return s.Tools.ProjectDirs }, []string{"/home/a"}},
	"tools.timeout":                        {"5m", "", func(s config.Settings) any { return s.Tools.Timeout }, config.MaxToolTimeout},
	"tools.max_memory_bytes":               {"1000", "", func(s config.Settings) any { return s.Tools.MaxMemoryBytes }, int64(1000)},
	"prompt.max_chars":                     {"0", "", func(s config.Settings) any { return s.Prompt.MaxChars }, 0},
}

// inFile returns a settings file with one key.
func inFile(key, value string) string {
	if section, rest, ok := strings.Cut(key, "."); ok {
		return section + ":\n  " + rest + ": " + value + "\n"
	}
	return key + ": " + value + "\n"
}

func TestEverySettingInEverySpelling(t *testing.T) {
	unset := mustLoad(t, nil, nil, "")
	for _, name := range config.SettingNames() {
		s, ok := samples[name.Key]
		if !ok {
			t.Errorf("%s has no sample", name.Key)
			continue
		}
		if s.file == "" {
			s.file = s.text
		}
		if cmp.Equal(s.get(unset), s.want) {
			t.Errorf("%s: the sample is the default", name.Key)
		}
		spellings := map[string]config.Settings{
			"flag":     mustLoad(t, []string{name.Flag + "=" + s.text}, nil, ""),
			"variable": mustLoad(t, nil, []string{name.Variable + "=" + s.text}, ""),
			"file":     mustLoad(t, nil, nil, inFile(name.Key, s.file)),
		}
		for spelling, got := range spellings {
			if diff := cmp.Diff(s.want, s.get(got)); diff != "" {
				t.Errorf("%s as %s: %s", name.Key, spelling, diff)
			}
		}
	}
}

func TestEveryNullAndEmptyVariableIsTheDefault(t *testing.T) {
	want := mustLoad(t, nil, nil, "")
	for _, name := range config.SettingNames() {
		for spelling, got := range map[string]config.Settings{
			"null":              mustLoad(t, nil, nil, inFile(name.Key, "")),
			"an empty variable": mustLoad(t, nil, []string{name.Variable + "="}, ""),
		} {
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s as %s: %s", name.Key, spelling, diff)
			}
		}
	}
}

func TestEveryFlagTellsItsDefault(t *testing.T) {
	flags := pflag.NewFlagSet("pannier", pflag.ContinueOnError)
	config.AddFlags(flags)
	flags.VisitAll(func(f *pflag.Flag) {
		if !strings.Contains(f.Usage, "(default") || strings.Contains(f.Usage, "\n") {
			t.Errorf("--%s: %q", f.Name, f.Usage)
		}
	})
	for _, name := range config.SettingNames() {
		if usage := flags.Lookup(name.Flag[2:]).Usage; !strings.Contains(usage, name.Fallback) {
			t.Errorf("%s: %q does not tell %q", name.Flag, usage, name.Fallback)
		}
	}
}

func TestDefaults(t *testing.T) {
	got := mustLoad(t, nil, []string{"XDG_RUNTIME_DIR=/run/user/7"}, "")
	want := config.Settings{
		DiscoveryRules: pannier.DiscoveryRules{
			Workspace: "/configs",
			Roots:     []pannier.Root{{Path: "/configs/skills", Name: "skills", Kind: pannier.SourceWorkspace, Trust: pannier.TrustVerified, Implicit: true}},
			Skip:      []string{"node_modules", "venv", "__pycache__"},
			MaxDepth:  6, MaxDirs: 20000, MaxSkillBytes: 1 << 20, MaxFrontmatterBytes: 64 << 10,
		},
		WorkspaceID: configsID,
		Socket:      config.Socket{Path: config.DefaultSocket(os.Geteuid(), "XDG_RUNTIME_DIR=/run/user/7"), Mode: 0o660},
		StateDir:    config.DefaultState(os.Geteuid(), "HOME=/home/ann"),
		Log:         config.Log{Level: "info", Format: "auto"},
		Watch: config.Watch{
			Mode: "auto", Settle: 100 * time.Millisecond, Debounce: 2 * time.Second, MaxWait: 3 * time.Second, Resync: 10 * time.Second,
			DeleteGrace: 2 * time.Second,
		},
		Platforms:   []config.Platform{{WorkspaceID: configsID, TokenFile: "/configs/.auth_token", TokenChecked: true, Follow: config.FollowEvents}},
		Environment: config.Environment{Own: "auto"},
		Policy:      config.Policy{Profile: "default", Overrides: config.Overrides{Mode: "ignore", Parts: []string{"tools", "model", "context"}, Trust: pannier.TrustVerified}},
		Trust:       config.Trust{Install: pannier.TrustCommunity, Minimum: pannier.TrustUntrusted},
		Scan:        config.ScanReport,
		Prompt:      config.Prompt{Format: "compact", MaxChars: 24000},
		TurnEvents:  config.TurnEvents{PerMinute: 120},
		Install:     config.Install{Enabled: true, MaxCompressedBytes: 100 << 20},
		MCP:         config.MCP{Offers: config.MCPTools, CatalogMaxBytes: 1900},
		Tools: config.Tools{
			Kinds:  []pannier.RuntimeToolKind{pannier.RuntimeShell, pannier.RuntimeHTTP, pannier.RuntimeProxy, pannier.RuntimePython},
			Runner: config.RunnerNone, Sandbox: pannier.SandboxRequired, UID: 65534, Timeout: 20 * time.Second, MaxMemoryBytes: 512 << 20,
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestFirstSourceDecides(t *testing.T) {
	file := "workspace: /file\nskip: [f]\nplatform: {url: 'http://file', headers: {A: f}}\n"
	agent := []string{"WORKSPACE_CONFIG_PATH=/agent", "WORKSPACE_ID=agent", "PLATFORM_URL=http://agent"}
	own := append([]string{"PANNIER_WORKSPACE=/variable", "PANNIER_SKIP=v", "PANNIER_PLATFORM_URL=http://variable", "PANNIER_PLATFORM_HEADER=A=v"}, agent...)
	args := []string{"--workspace=/flag", "--skip=x,y", "--skip=z", "--platform-url=http://flag", "--platform-header=A=1", "--platform-header=B=2"}
	tests := []struct {
		name      string
		args, env []string
		file      string
		workspace string
		skip      []string
		url       string
		headers   map[string]string
	}{
		{"flag", args, own, file, "/flag", []string{"x", "y", "z"}, "http://flag", map[string]string{"A": "1", "B": "2"}},
		{"variable", nil, own, file, "/variable", []string{"v"}, "http://variable", map[string]string{"A": "v"}},
		{"file", nil, agent, file, "/file", []string{"f"}, "http://file", map[string]string{"A": "f"}},
		{"agent", nil, agent, "log_level: warn\n", "/agent", []string{"node_modules", "venv", "__pycache__"}, "http://agent", nil},
		{"last of flags", []string{"--workspace=/one", "--workspace=/two"}, nil, file, "/two", []string{"f"}, "http://file", map[string]string{"A": "f"}},
		{"empty flag", []string{"--platform-url=", "--skip=", "--platform-header="}, own, file, "/variable", nil, "", map[string]string{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := mustLoad(t, tt.args, tt.env, tt.file)
			got := []any{s.Workspace, s.Given.Workspace, s.Skip, s.Platforms[0].URL, s.Platforms[0].Headers}
			if diff := cmp.Diff([]any{tt.workspace, true, tt.skip, tt.url, tt.headers}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhatIsOverriddenIsNotLookedAt(t *testing.T) {
	s := mustLoad(t, []string{"--debounce=20s"}, []string{"PANNIER_DEBOUNCE=x"}, "debounce: [y]\n")
	if s.Watch.Debounce != 20*time.Second {
		t.Errorf("debounce %s, want that of the flag", s.Watch.Debounce)
	}
}

func TestMaxWaitFollowsDebounce(t *testing.T) {
	if s := mustLoad(t, nil, []string{"PANNIER_DEBOUNCE=30s"}, ""); s.Watch.MaxWait != 30*time.Second {
		t.Errorf("the longest wait is %s, want debounce, which is longer than 3s", s.Watch.MaxWait)
	}
}

func TestSettingsFileByVariable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.yaml")
	if err := os.WriteFile(path, []byte("\ufeff# settings\n---\nplatform:\n  - url: off\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := config.Load(nil, []string{"HOME=/h", "PANNIER_CONFIG=" + path})
	if err != nil || s.Platforms[0].URL != config.PlatformOff {
		t.Errorf("platform %q, %v; want off", s.Platforms[0].URL, err)
	}
}

func TestDerivedDefaults(t *testing.T) {
	cwd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	id := func(s config.Settings) any { return s.WorkspaceID }
	token := func(s config.Settings) any { return s.Platforms[0].TokenFile }
	tests := []struct {
		name string
		args []string
		env  []string
		get  func(config.Settings) any
		want any
	}{
		{"id of the path", []string{"--workspace=/configs/"}, nil, id, configsID},
		{"id of the platform follows", []string{"--workspace-id=a"}, nil, func(s config.Settings) any { return s.Platforms[0].WorkspaceID }, "a"},
		{"relative workspace", []string{"--workspace=x/../y"}, nil, func(s config.Settings) any { return s.Workspace }, filepath.Join(cwd, "y")},
		{"nobody chose", nil, nil, func(s config.Settings) any { return s.Given.Workspace }, false},
		{"token beside the workspace", []string{"--workspace=/w"}, nil, token, "/w/.auth_token"},
		{"token where the agent says", []string{"--workspace=/w"}, []string{"CONFIGS_DIR=/c"}, token, "/c/.auth_token"},
		{"token that is given", []string{"--platform-token-file=t"}, []string{"CONFIGS_DIR=/c"}, token, "t"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tt.get(mustLoad(t, tt.args, tt.env, ""))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestDefaultSocket reads the cases that the clients below examples are tested with too.
func TestDefaultSocket(t *testing.T) {
	var tests []struct {
		Name    string
		UID     int
		Environ map[string]string
		Want    string
	}
	text, err := os.ReadFile("testdata/sockets.json")
	if err == nil {
		err = json.Unmarshal(text, &tests)
	}
	if err != nil || len(tests) == 0 {
		t.Fatalf("%d cases: %v", len(tests), err)
	}
	for _, tt := range tests {
		var environ []string
		for name, value := range tt.Environ {
			environ = append(environ, name+"="+value)
		}
		if got := config.DefaultSocket(tt.UID, environ...); got != tt.Want {
			t.Errorf("%s: %q, want %q", tt.Name, got, tt.Want)
		}
	}
}

func TestDefaultState(t *testing.T) {
	tests := []struct {
		name    string
		uid     int
		environ []string
		want    string
	}{
		{"root", 0, []string{"XDG_STATE_HOME=/s"}, "/var/lib/pannier"},
		{"state directory", 7, []string{"XDG_STATE_HOME=/s", "HOME=/h"}, "/s/pannier"},
		{"relative does not count", 7, []string{"XDG_STATE_HOME=s", "HOME=/h"}, "/h/.local/state/pannier"},
		{"nowhere", 7, nil, "none"},
	}
	for _, tt := range tests {
		if got := config.DefaultState(tt.uid, tt.environ...); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestRoots(t *testing.T) {
	inside := pannier.Root{Path: "/w/a", Name: "a", Kind: pannier.SourceWorkspace, Trust: pannier.TrustVerified, Implicit: true}
	outside := pannier.Root{Path: "/opt/b", Name: "/opt/b", Kind: pannier.SourceExtra, Trust: pannier.TrustVerified}
	tests := []struct {
		name string
		args []string
		env  []string
		file string
		want []pannier.Root
	}{
		{"flags", []string{"--root=a", "--root=/opt/b"}, nil, "", []pannier.Root{inside, outside}},
		{"variable", nil, []string{"PANNIER_ROOT=/w/a:/opt/b:"}, "", []pannier.Root{inside, outside}},
		{"file", nil, nil, "roots: [{path: ./a/}, {path: /opt/b}]\n", []pannier.Root{inside, outside}},
		{"paths in the file", nil, nil, "roots: [a, /opt/b]\n", []pannier.Root{inside, outside}},
		{"paths and mappings", nil, nil, "roots: [a, {path: /opt/b}]\n", []pannier.Root{inside, outside}},
		{"beside the workspace", []string{"--root=../opt/b"}, nil, "", []pannier.Root{outside}},
		{"the workspace itself", []string{"--root=."}, nil, "", []pannier.Root{{Path: "/w", Name: ".", Kind: "workspace", Trust: pannier.TrustVerified, Implicit: true}}},
		{"dots in a name", []string{"--root=..a"}, nil, "", []pannier.Root{{Path: "/w/..a", Name: "..a", Kind: "workspace", Trust: pannier.TrustVerified, Implicit: true}}},
		{"link targets", nil, nil, "roots: [{path: a, link_targets: [/opt//b/, ../c]}]\n", []pannier.Root{
			{Path: "/w/a", Name: "a", Kind: pannier.SourceWorkspace, Trust: pannier.TrustVerified, Implicit: true, LinkTargets: []string{"/opt/b", "/c"}},
		}},
		{"told otherwise", nil, nil, "roots: [{path: a, kind: managed}, {path: /opt/b, implicit: true}, {path: c, implicit: false, trust: community}]\n", []pannier.Root{
			{Path: "/w/a", Name: "a", Kind: pannier.SourceManaged, Trust: pannier.TrustVerified},
			{Path: "/opt/b", Name: "/opt/b", Kind: pannier.SourceExtra, Trust: pannier.TrustVerified, Implicit: true},
			{Path: "/w/c", Name: "c", Kind: pannier.SourceWorkspace, Trust: pannier.TrustCommunity},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := mustLoad(t, append(tt.args, "--workspace=/w"), tt.env, tt.file)
			if diff := cmp.Diff(tt.want, s.DiscoveryRules.Roots); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPolicySkills(t *testing.T) {
	want := map[string]pannier.Switches{"pdf": {Enabled: new(false), AllowImplicit: new(true)}, "x-2": {AllowImplicit: new(false)}}
	tests := []struct {
		name      string
		args, env []string
		file      string
		want      map[string]pannier.Switches
	}{
		{"flags", []string{"--policy-skill=pdf:enabled=false", "--policy-skill=pdf:allow_implicit_invocation=true", "--policy-skill=x-2:allow_implicit_invocation= false"}, nil, "", want},
		{"variable", nil, []string{"PANNIER_POLICY_SKILL=pdf:enabled=false, pdf:allow_implicit_invocation=true,x-2:allow_implicit_invocation=false,"}, "", want},
		{"file", nil, nil, "policy:\n  skills:\n    pdf: {enabled: false, allow_implicit_invocation: true}\n    x-2: {allow_implicit_invocation: false}\n", want},
		{"nothing said", nil, nil, "policy:\n  skills:\n    a:\n    b: {}\n    c: {enabled: , allow_implicit_invocation: ~}\n", map[string]pannier.Switches{}},
		{"one of two", nil, nil, "policy: {skills: {a: {enabled: , allow_implicit_invocation: false}}}\n", map[string]pannier.Switches{"a": {AllowImplicit: new(false)}}},
		{"taken back", []string{"--policy-skill="}, []string{"PANNIER_POLICY_SKILL=pdf:enabled=false"}, "", map[string]pannier.Switches{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, mustLoad(t, tt.args, tt.env, tt.file).Policy.Skills); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestEverySwitchIsASetting reads each switch of a skill.
func TestEverySwitchIsASetting(t *testing.T) {
	for field := range reflect.TypeFor[pannier.Switches]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		said := mustLoad(t, []string{"--policy-skill=pdf:" + name + "=false"}, nil, "").Policy.Skills["pdf"]
		if reflect.ValueOf(said).FieldByIndex(field.Index).IsNil() {
			t.Errorf("%s sets %+v", name, said)
		}
	}
}

func TestHeadersInAVariable(t *testing.T) {
	tests := map[string]map[string]string{
		"a=1,B=2":      {"A": "1", "B": "2"},
		"a=1, 2\nb=3":  {"A": "1, 2", "B": "3"},
		"a=1, 2\n":     {"A": "1, 2"},
		"x-key= a = b": {"X-Key": "a = b"},
	}
	for text, want := range tests {
		s := mustLoad(t, nil, []string{"PANNIER_PLATFORM_HEADER=" + text}, "")
		if diff := cmp.Diff(want, s.Platforms[0].Headers); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

func TestRulesTakeEveryBound(t *testing.T) {
	s := mustLoad(t, []string{"--validation-allow-missing-frontmatter", "--max-dirs=100"}, nil, "")
	want := pannier.DiscoveryRules{
		Workspace: "/configs", Roots: s.Roots, Skip: s.Skip, MaxDepth: 6, MaxDirs: 100,
		MaxSkillBytes: 1 << 20, MaxFrontmatterBytes: 64 << 10, AllowMissingFrontmatter: true,
	}
	if diff := cmp.Diff(want, s.DiscoveryRules); diff != "" {
		t.Error(diff)
	}
}
