package api_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pannier"
)

// pathsOf returns the paths of the skills of a list, in its order.
func pathsOf(list pannier.List) (paths []string) {
	for _, e := range list.Skills {
		paths = append(paths, e.Path)
	}
	return paths
}

// TestPagesOfTheList: the pages together are the list, whatever their size, also with several skills of one slug.
func TestPagesOfTheList(t *testing.T) {
	house := houseOf(50)
	for _, root := range []string{"extra", "more", "most"} {
		shadowed := entry("skill-0007", pannier.StateShadowed)
		shadowed.Skill.Path = root + "/skill-0007"
		house.snapshot.Entries = slices.Insert(house.snapshot.Entries, 8, shadowed)
	}
	h := house.handler()
	whole := pathsOf(decode[pannier.List](t, ask(h, "GET", "/v1/skills", "")))
	for _, limit := range []int{1, 2, 3, 7, 53, 54, 1000} {
		var got []string
		for cursor, more := "", true; more; {
			list := decode[pannier.List](t, ask(h, "GET", fmt.Sprintf("/v1/skills?limit=%d&cursor=%s", limit, cursor), ""))
			if len(list.Skills) > limit || list.Total == nil || *list.Total != 53 {
				t.Fatalf("limit %d: %d skills of %v", limit, len(list.Skills), list.Total)
			}
			got = append(got, pathsOf(list)...)
			cursor, more = list.NextCursor, list.NextCursor != ""
		}
		if diff := cmp.Diff(whole, got); diff != "" {
			t.Errorf("limit %d:\n%s", limit, diff)
		}
	}
	if list := decode[pannier.List](t, ask(h, "GET", "/v1/skills?q=skill", "")); list.Total != nil || list.NextCursor != "" {
		t.Error("a list without a limit is told to be a page")
	}
}

// TestPagesSurviveChanges: a page goes on behind the slug that the cursor names, whether it is still there or not.
func TestPagesSurviveChanges(t *testing.T) {
	house := houseOf(10)
	h := house.handler()
	first := decode[pannier.List](t, ask(h, "GET", "/v1/skills?limit=4", ""))
	without := *house.snapshot
	without.Entries = slices.Clone(without.Entries)
	without.Entries = slices.Insert(slices.Delete(without.Entries, 3, 4), 0, entry("early", pannier.StateEligible))
	house.snapshot = &without
	next := decode[pannier.List](t, ask(h, "GET", "/v1/skills?limit=4&cursor="+first.NextCursor, ""))
	if got := pathsOf(next); got[0] != "skills/skill-0004" || len(got) != 4 {
		t.Errorf("%v", got)
	}
}

