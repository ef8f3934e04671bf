package sidecar

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pannier"
	"pannier/config"
)

func TestWatchConditions(t *testing.T) {
	c := &core{engine: &engine{settings: config.Settings{DiscoveryRules: pannier.DiscoveryRules{Workspace: "/w"}}}}
	network := pannier.WatchReason{Root: "skills", Mode: "inotify+poll", Severity: pannier.SeverityInfo, Reason: "r", Hint: "h"}
	limit := pannier.WatchReason{Mode: "poll", Severity: pannier.SeverityWarning, Reason: "r", Hint: "h"}
	tests := []struct {
		name  string
		watch pannier.WatchHealth
		want  []string
	}{
		{"all is well", pannier.WatchHealth{Mode: "inotify"}, nil},
		{"polling was asked for", pannier.WatchHealth{Mode: "poll"}, nil},
		{"network mount", pannier.WatchHealth{Reasons: []pannier.WatchReason{network}}, []string{"watch_polling info skills"}},
		{"limit", pannier.WatchHealth{Problem: "p", Reasons: []pannier.WatchReason{limit}}, []string{"watch_degraded warning /w"}},
		{"not begun", pannier.WatchHealth{Problem: "p"}, []string{"watch_degraded warning /w"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, c := range c.watchConditions(tt.watch) {
				got = append(got, fmt.Sprintf("%s %s %s", c.Code, c.Severity, c.Subject))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
