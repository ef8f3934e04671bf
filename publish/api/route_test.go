package api_test

import (
	"strings"
	"testing"

	"pannier"
)

// TestParametersFitTheirSchemas: a value that the declared schema does not allow is refused before anything else is checked.
func TestParametersFitTheirSchemas(t *testing.T) {
	h := newWhole().handler()
	for target, want := range map[string]string{
		"/v1/skills?state=gone":                         "invalid state \"gone\"",
		"/v1/skills?include=policy,none":                "invalid include \"none\"",
		"/v1/skills/none?include=policy":                "invalid include \"policy\"",
		"/v1/skills/none/content?expand=maybe":          "invalid expand \"maybe\"",
		"/v1/prompt?max_chars=1.5":                      "invalid max_chars \"1.5\"",
		"/v1/audit?limit=0":                             "invalid limit \"0\"",
		"/v1/audit?limit=10001":                         "invalid limit \"10001\"",
		"/v1/events?types=skill_catalog_updated,other":  "invalid types \"other\"",
		"/v1/events?follow=sometimes":                   "invalid follow \"sometimes\"",
		"/v1/skills?state=eligible&state=disabled":      "state is given more than once",
		"/v1/skills?stat=eligible":                      "unknown parameter \"stat\"",
		"/v1/skills?state=%zz":                          "invalid query: invalid URL escape \"%zz\"",
		"/v1/skills/none/files/a?expand=1":              "unknown parameter \"expand\"",
		"/v1/health?x=1":                                "unknown parameter \"x\"",
		"/v1/skills?include=activity,problems&state=no": "invalid state \"no\"",
	} {
		w := ask(h, "GET", target, "")
		if got := decode[pannier.ErrorDocument](t, w); got.Status != 400 || got.Detail != want || got.Hint == "" {
			t.Errorf("%s: %d %q, hint %q, want %q", target, got.Status, got.Detail, got.Hint, want)
		}
	}
	for _, target := range []string{"/v1/skills?state=&include=,policy,", "/v1/skills/alpha/content?expand=", "/v1/audit?limit=10000", "/metrics?name[]=x"} {
		if w := ask(h, "GET", target, ""); w.Code != 200 {
			t.Errorf("%s: %d %s", target, w.Code, w.Body)
		}
	}
}

// TestScopesComeFirst: a caller whose scope is too small is not told which of its parameters are wrong.
func TestScopesComeFirst(t *testing.T) {
	h := newWhole().handler()
	for _, route := range []string{"POST /v1/skills?dry_run=maybe", "PUT /v1/policy/none", "POST /v1/skills/none/scan", "POST /v1/health/acknowledge"} {
		method, target, _ := strings.Cut(route, " ")
		w := askAs(h, 1000, method, target, "no JSON")
		if got := decode[pannier.ErrorDocument](t, w); got.Code != "forbidden" {
			t.Errorf("%s: %s", route, w.Body)
		}
	}
}
