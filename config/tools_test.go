package config_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pannier"
	"pannier/config"
)

// TestToolFaults checks settings of tools that would run something with more rights than an operator means.
func TestToolFaults(t *testing.T) {
	for _, tt := range []struct{ env, want string }{
		{"PANNIER_TOOLS_UID=0", "tools do not run as root"},
		{"PANNIER_TOOLS_TIMEOUT=6m", "is not between 1s and 5m"},
		{"PANNIER_TOOLS_TIMEOUT=0", "is not between 1s and 5m"},
		{"PANNIER_TOOLS_KIND=binary", "is none of the possible words"},
		{"PANNIER_TOOLS_HTTP_ALLOW=http://x", "is not a host"},
		{"PANNIER_TOOLS_ENV=A=b", "is not the name of a variable"},
		{"PANNIER_TOOLS_SECRET=KEY@h/a=s3cr3t", "the secret KEY has no source"},
		{"PANNIER_TOOLS_SECRET=KEY@h/a=@relative", "the secret KEY has no source"},
		{"PANNIER_TOOLS_SECRET=KEY=@/s3cr3t", "names no host"},
		{"PANNIER_TOOLS_SECRET=KEY@http://x=@/s3cr3t", "names no host"},
		{"PANNIER_TOOLS_PROJECT_DIR=/", "is not an absolute directory"},
		{"PANNIER_TOOLS_PROJECT_DIR=a", "is not an absolute directory"},
		{"PANNIER_TOOLS_SECRET=s3cr3t", "entry 1 is not of the form"},
		{"PANNIER_TOOLS_SECRET=s3cr3t-x=@/a", "a secret has a name"},
		{"PANNIER_TOOLS_SECRET=A@h/a=@/a,A@H/b=$B", "the secret A is there already"},
		{"PANNIER_TOOLS_SECRET=KEY@h=@/s3cr3t", "the secret KEY names no skills"},
		{"PANNIER_TOOLS_SECRET=KEY@h/=@/s3cr3t", "the secret KEY names no skills"},
		{"PANNIER_TOOLS_SECRET=KEY@h/a+B_C=@/s3cr3t", "names a skill that is not a slug"},
	} {
		_, err := config.Load(nil, []string{"HOME=/h", tt.env})
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%s: %v", tt.env, err)
		}
	}
	_, err := config.Load(nil, []string{"HOME=/h", "PANNIER_TOOLS_RUNNER=self", "PANNIER_TOOLS_SANDBOX=best_effort"})
	if err == nil || !strings.Contains(err.Error(), "takes the whole sandbox") {
		t.Errorf("self without the whole sandbox: %v", err)
	}
	s, err := config.Load(nil, []string{"HOME=/h", "PANNIER_TOOLS_SECRET=KEY@a:8443/x=@/run/key,OTHER@b/y+z=$TOKEN"})
	want := []config.ToolSecret{{Name: "KEY", Host: "a:8443", File: "/run/key", Skills: []string{"x"}}, {Name: "OTHER", Host: "b", Variable: "TOKEN", Skills: []string{"y", "z"}}}
	if diff := cmp.Diff(want, s.Tools.Secrets); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

// TestToolNetwork reads each form of tools.network in each place.
func TestToolNetwork(t *testing.T) {
	none, full := config.ToolNetwork{}, config.ToolNetwork{Full: true}
	hosts := config.ToolNetwork{Hosts: []string{"pypi.org", "api.example:8443"}}
	one := config.ToolNetwork{Hosts: []string{"pypi.org"}}
	for _, tt := range []struct {
		variable, file string
		want           config.ToolNetwork
		fault          string
	}{
		{"none", "none", none, ""},
		{"false", "false", none, ""},
		{"full", "full", full, ""},
		{"true", "true", full, ""},
		{"PyPI.org,api.example:8443", "[PyPI.org., 'api.example:8443']", hosts, ""},
		{"pypi.org", "pypi.org", one, ""},
		{"pypi.org,none", "[pypi.org, none]", none, "stands among hosts"},
		{"true,pypi.org", "[true, pypi.org]", none, "stands among hosts"},
		{"https://pypi.org", "[https://pypi.org]", none, "is not a host"},
		{"*.pypi.org", "['*.pypi.org']", none, "is not a host"},
		{"", "{hosts: [pypi.org]}", none, "not a list"},
	} {
		file := filepath.Join(t.TempDir(), "pannier.yaml")
		if err := os.WriteFile(file, []byte("tools:\n  network: "+tt.file+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, given := range []string{"PANNIER_TOOLS_NETWORK=" + tt.variable, "PANNIER_CONFIG=" + file} {
			if strings.HasSuffix(given, "=") {
				continue
			}
			s, err := config.Load(nil, []string{"HOME=/h", given})
			if tt.fault != "" && (err == nil || !strings.Contains(err.Error(), tt.fault)) || tt.fault == "" && err != nil {
				t.Errorf("%s (%s): %v", given, tt.file, err)
			}
			if diff := cmp.Diff(tt.want, s.Tools.Network); tt.fault == "" && diff != "" {
				t.Errorf("%s (%s):\n%s", given, tt.file, diff)
			}
		}
	}
}

// TestToolsHere: other defaults count where a setting is not given, and are told then.
func TestToolsHere(t *testing.T) {
	here := config.ToolsHere("/home/ann/app")
	s, counting, err := config.LoadOver(here, nil, []string{"HOME=/h"})
	if err != nil || !maps.Equal(counting, here) || !s.Tools.Enabled || s.Tools.Runner != config.RunnerSelf ||
		!slices.Equal(s.Tools.Kinds, pannier.RuntimeToolKinds()) || !slices.Equal(s.Tools.ProjectDirs, []string{"/home/ann/app"}) {
		t.Errorf("%+v, %v, %v", s.Tools, counting, err)
	}
	s, counting, err = config.LoadOver(here, nil, []string{"HOME=/h", "PANNIER_TOOLS_RUNNER=agent", "PANNIER_TOOLS_ENABLED=false", "PANNIER_TOOLS_KIND=http"})
	if err != nil || len(counting) != 1 || s.Tools.Enabled || s.Tools.Runner != config.RunnerAgent || len(s.Tools.Kinds) != 1 {
		t.Errorf("given settings come first: %+v, %v, %v", s.Tools, counting, err)
	}
	if _, set := config.ToolsHere("")["tools.project_dirs"]; set {
		t.Error("an empty directory is set")
	}
	if s, err := config.Load(nil, []string{"HOME=/h"}); err != nil || s.Tools.Enabled || s.Tools.Runner != config.RunnerNone || len(s.Tools.ProjectDirs) != 0 {
		t.Errorf("by default: %+v, %v", s.Tools, err)
	}
}
