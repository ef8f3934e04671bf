package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"pannier"
	"pannier/publish/client"
)

// commandBlock is a block of commands in a document.
type commandBlock struct {
	line int
	mark string // the HTML comment on the line before it, if any
	text string
}

var (
	fencedBlock = regexp.MustCompile("(?ms)^(?:<!-- ([^\n]*) -->\n)?```([a-z]*)\n(.*?)^```$")
	// commandStart is how the text of a block begins that is of commands but does not say so.
	commandStart = regexp.MustCompile(`(?m)^(\$ )?(pannier|go|curl|docker|kubectl|systemctl|export|make) `)
	notRun       = regexp.MustCompile(`^(not run by a test: .+|tested by (Test\w+): .+)$`)
)

// commandBlocks returns the blocks of commands of a document.
func commandBlocks(t *testing.T, path string) (blocks []commandBlock) {
	t.Helper()
	text := must(os.ReadFile(path))(t)
	for _, m := range fencedBlock.FindAllSubmatchIndex(text, -1) {
		part := func(i int) string {
			if m[2*i] < 0 {
				return ""
			}
			return string(text[m[2*i]:m[2*i+1]])
		}
		b := commandBlock{line: 1 + strings.Count(string(text[:m[0]]), "\n"), mark: part(1), text: part(3)}
		switch language := part(2); {
		case slices.Contains([]string{"sh", "bash", "shell", "console"}, language):
			blocks = append(blocks, b)
		case language == "" && commandStart.MatchString(b.text):
			t.Errorf("%s:%d: a block of commands does not say so: begin it with ```sh", path, b.line)
		}
	}
	return blocks
}

// TestCommandBlocks runs the commands of README.md and docs as a reader does who pastes them, page by page, at the top of a clone
// and beside the sidecar of README.md. A block that cannot run says why in an HTML comment on the line before it.
func TestCommandBlocks(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("%d pages: %v", len(pages), err)
	}
	ran := 0
	for _, page := range append([]string{"../../README.md"}, pages...) {
		var script strings.Builder
		for _, b := range commandBlocks(t, page) {
			m := notRun.FindStringSubmatch(b.mark)
			switch {
			case m == nil:
				script.WriteString(b.text)
				ran++
			case m[2] != "" && !strings.Contains(testsOfThisPackage(t), "func "+m[2]+"("):
				t.Errorf("%s:%d: there is no %s", page, b.line, m[2])
			}
		}
		if script.Len() == 0 {
			continue
		}
		t.Run(filepath.Base(page), func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath("curl"); err != nil && strings.Contains(script.String(), "curl ") {
				t.Skip(err)
			}
			runBlocks(t, filepath.Base(page), script.String())
		})
	}
	if ran < 4 {
		t.Errorf("%d blocks were run: the test does not see them", ran)
	}
}

// runBlocks runs the blocks of one page. README.md shows how to build the program; the other pages expect it on the PATH.
func runBlocks(t *testing.T, page, script string) {
	dir, environ := readmeSidecar(t)
	copyTracked(t, "../..", ".", dir)
	path := os.Getenv("PATH")
	if page != "README.md" {
		path = filepath.Dir(binary) + ":" + path
	}
	cmd := exec.Command("bash", "-euo", "pipefail", "-c", script)
	cmd.Dir = dir
	cmd.Env = append(environ, "PATH="+path, "CGO_ENABLED=0", "GOFLAGS=-trimpath -buildvcs=false")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s\nof\n%s", err, out, script)
	}
	if page == "DEPLOY.md" {
		checkTokenFile(t, cmd, filepath.Join(dir, "ci.token"))
	}
}

// checkTokenFile checks that only its owner can read the token that the commands of DEPLOY.md make, and that they leave the token of
// before as it was where they fail.
func checkTokenFile(t *testing.T, commands *exec.Cmd, path string) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 || info.Size() == 0 {
		t.Fatalf("the token: %v, %v", info, err)
	}
	before := must(os.ReadFile(path))(t)
	again := exec.Command(commands.Path, commands.Args[1:]...) // the name is taken
	again.Dir, again.Env = commands.Dir, commands.Env
	out, failed := again.CombinedOutput()
	after, err := os.ReadFile(path)
	if failed == nil || err != nil || string(after) != string(before) {
		t.Errorf("the commands a second time: %v %s, and the token is %q, not %q: %v", failed, out, after, before, err)
	}
}

