package loader

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"pannier"
)

// entryKind says how discovery treats a SKILL.md in a directory.
type entryKind int

const (
	searched  entryKind = iota // it makes a skill
	nested                     // it lies below a skill
	skipped                    // it lies in a directory that is skipped
	unreached                  // it lies past a bound
	entryKinds
)

// namedPaths is how many paths a problem names of what was counted.
const namedPaths = 5

// pathCount counts files and keeps the first of their paths in the order of bytes.
type pathCount struct {
	count int
	first []string
}

func (c *pathCount) add(path string, keep int) {
	c.count++
	i, _ := slices.BinarySearch(c.first, path)
	first := slices.Insert(c.first, i, path)
	c.first = first[:min(len(first), keep)]
}

// censusCounts are what a census of one root found.
type censusCounts struct {
	keep int
	of   [entryKinds]pathCount
	// unread counts the directories that were not read: past a bound of the census itself, or unreadable.
	unread int
}

func newCensusCounts(keep int) censusCounts { return censusCounts{keep: keep} }

// add counts the SKILL.md of a directory, where it has one.
func (c *censusCounts) add(kind entryKind, rel, file string) {
	if file != "" {
		c.of[kind].add(path.Join(rel, file), c.keep)
	}
}

// kindTexts are the words for people of what was counted.
var kindTexts = [entryKinds]struct {
	severity          pannier.Severity
	code, where, hint string
}{
	nested:    {pannier.SeverityInfo, "root.nested_skills", "below a skill, which is not searched for further ones", "move the folders that are skills beside the one that they lie in, not below it"},
	skipped:   {pannier.SeverityInfo, "root.skipped_skills", "in directories that are skipped", "move what is a skill out of directories whose names begin with a dot or stand under skip"},
	unreached: {pannier.SeverityWarning, "root.unreached_skills", "past max_depth or max_dirs", "raise the bound, or move what is a skill further up"},
}

func (c *censusCounts) problems(root string) []pannier.Problem {
	var problems []pannier.Problem
	tell := func(severity pannier.Severity, code, message, hint string) {
		problems = append(problems, pannier.Problem{Code: code, Severity: severity, Path: root, Message: message, Hint: hint})
	}
	for kind, text := range kindTexts {
		if n := c.of[kind]; n.count > 0 {
			tell(text.severity, text.code, fmt.Sprintf("%d SKILL.md %s %s: %s", n.count, plural(n.count, "lies", "lie"), text.where, n.names()), text.hint+c.auditHint(entryKind(kind), root))
		}
	}
	if c.unread > 0 {
		tell(pannier.SeverityInfo, "root.uncounted", fmt.Sprintf("%d %s not searched for SKILL.md that make no skill, because of a bound of that search or because they cannot be read", c.unread, plural(c.unread, "directory was", "directories were")),
			"move what holds no skills out of the root, and make the rest readable for the user that pannier runs as")
	}
	return problems
}

// auditHint names the command that checks skills where discovery does not go.
func (c *censusCounts) auditHint(kind entryKind, root string) string {
	if kind != skipped {
		return ""
	}
	return fmt.Sprintf(", or check them where they are: `pannier audit %s`", path.Join(root, path.Dir(path.Dir(c.of[kind].first[0]))))
}

// names returns the paths that were kept, and how many more there are.
func (c *pathCount) names() string {
	names := strings.Join(c.first, ", ")
	if more := c.count - len(c.first); more > 0 {
		names += fmt.Sprintf(", and %d more", more)
	}
	return names
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
