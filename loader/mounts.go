package loader

import (
	"bytes"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"pannier"
)

// mountsFile lists the mounts that this process sees (proc_pid_mountinfo(5)).
const mountsFile = "/proc/self/mountinfo"

// maxMountBytes bounds what is read of it. A mount has about two hundred bytes.
const maxMountBytes = 4 << 20

// mountPoints returns the paths that something is mounted at, in the order of the file. Lines that are none of mountinfo are
// left out.
func mountPoints(text []byte) (points []string) {
	for line := range bytes.Lines(text) {
		// 36 35 98:0 /root /point rw,noatime master:1 - ext3 /dev/root rw
		if fields := bytes.Fields(line); len(fields) >= 5 {
			points = append(points, unescapeMount(string(fields[4])))
		}
	}
	return points
}

// unescapeMount undoes how the kernel writes blanks and backslashes: as a backslash and three octal digits.
func unescapeMount(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) && isOctal(s[i+1:i+4]) {
			b.WriteByte((s[i+1]-'0')<<6 | (s[i+2]-'0')<<3 | (s[i+3] - '0'))
			i += 3
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// isOctal reports whether three digits are those of a byte.
func isOctal(digits string) bool {
	return digits[0] >= '0' && digits[0] <= '3' && strings.Trim(digits, "01234567") == ""
}

// scanMounts brings up to date which single files are mounted.
func (l *Loader) scanMounts() {
	file, err := os.Open(l.mountsFile)
	if err != nil {
		return // unknown without /proc
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxMountBytes))
	if err != nil || bytes.Equal(text, l.mounts) {
		return
	}
	l.mounts, l.mountProblems, l.mountedFiles = text, nil, nil
	for _, point := range mountPoints(text) {
		dir, rest, shown := l.mattersAt(point)
		if shown == "" {
			continue // nor may its stat be read: the disk of a mount elsewhere may not answer
		}
		if info, err := os.Stat(point); err == nil && info.Mode().IsRegular() {
			l.mountProblems = append(l.mountProblems, pannier.Problem{
				Code: "mount.single_file", Severity: pannier.SeverityWarning, Path: shown,
				Message: "this file is mounted alone, so it keeps its content if it is replaced by another",
				Hint:    "mount the directory that holds it, in Kubernetes without subPath",
			})
			l.mountedFiles = append(l.mountedFiles, path.Join(dir, rest))
		}
	}
	slices.SortFunc(l.mountProblems, pannier.CompareProblems)
	slices.Sort(l.mountedFiles)
	l.mountedFiles = slices.Compact(l.mountedFiles)
}

// mattersAt returns the path of a file that is read, where one is at a path without links: below the workspace or a root, and as
// people are shown it.
func (l *Loader) mattersAt(point string) (dir, rest, shown string) {
	name := path.Base(point)
	if rest, ok := belowReal(l.rules.Workspace, point); ok && rest == name {
		if name == pannier.WorkspaceFile || slices.Contains(pannier.UsualEntries(), name) {
			return l.rules.Workspace, name, name
		}
	}
	for _, root := range l.rules.Roots {
		if rest, ok := belowReal(root.Path, point); ok && (pannier.IsSkillFile(name) || name == pannier.MetaFile) {
			return root.Path, rest, path.Join(root.Name, rest)
		}
	}
	return "", "", ""
}

// belowReal is below for a path without links.
func belowReal(dir, point string) (rest string, ok bool) {
	if rest, ok = below(dir, point); ok {
		return rest, ok
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return below(real, point)
	}
	return "", false
}

// below returns the path of dir below root, with "" for root itself.
func below(root, dir string) (string, bool) {
	if dir == root {
		return "", true
	}
	rest, ok := strings.CutPrefix(dir, strings.TrimSuffix(root, "/")+"/")
	return rest, ok
}
