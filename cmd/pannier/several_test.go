package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"pannier"
)

// sendFiles posts a body as a page does, and returns the status and the answer.
func sendFiles(t *testing.T, s *sidecarUnderTest, target, media string, body []byte) (int, []byte) {
	t.Helper()
	req := must(http.NewRequestWithContext(t.Context(), http.MethodPost, "http://pannier"+target, bytes.NewReader(body)))(t)
	req.Header.Set("Content-Type", media)
	res := must(s.HTTP.Do(req))(t)
	defer res.Body.Close()
	text := must(io.ReadAll(res.Body))(t)
	return res.StatusCode, text
}

// parts is a body of files as a browser sends it.
func parts(t *testing.T, files ...string) (media string, body []byte) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		to, err := w.CreateFormFile("file", files[i])
		if err == nil {
			_, err = io.WriteString(to, files[i+1])
		}
		need(t, err)
	}
	need(t, w.Close())
	return w.FormDataContentType(), b.Bytes()
}

// toldOf tells of the results of several skills in short.
func toldOf(t *testing.T, text []byte) string {
	t.Helper()
	var list pannier.FolderList
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	var told []string
	for _, r := range list.Results {
		line := fmt.Sprintf("%s %s ", r.Path, r.Slug)
		if r.OK != (r.Result != nil) || r.OK != (r.Error == nil) {
			t.Errorf("%s: ok %t with %v and %v", r.Path, r.OK, r.Result, r.Error)
		}
		switch {
		case r.OK && r.Result.DryRun:
			line += "would be " + string(r.Result.Status)
		case r.OK:
			line += string(r.Result.Status)
		case r.Error.Hint == "":
			t.Errorf("%s: no hint: %+v", r.Path, r.Error)
		default:
			line += r.Error.Code
			if c := r.Error.Conflict; c != nil {
				line += " of " + c.Path + " " + c.Version
			}
		}
		told = append(told, line)
	}
	return strings.Join(told, "\n")
}

const brokenFile = "---\nname: [\n---\nx\n"

// TestSeveralSkillsOfAnArchive: each is installed by itself, whatever comes of the others, and is in the audit log.
func TestSeveralSkillsOfAnArchive(t *testing.T) {
	t.Parallel()
	s := startSidecar(t, newWorkspace(t), "--platform-url", "off", "--state-dir", t.TempDir())
	archive := packed(map[string]string{
		"pack/a/SKILL.md": skillFile("a", "1"), "pack/b/SKILL.md": brokenFile, "pack/c/SKILL.md": skillFile("c", "1"),
		"pack/README.md": "x", "empty/x": "x", "again/SKILL.md": strings.ReplaceAll(skillFile("again", "1"), "name:", "slug: a\nname:"),
	})
	const results = `again a installed
empty  archive.no_skill
pack/a a install.duplicate
pack/b  install.invalid
pack/c c installed`
	dry := strings.ReplaceAll(results, " installed", " would be installed")
	for _, step := range []struct{ target, want string }{
		{"/v1/skills?several=1&dry_run=1", dry},
		{"/v1/skills?several=1&dry_run=1", dry},
		{"/v1/skills?several=1", results},
		{"/v1/skills?several=1", strings.ReplaceAll(results, " installed", " already_installed")},
	} {
		status, text := sendFiles(t, s, step.target, "application/octet-stream", archive)
		if got := toldOf(t, text); status != http.StatusOK || got != step.want {
			t.Fatalf("%s: %d\n%s\nwant\n%s", step.target, status, got, step.want)
		}
	}
	var log pannier.AuditList
	_, text := sendFiles(t, s, "/v1/skills?several=1", "application/gzip", packed(map[string]string{"a/SKILL.md": skillFile("a", "2")}))
	if got := toldOf(t, text); got != "a a install.exists of skills/a 1" {
		t.Error(got)
	}
	getJSON(t, s, "/v1/audit", &log)
	intents, outcomes := 0, 0
	for _, e := range log.Entries {
		if e.Action == pannier.ActionInstall && e.Phase == pannier.AuditIntent {
			intents++
		} else if e.Action == pannier.ActionInstall {
			outcomes++
		}
	}
	if intents != 11 || outcomes != 11 { // a dry run has none
		t.Errorf("%d intents, %d outcomes", intents, outcomes)
	}
}

func getJSON(t *testing.T, s *sidecarUnderTest, path string, into any) {
	t.Helper()
	res := must(s.HTTP.Get("http://pannier" + path))(t)
	defer res.Body.Close()
	need(t, json.NewDecoder(res.Body).Decode(into))
}

