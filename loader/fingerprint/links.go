package fingerprint

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"pannier"
)

// The bounds of files that a manifest has by way of links. Past them it has none of these.
const (
	maxLinkFiles = 4096
	maxLinkBytes = 64 << 20
	maxHops      = 40
)

// manifestOf returns the files of a skill, and those that links lead to as files of their own: volumes of Kubernetes
// consist of links into a hidden directory. A link that leads out of the skill, nowhere, or to a directory that it lies
// in, is left out. In a directory that is reached by a link, only regular files count. The lines are ordered by path.
func manifestOf(lines []line) []pannier.ToolFile {
	files := make([]pannier.ToolFile, 0, len(lines))
	links := linkMap{}
	for i := range lines {
		l := &lines[i]
		switch {
		case l.mark == markLink:
			links[l.path] = l.target
		case isFile(l):
			files = append(files, l.as(l.path))
		}
	}
	if len(links) == 0 {
		return files
	}
	own, size := len(files), int64(0)
	for from := range links {
		to, ok := links.resolve(from)
		if !ok || strings.HasPrefix(from, to+"/") {
			continue
		}
		i, _ := slices.BinarySearchFunc(lines, to, func(l line, path string) int { return strings.Compare(l.path, path) })
		for ; i < len(lines) && strings.HasPrefix(lines[i].path, to); i++ {
			l := &lines[i]
			below := strings.TrimPrefix(l.path, to)
			if !isFile(l) || below != "" && below[0] != '/' || !utf8.ValidString(from) {
				continue
			}
			if size += l.size; len(files)-own >= maxLinkFiles || size > maxLinkBytes {
				return files[:own:own]
			}
			files = append(files, l.as(from+below))
		}
	}
	slices.SortFunc(files, func(a, b pannier.ToolFile) int { return cmp.Compare(a.Path, b.Path) })
	return files
}

func isFile(l *line) bool {
	return (l.mark == markExecutable || l.mark == markPlain) && utf8.ValidString(l.path)
}

func (l *line) as(path string) pannier.ToolFile {
	return pannier.ToolFile{Path: path, Size: l.size, SHA256: l.content, Executable: l.mark == markExecutable}
}

// linkMap has the texts of the links of a skill, by path.
type linkMap map[string]string

// resolve returns where a link leads to, without links on the way. It is false for what is not below the skill
// directory.
func (links linkMap) resolve(from string) (to string, ok bool) {
	rest, hops := from, 0
	for rest != "" {
		var name string
		name, rest, _ = strings.Cut(rest, "/")
		switch name {
		case "", ".":
			continue
		case "..":
			if to == "" {
				return "", false
			}
			if to = path.Dir(to); to == "." {
				to = ""
			}
			continue
		}
		at := path.Join(to, name)
		target, link := links[at]
		if !link {
			to = at
			continue
		}
		if hops++; hops > maxHops || strings.HasPrefix(target, "/") {
			return "", false
		}
		rest = target + "/" + rest
	}
	return to, to != "" && to != pannier.OwnDir && !strings.HasPrefix(to, pannier.OwnDir+"/")
}
