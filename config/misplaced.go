package config

import (
	"os"
	"path/filepath"
	"strings"

	"pannier"
)

// CodeMisplaced is the code of the problem that files lie where nothing reads them.
const CodeMisplaced = "workspace.misplaced"

// Misplaced reports what a platform's file writer left in the wrong place of a workspace: a workspace within the
// workspace, and a skill whose directory the upload of a folder has dropped. A root that lies there is meant to. It
// follows no links.
func Misplaced(rules pannier.DiscoveryRules) (problems []pannier.Problem) {
	dir := rules.Workspace
	nested := filepath.Join(dir, pannier.MisplacedDir)
	for _, root := range rules.Roots {
		if root.Path == dir || root.Path == nested || strings.HasPrefix(root.Path, nested+string(filepath.Separator)) {
			return nil
		}
	}
	if info, err := os.Lstat(nested); err == nil && info.IsDir() {
		for _, name := range append(pannier.UsualEntries(), pannier.WorkspaceFile, "skills", pannier.SkillFile) {
			if _, err := os.Lstat(filepath.Join(nested, name)); err != nil {
				continue
			}
			p := fileProblem(CodeMisplaced, pannier.SeverityWarning, "", "files were saved one directory too deep, where nothing reads them",
				"move them with `cp -a "+nested+"/. "+dir+"/ && rm -r "+nested+"`, after a look at what that replaces; a newer platform saves them in the right place")
			p.Path = filepath.Join(pannier.MisplacedDir, name)
			problems = append(problems, p)
			break
		}
	}
	if info, err := os.Lstat(filepath.Join(dir, pannier.SkillFile)); err == nil && info.Mode().IsRegular() {
		skill := filepath.Join(dir, "skills", "NAME")
		p := fileProblem(CodeMisplaced, pannier.SeverityWarning, "", "a skill lies at the top of the workspace, where nothing reads it",
			"move it with `mkdir -p "+skill+" && mv "+filepath.Join(dir, pannier.SkillFile)+" "+skill+"/`, and likewise its other files; upload a folder with skills/NAME in it, not the folder of the skill")
		p.Path = pannier.SkillFile
		problems = append(problems, p)
	}
	return problems
}