// testsOfThisPackage returns the text of the test files here.
func testsOfThisPackage(t *testing.T) string {
	t.Helper()
	files := must(filepath.Glob("*_test.go"))(t)
	var all strings.Builder
	for _, file := range files {
		text := must(os.ReadFile(file))(t)
		all.Write(text)
	}
	return all.String()
}

// TestOpenAPIOfARun holds what a sidecar answers, and what it tells as events, against its own OpenAPI document.
func TestOpenAPIOfARun(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	copyTracked(t, "../..", "examples/workspace/skills", filepath.Join(w, "skills", "more"))
	writeIn(t, w, skillScript("asked", "Is asked for.")+"mkdir -p skills/asked/scripts skills/broken; printf 'echo\n' > skills/asked/scripts/x.sh; chmod +x skills/asked/scripts/x.sh; printf -- '---\nname: [\n---\n' > skills/broken/SKILL.md")
	s := startSidecar(t, w, "--platform-url", "off", "--state-dir", t.TempDir())
	document := must(s.OpenAPI(t.Context()))(t)
	compiler := closedSchemas(t, document)
	for _, tt := range []struct{ method, target, body, path string }{
		{"get", "/v1/skills?include=health,policy,problems", "", "/v1/skills"},
		{"get", "/v1/skills/asked", "", "/v1/skills/{slug}"},
		{"get", "/v1/skills/broken", "", "/v1/skills/{slug}"},
		{"get", "/v1/skills/pdf-forms", "", "/v1/skills/{slug}"},
		{"get", "/v1/skills/asked/content?expand=1", "", "/v1/skills/{slug}/content"},
		{"post", "/v1/skills/asked/scan", "", "/v1/skills/{slug}/scan"},
		{"get", "/v1/skills/asked", "", "/v1/skills/{slug}"},
		{"get", "/v1/card", "", "/v1/card"},
		{"get", "/.well-known/agent-card.json", "", "/.well-known/agent-card.json"},
		{"get", "/v1/prompt", "", "/v1/prompt"},
		{"post", "/v1/prompt", `{"text":"$asked"}`, "/v1/prompt"},
		{"post", "/v1/resolve?verbose=1", `{"text":"$asked $broken /skill:none"}`, "/v1/resolve"},
		{"get", "/v1/commands", "", "/v1/commands"},
		{"post", "/v1/commands/asked", `{"args":"now"}`, "/v1/commands/{name}"},
		{"post", "/v1/rescan?wait=1", "", "/v1/rescan"},
		{"put", "/v1/policy/asked", `{"enabled":true,"allow_implicit_invocation":null}`, "/v1/policy/{slug}"},
		{"get", "/v1/policy", "", "/v1/policy"},
		{"get", "/v1/environment", "", "/v1/environment"},
		{"put", "/v1/environment", `{"os":"linux","bins":["git"]}`, "/v1/environment"},
		{"get", "/v1/environment", "", "/v1/environment"},
		{"get", "/v1/audit", "", "/v1/audit"},
		{"get", "/v1/health", "", "/v1/health"},
		{"get", "/openapi.json", "", "/openapi.json"},
	} {
		pointer := "/paths/" + strings.NewReplacer("/", "~1", "{", "%7B", "}", "%7D").Replace(tt.path) + "/" + tt.method + "/responses/200/content/application~1json/schema"
		checkSchema(t, compiler, tt.method+" "+tt.target, pointer, s.answerTo(t, tt.method, tt.target, tt.body))
	}
	if _, _, err := s.File(t.Context(), "asked", "scripts/x.sh"); err != nil {
		t.Error(err)
	}
	for _, e := range s.all(t) {
		text, _ := json.Marshal(e)
		checkSchema(t, compiler, string(e.Type), "/components/schemas/Event", text)
	}
}

