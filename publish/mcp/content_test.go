package mcp_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pannier"
)

// TestHeldSkillsLeaveTheLists: hosts are told when a skill whose text cannot be read goes from the lists, and when it is back.
func TestHeldSkillsLeaveTheLists(t *testing.T) {
	s := newShop(t, "a", "b")
	told := make(chan struct{}, 8)
	host := connect(t, s.serve(t), stateless, &sdk.ClientOptions{
		ResourceListChangedHandler: func(context.Context, *sdk.ResourceListChangedRequest) { told <- struct{}{} },
	})
	for _, change := range []struct {
		hold func(*pannier.Skill)
		want int
	}{
		{func(skill *pannier.Skill) { skill.LastGood = true }, 1},
		{func(*pannier.Skill) {}, 2},
		{func(skill *pannier.Skill) { skill.Deleting = true }, 1},
		{func(*pannier.Skill) {}, 2},
	} {
		s.setWith(change.hold, "a", "b")
		select {
		case <-told:
		case <-time.After(10 * time.Second):
			t.Fatal("the host was not told")
		}
		list, err := sdk.CallCustomMethod[*params, *result](t.Context(), host, "skills/list", &params{})
		if err != nil || len(list.Skills) != change.want {
			t.Errorf("%d skills (%v), want %d", len(list.Skills), err, change.want)
		}
	}
}

// TestFileBelowALink is served as what lies at its own path, and refused if that is not in the manifest.
func TestFileBelowALink(t *testing.T) {
	s := newShop(t, "a")
	s.write("a/real/x.md", "one")
	host := connect(t, s.serve(t), stateless, nil)
	got, err := host.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "skill://a/link/x.md"})
	if err != nil || got.Contents[0].Text != "one" {
		t.Fatalf("%+v %v", got, err)
	}
	s.mu.Lock()
	s.listed = map[string]string{"a/SKILL.md": s.files["a/SKILL.md"]}
	s.mu.Unlock()
	time.Sleep(1100 * time.Millisecond) // the client keeps answers for as long as the server says
	if _, err := host.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "skill://a/link/x.md"}); err == nil || !strings.Contains(err.Error(), "replace the link") || s.rescans > 0 {
		t.Errorf("%v after %d scans", err, s.rescans)
	}
	if text, failed := callFile(t, host, "real/x.md"); !failed || !strings.Contains(text, "keeps changing") {
		t.Errorf("a file that is changing: %q, error %t", text, failed)
	}
}

func callFile(t *testing.T, host *sdk.ClientSession, path string) (text string, failed bool) {
	t.Helper()
	arguments, _ := json.Marshal(map[string]string{"skill": "a", "path": path})
	got, err := host.CallTool(t.Context(), &sdk.CallToolParams{Name: "read_skill_file", Arguments: json.RawMessage(arguments)})
	if err != nil {
		t.Fatal(err)
	}
	return got.Content[0].(*sdk.TextContent).Text, got.IsError
}

// TestTextOfASkillForPeople is not given to the model by any path; its other files are.
func TestTextOfASkillForPeople(t *testing.T) {
	s := newShop(t, "a")
	s.write("a/copy.md", s.files["a/SKILL.md"])
	s.write("a/x.md", "one")
	s.setWith(func(skill *pannier.Skill) { skill.DisableModelInvocation = true }, "a")
	host := connect(t, s.serve(t), stateless, nil)
	for path, want := range map[string]string{"SKILL.md": "only for people", "./SKILL.md": "only for people", "copy.md": "only for people", "x.md": "one"} {
		if text, failed := callFile(t, host, path); !strings.Contains(text, want) || failed != (path != "x.md") {
			t.Errorf("%s: %q, error %t", path, text, failed)
		}
	}
}

// TestListedFilesCanBeRead: what has no URI is not listed; a directory without files is an empty list.
func TestListedFilesCanBeRead(t *testing.T) {
	s := newShop(t, "a")
	s.write("a/line\nbreak.md", "one")
	s.write("a/bad\xff.md", "one")
	s.write("a/ü ?#.md", "one")
	host := connect(t, s.serve(t), stateless, nil)
	got, err := sdk.CallCustomMethod[*params, *result](t.Context(), host, "skills/get", &params{URI: "skill://a/SKILL.md"})
	if err != nil {
		t.Fatal(err)
	}
	if text := string(got.Skill.Resources); strings.Contains(text, "break") || strings.Contains(text, "bad") || !strings.Contains(text, "skill://a/%C3%BC%20%3F%23.md") {
		t.Error(text)
	}
	for uri, want := range map[string]int{"skill://a": 2, "skill://a/empty": 0} {
		got, err := sdk.CallCustomMethod[*params, *result](t.Context(), host, "resources/directory/read", &params{URI: uri})
		if err != nil || got.Resources == nil || len(got.Resources) != want {
			t.Errorf("%s: %+v %v", uri, got, err)
		}
	}
	for uri, want := range map[string]string{"skill://a/none": "is not a directory", "skill://a/SKILL.md": "is not a directory"} {
		if _, err := sdk.CallCustomMethod[*params, *result](t.Context(), host, "resources/directory/read", &params{URI: uri}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", uri, err)
		}
	}
	if text, failed := callFile(t, host, "empty"); !failed || text != `"empty" of a is a directory: name a file in it; activate_skill lists the files of the skill` {
		t.Error(text)
	}
}
