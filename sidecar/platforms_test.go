package sidecar

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"pannier/config"
)

func TestPlatformNames(t *testing.T) {
	at := func(url, path, id string) config.Platform {
		return config.Platform{URL: url, Path: path, WorkspaceID: id}
	}
	all := []config.Platform{
		at("https://alone.example:1/x", "/card", "w"),
		at("http://paths.example/a/", "/card", "w"), at("https://paths.example/b", "/card", "w"),
		at("http://both.example", "/card", "v"), at("http://both.example", "/card", "w"),
	}
	var got [][2]string
	for i := range all {
		name, label := platformNames(all, i)
		got = append(got, [2]string{name, label})
	}
	want := [][2]string{
		{"", "alone.example:1"},
		{"", "paths.example/a/card"},
		{"", "paths.example/b/card"},
		{"http://both.example/card#v", "http://both.example/card#v"},
		{"http://both.example/card#w", "http://both.example/card#w"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
