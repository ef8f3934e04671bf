package api_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
)

// constantsOf returns the texts of the constants of each named type in a directory of the source.
func constantsOf(t *testing.T, dir string) map[string][]string {
	t.Helper()
	files, err := filepath.Glob(dir + "/*.go")
	if err != nil {
		t.Fatal(err)
	}
	constants := map[string][]string{}
	for _, file := range files {
		syntax, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(syntax, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			kind, ok := spec.Type.(*ast.Ident)
			for _, value := range spec.Values {
				if literal, isLiteral := value.(*ast.BasicLit); ok && isLiteral && literal.Kind == token.STRING {
					text, _ := strconv.Unquote(literal.Value)
					constants[kind.Name] = append(constants[kind.Name], text)
				}
			}
			return true
		})
	}
	return constants
}

// TestEnumsHaveEveryConstant compares each enum of the document with the constants of its type.
func TestEnumsHaveEveryConstant(t *testing.T) {
	document := decodeLoosely[struct {
		Components struct {
			Schemas map[string]json.RawMessage
		}
	}](t, ask(newWhole().handler(), "GET", "/openapi.json", "").Body.Bytes())
	compared := 0
	for kind, values := range constantsOf(t, "../..") {
		schema, ok := document.Components.Schemas[kind]
		if !ok {
			continue // is not on the wire
		}
		enum := decodeLoosely[struct{ Enum []string }](t, schema).Enum
		for _, value := range values {
			if !slices.Contains(enum, value) {
				t.Errorf("the enum of %s lacks %q", kind, value)
			}
		}
		compared++
	}
	if compared < 10 {
		t.Errorf("only %d enums were compared", compared)
	}
}
