package module

import (
	"errors"
	"testing"

	"pannier"
	"pannier/config"
)

func TestConditions(t *testing.T) {
	agent := config.Tools{Enabled: true, Runner: config.RunnerAgent, Sandbox: pannier.SandboxRequired}
	effort, self, none, off := agent, agent, agent, agent
	effort.Sandbox, self.Runner, none.Runner, off.Enabled = pannier.SandboxBestEffort, config.RunnerSelf, config.RunnerNone, false
	strong := &pannier.RunnerReport{Connected: true, Level: pannier.SandboxRequired}
	noNamespaces := &pannier.RunnerReport{Connected: true, Level: pannier.SandboxRequired, Missing: []string{"no namespaces"}}
	weak := &pannier.RunnerReport{Connected: true, Level: pannier.SandboxBestEffort, Missing: []string{"no Landlock"}}
	for name, tt := range map[string]struct {
		settings config.Tools
		report   *pannier.RunnerReport
		failed   error
		want     string
	}{
		"off":                      {off, nil, nil, ""},
		"no runner wanted":         {none, nil, nil, ""},
		"not connected":            {agent, &pannier.RunnerReport{}, nil, "tools_runner_missing"},
		"connected":                {agent, strong, nil, ""},
		"required without extras":  {agent, noNamespaces, nil, ""},
		"weak":                     {agent, weak, nil, "tools_weak_sandbox"},
		"best effort, all layers":  {effort, strong, nil, ""},
		"best effort, layers lack": {effort, noNamespaces, nil, "tools_weak_sandbox"},
		"no directory":             {self, nil, errors.New("read-only file system"), "tools_directory_unusable"},
	} {
		got := ""
		for _, c := range conditions(tt.settings, tt.report, tt.failed) {
			if got += c.Code; c.Severity != pannier.SeverityWarning || c.Hint == "" || c.Subject == "" {
				t.Errorf("%s: %+v", name, c)
			}
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
