package api_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pannier"
	"pannier/publish/api"
)

// TestOpenAPIDocument has ids that are unique, parameters for all that is in a path, tags that are described, and schemas that can
// be compiled.
func TestOpenAPIDocument(t *testing.T) {
	h := newWhole().handler()
	s := readSpecification(t, h)
	document := decodeLoosely[struct {
		Components struct {
			Schemas         map[string]json.RawMessage
			Responses       map[string]json.RawMessage
			SecuritySchemes map[string]json.RawMessage
		}
		Security []map[string][]string
		Tags     []struct{ Name, Description string }
	}](t, ask(h, "GET", "/openapi.json", "").Body.Bytes())
	described := map[string]bool{}
	for _, tag := range document.Tags {
		described[tag.Name] = tag.Description != ""
	}
	ids := map[string]string{}
	for path, item := range s.paths {
		for method, text := range item {
			operation := decodeLoosely[struct {
				ID         string `json:"operationId"`
				Summary    string `json:"summary"`
				Tags       []string
				Parameters []struct {
					Name, In, Description string
					Required              bool
				} `json:"parameters"`
			}](t, text)
			if other, taken := ids[operation.ID]; taken || operation.ID == "" || operation.Summary == "" {
				t.Errorf("%s %s: id %q (also of %q), summary %q", method, path, operation.ID, other, operation.Summary)
			}
			ids[operation.ID] = path
			if len(operation.Tags) != 1 || !described[operation.Tags[0]] {
				t.Errorf("%s %s: tags %q", method, path, operation.Tags)
			}
			inPath := 0
			for _, p := range operation.Parameters {
				if p.In == "path" && p.Required && strings.Contains(path, "{"+p.Name+"}") {
					inPath++
				}
				if p.Description == "" {
					t.Errorf("%s %s: nothing is told of %s", method, path, p.Name)
				}
			}
			if inPath != strings.Count(path, "{") {
				t.Errorf("%s %s: %d parameters in the path are told", method, path, inPath)
			}
		}
	}
	for _, either := range document.Security {
		for name := range either {
			if document.Components.SecuritySchemes[name] == nil {
				t.Errorf("no security scheme %q", name)
			}
		}
	}
	for name := range document.Components.Schemas {
		if _, err := s.compiler.Compile(specURL + "#/components/schemas/" + name); err != nil {
			t.Error(err)
		}
		if document.Components.Responses[name] != nil {
			t.Errorf("%s is both a schema and a response, which generators of Go make one type of", name)
		}
		if strings.ToUpper(name[:1]) != name[:1] {
			t.Errorf("schema %q does not begin with a capital letter", name)
		}
	}
	if len(document.Components.Schemas) < 40 || len(document.Security) != 2 {
		t.Errorf("%d schemas, security %v", len(document.Components.Schemas), document.Security)
	}
}

// TestOpenAPITypesAreSimple: generators of code know a list of types only where the other one is null.
func TestOpenAPITypesAreSimple(t *testing.T) {
	var walk func(place string, value any)
	walk = func(place string, value any) {
		switch value := value.(type) {
		case []any:
			for i, v := range value {
				walk(place+"/"+strconv.Itoa(i), v)
			}
		case map[string]any:
			if kinds, ok := value["type"].([]any); ok && (len(kinds) != 2 || !slices.Contains(kinds, any("null"))) {
				t.Errorf("%s: type %v", place, kinds)
			}
			for key, v := range value {
				walk(place+"/"+key, v)
			}
		}
	}
	walk("", decodeLoosely[any](t, ask(newWhole().handler(), "GET", "/openapi.json", "").Body.Bytes()))
}

// TestOpenAPIFieldSchemas are of fields that there are.
func TestOpenAPIFieldSchemas(t *testing.T) {
	schemas := decodeLoosely[struct {
		Components struct {
			Schemas map[string]struct{ Properties map[string]any }
		}
	}](t, ask(newWhole().handler(), "GET", "/openapi.json", "").Body.Bytes()).Components.Schemas
	for _, field := range api.FieldSchemas() {
		name, property, _ := strings.Cut(field, ".")
		name = strings.ToUpper(name[:1]) + name[1:]
		if schemas[name].Properties[property] == nil {
			t.Errorf("there is no field %s", field)
		}
	}
}

// TestTagsOfModules: a route of a module is in the group that it names, and a list without groups is empty, not null.
func TestTagsOfModules(t *testing.T) {
	h := newHouse()
	serve := func(*api.Handler, http.ResponseWriter, *http.Request, *pannier.Snapshot) error { return nil }
	h.options.Routes = []api.Route{
		{Pattern: "GET /v1/toy", ID: "toy", Summary: "A toy.", Tag: "toys", Serve: serve},
		{Pattern: "GET /v1/untagged", ID: "untagged", Summary: "Another toy.", Serve: serve},
		{Pattern: "GET /v1/skills-of-toys", ID: "toySkills", Summary: "Skills of toys.", Tag: "toys", Serve: serve},
	}
	document := decodeLoosely[struct {
		Paths map[string]struct {
			Get struct{ Tags json.RawMessage }
		}
	}](t, ask(h.handler(), "GET", "/openapi.json", "").Body.Bytes())
	for path, want := range map[string]string{
		"/v1/toy": `["toys"]`, "/v1/untagged": `[]`, "/v1/skills-of-toys": `["toys"]`, "/v1/skills": `["skills"]`,
	} {
		if got := string(document.Paths[path].Get.Tags); strings.Join(strings.Fields(got), "") != want {
			t.Errorf("%s: tags %s, want %s", path, got, want)
		}
	}
}