// TestFieldsOfTheList: a field that is asked for is the one of the whole list, and no other is there.
func TestFieldsOfTheList(t *testing.T) {
	h := newHouse().handler()
	items := func(target string) []map[string]json.RawMessage {
		return decodeLoosely[struct{ Skills []map[string]json.RawMessage }](t, ask(h, "GET", target, "").Body.Bytes()).Skills
	}
	whole := items("/v1/skills?include=problems,policy,health")
	names := map[string]bool{}
	for _, item := range whole {
		for name := range item {
			names[name] = true
		}
	}
	if len(names) < 25 {
		t.Fatalf("%d fields", len(names))
	}
	for name := range names {
		for i, item := range items("/v1/skills?fields=" + name) {
			want := map[string]json.RawMessage{"slug": whole[i]["slug"], "path": whole[i]["path"]}
			if value, ok := whole[i][name]; ok {
				want[name] = value
			}
			if diff := cmp.Diff(want, item); diff != "" {
				t.Errorf("fields=%s:\n%s", name, diff)
			}
		}
	}
	all := "/v1/skills?fields=" + strings.Join(slices.Collect(func(yield func(string) bool) {
		for name := range names {
			if !yield(name) {
				return
			}
		}
	}), ",")
	if got, want := ask(h, "GET", all, "").Body.String(), ask(h, "GET", "/v1/skills?include=problems,policy,health", "").Body.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestSearch finds words in any of the texts, whatever their case, and parts of names.
func TestSearch(t *testing.T) {
	house := newHouse()
	house.snapshot.Entries[0].Skill.Description = "Fills in Forms für ÄMTER"
	house.snapshot.Entries[0].Tags = []string{"PDF"}
	h := house.handler()
	for q, want := range map[string]int{"": 7, "alpha": 1, "ALPHA+pdf": 1, "%C3%A4mter+F%C3%9CR": 1, "omega": 1, "meg": 1, "alpha+omega": 2, "++": 7, "%00": 0} {
		if got := len(decode[pannier.List](t, ask(h, "GET", "/v1/skills?q="+q, "")).Skills); got != want {
			t.Errorf("q=%s: %d skills, want %d", q, got, want)
		}
	}
	if got := pathsOf(decode[pannier.List](t, ask(h, "GET", "/v1/skills?slug=omega,alpha,none", ""))); strings.Join(got, " ") != "skills/alpha skills/omega extra/omega" {
		t.Error(got)
	}
	if list := decode[pannier.List](t, ask(h, "GET", "/v1/skills?q=alpha+omega+beta&state=eligible&limit=1", "")); *list.Total != 2 || len(list.Skills) != 1 {
		t.Errorf("%d of %d", len(list.Skills), *list.Total)
	}
}

// TestSearchIsFind: a search of the list has the order of POST /v1/find, in one part and in parts of any length.
func TestSearchIsFind(t *testing.T) {
	house := houseOf(50)
	for i, e := range house.snapshot.Entries {
		e.Skill.Description = strings.Repeat("Merges invoices. ", 1+i*7%10) + strings.Repeat("It does more. ", i*3%10)
	}
	h := house.handler()
	const text = "merge my invoices"
	var want []string
	for _, f := range decode[pannier.FoundList](t, ask(h, "POST", "/v1/find", `{"text":"`+text+`","limit":100}`)).Skills {
		want = append(want, "skills/"+f.Slug)
	}
	if len(want) != 50 || slices.IsSorted(want) {
		t.Fatalf("found %v", want)
	}
	if got := pathsOf(decode[pannier.List](t, ask(h, "GET", "/v1/skills?q="+url.QueryEscape(text), ""))); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, limit := range []string{"1", "7", "50", "51"} {
		var got []string
		for cursor := ""; ; {
			page := decode[pannier.List](t, ask(h, "GET", "/v1/skills?q="+url.QueryEscape(text)+"&limit="+limit+"&cursor="+cursor, ""))
			got = append(got, pathsOf(page)...)
			if cursor = page.NextCursor; cursor == "" {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("in parts of %s: %v", limit, got)
		}
	}
}

// TestSlugsOfTheList: the named slugs are answered in the order of the list, shadowed skills too, and unknown ones are left out.
func TestSlugsOfTheList(t *testing.T) {
	house := houseOf(50)
	shadowed := entry("skill-0007", pannier.StateShadowed)
	shadowed.Skill.Path = "extra/skill-0007"
	house.snapshot.Entries = slices.Insert(house.snapshot.Entries, 8, shadowed)
	h := house.handler()
	whole := pathsOf(decode[pannier.List](t, ask(h, "GET", "/v1/skills", "")))
	for slugs, want := range map[string][]string{
		"skill-0007": {whole[7], whole[8]},
		"skill-0049,skill-0000,skill-0007,,nothing": {whole[0], whole[7], whole[8], whole[50]},
		"skill-0049,skill-0049,zzz":                 {whole[50]},
		"aaa,zzz":                                   nil,
	} {
		if got := pathsOf(decode[pannier.List](t, ask(h, "GET", "/v1/skills?slug="+slugs, ""))); !slices.Equal(got, want) {
			t.Errorf("slug=%s: %v, want %v", slugs, got, want)
		}
	}
	page := decode[pannier.List](t, ask(h, "GET", "/v1/skills?slug=skill-0001,skill-0007&limit=2&fields=state", ""))
	if *page.Total != 3 || len(page.Skills) != 2 || page.NextCursor == "" {
		t.Errorf("%d of %d", len(page.Skills), *page.Total)
	}
	var many []string
	for i := range 101 {
		many = append(many, fmt.Sprintf("skill-%04d", i))
	}
	if w := ask(h, "GET", "/v1/skills?slug="+strings.Join(many, ","), ""); w.Code != 400 {
		t.Errorf("101 slugs: %d", w.Code)
	}
}

// TestHostileQuestions: forged cursors, long searches and fields are refused, or harmless.
func TestHostileQuestions(t *testing.T) {
	h := newHouse().handler()
	forged := base64.RawURLEncoding.EncodeToString([]byte("12345678\xff\x00../"))
	for target, code := range map[string]string{
		"/v1/skills?limit=0":                                         "invalid_parameter.limit",
		"/v1/skills?limit=1001":                                      "invalid_parameter.limit",
		"/v1/skills?cursor=" + forged:                                "invalid_parameter.cursor",
		"/v1/skills?limit=1&cursor=%2F%2F":                           "invalid_parameter.cursor",
		"/v1/skills?limit=1&cursor=AAAA":                             "invalid_parameter.cursor",
		"/v1/skills?limit=1&cursor=" + strings.Repeat("A", 20000):    "",
		"/v1/skills?limit=1&cursor=" + forged:                        "",
		"/v1/skills?q=" + strings.Repeat("x", 257):                   "invalid_parameter.q",
		"/v1/skills?q=" + strings.Repeat("x+", 128):                  "",
		"/v1/skills?fields=" + strings.Repeat("name,", 10000):        "",
		"/v1/skills?fields=secret":                                   "invalid_parameter.fields",
		"/v1/skills?fields=" + strings.Repeat("no,", 10000) + "name": "invalid_parameter.fields",
	} {
		w := ask(h, "GET", target, "")
		if got := decodeLoosely[pannier.ErrorDocument](t, w.Body.Bytes()); got.Code != code || w.Code != http.StatusOK && (w.Code != 400 || len(got.Detail) > 200 || got.Hint == "") {
			t.Errorf("%.60s: %d %.400s, want %q", target, w.Code, w.Body, code)
		}
	}
}

// TestPagesOverRPC holds the parts of skills/list against the whole.
func TestPagesOverRPC(t *testing.T) {
	h := newHouse().handler()
	type answer struct {
		Result struct {
			Total      *int              `json:"total"`
			NextCursor string            `json:"next_cursor"`
			Skills     []json.RawMessage `json:"skills"`
		}
		Error *struct{ Message string }
	}
	list := func(params string) answer {
		call := `{"jsonrpc":"2.0","id":1,"method":"skills/list","params":` + params + `}`
		w := ask(h, "POST", "/v1/rpc", call)
		newMethodSchemas(t).exchange(t, call, w.Body.String())
		return decodeLoosely[answer](t, w.Body.Bytes())
	}
	whole := list("{}").Result
	if whole.Total != nil {
		t.Error("a whole list is told to be a part")
	}
	var got []json.RawMessage
	for params := `{"limit":2}`; params != ""; {
		part := list(params).Result
		if *part.Total != len(whole.Skills) || len(part.Skills) > 2 {
			t.Fatalf("%d of %d", len(part.Skills), *part.Total)
		}
		got = append(got, part.Skills...)
		if params = ""; part.NextCursor != "" {
			params = `{"limit":2,"cursor":"` + part.NextCursor + `"}`
		}
	}
	if diff := cmp.Diff(whole.Skills, got); diff != "" {
		t.Error(diff)
	}
	for _, params := range []string{`{"limit":0}`, `{"limit":1001}`, `{"cursor":"x"}`, `{"limit":1,"cursor":"x"}`} {
		if list(params).Error == nil {
			t.Errorf("%s is accepted", params)
		}
	}
}
