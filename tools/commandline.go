package tools

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"pannier"
	"pannier/loader/pytool"
)

// option is an argument of a script, as the loader found it.
type option = pytool.Option

// withArgv returns the tool of the call, with the parameter argv alone if the call has a script's arguments as they
// are.
func (c *call) withArgv() *pannier.RuntimeTool {
	var given map[string]json.RawMessage
	if c.tool.Kind != pannier.RuntimeScript || json.Unmarshal(c.ToolCall.Arguments, &given) != nil ||
		len(given) != 1 || given["argv"] == nil {
		return &c.tool
	}
	tool := c.tool
	tool.Parameters = json.RawMessage(pannier.ScriptParameters)
	return &tool
}

// commandLine returns the arguments of a script as a runner takes them, `{"argv": […]}`. Arguments by place come
// before flags, those of a subcommand after its name, and argv is last.
func commandLine(options []option, arguments json.RawMessage) (json.RawMessage, error) {
	if len(options) == 0 {
		return arguments, nil
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal(arguments, &given); err != nil {
		return nil, refuse(pannier.ToolArgumentsInvalid, "the arguments are no object", "give an object")
	}
	var further []string
	if raw := given["argv"]; raw != nil {
		if err := json.Unmarshal(raw, &further); err != nil {
			return nil, refuse(pannier.ToolArgumentsInvalid, "argv is not a list of texts",
				"give argv as a list of texts")
		}
	}
	command := ""
	if i := slices.IndexFunc(options, func(o option) bool { return o.Commands }); i >= 0 {
		command = textOf(given[options[i].Name])
	}
	for name := range given {
		applies := func(o option) bool { return o.Name == name && (o.Command == "" || o.Command == command) }
		if name != "argv" && !slices.ContainsFunc(options, applies) {
			return nil, refuse(pannier.ToolArgumentsInvalid,
				fmt.Sprintf("the subcommand %.100q has no argument %.100q", command, name),
				"leave it out, or name another subcommand")
		}
	}
	argv := words(options, "", given)
	if command != "" {
		argv = append(append(argv, command), words(options, command, given)...)
	}
	text, err := json.Marshal(map[string][]string{"argv": append(argv, further...)})
	return text, err
}

// words returns the words of the options of a subcommand, or of those before it.
func words(options []option, command string, given map[string]json.RawMessage) []string {
	places, flags := []string{}, []string{}
	for _, o := range options {
		value := given[o.Name]
		if o.Command != command || o.Commands || len(value) == 0 || string(value) == "null" {
			continue
		}
		values := []json.RawMessage{value}
		if o.Kind == pytool.OptionList || o.Kind == pytool.OptionRepeat {
			values = nil
			_ = json.Unmarshal(value, &values) // the parameters say that it is a list
		}
		texts := make([]string, len(values))
		for i := range values {
			texts[i] = textOf(values[i])
		}
		switch {
		case o.Flag == "":
			places = append(places, texts...)
		case o.Kind == pytool.OptionSwitch, o.Kind == pytool.OptionToggle:
			if texts[0] == "true" {
				flags = append(flags, o.Flag)
			} else if o.Kind == pytool.OptionToggle {
				flags = append(flags, "--no-"+strings.TrimLeft(o.Flag, "-"))
			}
		case o.Kind == pytool.OptionCount:
			var n int
			_ = json.Unmarshal(value, &n) // the parameters say that it is a number
			flags = append(flags, slices.Repeat([]string{o.Flag}, max(0, min(n, 16)))...)
		case o.Kind == pytool.OptionList:
			flags = append(append(flags, o.Flag), texts...)
		default:
			for _, text := range texts {
				flags = append(flags, flagged(o.Flag, text)...)
			}
		}
	}
	if slices.ContainsFunc(places, func(text string) bool { return strings.HasPrefix(text, "-") }) {
		return append(append(flags, "--"), places...)
	}
	return append(places, flags...)
}

// flagged returns a flag with its value, in one word if the value could be taken for another flag.
func flagged(flag, value string) []string {
	switch {
	case !strings.HasPrefix(value, "-"):
		return []string{flag, value}
	case strings.HasPrefix(flag, "--"):
		return []string{flag + "=" + value}
	}
	return []string{flag + value}
}

// textOf returns a text as it is, and another value as JSON has it.
func textOf(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}
