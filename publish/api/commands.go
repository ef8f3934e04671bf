package api

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"pannier"
)

// Commands find the commands of a snapshot. Without them the routes do not exist.
type Commands struct {
	List func(*pannier.Snapshot) []pannier.SkillCommand
	Find func(s *pannier.Snapshot, name string) (pannier.FoundCommand, bool)
}

const maxArgs = 64 << 10

func hasCommands(o *Options) bool { return o.Commands.List != nil }

func (h *Handler) listCommands(w http.ResponseWriter, r *http.Request, s *pannier.Snapshot) error {
	return h.writeShared(w, r, s, "commands", func() (encoded, error) {
		return encode(pannier.CommandList{SnapshotVersion: s.Version, Digest: s.Digest, Commands: h.Commands.List(s)})
	})
}

// runCommand answers with what an agent needs to follow a command: the text of its skill, followed by the arguments.
// Nothing is run here.
func (h *Handler) runCommand(r *http.Request, s *pannier.Snapshot) (run pannier.CommandRun, err error) {
	args, err := readArgs(r)
	if err != nil {
		return run, err
	}
	return h.runNamed(r.Context(), s, r.PathValue("name"), args)
}

func (h *Handler) runNamed(ctx context.Context, s *pannier.Snapshot, name, args string) (run pannier.CommandRun, err error) {
	var c pannier.FoundCommand
	var doc pannier.Document
	err = h.fresh(ctx, s, func(s *pannier.Snapshot) (err error) {
		if c, err = h.findCommand(s, name); err == nil {
			_, doc, err = h.read(ctx, s, c.Slug)
		}
		return err
	})
	if err != nil {
		return run, err
	}
	run = pannier.CommandRun{
		Slug: c.Slug, Name: c.Name, Command: c.Command, Args: args, Digest: c.Skill.Digest,
		Text:      commandText(doc.Body, c.Command, args),
		Directory: h.directory(c.Skill),
		// A skill can only narrow, so what it names is what it is left with.
		EffectiveAllowedTools: append([]string{}, c.Skill.AllowedTools...),
		Warnings:              append([]string{}, doc.Warnings...),
	}
	if len(c.Others) > 0 {
		run.Warnings = append(run.Warnings, fmt.Sprintf("%q is declared more than once: this is %s, the others are %s", c.Command, c.Name, strings.Join(c.Others, ", ")))
	}
	if needed := requiredArguments(c.Arguments); args == "" && len(needed) > 0 {
		run.Warnings = append(run.Warnings, fmt.Sprintf("%q needs %s, and no arguments are given", c.Command, strings.Join(needed, " ")))
	}
	h.recordInvocation(c.Skill)
	h.Emit(pannier.EventSkillLoaded, skillLoaded(c.Skill, doc.Frontmatter))
	h.Emit(pannier.EventSkillInvoked, pannier.SkillInvoked{
		Name: c.Skill.Name, Slug: c.Slug, Command: c.Command, Args: h.TurnEvents.maskArgs(args), Mode: pannier.InvokedManually, EffectiveAllowedTools: c.Skill.AllowedTools,
	})
	return run, nil
}

func requiredArguments(arguments []pannier.CommandArgument) (needed []string) {
	for _, a := range arguments {
		if a.Required {
			needed = append(needed, a.Usage())
		}
	}
	return needed
}

// readArgs reads the arguments. A request without a body has none.
func readArgs(r *http.Request) (string, error) {
	var call pannier.CommandCall
	if r.ContentLength == 0 {
		return "", nil
	}
	if err := readJSON(r, &call); err != nil {
		return "", err
	}
	return checkArgs(call.Args)
}

func checkArgs(args string) (string, error) {
	if len(args) > maxArgs {
		return "", &statusError{http.StatusRequestEntityTooLarge, "args_too_large", fmt.Sprintf("the arguments have more than %d bytes", maxArgs), "put what is long into a file, and name that"}
	}
	return strings.TrimSpace(args), nil
}

// findCommand returns the command with a name, unless users may not invoke it. The other states of its skill are checked when
// the skill is read.
func (h *Handler) findCommand(s *pannier.Snapshot, name string) (pannier.FoundCommand, error) {
	c, ok := h.Commands.Find(s, name)
	if !ok {
		return c, &statusError{http.StatusNotFound, "command_not_found", fmt.Sprintf("command %.100q not found", name), "GET /v1/commands lists all commands"}
	}
	switch c.Skill.State {
	case pannier.StateShadowed, pannier.StateUnlisted, pannier.StateDisabled:
		return c, unusable(c.Skill)
	}
	if !c.Skill.UserInvocable {
		return c, &statusError{http.StatusConflict, "not_user_invocable", c.Slug + " has user-invocable: false, so users cannot invoke it", "remove that line from its SKILL.md, or let the model invoke it"}
	}
	return c, nil
}

// commandText returns the body of a skill, followed by the command and its arguments. The arguments replace nothing in the body,
// and no file that they name is opened.
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
