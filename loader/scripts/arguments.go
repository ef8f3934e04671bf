package scripts

import (
	"bytes"
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strings"

	"pannier/loader/pytool"
)

// Arguments returns the options of a script that is not read by [pytool.ReadProgram], and a JSON Schema of an object with
// them: those of the loop or the getopts of a shell script, of commander and util.parseArgs, and of a usage line that
// the text of the script agrees with. Both are nil if they are not certain.
func Arguments(name string, text []byte) (options []pytool.Option, parameters json.RawMessage) {
	takes := slices.ContainsFunc(argumentWords, func(word string) bool { return bytes.Contains(text, []byte(word)) })
	if !takes || len(text) > pytool.MaxFileBytes || bytes.IndexByte(text, 0) >= 0 {
		return nil, nil
	}
	source := strings.TrimPrefix(strings.ReplaceAll(string(text), "\r\n", "\n"), "\ufeff")
	known := usageOf(source, path.Base(name))
	certain := true
	switch language(name, source) {
	case "shell":
		options, certain = shellOptions(source, known)
	case "javascript":
		options, certain = scriptOptions(source)
	}
	if len(options) == 0 && certain && readsArguments.MatchString(source) {
		options = known.options(source)
	}
	if len(options) == 0 {
		return nil, nil
	}
	return pytool.Parameters(options)
}

// argumentWords are what a script has that takes arguments. Most lack all of them, and expressions over all of the text
// take long.
var argumentWords = []string{"$1", "${1", "$@", "$#", "${#", "$*", "getopts", "argv", "ARGV", "commander", "parseArgs"}

// language returns shell, javascript, python or nothing.
func language(name, source string) string {
	first, _, _ := strings.Cut(source, "\n")
	switch path.Ext(name) {
	case ".sh", ".bash":
		return "shell"
	case ".js", ".mjs", ".cjs", ".ts", ".mts", ".cts":
		return "javascript"
	case ".py":
		return "python"
	case "":
		if shellLine.MatchString(first) {
			return "shell"
		}
	}
	return ""
}

var (
	shellLine   = regexp.MustCompile(`^#!\s*(?:/usr/bin/env\s+|/\S*/)(?:ba|da|z)?sh\b`)
	pythonStdin = regexp.MustCompile(`\bsys\.stdin\b(?:\.(\w+))?|\bfileinput\.input\(|\bopen\(0\b|/dev/stdin`)
	shellStdin  = regexp.MustCompile(`\$\(\s*cat\s*\)|(?:^|[\s;|(])cat\s+-(?:\s|$|\))|/dev/stdin|<&0`)
	nodeStdin   = regexp.MustCompile(`\bprocess\.stdin\b(?:\.(\w+))?|\breadFileSync\(\s*0\b|/dev/stdin`)
)

// stdinTests are attributes of standard input that read nothing.
var stdinTests = map[string]bool{
	"isatty": true, "reconfigure": true, "encoding": true, "fileno": true, "isTTY": true, "setEncoding": true, "close": true,
	"unref": true, "pause": true, "destroy": true,
}

// stdinWords are what the patterns of standard input have.
var stdinWords = []string{"stdin", "$(cat", "$( cat", "cat -", "<&0", "fileinput", "open(0", "readFileSync("}

// ReadsStdin reports whether a script reads standard input.
func ReadsStdin(name string, text []byte) bool {
	reads := func(word string) bool { return bytes.Contains(text, []byte(word)) }
	if !slices.ContainsFunc(stdinWords, reads) {
		return false
	}
	source := string(text)
	pattern := map[string]*regexp.Regexp{"shell": shellStdin, "javascript": nodeStdin, "python": pythonStdin}[language(name, source)]
	if pattern == nil {
		return false
	}
	comment := "#"
	if pattern == nodeStdin {
		comment = "//"
	}
	for line := range strings.Lines(source) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, comment) || strings.HasPrefix(line, "*") {
			continue
		}
		for _, m := range pattern.FindAllStringSubmatch(line, 100) {
			if len(m) < 2 || !stdinTests[m[1]] {
				return true
			}
		}
	}
	return false
}
