package needs

import (
	"fmt"
	"strings"
	"testing"
)

func TestReadHeader(t *testing.T) {
	for _, tt := range []struct{ text, want, fault string }{
		{"print(1)", "<nil>", ""},
		{"#!/usr/bin/env python3\n# /// script\n# requires-python = \">=3.11\"\n# dependencies = [\n#   \"pyyaml>=6\",\n#   'rich',\n# ]\n# ///\nimport yaml", "&{>=3.11 [pyyaml>=6 rich]}", ""},
		{"# /// script\r\n# dependencies = [\"a\"]\r\n# ///\r\n", "&{ [a]}", ""},
		{"# /// script\n#\n# ///", "&{ []}", ""},
		{"# /// script\n# dependencies = []\n# ///\n# x = 1\n# ///\n", "", "not TOML"},
		{"# /// script\n# dependencies = [\"a\"\n# ///", "", "not TOML"},
		{"# /// script\n# dependencies = \"a\"\n# ///", "", "not TOML"},
		{"# /// script\n# dependencies = []\nprint()\n# ///", "", "no last line"},
		{"# /// script\n# ///\n\n# /// script\n# ///", "", "two headers"},
		{"# /// script\n# dependencies = [\"--index-url=http://x\"]\n# ///", "", "not a dependency"},
		{"# /// script\n# dependencies = [\"a\\nb\"]\n# ///", "", "not a dependency"},
		{"text = '''\n # /// script\n'''", "<nil>", ""},
		{"# /// script\n# dependencies = [" + strings.Repeat(`"a",`, 300) + "]\n# ///", "", "more than 256"},
	} {
		got, err := ReadHeader([]byte(tt.text))
		if tt.fault == "" && (err != nil || fmt.Sprint(got) != tt.want) || tt.fault != "" && (err == nil || !strings.Contains(err.Error(), tt.fault) || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%.80q: %v, %v", tt.text, got, err)
		}
	}
}

func TestReadLock(t *testing.T) {
	got, err := ReadLock([]byte("version = 1\n[[package]]\nname = \"a\"\nversion = \"1.2\"\nsource = { registry = \"x\" }\n[[package]]\nname = \"b\"\n"))
	if fmt.Sprint(got, err) != "[a==1.2] <nil>" {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := ReadLock([]byte("[[")); err == nil {
		t.Error("a broken lock is read")
	}
}

func TestReadPackage(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{`{"dependencies":{"a":"^1"},"bin":{"x":"./x.js"},"scripts":{"build":"node b.js"}}`, "{map[a:^1] map[x:./x.js] map[build:node b.js]} <nil>"},
		{`{"name":"n","bin":"x.js"}`, "{map[] map[n:x.js] map[]} <nil>"},
		{`{"bin":7}`, "{map[] map[] map[]} <nil>"},
		{`{"dependencies":{"--x":"1"}}`, `{map[--x:1] map[] map[]} "--x" is not a dependency`},
	} {
		p, err := ReadPackage([]byte(tt.text))
		if got := fmt.Sprint(p, err); got != tt.want {
			t.Errorf("%s: %s", tt.text, got)
		}
	}
	for _, text := range []string{"", "{", "[]", `{"dependencies":["a"]}`, "// x\n{}"} {
		if _, err := ReadPackage([]byte(text)); err == nil || !strings.HasPrefix(err.Error(), "package.json cannot be read: ") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzReadHeader(f *testing.F) {
	f.Add([]byte("# /// script\n# dependencies = [\"a\"]\n# ///\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if h, err := ReadHeader(text); err == nil && h != nil {
			for _, d := range h.Dependencies {
				if strings.HasPrefix(d, "-") || strings.Contains(d, "\n") {
					t.Errorf("%q", d)
				}
			}
		}
	})
}
