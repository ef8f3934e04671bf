package lint_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"pannier/loader/lint"
)

// TestSARIFSchema holds logs against the schema of OASIS.
func TestSARIFSchema(t *testing.T) {
	const name = "testdata/sarif-schema-2.1.0.json"
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(name, doc); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile(name)
	if err != nil {
		t.Fatal(err)
	}
	o := sarifTree(t)
	full := audit(t, o)
	for _, text := range [][]byte{sarifText(t, full, o.Rules.Workspace, "v1.2.3"), sarifText(t, full, "", ""), sarifText(t, lint.Report{}, "", "")} {
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(value); err != nil {
			t.Errorf("%#v", err)
		}
	}
}
