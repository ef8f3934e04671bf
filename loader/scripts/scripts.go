// Package scripts finds out from texts which files of a skill are scripts, and what they are for. It opens and runs
// nothing.
//
// A skill names its scripts in the commands of its Markdown files: in fenced blocks, in inline code and after a prompt
// ([Named]). Other files are judged by their place, their name and their text ([File]).
package scripts

import (
	"bytes"
	"path"
	"regexp"
	"slices"
	"strings"

	"pannier"
)

// extensions are those of scripts.
var extensions = []string{".py", ".sh", ".bash", ".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".rb", ".pl", ".ps1"}

// HasExtension reports whether a file has the extension of a script.
func HasExtension(name string) bool { return slices.Contains(extensions, path.Ext(name)) }

// dirs are the directories right in a skill whose files need no command that names them.
var dirs = []string{"scripts", "tools"}

// IsRightInDir reports whether a file lies right in a directory for scripts.
func IsRightInDir(name string) bool { return slices.Contains(dirs, path.Dir(name)) }

// neverDirs are directories of tests, and of files that were generated or come from elsewhere.
var neverDirs = strings.Fields("test tests __tests__ __mocks__ spec fixtures testdata node_modules bower_components " +
	"vendor vendored _vendor third_party third-party site-packages venv dist build generated __pycache__ __generated__")

// neverNames matches the names of tests, of parts of packages, and of generated files.
var neverNames = regexp.MustCompile(`^(?:__init__\.py|conftest\.py|setup\.py|test_.*\.py|.*_test\.py|` +
	`.*[.](?:test|spec)\.(?:py|sh)|.*[.](?:test|spec|min|bundle|config|d)\.[cm]?(?:js|ts)|.*_pb2(?:_grpc)?\.py)$`)

// data matches the names of documents and data, which are no scripts even if their mode says so.
var data = regexp.MustCompile(`(?i)\.(?:md|txt|rst|json|jsonl|ya?ml|toml|ini|cfg|csv|tsv|xml|html?|css|svg|png|jpe?g|` +
	`gif|pdf|lock|sql|docx|xlsx|pptx|zip|gz)$`)

// MayBe reports whether a file with a path below the skill can be a script. Files of tests, of packages, and
// generated or vendored ones cannot.
func MayBe(name string) bool {
	parts := strings.Split(name, "/")
	for _, dir := range parts[:len(parts)-1] {
		if slices.Contains(neverDirs, strings.ToLower(dir)) {
			return false
		}
	}
	return !slices.ContainsFunc(parts, func(part string) bool { return strings.HasPrefix(part, ".") }) &&
		!neverNames.MatchString(parts[len(parts)-1])
}

// IsData reports whether a file has the extension of a document or of data.
func IsData(name string) bool { return data.MatchString(name) }

// MayName reports whether a Markdown text can name one of some files. It is much quicker than [Named], and says yes in
// doubt.
func MayName(text string, files []pannier.File) bool {
	return slices.ContainsFunc(files, func(f pannier.File) bool {
		stem := strings.TrimSuffix(path.Base(f.Path), path.Ext(f.Path)) // a module is named without the extension
		return strings.ContainsAny(stem, " \\'\"") || stem == "__main__" || strings.Contains(text, stem)
	})
}

// File is what is known of a file that may be a script.
type File struct {
	Path       string
	Executable bool
	// Text is the beginning of the file.
	Text []byte
	// Run is set if a command runs the file, Mentioned if inline code names it.
	Run, Mentioned bool
	// Imported is set if another file of the skill imports it.
	Imported bool
}

var (
	// pythonMain and readsArguments match what only programs do, topLevel a statement of Python that does something
	// at once.
	pythonMain     = regexp.MustCompile(`(?m)^if\s+\(?__name__\s*==`)
	readsArguments = regexp.MustCompile(`\bsys\.argv\b|\bprocess\.argv\b|\brequire\.main\b|` +
		`\bimport\.meta\.(?:main|url)\b|\$[1@#]|\bparam\s*\(|\bARGV\b`)
	topLevel = regexp.MustCompile(`(?m)^(?:for|while|with)\b|^[\w.]+\(`)
	server   = regexp.MustCompile(`(?m)^\s*(?:from mcp\.server|from fastmcp|import fastmcp)\b|` +
		`^[^#\n]*\bFastMCP\(|@modelcontextprotocol/sdk/server|^\s*@mcp\.tool\b`)
	application = regexp.MustCompile(`(?m)^\w+\s*=\s*(?:FastAPI|Flask)\(`)
	// part matches what a Python file of a package has, and exports what a JavaScript file has for others.
	part      = regexp.MustCompile(`(?m)^from \.`)
	exports   = regexp.MustCompile(`(?m)^export\b`)
	unwritten = regexp.MustCompile(`(?m)^(?:#|//|\s?\*)\s*\[TODO: `)
	generated = regexp.MustCompile(`(?im)^(?:#|//|\s?\*).*(?:@generated\b|code generated .*do not edit)`)
)

// IsScript reports whether a file is a program to call. Modules that other files import, servers, generated files,
// files without content and data are not.
func (f *File) IsScript() bool {
	hashBang := bytes.HasPrefix(f.Text, []byte("#!"))
	known := HasExtension(f.Path)
	binary := bytes.IndexByte(f.Text[:min(len(f.Text), 8<<10)], 0) >= 0
	head := f.Text[:min(len(f.Text), 1<<10)]
	switch {
	case !MayBe(f.Path), binary && (known || !f.Executable), f.isServer(),
		bytes.Contains(bytes.ToLower(head), []byte("generated")) && generated.Match(head), isNothing(head):
		return false
	case !hashBang && data.MatchString(f.Path), !hashBang && !known && !f.Executable:
		return false
	case f.Run:
		return true
	case f.Mentioned && !IsRightInDir(f.Path):
		if !hashBang && !f.Executable && !strings.Contains("/"+path.Dir(f.Path)+"/", "/scripts/") {
			return false
		}
	case !IsRightInDir(f.Path):
		return false
	}
	python := path.Ext(f.Path) == ".py"
	switch {
	case python && (part.Match(f.Text) || !IsRightInDir(f.Path)):
		return pythonMain.Match(f.Text) || readsArguments.Match(f.Text)
	case !python && !hashBang && exports.Match(f.Text):
		return readsArguments.Match(f.Text)
	case f.Imported && python:
		return pythonMain.Match(f.Text) || hashBang && readsArguments.Match(f.Text)
	case f.Imported:
		return readsArguments.Match(f.Text) && (hashBang || f.Executable)
	case hashBang, f.Executable, !python:
		return true
	}
	return !strings.HasPrefix(path.Base(f.Path), "_") &&
		(pythonMain.Match(f.Text) || readsArguments.Match(f.Text) || topLevel.Match(f.Text))
}

// isNothing reports whether a file is empty, begins with marks for its author to fill in, or is the error of a web
// server.
func isNothing(head []byte) bool {
	return len(bytes.TrimSpace(head)) == 0 || bytes.HasPrefix(head, []byte("404: Not Found")) ||
		bytes.Contains(head, []byte("[TODO: ")) && unwritten.Match(head)
}

// isServer reports whether a file is a server of MCP, or the application of a web server without
// arguments. The names come first, since an expression over all of the text takes
// long.
func (f *File) isServer() bool {
	return slices.ContainsFunc([]string{"mcp", "MCP", "modelcontextprotocol", "FastAPI(", "Flask("}, func(name string) bool {
		return bytes.Contains(f.Text, []byte(name))
	}) && (server.Match(f.Text) || application.Match(f.Text) && !bytes.Contains(f.Text, []byte("ArgumentParser(")))
}

var imports = map[string]*regexp.Regexp{
	".py": regexp.MustCompile(`(?m)^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+\(?([\w, \t]*)|` +
		`import[ \t]+([\w., \t]+))`),
	".js": regexp.MustCompile(`(?:\bfrom|\brequire\(|\bimport\(|\bimport)\s*['"](\.[^'"\n]+)['"]`),
	".sh": regexp.MustCompile(`(?m)^[ \t]*(?:source|\.)[ \t]+["']?([^\n;&|]+)`),
	".rb": regexp.MustCompile(`(?m)^[ \t]*require_relative[ \t(]+['"]([^'"\n]+)['"]`),
}

// Imports returns the names, without directory and extension, of files that a script imports.
func Imports(name string, text []byte) []string {
	ext := path.Ext(name)
	switch ext {
	case ".mjs", ".cjs", ".ts", ".mts", ".cts":
		ext = ".js"
	case ".bash", ".ps1":
		ext = ".sh"
	}
	pattern := imports[ext]
	if pattern == nil {
		return nil
	}
	var names []string
	for _, m := range pattern.FindAllSubmatch(text, 1000) {
		for _, words := range m[1:] {
			isSeparator := func(r rune) bool { return strings.ContainsRune(", \t/\"'", r) }
			for word := range strings.FieldsFuncSeq(string(words), isSeparator) {
				if ext == ".py" {
					word = word[strings.LastIndexByte(word, '.')+1:]
				} else {
					word = strings.TrimSuffix(word, path.Ext(word))
				}
				if word != "" && word != "as" {
					names = append(names, word)
				}
			}
		}
	}
	return names
}
