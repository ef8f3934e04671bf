package pytool_test

import (
	"bufio"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"pannier/loader/pytool"
)

// pythonFunction is what Python itself says of a function.
type pythonFunction struct {
	Name   string
	Line   int
	Doc    *string
	Kwargs bool
	Params []struct {
		Name     string
		Optional bool
		Default  []any // one value, or none where JSON has none
	}
}

// TestAgainstPython compares with Python's own parser what is found in the files of $PANNIER_CORPUS, once every function of
// their top level is decorated.
func TestAgainstPython(t *testing.T) {
	corpus := os.Getenv("PANNIER_CORPUS")
	if corpus == "" {
		t.Skip("PANNIER_CORPUS names no directory of repositories")
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is missing")
	}
	cmd := exec.Command(python, "testdata/functions.py")
	cmd.Stdin = strings.NewReader(strings.Join(pythonFiles(t, corpus), "\n"))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	files, functions, params := 0, 0, 0
	dec := json.NewDecoder(bufio.NewReader(out))
	for dec.More() {
		var file struct {
			Path, Text string
			Functions  []pythonFunction
		}
		if err := dec.Decode(&file); err != nil {
			t.Fatal(err)
		}
		compareFile(t, file.Path, file.Text, file.Functions)
		files++
		functions += len(file.Functions)
		for _, f := range file.Functions {
			params += len(f.Params)
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d files, %d functions, %d parameters", files, functions, params)
	if functions == 0 {
		t.Error("the corpus has no function, so nothing was compared")
	}
}

func pythonFiles(t *testing.T, corpus string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(corpus, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() && strings.HasSuffix(path, ".py") {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func compareFile(t *testing.T, path, text string, want []pythonFunction) {
	t.Helper()
	got, faults := pytool.Read([]byte(text))
	for _, f := range faults {
		t.Errorf("%s:%d: %s", path, f.Line, f.Message)
	}
	if len(got) != len(want) {
		t.Errorf("%s: %d functions, Python has %d", path, len(got), len(want))
		return
	}
	for i, f := range want {
		if got[i].Name != f.Name || got[i].Line != f.Line {
			t.Errorf("%s: %s in line %d, Python has %s in line %d", path, got[i].Name, got[i].Line, f.Name, f.Line)
			continue
		}
		if described := describedBy(f.Doc); got[i].Description != described {
			t.Errorf("%s: %s is described as %q, want %q", path, f.Name, got[i].Description, described)
		}
		compareParams(t, path+": "+f.Name, got[i].Parameters, f)
	}
}

// describedBy applies the rule for descriptions to a docstring that Python has cleaned.
func describedBy(doc *string) string {
	if doc == nil {
		return ""
	}
	text := strings.TrimSpace(*doc)
	if utf8.RuneCountInString(text) <= 400 {
		return text
	}
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if strings.TrimSpace(line) == "" {
			break
		}
		lines = append(lines, line)
	}
	text = strings.TrimSpace(strings.Join(lines, "\n"))
	if r := []rune(text); len(r) > 1024 {
		text = string(r[:1023]) + "…"
	}
	return text
}

func compareParams(t *testing.T, where string, schema []byte, want pythonFunction) {
	t.Helper()
	var got struct {
		Properties           json.RawMessage
		Required             []string
		AdditionalProperties any
	}
	if err := json.Unmarshal(schema, &got); err != nil {
		t.Fatalf("%s: %v", where, err)
	}
	properties := map[string]map[string]any{}
	if err := json.Unmarshal(got.Properties, &properties); err != nil {
		t.Fatalf("%s: %v", where, err)
	}
	var names, wantNames, required []string
	for _, p := range want.Params {
		if _, ok := properties[p.Name]; !ok && isInjected(p.Name) {
			continue
		}
		wantNames = append(wantNames, p.Name)
		if !p.Optional {
			required = append(required, p.Name)
		}
		value, ok := properties[p.Name]["default"]
		if ok != (len(p.Default) == 1) || (ok && !reflect.DeepEqual(value, p.Default[0])) {
			t.Errorf("%s: %s has default %v (%t), Python has %v", where, p.Name, value, ok, p.Default)
		}
	}
	names = keysInOrder(t, got.Properties)
	if !reflect.DeepEqual(names, wantNames) || !reflect.DeepEqual(got.Required, required) {
		t.Errorf("%s: parameters %q, required %q, Python has %q and %q", where, names, got.Required, wantNames, required)
	}
	if refused := got.AdditionalProperties == false; refused == want.Kwargs {
		t.Errorf("%s: additionalProperties %v, Python has **kwargs: %t", where, got.AdditionalProperties, want.Kwargs)
	}
}

// isInjected names the parameters that are left out where their type says that the runtime fills them.
func isInjected(name string) bool {
	return name == "config" || name == "state" || name == "runtime" || name == "callbacks" || name == "run_manager"
}

// keysInOrder returns the keys of a JSON object as they stand there.
func keysInOrder(t *testing.T, text []byte) []string {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(string(text)))
	if _, err := dec.Token(); err != nil {
		t.Fatal(err)
	}
	var keys []string
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, key.(string))
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			t.Fatal(err)
		}
	}
	return keys
}