// TestRoutesOfARunAreDocumented: every route of a sidecar with all modules stands in docs/API.md.
func TestRoutesOfARunAreDocumented(t *testing.T) {
	t.Parallel()
	s := startSidecar(t, newWorkspace(t), "--platform-url", "off", "--state-dir", t.TempDir(), "--tools-enabled", "--tools-runner=self")
	var document struct {
		Paths map[string]map[string]json.RawMessage
	}
	need(t, json.Unmarshal(must(s.OpenAPI(t.Context()))(t), &document))
	reference := strings.ReplaceAll(string(must(os.ReadFile("../../docs/API.md"))(t)), "...}", "}")
	routes := 0
	for path, methods := range document.Paths {
		for method := range methods {
			routes++
			if route := "`" + strings.ToUpper(method) + " " + path; !strings.Contains(reference, route+"`") && !strings.Contains(reference, route+"?") {
				t.Errorf("docs/API.md has no row %s`", route)
			}
		}
	}
	if routes < 40 {
		t.Errorf("the sidecar says that it has %d routes", routes)
	}
}

// closedSchemas compiles those of a document, so that they take no field that they do not have.
func closedSchemas(t *testing.T, document []byte) *jsonschema.Compiler {
	t.Helper()
	value := must(jsonschema.UnmarshalJSON(bytes.NewReader(document)))(t)
	for _, s := range value.(map[string]any)["components"].(map[string]any)["schemas"].(map[string]any) {
		if schema := s.(map[string]any); schema["properties"] != nil {
			schema["additionalProperties"] = false
		}
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	need(t, compiler.AddResource("http://pannier/openapi.json", value))
	return compiler
}

func checkSchema(t *testing.T, compiler *jsonschema.Compiler, what, pointer string, text []byte) {
	t.Helper()
	schema, err := compiler.Compile("http://pannier/openapi.json#" + pointer)
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err == nil {
		err = schema.Validate(value)
	}
	if err != nil {
		t.Errorf("%s: %v\n%s", what, err, text)
	}
}

// answerTo sends a request as it is and returns the answer, which must be one of success.
func (s *sidecarUnderTest) answerTo(t *testing.T, method, target, body string) []byte {
	t.Helper()
	req := must(http.NewRequestWithContext(t.Context(), strings.ToUpper(method), "http://pannier"+target, strings.NewReader(body)))(t)
	req.Header.Set("Accept", "application/json")
	res := must(s.HTTP.Do(req))(t)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Errorf("%s %s: %d %s (%v)", method, target, res.StatusCode, text, err)
	}
	return text
}

// all returns the events that are kept.
func (s *sidecarUnderTest) all(t *testing.T) (events []pannier.Event) {
	t.Helper()
	err := s.Events(t.Context(), client.EventQuery{}, func(e pannier.Event) error { events = append(events, e); return nil })
	need(t, err)
	return events
}

// TestMetricsDocument compares the table of docs/METRICS.md with the metrics of a running sidecar and their labels.
func TestMetricsDocument(t *testing.T) {
	t.Parallel()
	text := must(os.ReadFile("../../docs/METRICS.md"))(t)
	quoted := regexp.MustCompile("`([a-z_]+)`")
	documented := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		if cells := strings.Split(line, "|"); len(cells) == 5 && strings.HasPrefix(cells[1], " `pannier_") {
			labels := []string{}
			for _, m := range quoted.FindAllStringSubmatch(cells[2], -1) {
				labels = append(labels, m[1])
			}
			documented[strings.Trim(cells[1], " `")] = labels
		}
	}
	served := map[string][]string{}
	for name, labels := range metricsOfARun(t, "--state-dir", t.TempDir()) {
		if name = regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(name, ""); strings.HasPrefix(name, "pannier_") {
			served[name] = []string{}
			for label := range labels {
				if label != "le" {
					served[name] = append(served[name], label)
				}
			}
			slices.Sort(served[name])
		}
	}
	if diff := cmp.Diff(documented, served); diff != "" {
		t.Errorf("-docs/METRICS.md +metrics:\n%s", diff)
	}
}
