package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pannier/config"
)

func TestSeveralPlatforms(t *testing.T) {
	const file = `platform:
  - url: https://a.example
    headers: {x-tenant: a}
  - url: https://b.example/base
    workspace_id: theirs
    token_file: /run/b
    headers: {x-tenant: b}
    ca_file: /b.pem
    follow: off
  - url: https://c.example
    follow:
`
	first := config.Platform{URL: "https://a.example", WorkspaceID: "w", TokenFile: "/configs/.auth_token", TokenChecked: true, Headers: map[string]string{"X-Tenant": "a"}, Follow: config.FollowEvents}
	rest := []config.Platform{
		{URL: "https://b.example/base", WorkspaceID: "theirs", TokenFile: "/run/b", Headers: map[string]string{"X-Tenant": "b"}, CAFile: "/b.pem", Follow: config.FollowOff},
		{URL: "https://c.example", WorkspaceID: "w", Follow: config.FollowEvents}, // the token is the first's alone
	}
	s := mustLoad(t, []string{"--workspace-id=w"}, nil, file)
	if diff := cmp.Diff(append([]config.Platform{first}, rest...), s.Platforms); diff != "" {
		t.Error(diff)
	}

	first.URL, first.WorkspaceID, first.Follow = "http://flag", "f", config.FollowReadBack
	first.Headers = map[string]string{"A": "1"}
	s = mustLoad(t, []string{"--workspace-id=w", "--platform-url=http://flag", "--platform-follow=read_back", "--platform-header=A=1"},
		[]string{"PANNIER_PLATFORM_WORKSPACE_ID=f"}, file)
	if diff := cmp.Diff(append([]config.Platform{first}, rest...), s.Platforms); diff != "" {
		t.Errorf("flags and variables set the first alone:\n%s", diff)
	}

	s = mustLoad(t, nil, []string{"PLATFORM_URL=http://agent"}, "platform:\n- ca_file: /p\n- url: http://b\n")
	if len(s.Platforms) != 2 || s.Platforms[0].URL != "http://agent" || s.Platforms[1].URL != "http://b" {
		t.Errorf("%+v", s.Platforms)
	}
}

func TestOnePlatformTwiceForTwoWorkspaces(t *testing.T) {
	s := mustLoad(t, nil, nil, "platform:\n- url: http://a\n- {url: http://a, workspace_id: b}\n- {url: http://a/c}\n- {url: https://a}\n")
	if len(s.Platforms) != 4 {
		t.Errorf("%+v", s.Platforms)
	}
}

func TestFaultsOfPlatforms(t *testing.T) {
	const good = "platform:\n- url: http://a\n"
	for _, tt := range []struct {
		name          string
		args          []string
		file          string
		line          int
		setting       string
		message, hint string
	}{
		{name: "twice", file: good + "- url: http://a\n", line: 3, setting: "platform[1]", message: "there already", hint: "workspace_id"},
		{name: "twice, written otherwise", file: good + "- url: HTTP://A:80/\n", line: 3, setting: "platform[1]", message: "there already"},
		{name: "twice, by id", file: good + "- {url: http://b, workspace_id: x}\n- {url: http://b/, workspace_id: x}\n", line: 4, setting: "platform[2]", message: "there already"},
		{name: "twice, by a flag", args: []string{"--platform-url=http://b"}, file: good + "- url: http://b\n", line: 3, setting: "platform[1]", message: "there already"},
		{name: "off behind another", file: good + "- url: off\n", line: 3, setting: "platform[1]", message: "off can only be alone"},
		{name: "off before another", file: "platform:\n- url: off\n- url: http://a\n", line: 2, setting: "platform.url", message: "off can only be alone"},
		{name: "off by a flag", args: []string{"--platform-url=off"}, file: good + "- url: http://b\n", setting: "--platform-url", message: "off can only be alone", hint: "leave the others out"},
		{name: "embedded and another", file: "platform:\n- ca_file: /p\n- url: http://a\n", setting: "platform.url", message: "has no url", hint: "embedded"},
		{name: "another without a url", file: good + "- ca_file: /p\n", line: 3, setting: "platform[1]", message: "has no url"},
		{name: "unknown key", file: good + "- url: http://b\n  tokenfile: x\n", line: 4, setting: "platform[1].tokenfile", message: "no such setting", hint: "did you mean platform.token_file?"},
		{name: "bad value", file: good + "- url: http://b\n  follow: maybe\n", line: 4, setting: "platform[1].follow", message: "none of the possible words"},
		{name: "bad url", file: good + "- url: ftp://b\n", line: 3, setting: "platform[1].url", message: "http or https"},
		{name: "text for another", file: good + "- http://b\n", line: 3, setting: "platform[1]", message: "a text, not a mapping"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := load(t, tt.args, nil, tt.file)
			faults := faultsOf(t, err)
			if len(faults) != 1 {
				t.Fatalf("%d faults, want one:\n%v", len(faults), err)
			}
			f := faults[0]
			if f.Line != tt.line || f.Name != tt.setting {
				t.Errorf("%q at line %d, want %q at line %d", f.Name, f.Line, tt.setting, tt.line)
			}
			if !strings.Contains(f.Message, tt.message) || !strings.Contains(f.Hint, tt.hint) || f.Hint == "" {
				t.Errorf("%v: want a message with %q and a hint with %q", f, tt.message, tt.hint)
			}
		})
	}
}

// TestSecretsOfFurtherPlatforms: no fault about one shows what it was given.
func TestSecretsOfFurtherPlatforms(t *testing.T) {
	const secret = "zq8zq8"
	for _, file := range []string{
		"platform:\n- url: http://a\n- url: http://u:" + secret + "@b\n",
		"platform:\n- url: http://a\n- url: http://b\n  headers: [" + secret + "]\n",
		"platform:\n- url: http://a\n- url: http://b\n  headers: {\"" + secret + " \": x}\n",
		"platform:\n- url: http://a\n- url: http://b\n  token: " + secret + "\n",
	} {
		if _, err := load(t, nil, nil, file); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%q: %v", file, err)
		}
	}
}
