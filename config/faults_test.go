package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pannier"
	"pannier/config"
)

// faultsOf returns the faults that an error joins.
func faultsOf(t testing.TB, err error) (faults []*config.Fault) {
	t.Helper()
	many, ok := err.(interface{ Unwrap() []error })
	if !ok {
		t.Fatalf("error %v joins nothing", err)
	}
	for _, one := range many.Unwrap() {
		fault, ok := errors.AsType[*config.Fault](one)
		if !ok {
			t.Fatalf("%v is no fault", one)
		}
		faults = append(faults, fault)
	}
	return faults
}

// noSetting is what is said of a name that nobody knows.
const noSetting = "there is no such setting"

func TestFaults(t *testing.T) {
	long := "/" + strings.Repeat("s", 107)
	tests := []struct {
		name      string
		args, env []string
		file      string
		line      int    // in the file
		setting   string // as it was spelled
		message   string
		hint      string
	}{
		{name: "unknown variable", env: []string{"PANNIER_LOG_LEVLE=warn"}, setting: "PANNIER_LOG_LEVLE", message: noSetting, hint: "did you mean PANNIER_LOG_LEVEL?"},
		{name: "unknown empty variable", env: []string{"PANNIER_ROOTS="}, setting: "PANNIER_ROOTS", message: noSetting, hint: "did you mean PANNIER_ROOT?"},
		{name: "end of a variable", env: []string{"PANNIER_TOKEN_FILE=x"}, setting: "PANNIER_TOKEN_FILE", message: noSetting, hint: "did you mean PANNIER_PLATFORM_TOKEN_FILE?"},
		{name: "settings file misspelled", env: []string{"PANNIER_CONFG=x"}, setting: "PANNIER_CONFG", message: noSetting, hint: "did you mean PANNIER_CONFIG?"},
		{name: "nothing near", env: []string{"PANNIER_QQQ=x"}, setting: "PANNIER_QQQ", message: noSetting, hint: "pannier help settings"},
		{name: "unknown key", file: "\ndebounse: 1s\n", line: 2, setting: "debounse", message: noSetting, hint: "did you mean debounce?"},
		{name: "flag spelling in the file", file: "log-level: warn\n", line: 1, setting: "log-level", message: noSetting, hint: "did you mean log_level?"},
		{name: "unknown nested key", file: "platform:\n  ulr: x\n", line: 2, setting: "platform.ulr", message: noSetting, hint: "did you mean platform.url?"},
		{name: "nested key outside", file: "url: x\n", line: 1, setting: "url", message: noSetting, hint: "did you mean platform.url?"},
		{name: "dotted key", file: "platform.url: x\n", line: 1, setting: "platform.url", message: noSetting, hint: "below platform:"},
		{name: "nothing near in a section", file: "platform: {heartbeats: true}\n", line: 1, setting: "platform.heartbeats", message: noSetting, hint: "pannier help settings"},
		{name: "dotted key that is nowhere", file: "x.y: 1\n", line: 1, setting: "x.y", message: noSetting, hint: "pannier help settings"},
		{name: "key that breaks the line", file: "\"settl\\n\": 1\n", line: 1, setting: "settl\n", message: noSetting, hint: "did you mean settle?"},
		{name: "nothing near", file: "orchard: x\n", line: 1, setting: "orchard", message: noSetting, hint: "pannier help settings"},
		{name: "config in the file", file: "config: x\n", line: 1, setting: "config", message: noSetting},
		{name: "key twice", file: "settle: 1s\nsettle: 2s\n", line: 2, message: `"settle" stands here again`, hint: "remove one"},
		{name: "not YAML", file: "a: b: c\n", line: 1, message: "a colon and a blank", hint: "double quotes"},
		{name: "two documents", file: "settle: 1s\n---\nsettle: 2s\n", line: 2, message: "more text follows"},
		{name: "not a mapping", file: "- settle\n", line: 1, message: "not a mapping"},
		{name: "not UTF-8", file: "# x\nstate_dir: \xff\n", line: 2, message: "UTF-8"},
		{name: "NUL", file: "state_dir: \x00\n", line: 1, message: "NUL"},
		{name: "too large", file: strings.Repeat("# ...\n", 200_000), message: "1048576"},
		{name: "list for a value", file: "settle: [1s]\n", line: 1, setting: "settle", message: "a list, not a single value"},
		{name: "value for a list", file: "skip: a\n", line: 1, setting: "skip", message: "a text, not a list"},
		{name: "list in a list", file: "skip:\n- [a]\n", line: 2, setting: "skip[0]", message: "a list, not a single value"},
		{name: "value for a section", file: "prompt: 3\n", line: 1, setting: "prompt", message: "a text, not a mapping"},
		{name: "list for a section", file: "prompt: [3]\n", line: 1, setting: "prompt", message: "a list, not a mapping"},
		{name: "text for a platform", file: "platform: [off]\n", line: 1, setting: "platform[0]", message: "a text, not a mapping"},
		{name: "duration without unit", args: []string{"--settle=5"}, setting: "--settle", message: `"5" has no unit`, hint: "write 2s"},
		{name: "no duration", env: []string{"PANNIER_RESYNC=soon"}, setting: "PANNIER_RESYNC", message: `"soon" is not a duration`},
		{name: "negative duration", file: "resync: -1s\n", line: 1, setting: "resync", message: "negative", hint: "0 or more"},
		{name: "mode not octal", file: "socket_mode: 0999\n", line: 1, setting: "socket_mode", message: "not an octal number"},
		{name: "mode with sticky bit", args: []string{"--socket-mode=1777"}, setting: "--socket-mode", message: "more than permissions"},
		{name: "level", args: []string{"--log-level=loud"}, setting: "--log-level", message: `"loud"`, hint: "write trace, debug, info, warn or error"},
		{name: "format", args: []string{"--log-format=xml"}, setting: "--log-format", hint: "write auto, text or json"},
		{name: "environment", args: []string{"--environment-own=no"}, setting: "--environment-own", hint: "auto, block or warn"},
		{name: "truth", file: "validation:\n  allow_missing_frontmatter: yes\n", line: 2, setting: "validation.allow_missing_frontmatter", message: `"yes"`, hint: "true or false"},
		{name: "number with unit", args: []string{"--install-max-compressed-bytes=1MiB"}, setting: "--install-max-compressed-bytes", message: "not a whole number"},
		{name: "negative number", args: []string{"--prompt-max-chars=-1"}, setting: "--prompt-max-chars", message: "too small", hint: "0 or more"},
		{name: "a walk that goes nowhere", args: []string{"--max-dirs=0"}, setting: "--max-dirs", message: "too small", hint: "1 or more"},
		{name: "empty workspace", args: []string{"--workspace="}, setting: "--workspace", message: "empty"},
		{name: "control character", args: []string{"--state-dir=a\nb"}, setting: "--state-dir", message: "control character"},
		{name: "long socket", args: []string{"--socket=" + long}, setting: "--socket", message: "108 bytes", hint: "shorter"},
		{name: "address without a port", args: []string{"--listen=127.0.0.1"}, setting: "--listen", message: "not a TCP address"},
		{name: "port by name", env: []string{"PANNIER_LISTEN=:http"}, setting: "PANNIER_LISTEN", message: "not a TCP address"},
		{name: "port out of range", file: "listen: ':65536'\n", setting: "listen", line: 1, message: "not a TCP address"},
		{name: "scheme", env: []string{"PLATFORM_URL=ftp://x"}, setting: "PLATFORM_URL", message: "http or https"},
		{name: "no host", args: []string{"--platform-url=http://:80"}, setting: "--platform-url", message: "http or https"},
		{name: "query", args: []string{"--platform-url=http://p?x=1"}, setting: "--platform-url", message: "query"},
		{name: "agent", args: []string{"--agent-url=agent:80"}, setting: "--agent-url", message: "http or https"},
		{name: "empty root", args: []string{"--root="}, setting: "--root", message: "empty"},
		{name: "no roots", file: "roots: []\n", line: 1, setting: "roots", message: "there is no root"},
		{name: "no roots in a variable", env: []string{"PANNIER_ROOT=:"}, setting: "PANNIER_ROOT", message: "there is no root"},
		{name: "list for a root", file: "roots: [[skills]]\n", line: 1, setting: "roots[0]", message: "a list, not a path or a mapping"},
		{name: "empty text for a root", file: "roots: ['']\n", line: 1, setting: "roots[0]", message: "empty"},
		{name: "root twice as text", file: "roots: [a, ./a/]\n", line: 1, setting: "roots[1]", message: "is a root already"},
		{name: "root without path", file: "roots:\n- kind: extra\n", line: 2, setting: "roots[0]", message: "empty"},
		{name: "kind of a root", file: "roots:\n- path: a\n  kind: mine\n", line: 3, setting: "roots[0].kind", hint: "workspace, managed, bundled or extra"},
		{name: "empty link target", file: "roots:\n- path: a\n  link_targets: [b, '']\n", line: 3, setting: "roots[0].link_targets[1]", message: "empty"},
		{name: "unknown key of a root", file: "roots:\n- path: a\n  implict: true\n", line: 3, setting: "roots[0].implict", hint: "did you mean implicit?"},
		{name: "trust of a root", file: "roots:\n- path: a\n  trust: full\n", line: 3, setting: "roots[0].trust", hint: "untrusted, community, verified or internal"},
		{name: "least trust", args: []string{"--trust-minimum=some"}, setting: "--trust-minimum", hint: "untrusted, community, verified or internal"},
		{name: "profile that blocks", args: []string{"--validation-block=molecule_audit,strict"}, setting: "--validation-block", hint: "agentskills, openclaw or molecule"},
		{name: "profile in a list", file: "validation:\n  block: [clawhub]\n", line: 2, setting: "validation.block[0]", hint: "agentskills"},
		{name: "root twice", file: "roots:\n- path: a\n- path: ./a/\n", line: 3, setting: "roots[1]", message: "is a root already"},
		{name: "user by name", args: []string{"--write-uids=0,ann"}, setting: "--write-uids", message: `"ann" is not the number of a user`, hint: "id -u"},
		{name: "negative user", env: []string{"PANNIER_WRITE_UIDS=-1"}, setting: "PANNIER_WRITE_UIDS", message: "not the number of a user"},
		{name: "the user that is nobody", file: "write_uids:\n- 4294967295\n", line: 2, setting: "write_uids[0]", message: "not the number of a user"},
		{name: "user alone", file: "write_uids: 1000\n", line: 1, setting: "write_uids", message: "a text, not a list"},
		{name: "format of a prompt", args: []string{"--prompt-format=xml"}, setting: "--prompt-format", hint: "write " + strings.Join(pannier.PromptFormats()[:len(pannier.PromptFormats())-1], ", ") + " or "},
		{name: "list of policies", file: "policy:\n  skills: [pdf]\n", line: 2, setting: "policy.skills", message: "a list, not a mapping", hint: "slug: {enabled: false}"},
		{name: "policy in a word", file: "policy:\n  skills:\n    pdf: off\n", line: 3, setting: "policy.skills.pdf", message: "a text, not a mapping"},
		{name: "switch that does not exist", file: "policy:\n  skills:\n    pdf:\n      enable:\n", line: 4, setting: "policy.skills.pdf.enable", message: "not a switch", hint: "did you mean enabled?"},
		{name: "switch that is far from any", file: "policy: {skills: {pdf: {x: true}}}\n", line: 1, setting: "policy.skills.pdf.x", message: "not a switch", hint: "enabled, allow_implicit_invocation, tools and overrides"},
		{name: "switch in words", file: "policy: {skills: {pdf: {enabled: yes}}}\n", line: 1, setting: "policy.skills.pdf.enabled", message: `"yes" is not a boolean`},
		{name: "switch that is a list", file: "policy: {skills: {pdf: {enabled: [true]}}}\n", line: 1, setting: "policy.skills.pdf.enabled", message: "a list, not a single value"},
		{name: "no slug", file: "policy:\n  skills:\n    PDF Tools:\n", line: 3, setting: "policy.skills.PDF Tools", message: "not a slug", hint: "write pdf-tools"},
		{name: "nothing like a slug", args: []string{"--policy-skill=é:enabled=true"}, setting: "--policy-skill", message: "not a slug", hint: "lower-case letters"},
		{name: "slug with its owner", env: []string{"PANNIER_POLICY_SKILL=ann/pdf:enabled=true"}, setting: "PANNIER_POLICY_SKILL", message: "not a slug"},
		{name: "skill alone", args: []string{"--policy-skill=pdf"}, setting: "--policy-skill", message: "not of the form SLUG:SWITCH=BOOL", hint: "pdf:enabled=false"},
		{name: "switch without a value", args: []string{"--policy-skill=pdf:enabled"}, setting: "--policy-skill", message: "not of the form"},
		{name: "switch with an empty value", args: []string{"--policy-skill=pdf:enabled="}, setting: "--policy-skill", message: "not a boolean"},
		{name: "switch misspelled in a flag", args: []string{"--policy-skill=pdf:enbled=true"}, setting: "--policy-skill", message: "not a switch", hint: "did you mean enabled?"},
		{name: "switch twice", args: []string{"--policy-skill=pdf:enabled=true", "--policy-skill=pdf:enabled=false"}, setting: "--policy-skill", message: "is there already"},
		{name: "skill twice", file: "policy:\n  skills:\n    pdf: {}\n    pdf: {enabled: true}\n", line: 4, message: `"pdf" stands here again`},
		{name: "plural of a variable", env: []string{"PANNIER_POLICY_SKILLS="}, setting: "PANNIER_POLICY_SKILLS", message: noSetting, hint: "did you mean PANNIER_POLICY_SKILL?"},
		{name: "path to skip", args: []string{"--skip=a/b"}, setting: "--skip", message: "not the name of a directory"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := load(t, tt.args, tt.env, tt.file)
			faults := faultsOf(t, err)
			if len(faults) != 1 {
				t.Fatalf("%d faults, want one:\n%v", len(faults), err)
			}
			f := faults[0]
			if f.Line != tt.line || f.Name != tt.setting || (f.File == "") != (tt.file == "") {
				t.Errorf("%q in %q at line %d, want %q at line %d", f.Name, f.File, f.Line, tt.setting, tt.line)
			}
			if !strings.Contains(f.Message, tt.message) || !strings.Contains(f.Hint, tt.hint) || f.Hint == "" {
				t.Errorf("%v: want a message with %q and a hint with %q", f, tt.message, tt.hint)
			}
		})
	}
}

