package service

import (
	"context"
	"fmt"
	"strings"

	"pannier"
)

// Activate returns the content of a skill that a model has chosen by itself.
func (s *Service) Activate(ctx context.Context, ref string) (pannier.Content, error) {
	now := s.Snapshot()
	if now == nil {
		return pannier.Content{}, ErrNotReady
	}
	text, err := s.InstructionsOf(ctx, now, func(now *pannier.Snapshot) (*pannier.Entry, error) {
		e, err := Find(now, ref, "")
		if err == nil && e.Usable && !e.ToolsOnly {
			err = checkOffered(e)
		}
		return e, err
	})
	if err != nil {
		return pannier.Content{}, err
	}
	s.recordInvoked(text, pannier.SkillInvoked{Mode: pannier.InvokedAutomatically})
	return s.Content(ctx, text), nil
}

const maxArgs = 64 << 10

// RunCommand returns what an agent needs to follow a command: the text of its skill, followed by the arguments.
// Nothing is run here.
func (s *Service) RunCommand(ctx context.Context, name, args string) (run pannier.CommandRun, err error) {
	now := s.Snapshot()
	if now == nil {
		return run, ErrNotReady
	}
	if len(args) > maxArgs {
		return run, refuse(
			"args_too_large", fmt.Sprintf("the arguments have more than %d bytes", maxArgs),
			"put what is long into a file, and name that",
		)
	}
	args = strings.TrimSpace(args)
	var c pannier.FoundCommand
	text, err := s.InstructionsOf(ctx, now, func(now *pannier.Snapshot) (_ *pannier.Entry, err error) {
		c, err = s.findCommand(now, name)
		return c.Skill, err
	})
	if err != nil {
		return run, err
	}
	run = pannier.CommandRun{
		Slug: c.Slug, Name: c.Name, Command: c.Command, Args: args, Digest: c.Skill.Digest,
		Text:      commandText(text.Body, c.Command, args),
		Directory: s.Directory(c.Skill.Skill),
		// A skill can only narrow, so what it names is what it is left with.
		EffectiveAllowedTools: append([]string{}, c.Skill.AllowedTools...),
		Warnings:              append([]string{}, text.Warnings...),
	}
	if len(c.Others) > 0 {
		run.Warnings = append(
			run.Warnings,
			fmt.Sprintf(
				"%q is declared more than once: this is %s, the others are %s",
				c.Command,
				c.Name,
				strings.Join(c.Others, ", "),
			),
		)
	}
	var needed []string
	for _, a := range c.Arguments {
		if a.Required {
			needed = append(needed, a.Usage())
		}
	}
	if args == "" && len(needed) > 0 {
		run.Warnings = append(
			run.Warnings,
			fmt.Sprintf("%q needs %s, and no arguments are given", c.Command, strings.Join(needed, " ")),
		)
	}
	recorded := args
	if s.Mask != nil {
		recorded = s.Mask(args)
	}
	s.recordInvoked(text, pannier.SkillInvoked{Command: c.Command, Args: recorded, Mode: pannier.InvokedManually})
	return run, nil
}

// findCommand returns the command with a name, unless users may not invoke it.
func (s *Service) findCommand(now *pannier.Snapshot, name string) (pannier.FoundCommand, error) {
	c, ok := s.Commands.Find(now, name)
	if !ok {
		return c, refuse(
			"command_not_found", fmt.Sprintf("command %.100q not found", name),
			`run "pannier command list" to see all commands`,
		)
	}
	switch c.Skill.State {
	case pannier.StateShadowed,
		pannier.StateUnlisted,
		pannier.StateDisabled: // of an ineligible skill people are told whether they may call it
		return c, CheckUsable(c.Skill)
	}
	if !c.Skill.UserInvocable {
		return c, refuse(
			"not_user_invocable", c.Slug+" has user-invocable: false, so users cannot invoke it",
			"remove that line from its SKILL.md, or let the model invoke it",
		)
	}
	return c, nil
}

// commandText returns the body of a skill, followed by the command and its arguments. The arguments replace nothing
// in the body, and no file that they name is opened.
func commandText(body, command, args string) string {
	var text strings.Builder
	text.WriteString(body)
	if command+args != "" && body != "" {
		if !strings.HasSuffix(body, "\n") {
			text.WriteByte('\n')
		}
		text.WriteByte('\n')
	}
	if command != "" {
		text.WriteString("COMMAND: " + command + "\n")
	}
	if args != "" {
		text.WriteString("ARGUMENTS: " + args + "\n")
	}
	return text.String()
}
