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

// CodeWorkspaceMissing is the code of the problem that the workspace itself is not there, so that nothing is known of it.
const CodeWorkspaceMissing = "workspace.missing"

// fileProblem is a problem of config.yaml, or of one field of it.
func fileProblem(code string, severity pannier.Severity, field, message, hint string) pannier.Problem {
	return pannier.Problem{Code: code, Severity: severity, Path: pannier.WorkspaceFile, Field: field, Message: message, Hint: hint}
}

func (p *workspaceParser) warn(code, field string, v yamldoc.Value, message, hint string) {
	problem := fileProblem(code, pannier.SeverityWarning, field, message, hint)
	problem.Line, problem.Column = v.Line(), v.Column()
	p.w.Problems = append(p.w.Problems, problem)
}

func missing() pannier.Problem {
	return fileProblem(codeMissing, pannier.SeverityInfo, "",
		"there is no config.yaml: every skill is selected, and the card has default texts", "write one with name, description and skills")
}

func syntax(code string, severity pannier.Severity, f yamldoc.Fault) pannier.Problem {
	p := fileProblem(code, severity, "", f.Message, f.Hint)
	p.Line, p.Column = f.Line, f.Column
	return p
}