func TestFaultsAreToldAtOnce(t *testing.T) {
	_, err := load(t,
		[]string{"--log-level=loud", "--debounce=5", "--root=x", "--root=x"},
		[]string{"PANNIER_STATE_DI=a", "PANNIER_SETTLE=-1s"},
		"resync: 5\nnonsense: 1\nplatform: {url: x, headers: [y]}\nskip: [a/b, c/d]\n")
	if err == nil {
		t.Fatal("no error")
	}
	got := strings.Split(err.Error(), "\n")
	want := []string{
		`:2: nonsense: there is no such setting (`,
		`PANNIER_STATE_DI: there is no such setting (did you mean PANNIER_STATE_DIR?)`,
		`--log-level: "loud" is none of the possible words (write trace, debug, info, warn or error)`,
		`:4: skip[0]: "a/b" is not the name of a directory (`,
		`:4: skip[1]: "c/d" is not the name of a directory (`,
		`PANNIER_SETTLE: "-1s" is negative (write 0 or more)`,
		`--debounce: "5" has no unit (`,
		`:1: resync: "5" has no unit (write 2s, 500ms or 1m30s)`,
		`:3: platform.url: not an absolute http or https URL (`,
		`:3: platform.headers: this is a list, not a mapping (`,
		`--root: "x" is a root already (`,
	}
	if len(got) != len(want) {
		t.Fatalf("%d lines, want %d:\n%v", len(got), len(want), err)
	}
	for i := range want {
		if !strings.Contains(got[i], want[i]) {
			t.Errorf("line %d is %q, want %q in it", i+1, got[i], want[i])
		}
	}
}