// TestFilesOfABrowser: files with relative paths are a skill, or several, and follow the rules of archives.
func TestFilesOfABrowser(t *testing.T) {
	t.Parallel()
	s := startSidecar(t, newWorkspace(t), "--platform-url", "off", "--state-dir", t.TempDir())
	media, body := parts(t, "one/SKILL.md", skillFile("one", "1"), "one/scripts/x y.txt", "x")
	status, text := sendFiles(t, s, "/v1/skills", media, body)
	var installed pannier.InstallResult
	if err := json.Unmarshal(text, &installed); err != nil || status != http.StatusOK || installed.Files != 2 || installed.Skill.Slug != "one" {
		t.Fatalf("%d %s, %v", status, text, err)
	}
	media, body = parts(t, "one/SKILL.md", skillFile("one", "1"), "one/scripts/x y.txt", "x", "two/SKILL.md", skillFile("two", "1"), "two/.git/config", "x")
	if _, text := sendFiles(t, s, "/v1/skills?several=1", media, body); toldOf(t, text) != "one one already_installed\ntwo  archive.reserved" {
		t.Errorf("%s", text)
	}
	good := []string{"m/SKILL.md", skillFile("m", "1"), "m/a.txt", "x"}
	before := treeOf(t, s.workspace)
	for name, code := range map[string]string{
		"../x": "archive.traversal", "m/../../x": "archive.traversal", "/etc/x": "archive.absolute_path", "m/a.txt": "archive.duplicate",
		"m/A.TXT": "archive.collision", "m/a.txt/b": "archive.conflict", "n/x": "archive.top_level", "m/.pannier/x": "archive.reserved",
		"m/": "invalid_body", "": "invalid_body", "m/\u202e": "archive.name_control", "m/" + strings.Repeat("d/", 40): "invalid_body",
		"m/" + strings.Repeat("d/", 40) + "x": "archive.depth", "m/" + strings.Repeat("n", 300): "archive.path_length",
	} {
		media, body := parts(t, append(good, name, "x")...)
		if status, text := sendFiles(t, s, "/v1/skills", media, body); status < 400 || status >= 500 || !bytes.Contains(text, []byte(`"code":"`+code+`"`)) {
			t.Errorf("%q: %d %s, want %s", name, status, text, code)
		}
	}
	media, body = parts(t, good...)
	many := strings.Repeat("--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"m/x\"\r\n\r\n\r\n", 20000) + "--b--\r\n"
	for name, tt := range map[string]struct{ media, body, code string }{
		"no boundary":       {"multipart/form-data", string(body), "invalid_body"},
		"cut off":           {media, string(body[:len(body)-10]), "invalid_body"},
		"another boundary":  {"multipart/form-data; boundary=zzz", string(body), "archive.empty"},
		"nothing":           {media, "", "archive.empty"},
		"many parts":        {"multipart/form-data; boundary=b", many, "archive.entries"},
		"another name":      {media, strings.ReplaceAll(string(body), `name="file"`, `name="other"`), "invalid_body"},
		"control character": {media, strings.ReplaceAll(string(body), "a.txt", "a\x01.txt"), "invalid_body"},
		"two names":         {media, strings.ReplaceAll(string(body), `filename="m/a.txt"`, `filename="m/a.txt"; filename="m/b.txt"`), "invalid_body"},
	} {
		if status, text := sendFiles(t, s, "/v1/skills?several=1", tt.media, []byte(tt.body)); status < 400 || status >= 500 || !bytes.Contains(text, []byte(`"code":"`+tt.code+`"`)) {
			t.Errorf("%s: %d %.300s, want %s", name, status, text, tt.code)
		}
	}
	if after := treeOf(t, s.workspace); after != before {
		t.Errorf("the workspace is\n%s\nand was\n%s", after, before)
	}
}

// TestOneUploadServesAllSteps: a dry run, an installation in which one skill is refused, and a retry that replaces it.
func TestOneUploadServesAllSteps(t *testing.T) {
	t.Parallel()
	s := startSidecar(t, workspaceWith(t, skillScript("own", "Is not ours.")), "--platform-url", "off", "--state-dir", t.TempDir())
	p := dialPeer(t, s.socket)
	defer p.close()
	id, err := p.upload(packed(map[string]string{"a/SKILL.md": skillFile("a", "1"), "own/SKILL.md": skillFile("own", "1"), "z/SKILL.md": skillFile("z", "1")}))
	need(t, err)
	var list pannier.FolderList
	install := func(params map[string]any) (string, error) {
		params["source"], params["several"] = uploaded(id), true
		list = pannier.FolderList{}
		if err := p.call("skills/install", params, &list); err != nil {
			return "", err
		}
		text, err := json.Marshal(list)
		return toldOf(t, text), err
	}
	for _, step := range []struct {
		params map[string]any
		want   string
	}{
		{map[string]any{"dry_run": true}, "a a would be installed\nown own install.exists of skills/own \nz z would be installed"},
		{map[string]any{"items": []any{map[string]any{"path": "z", "skip": true}}}, "a a installed\nown own install.exists of skills/own "},
		{map[string]any{"items": []any{map[string]any{"path": "own", "replace": map[string]any{"expected_fingerprint": wrongFingerprint}}}}, "a a already_installed\nown own install.fingerprint of skills/own \nz z installed"},
	} {
		if got, err := install(step.params); err != nil || got != step.want {
			t.Fatalf("%v: %v\n%s\nwant\n%s", step.params, err, got, step.want)
		}
	}
	conflict := list.Results[1].Error.Conflict
	if got, err := install(map[string]any{"items": []any{map[string]any{"path": "none"}}}); err == nil || !strings.Contains(err.Error(), "no skill at") {
		t.Errorf("%s, %v", got, err)
	}
	got, err := install(map[string]any{"items": []any{map[string]any{"path": "own", "replace": map[string]any{"expected_fingerprint": conflict.Fingerprint.String()}}}})
	if want := "a a already_installed\nown own updated\nz z already_installed"; err != nil || got != want {
		t.Errorf("%v\n%s", err, got)
	}
	if got, err := install(map[string]any{}); err == nil {
		t.Errorf("the upload is still there: %s", got)
	}
}
