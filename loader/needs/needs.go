// Package needs reads what the files of a skill declare to need: the header of a Python script (PEP 723), the lock of
// such a script, and package.json. It reads texts, and resolves and installs nothing.
package needs

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// The bounds of what is read and declared.
const (
	MaxBytes = 256 << 10 // of a file

	maxNeeds = 256
	maxNeed  = 1000 // bytes
)

// Header is what the header of a Python script declares.
type Header struct {
	RequiresPython string // a version specifier, or empty
	// Dependencies are requirements as pip takes them.
	Dependencies []string
}

// ReadHeader returns the header of a Python script, the comment between `# /// script` and `# ///`; nil if there is none.
func ReadHeader(text []byte) (*Header, error) {
	content, found, err := headerOf(string(text))
	if !found || err != nil {
		return nil, err
	}
	var declared struct {
		RequiresPython string   `toml:"requires-python"`
		Dependencies   []string `toml:"dependencies"`
	}
	if err := toml.Unmarshal([]byte(content), &declared); err != nil {
		return nil, fmt.Errorf("the header is not TOML: %w", withoutLines(err))
	}
	h := Header(declared)
	return &h, checkNeeds(append([]string{h.RequiresPython}, h.Dependencies...))
}

// headerOf returns the content of a header, as PEP 723 says: the comments after the first line, up to the last line
// `# ///` among them.
func headerOf(text string) (content string, found bool, err error) {
	if !strings.Contains(text, "# /// script") {
		return "", false, nil
	}
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		if lines[i] != "# /// script" {
			continue
		}
		if found {
			return "", true, errors.New("there are two headers")
		}
		found = true
		end := -1
		for n := i + 1; n < len(lines) && (lines[n] == "#" || strings.HasPrefix(lines[n], "# ")); n++ {
			if lines[n] == "# ///" {
				end = n
			}
		}
		if end < 0 {
			return "", true, errors.New("the header has no last line `# ///`")
		}
		for _, line := range lines[i+1 : end] {
			content += strings.TrimPrefix(strings.TrimPrefix(line, "#"), " ") + "\n"
		}
		i = end
	}
	return content, found, nil
}

// withoutLines returns an error of the library in one line.
func withoutLines(err error) error {
	if parse, ok := errors.AsType[toml.ParseError](err); ok {
		return fmt.Errorf("line %d of it: %s", parse.Position.Line, parse.Message)
	}
	return errors.New(strings.Join(strings.Fields(err.Error()), " "))
}

// checkNeeds refuses texts that a package manager would take for something else than a requirement.
func checkNeeds(list []string) error {
	if len(list) > maxNeeds {
		return fmt.Errorf("more than %d dependencies", maxNeeds)
	}
	for _, need := range list {
		if strings.HasPrefix(strings.TrimSpace(need), "-") || len(need) > maxNeed ||
			strings.Contains(need, " #") || strings.ContainsAny(need, "\n\r\x00") {
			return fmt.Errorf("%.60q is not a dependency", need)
		}
	}
	return nil
}

// requirement is one of pip's that an index fulfils: a name, extras, versions, a marker, hashes.
var requirement = regexp.MustCompile(
	`^[A-Za-z0-9][A-Za-z0-9._-]*\s*(\[[A-Za-z0-9._,\s-]*\]\s*)?\(?([<>=!~][<>=!~,.*+\w\s-]*)?\)?\s*(;[^@]*?)?(\s--hash=\w+:\w+)*$`)

// archives are the names that pip takes for files.
var archives = regexp.MustCompile(`(?i)\.(whl|zip|tgz|tar|tbz|txz|tlz|tar\.\w+)$`)

// FromIndex returns the requirements of a text that has one in each line, as requirements.txt. It refuses options, URLs
// and paths: pip builds such a package even where it may only install built ones, and that runs the package's code.
func FromIndex(text string) ([]string, error) {
	var list []string
	for line := range strings.Lines(strings.NewReplacer("\r\n", "\n", "\\\r\n", " ", "\\\n", " ").Replace(text)) {
		line = strings.TrimSpace(strings.TrimPrefix(line, "\ufeff"))
		if before, _, found := strings.Cut(" "+line, " #"); found {
			line = strings.TrimSpace(before)
		}
		switch {
		case line == "":
			continue
		case !requirement.MatchString(line), archives.MatchString(line):
			return nil, fmt.Errorf("%.100q is not a package of an index", line)
		}
		list = append(list, line)
	}
	return list, checkNeeds(list)
}

// ReadLock returns the versions that the lock of a script (`NAME.py.lock`) pins, as `NAME==VERSION`.
func ReadLock(text []byte) ([]string, error) {
	var lock struct {
		Package []struct{ Name, Version string }
	}
	if err := toml.Unmarshal(text, &lock); err != nil {
		return nil, fmt.Errorf("the lock is not TOML: %w", withoutLines(err))
	}
	var pins []string
	for _, p := range lock.Package {
		if p.Name != "" && p.Version != "" {
			pins = append(pins, p.Name+"=="+p.Version)
		}
	}
	return pins, checkNeeds(pins)
}

// Package is what a package.json declares.
type Package struct {
	Dependencies map[string]string
	// Bin are the files of commands, Scripts the command lines, both by name.
	Bin, Scripts map[string]string
}

// ReadPackage reads a package.json.
func ReadPackage(text []byte) (Package, error) {
	var declared struct {
		Name         string            `json:"name"`
		Dependencies map[string]string `json:"dependencies"`
		Bin          json.RawMessage   `json:"bin"`
		Scripts      map[string]string `json:"scripts"`
	}
	if err := json.Unmarshal(text, &declared); err != nil {
		return Package{}, fmt.Errorf("package.json cannot be read: %w", err)
	}
	p := Package{Dependencies: declared.Dependencies, Scripts: declared.Scripts}
	var one string
	if json.Unmarshal(declared.Bin, &one) == nil && one != "" {
		p.Bin = map[string]string{declared.Name: one}
	} else {
		_ = json.Unmarshal(declared.Bin, &p.Bin) // another value names no command
	}
	return p, checkNeeds(slices.Collect(maps.Keys(p.Dependencies)))
}
