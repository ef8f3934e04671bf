package main

import (
	"runtime/debug"
	"testing"
)

func TestCommitWords(t *testing.T) {
	commit := debug.BuildSetting{Key: "vcs.revision", Value: "0a1b2c"}
	for want, settings := range map[string][]debug.BuildSetting{
		"":                           nil,
		" (commit 0a1b2c)":           {commit, {Key: "vcs.modified", Value: "false"}},
		" (commit 0a1b2c, modified)": {commit, {Key: "vcs.modified", Value: "true"}},
	} {
		if got := commitWords(commitOf(settings)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
