package sidecar

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"pannier/config"
)

func TestPlatformNames(t *testing.T) {
	at := func(url, id string) config.Platform {
		return config.Platform{URL: url, WorkspaceID: id}
	}
	all := []config.Platform{
		at("https://alone.example:1/x", "w"),
		at("http://paths.example/a/", "w"), at("https://paths.example/b", "w"),
		at("http://both.example", "v"), at("http://both.example", "w"),
	}
	var got [][2]string
	for i := range all {
		name, label := platformNames(all, i)
		got = append(got, [2]string{name, label})
	}
	want := [][2]string{
		{"", "alone.example:1"},
		{"", "paths.example/a/registry/update-card"},
		{"", "paths.example/b/registry/update-card"},
		{"http://both.example/registry/update-card#v", "http://both.example/registry/update-card#v"},
		{"http://both.example/registry/update-card#w", "http://both.example/registry/update-card#w"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
