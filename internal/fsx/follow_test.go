package fsx

import (
	"errors"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestFollowPath follows paths through symlinks that exist in a map only; a target "!" is a file that is missing.
func TestFollowPath(t *testing.T) {
	links := map[string]string{
		"/a/link": "b/c", "/a/up": "../x", "/a/abs": "/x//y/", "/a/loop": "loop", "/a/none": "!", "/x/again": "./../a/link",
	}
	outside := errors.New("outside")
	rules := LinkRules{Readlink: func(dir, name string) (string, error) {
		target, ok := links[strings.TrimSuffix(dir, "/")+"/"+name]
		switch {
		case target == "!":
			return "", unix.ENOENT
		case ok:
			return target, nil
		}
		return "", unix.EINVAL
	}}
	bounded := rules
	bounded.Parent = func(string) (string, error) { return "", outside }
	bounded.Absolute = func() (string, error) { return "", outside }
	for path, want := range map[string]struct {
		at, rest string
		err      error
		bounded  error
	}{
		"/": {at: "/"}, "//a/./b/": {at: "/a/b"}, "/a/link/d": {at: "/a/b/c/d"}, "/a/up": {at: "/x", bounded: outside},
		"/a/abs/z": {at: "/x/y/z", bounded: outside}, "/../a": {at: "/a", bounded: outside}, "/x/again": {at: "/a/b/c", bounded: outside},
		"/a/loop/z": {at: "/a", rest: "z", err: unix.ELOOP, bounded: unix.ELOOP}, "/a/none": {at: "/a", err: unix.ENOENT, bounded: unix.ENOENT},
		"/a/none//z/": {at: "/a", rest: "z/", err: unix.ENOENT, bounded: unix.ENOENT},
	} {
		if at, rest, err := FollowPath("/", path, rules); at != want.at || rest != want.rest || err != want.err {
			t.Errorf("%s: %q, %q, %v, want %+v", path, at, rest, err, want)
		}
		if _, _, err := FollowPath("/", path, bounded); err != want.bounded {
			t.Errorf("%s bounded: %v, want %v", path, err, want.bounded)
		}
	}
}
