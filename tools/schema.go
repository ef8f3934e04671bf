package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"pannier"
)

// The bounds of a JSON Schema that a skill declares, and of the arguments. A schema comes from a stranger, so what it makes the
// validator do is counted: references can double the work at each step.
const (
	maxSchemaBytes    = 64 << 10
	maxSchemaDepth    = 64
	maxArgumentBytes  = 1 << 20
	maxArgumentDepth  = 64
	maxValidationCost = 2_000_000
	maxToldFaults     = 5
)

// The keywords that hold schemas: a map of them, a list of them, or one. Everything else in a schema is a value.
var (
	schemaMaps  = []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}
	schemaLists = []string{"allOf", "anyOf", "oneOf", "prefixItems"}
	schemaOnes  = []string{
		"items", "additionalItems", "additionalProperties", "contains", "propertyNames", "not", "if", "then", "else", "unevaluatedItems",
		"unevaluatedProperties", "contentSchema",
	}
)

// schemas keeps compiled schemas by their text.
type schemas struct {
	mu   sync.Mutex
	kept map[string]*schema
}

// maxKeptSchemas bounds the kept schemas. When it is reached, all are compiled again as they are needed.
const maxKeptSchemas = 1024

func (s *schemas) of(tool *pannier.RuntimeTool) (*schema, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if kept, ok := s.kept[string(tool.Parameters)]; ok {
		return kept, kept.fault
	}
	made := compile(tool.Parameters)
	if s.kept == nil || len(s.kept) >= maxKeptSchemas {
		s.kept = map[string]*schema{}
	}
	s.kept[string(tool.Parameters)] = made
	return made, made.fault
}

// schema validates arguments. It is for any number of callers, one after the other.
type schema struct {
	fault error
	mu    sync.Mutex
	cost  int64 // of the validation that goes on
	with  *jsonschema.Schema
}

func compile(text json.RawMessage) *schema {
	s := &schema{}
	if err := s.compile(text); err != nil {
		s.fault = refuse(pannier.ToolArgumentsInvalid, "the parameters of the tool cannot be used as a JSON Schema: "+pannier.Truncate(strings.ReplaceAll(err.Error(), "\n", " "), 500), "ask the author of the skill to fix them")
	}
	return s
}

