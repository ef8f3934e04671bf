package config_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/pflag"

	"pannier/config"
)

func TestSocketPath(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	named := file("named", "socket: /run/file.sock\nsettle: rubbish\nno_such_setting: 1\n")
	broken, none := file("broken", "socket: [\n"), filepath.Join(dir, "none")
	plain := mustLoad(t, nil, nil, "").Socket.Path
	for _, tt := range []struct {
		name          string
		args, environ []string
		want          string // empty is an error
	}{
		{"the default", nil, nil, plain},
		{"a flag", []string{"--socket", "/run/flag.sock", "--config", broken}, []string{"PANNIER_SOCKET=/run/variable.sock"}, "/run/flag.sock"},
		{"a variable", nil, []string{"PANNIER_SOCKET=/run/variable.sock", "PANNIER_CONFIG=" + broken}, "/run/variable.sock"},
		{"a variable, and no file", nil, []string{"PANNIER_SOCKET=/run/variable.sock", "PANNIER_CONFIG=" + none}, "/run/variable.sock"},
		{"the file", []string{"--config", named}, nil, "/run/file.sock"},
		{"a file with other settings", []string{"--config", file("other", "no_such_setting: 1\n")}, nil, plain},
		{"a broken file", []string{"--config", broken}, nil, ""},
		{"no file", nil, []string{"PANNIER_CONFIG=" + none}, ""},
		{"rubbish elsewhere", nil, []string{"PANNIER_SETTLE=rubbish", "PANNIER_RUBBISH=1"}, plain},
	} {
		flags := pflag.NewFlagSet("pannier", pflag.ContinueOnError)
		config.AddFlags(flags)
		if err := flags.Parse(tt.args); err != nil {
			t.Fatal(err)
		}
		got, err := config.SocketPath(flags, append([]string{"HOME=/home/ann"}, tt.environ...))
		if (err != nil) != (tt.want == "") || err == nil && got != tt.want {
			t.Errorf("%s: %q, %v; want %q", tt.name, got, err, tt.want)
		}
	}
}
