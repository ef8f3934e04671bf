package pannier_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// sourceStrings returns the string literals of the program, without those of tests and test programs, and the codes of the
// conditions of health and of the HTTP errors among them.
func sourceStrings(t *testing.T) (literals, codes map[string]bool) {
	t.Helper()
	literals, codes = map[string]bool{}, map[string]bool{}
	err := filepath.WalkDir(".", func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && slices.Contains([]string{"testdata", "testbench", ".git", ".ci", "examples"}, e.Name()):
			return fs.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ImportSpec:
				return false
			case *ast.BasicLit:
				if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING {
					literals[text] = true
				}
			case *ast.CompositeLit:
				writeTypes(n)
				if code := codeOf(n); code != "" {
					codes[code] = true
				}
			case *ast.BinaryExpr:
				for _, code := range sumsOf(n) {
					codes[code] = true
				}
			case *ast.CallExpr:
				if name, ok := n.Fun.(*ast.Ident); ok && name.Name == "condition" {
					if code := textOf(n.Args[0]); code != "" {
						codes[code] = true
					}
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return literals, codes
}

// writeTypes gives the elements of a literal of a list or a map their type, where the source omits it.
func writeTypes(c *ast.CompositeLit) {
	var kind ast.Expr
	switch list := c.Type.(type) {
	case *ast.ArrayType:
		kind = list.Elt
	case *ast.MapType:
		kind = list.Value
	default:
		return
	}
	if pointer, ok := kind.(*ast.StarExpr); ok {
		kind = pointer.X
	}
	for _, element := range c.Elts {
		if pair, ok := element.(*ast.KeyValueExpr); ok {
			element = pair.Value
		}
		if literal, ok := element.(*ast.CompositeLit); ok && literal.Type == nil {
			literal.Type = kind
		}
	}
}

// codeOf returns the code of a Condition or of a statusError that is written down, and "" for everything else.
func codeOf(c *ast.CompositeLit) string {
	var value ast.Expr
	switch kind := c.Type.(type) {
	case *ast.Ident:
		if kind.Name == "statusError" && len(c.Elts) > 1 {
			value = c.Elts[1]
		}
	case *ast.SelectorExpr:
		for _, element := range c.Elts {
			pair, ok := element.(*ast.KeyValueExpr)
			if ok && kind.Sel.Name == "Condition" && pair.Key.(*ast.Ident).Name == "Code" {
				value = pair.Value
			}
		}
	}
	return textOf(value)
}

// TestCodesAreSeen finds codes wherever a Condition is written down, with its type and without.
func TestCodesAreSeen(t *testing.T) {
	for _, source := range []string{
		`pannier.Condition{Code: "seen"}`,
		`[]pannier.Condition{{Severity: "warning", Code: "seen"}}`,
		`[]*pannier.Condition{{Code: "seen"}}`,
		`map[string]pannier.Condition{"x": {Code: "seen"}}`,
		`[][]pannier.Condition{{{Code: "seen"}}}`,
	} {
		parsed, err := parser.ParseExpr(source)
		if err != nil {
			t.Fatal(err)
		}
		var codes []string
		ast.Inspect(parsed, func(n ast.Node) bool {
			if literal, ok := n.(*ast.CompositeLit); ok {
				writeTypes(literal)
				if code := codeOf(literal); code != "" {
					codes = append(codes, code)
				}
			}
			return true
		})
		if !slices.Equal(codes, []string{"seen"}) {
			t.Errorf("%s: codes %q", source, codes)
		}
	}
}

// textOf returns the text of a literal, and "" for everything else.
func textOf(value ast.Expr) string {
	if literal, ok := value.(*ast.BasicLit); ok && literal.Kind == token.STRING {
		text, _ := strconv.Unquote(literal.Value)
		return text
	}
	return ""
}

// codePrefixes are the beginnings of codes that the source adds an ending to, by the name of the constant or field.
var codePrefixes = map[string][]string{
	"codePrefix": {"config."}, "codePromptPrefix": {"config.prompt_"}, "prefix": {"clawhub", "molecule", "openclaw", "strict"},
}

// sumsOf returns the codes that a sum of one of the codePrefixes and an ending makes.
func sumsOf(sum *ast.BinaryExpr) (codes []string) {
	ending, ok := sum.Y.(*ast.BasicLit)
	if !ok || ending.Kind != token.STRING {
		return nil
	}
	name := ""
	switch x := sum.X.(type) {
	case *ast.Ident:
		name = x.Name
	case *ast.SelectorExpr:
		name = x.Sel.Name
	}
	text, _ := strconv.Unquote(ending.Value)
	for _, prefix := range codePrefixes[name] {
		if code := prefix + text; codeFamily.MatchString(code) && !strings.HasSuffix(code, "_") {
			codes = append(codes, code)
		}
	}
	return codes
}

// documentedCodes returns the codes in the first column of the tables of documents, or in the second one if the first is a status.
func documentedCodes(t *testing.T, pages ...string) map[string]bool {
	t.Helper()
	quoted := regexp.MustCompile("`([a-z][a-z0-9_]*(?:\\.[a-z0-9_]+)*)`")
	codes := map[string]bool{}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			cells := strings.Split(line, "|")
			if len(cells) < 4 || cells[0] != "" {
				continue
			}
			first := cells[1]
			if _, err := strconv.Atoi(strings.TrimSpace(first)); err == nil {
				first = cells[2]
			}
			for _, m := range quoted.FindAllStringSubmatch(first, -1) {
				codes[m[1]] = true
			}
		}
	}
	return codes
}

