package loader

import (
	"bytes"
	"errors"
	"strconv"
	"unicode"

	"pannier"
	"pannier/internal/yamldoc"
	"pannier/loader/repair"
)

const (
	codeRepaired = "skill.frontmatter.repaired"
	codeDropped  = "skill.frontmatter.dropped"
)

// parse reads the frontmatter, with repairs. If text is glued to a closing `---` before the fence (`---# Title`), a repair ends the
// frontmatter there, so it returns the parts anew.
func (p parts) parse() (parts, repair.Result, error) {
	r, err := repair.Parse(linesToLF(p.front))
	if err == nil && r.Glued {
		front, rest, _ := repair.Fence(p.front)
		p.body = p.text[len(p.front)-len(rest):]
		p.front = front
	}
	return p, r, err
}

// isEmpty reports whether only blanks and invisible characters follow the frontmatter.
func (p parts) isEmpty() bool {
	return p.whole && bytes.IndexFunc(p.body, func(r rune) bool { return !unicode.IsSpace(r) && !pannier.IsHidden(r) }) < 0
}

// parse reads the frontmatter and returns the parts of the file as they then are. A skill whose frontmatter is not YAML,
// and cannot be repaired, cannot be used.
func (c *contract) parse(skill *pannier.Skill, p parts) parts {
	p, r, err := p.parse()
	if err != nil {
		skill.Broken = true
		f := *syntaxOf(err)
		f.Message += describeGuess(r.Guess)
		c.problems = append(c.problems, c.fault("skill.frontmatter.syntax", pannier.SeverityError, &f))
		return p
	}
	c.front, c.source = r.Value, linesToLF(p.front)
	for _, m := range r.Repairs {
		code, severity := codeRepaired, pannier.SeverityWarning
		if m.Dropped {
			code, severity = codeDropped, pannier.SeverityError
		}
		problem := c.fault(code, severity, &yamldoc.Fault{Line: m.Line, Column: m.Column, Message: m.Message, Hint: m.Hint})
		problem.Field = m.Field
		c.problems = append(c.problems, problem)
	}
	for _, f := range r.Repeated {
		c.problems = append(c.problems, c.fault("skill.frontmatter.repeated_key", pannier.SeverityWarning, &f))
	}
	return p
}

// describeGuess says what is recognizable in a frontmatter that cannot be read.
func describeGuess(g repair.Guess) string {
	text := ""
	if g.Name != "" {
		text += "; its name seems to be " + strconv.Quote(g.Name)
	}
	if g.Description != "" {
		text += "; its description seems to be " + strconv.Quote(g.Description)
	}
	return text
}

// syntaxOf returns the fault that an error of [yamldoc.Parse] is.
func syntaxOf(err error) *yamldoc.Fault {
	if f, ok := errors.AsType[*yamldoc.Fault](err); ok {
		return f
	}
	return &yamldoc.Fault{Message: err.Error(), Hint: "check the frontmatter"}
}

func (c *contract) fault(code string, severity pannier.Severity, f *yamldoc.Fault) pannier.Problem {
	p := pannier.Problem{Code: code, Severity: severity, Path: c.path, Message: f.Message, Hint: f.Hint, Column: f.Column}
	if f.Line > 0 {
		p.Line = f.Line + c.offset
	}
	return p
}
