package loader

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"pannier"
	"pannier/internal/yamldoc"
	"pannier/loader/fields"
)

// commands returns the commands that the skill declares. A fault in one drops that one alone.
func (c *contract) commands() []pannier.Command {
	v := c.front.Get("commands")
	if v.Kind() == yamldoc.Text || v.Kind() == yamldoc.Map {
		c.warn("skill.type", "commands", v, "this is "+v.Kind().String()+" where a list of commands belongs, and counts as absent", commandHint)
	}
	var commands []pannier.Command
	i := 0
	for item := range v.Items() {
		field := fmt.Sprintf("commands[%d]", i)
		i++
		cmd, fault := c.command(item, field)
		if fault == "" && slices.ContainsFunc(commands, func(other pannier.Command) bool { return other.Name == cmd.Name }) {
			fault = "there is a command of that name before it"
		}
		if fault != "" {
			c.warn("skill.command", field, item, fault+", so it is left out", commandHint)
			continue
		}
		commands = append(commands, cmd)
	}
	return slices.Clip(commands)
}

const commandHint = "begin each command with `- name:`, one word, and add `description:` and `args:` below it"

// command reads one command, or returns what is wrong with it.
func (c *contract) command(v yamldoc.Value, field string) (cmd pannier.Command, fault string) {
	if v.Kind() != yamldoc.Map {
		return cmd, "this is " + v.Kind().String() + " where a command belongs"
	}
	name, ok := v.Get("name").Text()
	if name = strings.TrimPrefix(strings.TrimSpace(name), "/"); !ok || name == "" {
		return cmd, "the command has no name"
	}
	if !isOneWord(name) {
		return cmd, "the name of the command is more than one word"
	}
	args := v.Get("args")
	cmd.Name, cmd.Description = name, c.textOf(v.Get("description"), field+".description")
	if args.Kind() == yamldoc.Map {
		c.warn("skill.command", field+".args", args, "the arguments are a mapping where a text or a list belongs, so they are left out", argumentHint)
		return cmd, ""
	}
	if !hasMapping(args) {
		cmd.Args = strings.Join(c.listOf(args, field+".args", fields.Split{}), " ")
		return cmd, ""
	}
	cmd.Arguments = c.arguments(args, field+".args")
	var usage []string
	for _, a := range cmd.Arguments {
		usage = append(usage, a.Usage())
	}
	cmd.Args = strings.Join(usage, " ")
	return cmd, ""
}

const argumentHint = "begin each argument with `- name:`, one word, and add `description:` and `required:` below it"

// arguments returns the arguments of a command, each a mapping or a name alone. A fault in one drops that one alone.
func (c *contract) arguments(v yamldoc.Value, list string) []pannier.CommandArgument {
	var arguments []pannier.CommandArgument
	i := 0
	for item := range v.Items() {
		field := fmt.Sprintf("%s[%d]", list, i)
		i++
		a, fault := c.argument(item, field)
		if fault == "" && slices.ContainsFunc(arguments, func(other pannier.CommandArgument) bool { return other.Name == a.Name }) {
			fault = "the command has an argument " + strconv.Quote(a.Name) + " already"
		}
		if fault != "" {
			c.warn("skill.command", field, item, fault+", so it is left out", argumentHint)
			continue
		}
		arguments = append(arguments, a)
	}
	return slices.Clip(arguments)
}

// argument reads one argument, or returns what is wrong with it.
func (c *contract) argument(v yamldoc.Value, field string) (a pannier.CommandArgument, fault string) {
	named := v
	if v.Kind() == yamldoc.Map {
		named = v.Get("name")
	}
	name, ok := named.Text()
	if name = strings.TrimSpace(name); !ok || name == "" {
		return a, "the argument has no name"
	}
	if !isOneWord(name) {
		return a, "the name of the argument is more than one word"
	}
	a.Name = name
	if v.Kind() == yamldoc.Map {
		a.Description = c.textOf(v.Get("description"), field+".description")
		a.Required = c.flagOf(v.Get("required"), field+".required", false)
	}
	return a, ""
}

// hasMapping reports whether a list has a mapping among its items.
func hasMapping(v yamldoc.Value) bool {
	for item := range v.Items() {
		if item.Kind() == yamldoc.Map {
			return true
		}
	}
	return false
}

func isOneWord(name string) bool {
	return !strings.ContainsFunc(name, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
}
