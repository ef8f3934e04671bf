package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pannier/config"
)

func TestOrigins(t *testing.T) {
	for _, text := range []string{"https://canvas.example", "http://localhost:3000", "https://[::1]:8443", "https://xn--mnchen-3ya.example", "https://a.example:80"} {
		if s, err := load(t, []string{"--api-allow-origins", text}, nil, ""); err != nil || len(s.TCP.AllowOrigins) != 1 {
			t.Errorf("%s: %v %v", text, s.TCP.AllowOrigins, err)
		}
	}
	for _, text := range []string{
		"*", "null", "canvas.example", "https://", "https://canvas.example/", "https://*.example", "https://Canvas.example", "https://u@canvas.example",
		"https://canvas.example:443", "http://canvas.example:80", "https://canvas.example?x", "https://canvas.example#x", "ftp://canvas.example", "https://a b", "https://a;b",
		"https://münchen.example", "https://canvas.example:", "https://canvas.example:99999", "https://canvas.example:0443", "https://'none'", "https://a\"b", "https://a<b",
	} {
		if s, err := load(t, []string{"--api-allow-origins", text}, nil, ""); err == nil || !strings.Contains(err.Error(), "--api-allow-origins") {
			t.Errorf("%s: %v %v", text, s.TCP.AllowOrigins, err)
		}
	}
}

func TestHasTLS(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, "basic_auth_users: {a: b}\n": false, "tls_server_config: {}\n": false, "tls_server_config:\n  cert_file: c\n  key_file: k\n": true,
		"tls_server_config: {cert: x, key: y}\n": true, "tls_server_config: {cert_file: ''}\n": false,
	} {
		file := filepath.Join(t.TempDir(), "web.yml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := config.HasTLS(file); err != nil || got != want {
			t.Errorf("%q: %v %v", text, got, err)
		}
	}
	if got, err := config.HasTLS(""); err != nil || got {
		t.Errorf("none: %v %v", got, err)
	}
	if _, err := config.HasTLS(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a file that is missing has no error")
	}
}
