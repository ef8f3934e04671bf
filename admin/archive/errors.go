package archive

import (
	"errors"
	"fmt"
	"strconv"

	"pannier"
)

// maxShown bounds a quoted name, in bytes before quoting.
const maxShown = 120

// hints has the hint of each code without its prefix. Codes of the scanner have their own.
var hints = map[string]string{
	"format":          "send a tar.gz or a zip, and announce its format",
	"empty":           "pack the directory of the skill, with SKILL.md in it",
	"truncated":       "send the archive again; if the error persists, pack it again",
	"damaged":         "send the archive again; if the error persists, pack it again",
	"trailing_data":   "pack the directory again, into one archive without trailing data",
	"entries":         "remove unneeded files, or split the archive",
	"file_size":       "remove the file, or raise install.max_compressed_bytes, which is twice the bound",
	"total_size":      "remove unneeded files, or raise install.max_compressed_bytes, of which the bound is five times",
	"size_mismatch":   "pack the archive again with a common tool",
	"path_length":     "use shorter names: a path has up to 1024 bytes, a part of it up to 255",
	"depth":           "use fewer directories: a path has up to 32 parts",
	"name_empty":      "pack the archive again with a common tool",
	"name_encoding":   "rename the file to valid UTF-8",
	"name_control":    "rename the file to visible characters",
	"name_backslash":  "pack the archive again, with / between directories",
	"traversal":       "give paths below the directory, with slashes and without dots",
	"skills":          "send fewer at a time",
	"top_level":       "pack the directory of the skill itself: tar -czf skill.tar.gz my-skill",
	"no_skill":        "pack the directory that contains SKILL.md, spelled exactly so",
	"reserved":        "remove it, as git archive and tar --exclude-vcs do; .pannier is reserved for pannier",
	"duplicate":       "pack the archive again from a directory",
	"collision":       "rename one of them",
	"conflict":        "pack the archive again from a directory",
	"directory_data":  "pack the archive again with a common tool",
	"link":            "pack the file that the link leads to: tar -h",
	"special":         "remove it; a skill consists of files and directories",
	"sparse":          "pack the archive again without tar -S",
	"pax":             "pack the archive again with a common tool: tar -czf skill.tar.gz my-skill",
	"encrypted":       "pack the archive again without a password",
	"method":          "pack the archive again with deflate: zip -r skill.zip my-skill",
	"zip64":           "pack the archive again without zip64",
	"header_mismatch": "pack the archive again with a common tool",
	"overlap":         "pack the archive again with a common tool",
}

func refuse(rule, message string) error {
	return &pannier.Refusal{Code: "archive." + rule, Message: message, Hint: hints[rule]}
}

func isRefusal(err error) bool {
	_, refused := errors.AsType[*pannier.Refusal](err)
	return refused
}

// refuseEntry refuses an archive because of an entry. The message begins with the quoted name.
func refuseEntry(rule, name, format string, args ...any) error {
	return refuse(rule, quote(name)+" "+fmt.Sprintf(format, args...))
}

// quote quotes and truncates a name for messages.
func quote(name string) string {
	if len(name) > maxShown {
		return strconv.Quote(name[:maxShown]) + "..."
	}
	return strconv.Quote(name)
}
