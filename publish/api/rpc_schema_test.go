package api_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"pannier"
)

// methodSchemas are the published schemas, by method and side: "skills/list.params".
type methodSchemas struct{ compiler *jsonschema.Compiler }

const schemaDir = "../../docs/schemas"

func newMethodSchemas(t *testing.T) methodSchemas {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	files, err := filepath.Glob(schemaDir + "/*.json")
	if err != nil || len(files) < 16 {
		t.Fatalf("%d schemas, %v", len(files), err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.AddResource("https://pannier.example/"+filepath.Base(name), doc); err != nil {
			t.Fatal(err)
		}
	}
	return methodSchemas{c}
}

// check validates a value.
func (s methodSchemas) check(t *testing.T, name string, value any) {
	t.Helper()
	file, part, _ := strings.Cut(name, "#")
	schema, err := s.compiler.Compile("https://pannier.example/" + strings.ReplaceAll(file, "/", "-") + "#" + part)
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(value); err != nil {
		t.Errorf("%s: %v\n%v", name, err, value)
	}
}

// exchange checks parameters and answer of a call.
func (s methodSchemas) exchange(t *testing.T, asked, answered string) {
	t.Helper()
	call, answer := s.read(t, asked), s.read(t, answered)
	method := call["method"].(string)
	if fault, ok := answer["error"]; ok {
		s.check(t, "common.json#/$defs/error", fault)
		return
	}
	s.check(t, method+".params.json", call["params"])
	s.check(t, method+".result.json", answer["result"])
}

func (s methodSchemas) read(t *testing.T, text string) map[string]any {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return value.(map[string]any)
}

// TestSchemas holds every method's answers against what is published.
func TestSchemas(t *testing.T) {
	s := newMethodSchemas(t)
	full := catalog()
	full.Entries[0].Skill.Requirements = pannier.Requirements{Bins: []string{"git"}, AnyBins: []string{"a", "b"}, Env: []string{"E"}, APIKeys: []string{"K"}, MCP: []string{"m"}}
	full.Entries[1].Reasons = append(full.Entries[1].Reasons, pannier.Reason{Code: pannier.ReasonTrustBlocked, Subject: "untrusted", Remedy: "r"}, pannier.Reason{Code: pannier.ReasonSecurityBlocked, Subject: "scan.x", Remedy: "r"})
	c := newCallable(full)
	known := c.content.Contents.(prints)
	known.verdict = func(*pannier.Skill) (pannier.ScanVerdict, bool, error) {
		return pannier.ScanVerdict{Findings: []pannier.Finding{{Rule: "scan.x", Severity: pannier.SeverityError, Path: "a.sh", Message: "m", Hint: "h", Blocking: true}, {Rule: "scan.y", Severity: pannier.SeverityInfo, Message: "m"}}}, true, nil
	}
	c.content.Contents = known
	h := c.handler()
	for _, tt := range []struct{ method, params string }{
		{"skills/list", `{"workspace_id":"ws_000000000000000001","include_health":true,"include_policy":true}`},
		{"skills/list", `{"include_health":false,"include_policy":false}`},
		{"skills/health", `{}`},
		{"skills/health", `{"skills":[{"slug":"acme/alpha","source_kind":"workspace"}],"audit_limit":16}`},
		{"skills/policy/set", `{"skill_slug":"acme/alpha","source_kind":"workspace","enabled":true,"allow_implicit_invocation":null}`},
		{"skills/policy/list", `{}`},
		{"skills/resolve", `{"text":"$alpha /skill:beta x","paths":["a"],"tools":["Read"],"runtime":"codex","capabilities":[{"id":"1","slug":"nope","label":"l"}],"limits":{"max_chars":100},"verbose":true}`},
		{"skills/find", `{"text":"does alpha","limit":3}`},
		{"skills/prompt", `{"format":"available_skills"}`},
		{"skills/read", `{"slug":"alpha","max_chars":3,"offset":1}`},
		{"skills/read", `{"slug":"alpha","include_metadata":false}`},
		{"skills/read", `{"slug":"beta"}`},
	} {
		asked := rpcRequest("1", tt.method, tt.params)
		answered := post(t, h, asked)
		if strings.Contains(answered, `"error":{`) != strings.Contains(tt.params, `"beta"}`) {
			t.Errorf("%s: %s", asked, answered)
		}
		s.exchange(t, asked, answered)
	}
}

// TestSchemasRefuse what the methods refuse, so that they are as strict.
func TestSchemasRefuse(t *testing.T) {
	s := newMethodSchemas(t)
	for name, text := range map[string]string{
		"skills-list.params.json": `{"include_helth":true}`, "skills-health.params.json": `{"audit_limit":0}`, "skills-policy-set.params.json": `{"enabled":true}`,
		"skills-resolve.params.json": `{"capabilities":[{"id":"1"}]}`, "skills-read.params.json": `{"slug":"a","max_chars":0}`, "skills-list.result.json": `{"skills":[]}`,
		"skills-upload-start.params.json": `{"archive_format":"rar","compressed_size_bytes":1,"sha256":"` + strings.Repeat("0", 64) + `"}`, "skills-upload-finish.params.json": `{}`,
	} {
		schema, err := s.compiler.Compile("https://pannier.example/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if schema.Validate(s.read(t, text)) == nil {
			t.Errorf("%s takes %s", name, text)
		}
	}
}

// TestSchemasNameEveryParameter of a turn, which grows.
func TestSchemasNameEveryParameter(t *testing.T) {
	text, err := os.ReadFile(schemaDir + "/skills-resolve.params.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema struct{ Properties map[string]any }
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	turn := reflect.TypeFor[pannier.Turn]()
	for i := range turn.NumField() {
		name, _, _ := strings.Cut(turn.Field(i).Tag.Get("json"), ",")
		if _, ok := schema.Properties[name]; !ok && name != "-" {
			t.Errorf("docs/schemas says nothing of %q", name)
		}
	}
}

// TestTranscript holds the transcript of docs/RPC.md against the schemas.
func TestTranscript(t *testing.T) {
	s := newMethodSchemas(t)
	text, err := os.ReadFile("../../docs/RPC.md")
	if err != nil {
		t.Fatal(err)
	}
	asked, exchanges := "", 0
	for line := range strings.Lines(string(text)) {
		side, frame, _ := strings.Cut(strings.TrimSpace(line), " {")
		switch {
		case side == ">":
			asked = "{" + frame
		case side == "<" && strings.Contains(frame, `"method":`):
			told := s.read(t, "{"+frame)
			s.check(t, told["method"].(string)+".params.json", told["params"])
			exchanges++
		case side == "<":
			s.exchange(t, asked, "{"+frame)
			exchanges++
		}
	}
	if exchanges < 4 {
		t.Errorf("%d answers were found: the test does not see them", exchanges)
	}
}
