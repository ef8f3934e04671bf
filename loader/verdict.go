package loader

import (
	"slices"
	"strings"

	"pannier"
	"pannier/internal/yamldoc"
	"pannier/loader/profile"
)

// validate holds a skill against the profiles that keep one from being used. Their rules for the other files of a skill are
// left to [Loader.Inspect], because a load opens none of them. What cannot be used at all needs no further verdict.
func validate(skill *pannier.Skill, names []string, front yamldoc.Value, p parts) {
	if len(names) == 0 || skill.Broken {
		return
	}
	s := profileInput(skill, front, p)
	var problems []pannier.Problem
	for _, name := range names {
		verdict := profile.Check(name, s)
		if !pannier.ConformanceOf(verdict).Compliant {
			skill.Blocked = append(skill.Blocked, name)
		}
		problems = append(problems, verdict...)
	}
	skill.Problems = append(skill.Problems, problems...)
}

// profileInput returns a skill as the profiles see it. front is its frontmatter, Missing where there is none.
func profileInput(skill *pannier.Skill, front yamldoc.Value, p parts) profile.Skill {
	found := front.Kind() == yamldoc.Map && p.line > 0
	return profile.Skill{
		Front: front, FrontFound: found, Text: linesToLF(p.front), LineOffset: max(0, p.line-1),
		Faults: textFaults(skill.Problems), BodyEmpty: p.line > 0 && p.isEmpty(),
		Folder: skill.Folder, File: skill.File, Path: skill.FilePath(),
		Name: skill.Name, Description: skill.Description, License: skill.License,
	}
}

// textFaults returns the problems that are about the text of SKILL.md, and not about what it says.
func textFaults(problems []pannier.Problem) []pannier.Problem {
	var faults []pannier.Problem
	for _, p := range problems {
		if strings.HasPrefix(p.Code, "skill.frontmatter.") || slices.Contains(textCodes, p.Code) {
			faults = append(faults, p)
		}
	}
	return faults
}

// textCodes are the codes of faults of the text that do not begin with "skill.frontmatter.".
var textCodes = []string{"skill.bom", codeNUL, "skill.file.kind", "skill.file.unreadable", "skill.file.too_long"}
