package config

import (
	"pannier"
	"pannier/internal/yamldoc"
)

// The codes of the problems of config.yaml. They never change; the package documentation says what they mean. Those of a
// file that is refused are made of its [refusal].
const (
	codePrefix         = "config."
	codeMissing        = codePrefix + "missing"
	codeSyntax         = codePrefix + "syntax"
	codeRepeatedKey    = codePrefix + "key.repeated"
	codeType           = codePrefix + "type"
	codeBool           = codePrefix + "bool"
	codeSkillsShape    = codePrefix + "skills.shape"
	codeSkillsEntry    = codePrefix + "skills.entry"
	codeSkillsRepeated = codePrefix + "skills.repeated"

	codePromptPrefix   = codePrefix + "prompt_"
	codePromptShape    = codePromptPrefix + "shape"
	codePromptEntry    = codePromptPrefix + "entry"
	codePromptRepeated = codePromptPrefix + "repeated"
	codePromptTooMany  = codePromptPrefix + "too_many"
	codePromptMissing  = codePromptPrefix + "missing"

	codeRestartNeeded = codePrefix + "restart_needed"
	codeTierIgnored   = codePrefix + "tier_ignored"
)

// add takes a warning.
func (p *workspaceParser) add(problem pannier.Problem) {
	problem.Severity, problem.Path = pannier.SeverityWarning, pannier.WorkspaceFile
	p.w.Problems = append(p.w.Problems, problem)
}

// warn takes a warning about a value.
func (p *workspaceParser) warn(code, field string, v yamldoc.Value, message, hint string) {
	p.add(pannier.Problem{Code: code, Line: v.Line(), Column: v.Column(), Field: field, Message: message, Hint: hint})
}

// CodeWorkspaceMissing is the code of the problem that the workspace itself is not there, so that nothing is known of it.
const CodeWorkspaceMissing = "workspace.missing"

func workspaceMissing(dir string) pannier.Problem {
	return pannier.Problem{
		Code: CodeWorkspaceMissing, Severity: pannier.SeverityError, Path: dir,
		Message: "the workspace does not exist",
		Hint:    "check the path and the mount; until it is there no card is pushed, and what the platform holds stays",
	}
}

func missing() pannier.Problem {
	return pannier.Problem{
		Code: codeMissing, Severity: pannier.SeverityInfo, Path: pannier.WorkspaceFile,
		Message: "there is no config.yaml: every skill is selected, and the card has default texts",
		Hint:    "write one with name, description and skills",
	}
}

// vanished is about a config.yaml in its grace.
func vanished() pannier.Problem {
	return pannier.Problem{
		Code: codeMissing, Severity: pannier.SeverityWarning, Path: pannier.WorkspaceFile,
		Message: "config.yaml has vanished: what it last said still holds for a moment",
		Hint:    "put it back; without it every skill is selected",
	}
}

func unreadable(r *refusal) pannier.Problem {
	return pannier.Problem{
		Code: codePrefix + r.code, Severity: pannier.SeverityError, Path: pannier.WorkspaceFile,
		Line: r.line, Message: r.message, Hint: r.hint,
	}
}

func syntax(f *yamldoc.Fault) pannier.Problem {
	return pannier.Problem{
		Code: codeSyntax, Severity: pannier.SeverityError, Path: pannier.WorkspaceFile,
		Line: f.Line, Column: f.Column, Message: f.Message, Hint: f.Hint,
	}
}
