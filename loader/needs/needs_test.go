package needs

import (
	"fmt"
	"slices"
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

func TestFromIndex(t *testing.T) {
	good := "\ufeff# all\r\nrequests>=2.31, <3 # http\nuvicorn[standard]==0.30.*; python_version >= '3.9' and sys_platform == \"linux\"\n\nnumpy (>=1.20)\nPyYAML~=6.0 \\\n" +
		"  --hash=sha256:abc --hash=sha256:def\ntyping_extensions\nx===1.0+local\n"
	want := []string{
		"requests>=2.31, <3", `uvicorn[standard]==0.30.*; python_version >= '3.9' and sys_platform == "linux"`, "numpy (>=1.20)",
		"PyYAML~=6.0    --hash=sha256:abc --hash=sha256:def", "typing_extensions", "x===1.0+local",
	}
	if got, err := FromIndex(good); err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
	for _, bad := range []string{
		"-e .", "--editable=./pkg", "-r other.txt", "-c pins.txt", "--index-url http://x.example", "--extra-index-url=x", "--find-links .", "--no-binary :all:",
		".", "./pkg", "pkg/", "/opt/pkg", "evil-1.0.tar.gz", "evil.ZIP", "evil.whl", "https://x.example/a.whl", "git+https://x.example/a.git",
		"a @ https://x.example/a.whl", "a@file:///tmp/a", "a; python_version>'3' @ https://x.example", "a --global-option=x", "a --config-settings=x=y", "requests\\\n-e .", "a[x]@b",
	} {
		if got, err := FromIndex("requests\n" + bad + "\n"); err == nil {
			t.Errorf("%q is taken: %q", bad, got)
		}
	}
}
