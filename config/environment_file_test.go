package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pannier"
	"pannier/config"
)

func TestEnvironmentFile(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       *pannier.Environment
		code       string
	}{
		{
			name: "what the command writes", text: `{"os":"linux","arch":"arm64","bins":["jq","git","git"],"env":["TOKEN"],"config":[],"mcp":["files"],"source":"sidecar","at":"2026-11-21T10:00:00Z"}`,
			want: &pannier.Environment{
				OS: "linux", Arch: "arm64", Bins: []string{"git", "jq"}, Env: []string{"TOKEN"}, Config: []string{}, MCP: []string{"files"},
				Source: pannier.EnvironmentFile, At: time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC),
			},
		},
		{name: "by hand, with less", text: `{"os":"macOS","at":"2026-11-21T10:00:00Z"}`, want: &pannier.Environment{
			OS: "darwin", Bins: []string{}, Env: []string{}, Config: []string{}, MCP: []string{}, Source: pannier.EnvironmentFile, At: time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC),
		}},
		{name: "a field that is misspelt", text: `{"os":"linux","binz":["jq"]}`, code: "environment.syntax"},
		{name: "null", text: "null", code: "environment.names"},
		{name: "nothing", text: "{}", code: "environment.names"},
		{name: "a value among the executables", text: `{"bins":["TOKEN=very-secret"]}`, code: "environment.names"},
		{name: "a system that is none", text: `{"os":"linux\u001b[31m"}`, code: "environment.names"},
		{name: "no JSON", text: "os: linux", code: "environment.syntax"},
		{name: "a list", text: `["jq"]`, code: "environment.syntax"},
		{name: "values of variables", text: `{"env":["TOKEN=very-secret"]}`, code: "environment.names"},
		{name: "no text", text: "\xff\xfe", code: "environment.encoding"},
		{name: "too large", text: strings.Repeat(" ", 2<<20), code: "environment.too_large"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "environment.json")
			if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			got, problems := config.NewEnvironmentReader(path).Read()
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			checkEnvironmentProblem(t, problems, tt.code)
		})
	}
}

func checkEnvironmentProblem(t *testing.T, problems []pannier.Problem, code string) {
	t.Helper()
	switch {
	case code == "" && len(problems) == 0:
	case len(problems) != 1 || problems[0].Code != code || problems[0].Hint == "" || problems[0].Path == "":
		t.Errorf("problems %+v, want %q", problems, code)
	case strings.Contains(problems[0].String(), "secret"):
		t.Errorf("a value is told: %s", problems[0])
	}
}

// TestEnvironmentFileOverTime replaces, breaks, removes and restores the file under one reader.
func TestEnvironmentFileOverTime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "environment.json")
	r := config.NewEnvironmentReader(path)
	if diff := cmp.Diff([]string{filepath.Dir(path)}, r.Watched()); diff != "" {
		t.Errorf("watched: %s", diff)
	}
	steps := []struct {
		name string
		do   func() error
		os   string
		code string
	}{
		{"not there yet", func() error { return nil }, "", "environment.missing"},
		{"written", func() error { return os.WriteFile(path, []byte(`{"os":"linux"}`), 0o600) }, "linux", ""},
		{"written again at once, of one size", func() error { return os.WriteFile(path, []byte(`{"os":"plan9"}`), 0o600) }, "plan9", ""},
		{"broken: what it last said counts", func() error { return os.WriteFile(path, []byte(`{"os":`), 0o600) }, "plan9", "environment.syntax"},
		{"a pipe in its place", func() error { os.Remove(path); return syscall.Mkfifo(path, 0o600) }, "plan9", "environment.not_regular"},
		{"gone", func() error { return os.Remove(path) }, "", "environment.missing"},
	}
	for _, step := range steps {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		env, problems := r.Read()
		got := ""
		if env != nil {
			got = env.OS
		}
		if got != step.os {
			t.Errorf("%s: %q, want %q", step.name, got, step.os)
		}
		checkEnvironmentProblem(t, problems, step.code)
	}
	if err := os.Symlink("nowhere", path); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{filepath.Dir(path), path}, r.Watched()); diff != "" {
		t.Errorf("of a link is watched: %s", diff)
	}
	if env, problems := config.NewEnvironmentReader("").Read(); env != nil || problems != nil {
		t.Error("there is an environment without a file")
	}
}

func TestEnvironmentFileOfTheFuture(t *testing.T) {
	path := filepath.Join(t.TempDir(), "environment.json")
	if err := os.WriteFile(path, []byte(`{"os":"linux","at":"2999-01-01T00:00:00Z"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	env, problems := config.NewEnvironmentReader(path).Read()
	if env == nil || env.At.After(time.Now()) || len(problems) > 0 {
		t.Errorf("%+v %+v", env, problems)
	}
}
