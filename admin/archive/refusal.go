package archive

import (
	"fmt"
	"strconv"

	"pannier"
)

// maxShown bounds what a message repeats of a name, in bytes before it is quoted.
const maxShown = 120

// hints say, for each code without its prefix, what to do about it. What a scan finds in names brings its own.
var hints = map[string]string{
	"format":          "send a tar.gz or a zip, and name the one that it is",
	"empty":           "pack the directory of the skill, with SKILL.md in it",
	"truncated":       "send the archive again; if it stays like that, pack it anew",
	"damaged":         "send the archive again; if it stays like that, pack it anew",
	"trailing_data":   "pack the directory anew, into one archive with nothing behind it",
	"entries":         "leave out what the skill does not need, or raise install.max_entries",
	"file_size":       "leave the file out, or raise install.max_file_bytes",
	"total_size":      "leave out what the skill does not need, or raise install.max_uncompressed_bytes",
	"size_mismatch":   "pack the archive anew with a common tool",
	"path_length":     "use shorter names: a path has up to 1024 bytes, a part of it up to 255",
	"depth":           "use fewer directories: a path has up to 32 parts",
	"name_empty":      "pack the archive anew with a common tool",
	"name_encoding":   "rename the file, so that its name is UTF-8",
	"name_control":    "rename the file to what can be seen",
	"name_backslash":  "pack the archive anew, with / between directories",
	"traversal":       "give paths below the directory, with slashes and without dots",
	"top_level":       "pack the directory of the skill itself: tar -czf skill.tar.gz my-skill",
	"no_skill":        "pack the directory that has SKILL.md in it, spelled like that",
	"reserved":        "leave it out, as git archive and tar --exclude-vcs do; in .pannier, pannier keeps its own files",
	"duplicate":       "pack the archive anew from a directory",
	"collision":       "rename one of them",
	"conflict":        "pack the archive anew from a directory",
	"directory_data":  "pack the archive anew with a common tool",
	"link":            "pack the file that the link leads to: tar -h",
	"special":         "leave it out; a skill has files and directories alone",
	"sparse":          "pack the archive anew without tar -S",
	"pax":             "pack the archive anew with a common tool: tar -czf skill.tar.gz my-skill",
	"encrypted":       "pack the archive anew without a password",
	"method":          "pack the archive anew with deflate: zip -r skill.zip my-skill",
	"zip64":           "pack the archive anew without zip64",
	"header_mismatch": "pack the archive anew with a common tool",
	"overlap":         "pack the archive anew with a common tool",
}

func refuse(rule, message string) error {
	return &pannier.Refusal{Code: "archive." + rule, Message: message, Hint: hints[rule]}
}

// refuseEntry refuses an archive for one of its entries; the format begins behind the quoted name.
func refuseEntry(rule, name, format string, args ...any) error {
	return refuse(rule, quote(name)+" "+fmt.Sprintf(format, args...))
}

// quote quotes a name so that it can be read by a person and harms no terminal.
func quote(name string) string {
	if len(name) > maxShown {
		return strconv.Quote(name[:maxShown]) + "..."
	}
	return strconv.Quote(name)
}
