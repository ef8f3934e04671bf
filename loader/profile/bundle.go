package profile

import (
	"bytes"
	"path"
	"strings"
	"unicode/utf8"

	"pannier"
)

// sniffBytes are how many bytes of a file decide whether it is text.
const sniffBytes = 8 << 10

// textExtensions are those of files that are taken for text without reading them.
var textExtensions = wordSet(`
	.adoc .bash .bat .bib .c .cc .cfg .cjs .conf .cpp .cs .css .csv .cts .cxx .dart .env .erl .ex .exs .fish .go .gql .gradle
	.graphql .h .hpp .hs .htm .html .ini .ipynb .java .jl .js .json .json5 .jsonl .jsx .kt .kts .less .lua .m .markdown .md .mdc
	.mdx .mjs .mts .nix .php .pl .pm .properties .proto .ps1 .psd1 .psm1 .py .pyi .r .rb .rs .rst .sass .scala .scss .sh .sol
	.sql .svelte .svg .swift .tex .tf .toml .ts .tsv .tsx .txt .vue .xml .xsd .yaml .yml .zig .zsh`)

func wordSet(text string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(text) {
		set[word] = true
	}
	return set
}

// Bundle returns the files of a skill that ClawHub would publish, in their order: not those that .clawhubignore or
// .gitignore match, and none whose path has a part that begins with a dot or is called node_modules.
func Bundle(s Skill) []pannier.File {
	files, _ := bundle(&s)
	return files
}

// ignoreFiles say what is left out, a later one over an earlier one. The last is what ClawHub's tool was once called.
var ignoreFiles = []string{".gitignore", ".clawhubignore", ".clawdhubignore"}

func bundle(s *Skill) ([]pannier.File, ignoreRules) {
	var rules ignoreRules
	for _, name := range ignoreFiles {
		for _, f := range s.Files {
			if f.Path != name || s.ReadFile == nil {
				continue
			}
			if text, err := s.ReadFile(name); err == nil {
				rules.add(text)
			}
		}
	}
	var kept []pannier.File
	for _, f := range s.Files {
		if !neverBundled(f.Path) && !rules.ignores(f.Path) {
			kept = append(kept, f)
		}
	}
	return kept, rules
}

func neverBundled(file string) bool {
	for part := range strings.SplitSeq(file, "/") {
		if strings.HasPrefix(part, ".") || part == "node_modules" {
			return true
		}
	}
	return false
}

// inspectFile reports whether a file is text, by its name or its first bytes, and whether that is known.
func inspectFile(s *Skill, f pannier.File) (isText, known bool) {
	if textExtensions[strings.ToLower(path.Ext(f.Path))] {
		return true, true
	}
	if s.ReadFile == nil {
		return false, false
	}
	content, err := s.ReadFile(f.Path)
	return looksLikeText(content, int64(len(content)) >= f.Size), err == nil
}

// looksLikeText reports whether the beginning of a file is UTF-8 without a NUL. whole says that the file ends with it, so
// that its last character must be whole too.
func looksLikeText(content []byte, whole bool) bool {
	if len(content) > sniffBytes {
		content, whole = content[:sniffBytes], false
	}
	if bytes.IndexByte(content, 0) >= 0 {
		return false
	}
	if !whole {
		content = withoutCutRune(content)
	}
	return utf8.Valid(content)
}

// withoutCutRune removes the beginning of a character that the end of a text cuts off.
func withoutCutRune(text []byte) []byte {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if tail := text[len(text)-n:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				return text[:len(text)-n]
			}
			break
		}
	}
	return text
}
