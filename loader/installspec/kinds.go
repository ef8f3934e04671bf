package installspec

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"pannier/internal/yamldoc"
)

// spec is one item while it is read.
type spec struct {
	*list
	v           yamldoc.Value
	field, kind string
}

// kind is what is known of a way to install.
type kind struct {
	// keys hold the package, the proper one first.
	keys  []string
	names grammar
	// command is what the name is put behind.
	command []string
}

// kinds are the ways to install that are allowed, besides download (OpenClaw "Installers"; Aleph "Installer", of which npm,
// apt, pip and cargo come). An installer that reads code from any place but its registry is none of them.
var kinds = map[string]kind{
	"brew":  {[]string{"formula", "cask", "package"}, brewNames, []string{"brew", "install"}},
	"node":  {[]string{"package"}, nodeNames, []string{"npm", "install", "-g"}},
	"npm":   {[]string{"package"}, nodeNames, []string{"npm", "install", "-g"}},
	"go":    {[]string{"module", "package"}, goNames, []string{"go", "install"}},
	"uv":    {[]string{"package"}, uvNames, []string{"uv", "tool", "install"}},
	"pip":   {[]string{"package"}, pythonNames, []string{"pip", "install"}},
	"apt":   {[]string{"package"}, aptNames, []string{"sudo", "apt-get", "install", "-y"}},
	"cargo": {[]string{"package"}, cargoNames, []string{"cargo", "install"}},
}

// shells are the kinds that people use for a command line.
var shells = []string{"shell", "exec", "script", "command", "bash", "sh"}

// described are the keys that change nothing about what is installed.
var described = []string{"id", "kind", "type", "label", "description", "note", "notes", "homepage", "bins", "os"}

// commands returns the argument vectors of a spec, or why it is refused.
func (s *spec) commands() ([][]string, string) {
	switch {
	case s.kind == "":
		return nil, "it has no kind, so the way to install it is unknown"
	case s.kind == "download":
		return s.download()
	case slices.Contains(shells, s.kind):
		return nil, "it is a command line for a shell, and only packages of a registry and downloads by https are allowed"
	}
	k, ok := kinds[s.kind]
	if !ok {
		return nil, fmt.Sprintf("the kind %.80q is not one that is allowed: brew, node, npm, go, uv, pip, apt, cargo, download", s.kind)
	}
	known := k.keys
	if s.kind == "brew" {
		known = append(slices.Clip(known), "tap")
	}
	if refused := s.onlyKeys(known); refused != "" {
		return nil, refused
	}
	key, word := s.word(k.keys)
	if key == "" {
		return nil, "it names no package: " + k.keys[0] + " is missing"
	}
	if s.kind == "brew" {
		var refused string
		if word, refused = s.tapped(word); refused != "" {
			return nil, refused
		}
	}
	if refused := cmp.Or(checkWord(word), k.names.check(word, s.kind)); refused != "" {
		return nil, fmt.Sprintf("%s %.80q: %s", key, word, refused)
	}
	return [][]string{append(s.prefix(k, key), word)}, ""
}

// prefix returns the command without the package. Aleph lets uv install into an environment, OpenClaw as a tool.
func (s *spec) prefix(k kind, key string) []string {
	switch {
	case s.kind == "uv" && !strings.HasPrefix(s.list.field, "metadata."):
		return []string{"uv", "pip", "install"}
	case key == "cask":
		return []string{"brew", "install", "--cask"}
	}
	return slices.Clone(k.command)
}

// onlyKeys refuses unknown keys: a `from` or a `registry` would make another package of it, and leaving it out
// installs what the author did not mean.
func (s *spec) onlyKeys(known []string) string {
	for pair := range s.v.Pairs() {
		if !slices.Contains(described, pair.Key) && !slices.Contains(known, pair.Key) && pair.Value.Kind() != yamldoc.Null {
			return fmt.Sprintf("the key %.80q is not known for the kind %s, and may change what is installed", pair.Key, s.kind)
		}
	}
	return ""
}

func (s *spec) word(keys []string) (key, word string) {
	for _, key := range keys {
		if word := s.text(s.v, s.field, key); word != "" {
			return key, word
		}
	}
	return "", ""
}

// tapped puts the tap before the name of a formula that does not say its own.
func (s *spec) tapped(formula string) (name, refused string) {
	tap := s.text(s.v, s.field, "tap")
	switch {
	case tap == "":
		return formula, ""
	case strings.Count(tap, "/") != 1:
		return "", fmt.Sprintf("tap %.80q: it is not of the form user/tap", tap)
	case !strings.Contains(formula, "/"):
		return tap + "/" + formula, ""
	case !strings.HasPrefix(formula, tap+"/"):
		return "", fmt.Sprintf("the formula %.80q is not of the tap %.80q", formula, tap)
	}
	return formula, ""
}
