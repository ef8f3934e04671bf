package files_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pannier"
	"pannier/publish/molecule/files"
)

const (
	workspace = "6c5f6b0e-3c52-4d0e-9f4e-0f4a3c9a2b11"
	token     = "a-token-that-nobody-reads"
)

// side is a platform in memory: what is in it, and what a test has it do otherwise.
type side struct {
	files  map[string]string
	sent   [][]string // the names of each write, sorted
	stores func(name, text string) (string, string)
	export any
}

func (s *side) client(t *testing.T) *files.Client {
	t.Helper()
	if s.stores == nil {
		s.stores = func(name, text string) (string, string) { return name, text }
	}
	mux := http.NewServeMux()
	base := "/workspaces/" + workspace + "/files"
	mux.HandleFunc("GET "+base, s.list)
	mux.HandleFunc("PUT "+base, s.put)
	mux.HandleFunc("GET "+base+"/{name...}", func(w http.ResponseWriter, r *http.Request) {
		tell(w, map[string]any{"content": strings.TrimSpace(s.files[r.PathValue("name")])})
	})
	mux.HandleFunc("GET /bundles/export/"+workspace, func(w http.ResponseWriter, _ *http.Request) {
		if s.export == nil {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		tell(w, s.export)
	})
	return clientOf(t, mux)
}

func (s *side) list(w http.ResponseWriter, r *http.Request) {
	depth, _ := strconv.Atoi(r.FormValue("depth"))
	entries := []files.Entry{}
	for name, text := range s.files {
		rel, ok := strings.CutPrefix(name, strings.TrimPrefix(r.FormValue("path")+"/", "/"))
		if !ok {
			continue
		}
		parts := strings.Split(rel, "/")
		for n := 1; n < len(parts) && n <= depth; n++ {
			entries = append(entries, files.Entry{Path: strings.Join(parts[:n], "/"), Dir: true})
		}
		if len(parts) <= depth {
			entries = append(entries, files.Entry{Path: rel, Size: int64(len(text))})
		}
	}
	tell(w, entries)
}

func (s *side) put(w http.ResponseWriter, r *http.Request) {
	var body struct{ Files map[string]string }
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	var names []string
	for name, text := range body.Files {
		names = append(names, name)
		at, stored := s.stores(name, text)
		s.files[at] = stored
	}
	slices.Sort(names)
	s.sent = append(s.sent, names)
	tell(w, map[string]any{"source": "container"})
}

func tell(w io.Writer, value any) { _ = json.NewEncoder(w).Encode(value) }

func clientOf(t *testing.T, handler http.Handler) *files.Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	c, err := files.New(files.Options{
		URL: server.URL, WorkspaceID: workspace, Token: func() (string, error) { return token, nil },
		Header: http.Header{"X-Molecule-Org-Id": {"the-tenant"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func code(err error) string {
	if r, ok := errors.AsType[*pannier.Refusal](err); ok {
		return r.Code
	}
	return fmt.Sprint(err)
}

func TestNewRefuses(t *testing.T) {
	for _, o := range []files.Options{
		{URL: "", WorkspaceID: workspace},
		{URL: "ftp://x", WorkspaceID: workspace},
		{URL: "https://u:secret@x", WorkspaceID: workspace},
		{URL: "https://x?secret=1", WorkspaceID: workspace},
		{URL: "https://x", WorkspaceID: "w"},
		{URL: "https://x", WorkspaceID: "../" + workspace},
	} {
		c, err := files.New(o)
		if c != nil || code(err) != "platform.address" || strings.Contains(err.Error(), "secret") {
			t.Errorf("%v: %v", o.URL, err)
		}
	}
}

func TestCheck(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"skills/a/SKILL.md", "text", ""},
		{"skills/a/.hidden", "", ""},
		{"/etc/passwd", "", "files.name"},
		{"a/../b", "", "files.name"},
		{"a..b", "", "files.name"},
		{"a//b", "", "files.name"},
		{"", "", "files.name"},
		{".", "", "files.name"},
		{"a\\b", "", "files.name"},
		{"a\nb", "", "files.name"},
		{"a\xffb", "", "files.name"},
		{"a", "\xff", "files.text"},
		{"a", "\x00", "files.text"},
		{"a", strings.Repeat("x", files.MaxFileBytes), ""},
		{"a", strings.Repeat("x", files.MaxFileBytes+1), "files.size"},
	} {
		err := files.Check([]files.File{{Path: tt.name, Content: tt.text}})
		if got := code(err); err == nil && tt.want != "" || err != nil && got != tt.want {
			t.Errorf("%q: %v", tt.name, err)
		}
	}
	if err := files.Check(slices.Repeat([]files.File{{Path: "a", Content: strings.Repeat("x", 900_000)}}, 20)); code(err) != "files.size" {
		t.Errorf("too much: %v", err)
	}
	if err := files.Check(slices.Repeat([]files.File{{Path: "a"}}, files.MaxFiles+1)); code(err) != "files.size" {
		t.Errorf("too many: %v", err)
	}
}

// One file goes ahead, SKILL.md goes last, and no request has more than the platform takes.
func TestPutInBatches(t *testing.T) {
	s := &side{files: map[string]string{}}
	list := []files.File{{Path: "skills/a/SKILL.md", Content: "s\n"}, {Path: "skills/a/0", Content: ""}, {Path: "skills/a/blank", Content: " \n"}}
	for i := range 250 {
		list = append(list, files.File{Path: fmt.Sprintf("skills/a/f%03d", i), Content: "x"})
	}
	for i := range 6 {
		list = append(list, files.File{Path: fmt.Sprintf("skills/a/g%d", i), Content: strings.Repeat("x", files.MaxFileBytes)})
	}
	got, err := s.client(t).Put(t.Context(), list)
	if err != nil || got.Source != "container" {
		t.Fatal(got.Source, err)
	}
	if len(got.Exact) != 257 || !slices.Equal(got.Trimmed, []string{"skills/a/SKILL.md", "skills/a/blank"}) {
		t.Errorf("%d exact, %q", len(got.Exact), got.Trimmed)
	}
	var sizes []int
	for _, names := range s.sent {
		sizes = append(sizes, len(names))
	}
	if !slices.Equal(sizes, []int{1, 200, 53, 4, 1}) {
		t.Errorf("requests of %v files", sizes)
	}
	if first, last := s.sent[0], s.sent[len(s.sent)-1]; first[0] != "skills/a/f000" || last[0] != "skills/a/SKILL.md" {
		t.Errorf("first %v, last %v", first, last)
	}
	for _, f := range list {
		if s.files[f.Path] != f.Content {
			t.Errorf("%s is %.20q", f.Path, s.files[f.Path])
		}
	}
}

func TestPutLooksAfterwards(t *testing.T) {
	below := func(name, text string) (string, string) { return path.Join("configs", name), text }
	for _, tt := range []struct {
		name, text string
		stores     func(name, text string) (string, string)
		want       string
	}{
		{"gone astray", "text", below, "files.misplaced"},
		{"blank and gone astray", " \n", below, "files.misplaced"},
		{"lost", "text", func(string, string) (string, string) { return "void", "" }, "files.not_stored"},
		{"empty and lost", "", func(string, string) (string, string) { return "void", "" }, "files.not_stored"},
		{"another text", "text", func(name, _ string) (string, string) { return name, "other" }, "files.not_stored"},
		{"cut", "text", func(name, text string) (string, string) { return name, text[:2] }, "files.not_stored"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &side{files: map[string]string{}, stores: tt.stores}
			_, err := s.client(t).Put(t.Context(), []files.File{{Path: "skills/a/a", Content: tt.text}, {Path: "skills/a/b", Content: tt.text}})
			if code(err) != tt.want || len(s.sent) != 1 || len(s.sent[0]) != 1 {
				t.Errorf("%v after %v", err, s.sent)
			}
		})
	}
}

func TestListOfConfig(t *testing.T) {
	for _, tt := range []struct{ name, before, after, fault string }{
		{"plain", "# c\nskills:\n  - a # one\nz: 1\n", "# c\nskills:\n  - a # one\n  - new\nz: 1\n", ""},
		{"at the end", "name: x\nskills: [a]", "name: x\nskills: [a, new]\n", ""},
		{"blank lines at the end", "skills: [a]\n\n\n", "skills: [a, new]\n", ""},
		{"CRLF", "name: x\r\nskills:\r\n- a\r\n", "name: x\r\nskills:\r\n- a\r\n- new\r\n", ""},
		{"there already", "skills: [new]\n", "skills: [new]\n", ""},
		{"another spelling", "skills: [./new/]\n", "skills: [./new/]\n", ""},
		{"no list", "name: x\n", "name: x\n", ""},
		{"no file", "", "", ""},
		{"a text", "skills: new\n", "skills: new\n", "files.config"},
		{"no YAML", "skills: [\n", "skills: [\n", "files.config"},
		{"no text", "skills: [a]\nname: \uFFFD\n", "skills: [a]\nname: \uFFFD\n", "files.config"},
		{"too long", "skills: [a]\n#" + strings.Repeat("x", 1<<20), "", "files.config"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &side{files: map[string]string{"config.yaml": tt.before}}
			c := s.client(t)
			changed, err := c.Enlist(t.Context(), "new")
			if tt.fault != "" && code(err) != tt.fault || tt.fault == "" && err != nil {
				t.Fatal(err)
			}
			if changed != (len(s.sent) > 0) || strings.Count(fmt.Sprint(err), "left as it is") > 1 {
				t.Errorf("changed: %v, sent: %v, %v", changed, s.sent, err)
			}
			if tt.after != "" && s.files["config.yaml"] != tt.after {
				t.Errorf("it is\n%q", s.files["config.yaml"])
			}
		})
	}
}

func TestDelist(t *testing.T) {
	s := &side{files: map[string]string{"config.yaml": "skills:\n  - new\n  - a # stays\n  - name: new\n"}}
	c := s.client(t)
	if changed, err := c.Delist(t.Context(), "new"); !changed || err != nil || s.files["config.yaml"] != "skills:\n  - a # stays\n" {
		t.Errorf("%v %v %q", changed, err, s.files["config.yaml"])
	}
	if changed, err := c.Delist(t.Context(), "new"); changed || err != nil {
		t.Errorf("again: %v %v", changed, err)
	}
}

// What an export has is believed only of this workspace, and where its SKILL.md is that of the workspace.
func TestFetch(t *testing.T) {
	skill := func(id, text string) any {
		return map[string]any{"id": id, "skills": []any{map[string]any{"name": "a", "files": map[string]string{"SKILL.md": text, "x": "exported"}}}}
	}
	for _, tt := range []struct {
		name   string
		export any
		want   string
	}{
		{"none", nil, "own"},
		{"of this workspace", skill(workspace, "s"), "exported"},
		{"of another one", skill("00000000-0000-0000-0000-000000000000", "s"), "own"},
		{"of a template", skill(workspace, "another"), "own"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &side{files: map[string]string{"skills/a/SKILL.md": "s\n", "skills/a/x": "own", "skills/a/1/2/3/4/5/6/7/8/9/10/11": "deep\n\n"}, export: tt.export}
			got, err := s.client(t).Fetch(t.Context(), "a")
			if err != nil {
				t.Fatal(err)
			}
			var x string
			for _, f := range got.Files {
				if f.Path == "x" {
					x = strings.TrimSpace(f.Content)
				}
			}
			if x != tt.want || len(got.Files) != 3 || !slices.Equal(got.Restored, []string{"SKILL.md"}) || !slices.Contains(got.Trimmed, "1/2/3/4/5/6/7/8/9/10/11") {
				t.Errorf("%+v", got)
			}
		})
	}
	if _, err := (&side{}).client(t).Fetch(t.Context(), "a"); code(err) != "files.not_found" {
		t.Error(err)
	}
}