// madeOf reports whether a code is one of the literals, or several of them in a row.
func madeOf(code string, literals map[string]bool) bool {
	if literals[code] {
		return true
	}
	for i := range code {
		if i > 0 && literals[code[:i]] && strings.ContainsAny(code[i-1:i+1], "._") && madeOf(code[i:], literals) {
			return true
		}
	}
	return false
}

// codeFamily matches the dotted codes of problems, findings and refusals. notCodes are other strings that it matches: actions of
// the audit log, steps of an installation, fields.
var (
	codeFamily = regexp.MustCompile(`^(archive|audit|card|clawhub|config|contract|environment|files|health|install|lock|meta|molecule|mount|openclaw|platform|policy|profile|promotion|root|runtime|scan|skill|state|strict|token|turn|upload|workspace)\.[a-z0-9_]+(\.[a-z0-9_]+)*$`)
	notCodes   = []string{
		"audit.broken", "config.commit", "config.json", "config.fish", "config.write", "config.yaml", "environment.put", "health.acknowledge",
		"install.duckdb.org", "lock.commit", "lock.json", "lock.write", "platform.header", "policy.json", "policy.set", "policy.skill", "skill.install", "skill.md", "skill.promote", "skill.rollback", "skill.scan", "skill.tar.gz", "tool.allow",
		"runtime.tools", "skill.uninstall", "skill.update", "state.db", "state.lock",
	}
)

// TestCodesDocument compares docs/CODES.md, with the tables of API.md that it refers to, with the codes in the source.
func TestCodesDocument(t *testing.T) {
	literals, codes := sourceStrings(t)
	settings := documentedCodes(t, "docs/SETTINGS.md")
	for text := range literals {
		if codeFamily.MatchString(text) && !settings[text] && !slices.Contains(notCodes, text) {
			codes[text] = true
		}
	}
	if len(codes) < 250 {
		t.Errorf("only %d codes were found: the test does not see them", len(codes))
	}
	documented := documentedCodes(t, "docs/CODES.md", "docs/API.md")
	for code := range codes {
		if !documented[code] {
			t.Errorf("docs/CODES.md does not have %s", code)
		}
	}
	for code := range documentedCodes(t, "docs/CODES.md") {
		if !madeOf(code, literals) && !literals[strings.Replace(code, "_", ".", 1)] { // health shows problems with underscores
			t.Errorf("docs/CODES.md has %s, which is not in the source", code)
		}
		if strings.Contains(code, ".") && !codeFamily.MatchString(code) {
			t.Errorf("codeFamily lacks the family of %s: the test does not see the others of it", code)
		}
	}
}
