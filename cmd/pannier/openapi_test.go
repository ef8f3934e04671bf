package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"pannier"
	"pannier/publish/client"
)

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
	if err != nil {
		t.Fatal(err)
	}
	return events
}
