package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The bounds of a schema.
const (
	maxSchemaBytes = 64 << 10
	maxSchemaDepth = 64
	// maxApplied bounds how many schemas are applied to one value. References can double it at each step.
	maxApplied = 4096
	// maxNumberBytes and maxExponent bound a number, which the validator computes exactly.
	maxNumberBytes = 400
	maxExponent    = 400
)

// The keywords that hold schemas: a map of them, a list of them, or one. Everything else in a schema is a value.
var (
	schemaMaps  = []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"}
	schemaLists = []string{"allOf", "anyOf", "oneOf", "prefixItems"}
	schemaOnes  = []string{
		"items", "additionalItems", "additionalProperties", "contains", "propertyNames", "not", "if", "then", "else", "unevaluatedItems",
		"unevaluatedProperties", "contentSchema",
	}
	// sameValue are those whose schemas are applied to the value itself, and not to a part of it.
	sameValue = []string{"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies"}
)

// subschemas calls a function with each schema in a keyword, and puts what it returns in its place.
func subschemas(key string, value any, each func(map[string]any) map[string]any) {
	switch value := value.(type) {
	case map[string]any:
		if slices.Contains(schemaMaps, key) {
			for name, one := range value {
				if sub, ok := one.(map[string]any); ok {
					value[name] = each(sub)
				}
			}
		}
	case []any:
		if slices.Contains(schemaLists, key) || key == "items" {
			for i, one := range value {
				if sub, ok := one.(map[string]any); ok {
					value[i] = each(sub)
				}
			}
		}
	}
}

// planner finds what of a schema is refused before it is used.
type planner struct {
	top     map[string]any
	applied map[string]int // by reference; 0 while it is counted
}

// check refuses a schema that is too deep, that refers to something else than definitions of its own, or that is applied to one value
// too often.
func (p *planner) check(s map[string]any, depth int) error {
	if depth > maxSchemaDepth {
		return fmt.Errorf("they are deeper than %d", maxSchemaDepth)
	}
	for key, value := range s {
		switch key {
		case "$ref":
			if ref, _ := value.(string); !isOwnDefinition(ref) {
				return fmt.Errorf("$ref %.100q does not name one of $defs", ref)
			}
		case "$id", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor", "id", "$schema", "$vocabulary", costKeyword, uniqueKeyword:
			if _, isText := value.(string); isText || key[0] == '$' || key == costKeyword || key == uniqueKeyword {
				return fmt.Errorf("%s is not supported", key)
			}
		}
		var failed error
		each := func(sub map[string]any) map[string]any {
			if failed == nil {
				failed = p.check(sub, depth+1)
			}
			return sub
		}
		if one, ok := value.(map[string]any); ok && slices.Contains(schemaOnes, key) {
			each(one)
		} else {
			subschemas(key, value, each)
		}
		if failed != nil {
			return failed
		}
	}
	_, err := p.count(s)
	return err
}

// count returns how many schemas one is applied as to a value.
func (p *planner) count(s map[string]any) (n int, err error) {
	n = 1
	add := func(sub map[string]any) map[string]any {
		if err == nil {
			var more int
			more, err = p.count(sub)
			n += more
		}
		return sub
	}
	for key, value := range s {
		if ref, ok := value.(string); ok && key == "$ref" {
			more, failed := p.countRef(ref)
			if failed != nil {
				return 0, failed
			}
			n += more
		} else if slices.Contains(sameValue, key) {
			if one, ok := value.(map[string]any); ok && slices.Contains(schemaOnes, key) {
				add(one)
			} else {
				subschemas(key, value, add)
			}
		}
		if err == nil && n > maxApplied {
			err = fmt.Errorf("they apply more than %d schemas to one value", maxApplied)
		}
		if err != nil {
			return 0, err
		}
	}
	return n, nil
}

func (p *planner) countRef(ref string) (int, error) {
	if n, ok := p.applied[ref]; ok {
		if n == 0 {
			return 0, fmt.Errorf("$ref %.100q leads to itself", ref)
		}
		return n, nil
	}
	target := p.top
	if ref != "#" {
		place, name, _ := strings.Cut(strings.TrimPrefix(ref, "#/"), "/")
		definitions, _ := p.top[place].(map[string]any)
		target, _ = definitions[strings.NewReplacer("~1", "/", "~0", "~").Replace(name)].(map[string]any)
	}
	p.applied[ref] = 0
	n, err := p.count(target)
	p.applied[ref] = n
	return n, err
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

// costKeyword and uniqueKeyword are added with what it costs to apply a schema once, and whether it compares all items of a list.
const (
	costKeyword   = "pannier:cost"
	uniqueKeyword = "pannier:unique"
)

// wrap puts each schema behind one that counts its cost first: the validator leaves a schema at the first thing that does not match,
// and would not count it then. Definitions stay where references look for them.
func wrap(s map[string]any) map[string]any {
	weight, outside := len(s), map[string]any{}
	for key, value := range s {
		if one, ok := value.(map[string]any); ok && slices.Contains(schemaOnes, key) {
			s[key] = wrap(one)
			continue
		}
		subschemas(key, value, wrap)
		switch key {
		case "$defs", "definitions":
			outside[key] = value
		case "enum", "required", "const", "dependentRequired":
			text, _ := json.Marshal(value) // it was read from JSON
			weight += len(text) / 8
		}
	}
	for key := range outside {
		delete(s, key)
	}
	counter := map[string]any{costKeyword: json.Number(strconv.Itoa(weight))}
	if unique, _ := s["uniqueItems"].(bool); unique {
		counter[uniqueKeyword] = true
	}
	outside["allOf"] = []any{counter, s}
	return outside
}

// checkNumbers refuses numbers that take the validator long: it computes all of their digits.
func checkNumbers(value any) error {
	switch value := value.(type) {
	case json.Number:
		_, exponent, found := strings.Cut(strings.ToLower(value.String()), "e")
		n, err := strconv.Atoi(exponent)
		if len(value) > maxNumberBytes || found && (err != nil || n > maxExponent || n < -maxExponent) {
			return errors.New("has more than 400 digits")
		}
	case []any:
		for _, one := range value {
			if err := checkNumbers(one); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, one := range value {
			if err := checkNumbers(one); err != nil {
				return err
			}
		}
	}
	return nil
}