func TestSettingsFileThatCanNotBeRead(t *testing.T) {
	dir := t.TempDir()
	loop := filepath.Join(dir, "loop")
	if err := os.Symlink(loop, loop); err != nil {
		t.Fatal(err)
	}
	for path, message := range map[string]string{filepath.Join(dir, "none"): "does not exist", dir: "a directory", loop: "cannot be read"} {
		_, err := load(t, []string{"--config", path}, nil, "")
		if faults := faultsOf(t, err); len(faults) != 1 || faults[0].File != path || !strings.Contains(faults[0].Message, message) {
			t.Errorf("%v: want one fault of %s with %q", err, path, message)
		}
	}
}

func TestFaultsKeepSecrets(t *testing.T) {
	const secret = "s3cret"
	tests := []struct {
		name      string
		args, env []string
		file      string
	}{
		{name: "no equals sign", args: []string{"--platform-header=" + secret}},
		{name: "colon in place of it", args: []string{"--platform-header=Authorization: Bearer " + secret + "="}},
		{name: "part after a comma", env: []string{"PANNIER_PLATFORM_HEADER=A=b," + secret}},
		{name: "line end in a value", args: []string{"--platform-header=A=" + secret + "\n" + secret}},
		{name: "twice", env: []string{"PANNIER_PLATFORM_HEADER=" + secret + "=1," + secret + "=2"}},
		{name: "list in the file", file: "platform:\n  headers: [A=" + secret + "]\n"},
		{name: "list as a value", file: "platform:\n  headers: {A: [" + secret + "]}\n"},
		{name: "value in the name", file: "platform:\n  headers:\n    A=" + secret + " x: y\n"},
		{name: "escaped line end", file: "platform:\n  headers:\n    A: \"" + secret + "\\n\"\n"},
		{name: "value that looks like an alias", file: "platform:\n  headers:\n    A: *" + secret + "\n"},
		{name: "value with a colon", file: "platform:\n  headers:\n    A: Bearer: " + secret + "\n"},
		{name: "user in the URL", args: []string{"--platform-url=http://u:" + secret + "@p"}},
		{name: "user in a broken URL", args: []string{"--platform-url=http://u:" + secret + "@p:x"}},
		{name: "token in place of its file", args: []string{"--platform-token-file=" + secret + "\n"}},
		{name: "value of an unknown variable", env: []string{"PANNIER_PLATFORM_TOKEN=" + secret}},
		{name: "value of an unknown key", file: "platform:\n  token: " + secret + "\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := load(t, tt.args, tt.env, tt.file)
			if err == nil {
				t.Fatal("no error")
			}
			if strings.Contains(err.Error(), secret) {
				t.Errorf("the secret is in %q", err)
			}
		})
	}
}

func TestVariablesOfKubernetesAreNoSettings(t *testing.T) {
	mustLoad(t, nil, []string{
		"PANNIER_SERVICE_HOST=10.0.0.1", "PANNIER_SERVICE_PORT=80", "PANNIER_SERVICE_PORT_METRICS=80", "PANNIER_PORT=tcp://10.0.0.1:80",
		"PANNIER_PORT_80_TCP=x", "PANNIER_PORT_80_TCP_ADDR=x", "PANNIER_METRICS_SERVICE_HOST=x", "PANNIER_METRICS_PORT_80_TCP_PROTO=x",
	}, "")
}