func (s *schema) compile(text json.RawMessage) error {
	if len(text) > maxSchemaBytes {
		return fmt.Errorf("they have more than %d bytes", maxSchemaBytes)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	top, ok := doc.(map[string]any)
	if !ok {
		return errors.New("they are not an object")
	}
	delete(top, "$id")
	delete(top, "$schema") // all are read as draft 2020-12
	if err := weigh(top, 0); err != nil {
		return err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	c.RegisterVocabulary(&jsonschema.Vocabulary{URL: "https://pannier.invalid/cost", Compile: func(_ *jsonschema.CompilerContext, obj map[string]any) (jsonschema.SchemaExt, error) {
		if weight, ok := obj[costKeyword].(json.Number); ok {
			n, err := weight.Int64()
			return counted{s, n}, err
		}
		return nil, nil
	}})
	c.AssertVocabs()
	const place = "https://pannier.invalid/parameters"
	if err := c.AddResource(place, top); err != nil {
		return err
	}
	s.with, err = c.Compile(place)
	return err
}

// noLoader refuses schemas that lie elsewhere.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("%.100q is another document; only $defs of the schema itself can be referred to", url)
}

// costKeyword is added to each schema with what it costs to apply it once.
const costKeyword = "pannier:cost"

// counted counts what a validation costs.
type counted struct {
	of     *schema
	weight int64
}

// errTooCostly ends a validation.
var errTooCostly = errors.New("validation costs too much")

// Validate implements [jsonschema.SchemaExt].
func (c counted) Validate(_ *jsonschema.ValidatorContext, value any) {
	size := int64(1)
	switch v := value.(type) {
	case string:
		size += int64(len(v)) / 16
	case []any:
		size += int64(len(v))
	case map[string]any:
		size += int64(len(v))
	}
	if c.of.cost += c.weight * size; c.of.cost > maxValidationCost {
		panic(errTooCostly)
	}
}

// weigh adds costs to a schema and to those in it, and refuses what could hide one from being counted.
func weigh(s map[string]any, depth int) error {
	if depth > maxSchemaDepth {
		return fmt.Errorf("they are deeper than %d", maxSchemaDepth)
	}
	weight := len(s)
	for key, value := range s {
		switch key {
		case "$ref":
			if ref, _ := value.(string); !isOwnDefinition(ref) {
				return fmt.Errorf("$ref %.100q does not name one of $defs", ref)
			}
		case "$id", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor", "id", "$schema", "$vocabulary", costKeyword:
			if _, isText := value.(string); isText || key[0] == '$' || key == costKeyword {
				return fmt.Errorf("%s is not supported", key)
			}
		case "pattern", "enum", "required", "const":
			weight += len(compact(value)) / 16
		case "patternProperties":
			for pattern := range asMap(value) {
				weight += 1 + len(pattern)/16
			}
		}
		if err := weighIn(key, value, depth+1); err != nil {
			return err
		}
	}
	moveValues(s)
	s[costKeyword] = json.Number(fmt.Sprint(1 + weight))
	return nil
}

// moveValues moves enum and const into a schema of their own. The validator ends with them where they do not match, before it counts
// the cost of the schema that they stand in.
func moveValues(s map[string]any) {
	all, isList := s["allOf"].([]any)
	if s["allOf"] != nil && !isList {
		return // the schema is invalid
	}
	for _, key := range []string{"enum", "const"} {
		if value, ok := s[key]; ok {
			delete(s, key)
			s["allOf"] = append(all, map[string]any{key: value})
			all = s["allOf"].([]any)
		}
	}
}

// weighIn weighs the schemas of a keyword.
func weighIn(key string, value any, depth int) error {
	var inside []any
	list, isList := value.([]any)
	switch {
	case slices.Contains(schemaMaps, key) || key == "dependencies":
		for _, one := range asMap(value) {
			inside = append(inside, one)
		}
	case slices.Contains(schemaLists, key), key == "items" && isList:
		inside = list
	case slices.Contains(schemaOnes, key):
		inside = []any{value}
	}
	for _, one := range inside {
		if sub, ok := one.(map[string]any); ok {
			if err := weigh(sub, depth); err != nil {
				return err
			}
		}
	}
	return nil
}

func asMap(value any) map[string]any {
	m, _ := value.(map[string]any)
	return m
}

// isOwnDefinition reports whether a reference names the schema itself or one of its definitions.
func isOwnDefinition(ref string) bool {
	if ref == "#" {
		return true
	}
	for _, place := range []string{"#/$defs/", "#/definitions/"} {
		if name, ok := strings.CutPrefix(ref, place); ok && name != "" && !strings.ContainsAny(name, "/%") {
			return true
		}
	}
	return false
}

// validate returns the arguments in one form, so that no reader sees others than were validated.
func (s *schema) validate(text json.RawMessage) (json.RawMessage, error) {
	if len(bytes.TrimSpace(text)) == 0 || string(bytes.TrimSpace(text)) == "null" {
		text = json.RawMessage("{}")
	}
	if len(text) > maxArgumentBytes {
		return nil, refuse(pannier.ToolArgumentsInvalid, fmt.Sprintf("the arguments have more than %d bytes", maxArgumentBytes), "send less; put files into the project directory")
	}
	if depthOf(text) > maxArgumentDepth {
		return nil, refuse(pannier.ToolArgumentsInvalid, fmt.Sprintf("the arguments are deeper than %d", maxArgumentDepth), "send less deep ones")
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, refuse(pannier.ToolArgumentsInvalid, "the arguments are not JSON: "+err.Error(), "send a JSON object")
	}
	if _, ok := value.(map[string]any); !ok {
		return nil, refuse(pannier.ToolArgumentsInvalid, "the arguments are not a JSON object", "send an object, such as {}")
	}
	if err := s.apply(value); err != nil {
		return nil, err
	}
	return compact(value), nil
}

func (s *schema) apply(value any) (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cost = 0
	defer func() {
		if cause := recover(); cause == any(errTooCostly) {
			err = refuse(pannier.ToolArgumentsInvalid, "the arguments cannot be validated within the bounds", "send less, or ask the author of the skill for simpler parameters")
		} else if cause != nil {
			panic(cause)
		}
	}()
	failed := s.with.Validate(value)
	if failed == nil {
		return nil
	}
	invalid, ok := errors.AsType[*jsonschema.ValidationError](failed)
	if !ok {
		return refuse(pannier.ToolArgumentsInvalid, failed.Error(), "send arguments that match the parameters of the tool")
	}
	return refuse(pannier.ToolArgumentsInvalid, "the arguments do not match the parameters of the tool: "+strings.Join(faultsOf(invalid, nil), "; "), "run `pannier tool list --json` to see the parameters")
}

var english = message.NewPrinter(language.English)

// faultsOf returns the first faults, each with its place.
func faultsOf(e *jsonschema.ValidationError, told []string) []string {
	if len(e.Causes) == 0 && len(told) < maxToldFaults {
		return append(told, pannier.Truncate(fmt.Sprintf("/%s: %s", strings.Join(e.InstanceLocation, "/"), e.ErrorKind.LocalizedString(english)), 300))
	}
	for _, cause := range e.Causes {
		told = faultsOf(cause, told)
	}
	return told
}

// depthOf returns how deep lists and objects of a JSON text are in one another.
func depthOf(text []byte) (deepest int) {
	depth, inText := 0, false
	for i := 0; i < len(text); i++ {
		switch b := text[i]; {
		case inText && b == '\\':
			i++
		case b == '"':
			inText = !inText
		case inText:
		case b == '{' || b == '[':
			depth++
			deepest = max(deepest, depth)
		case b == '}' || b == ']':
			depth--
		}
	}
	return deepest
}
