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

// withArgv returns the tool of the call, with the parameter argv and standard input alone if the call has a script's
// arguments as they are.
func (c *call) withArgv() *pannier.RuntimeTool {
	var given map[string]json.RawMessage
	if c.tool.Kind != pannier.RuntimeScript || json.Unmarshal(c.ToolCall.Arguments, &given) != nil || given["argv"] == nil {
		return &c.tool
	}
	for name := range given {
		if name != "argv" && name != "stdin" {
			return &c.tool
		}
	}
	tool := c.tool
	tool.Parameters = json.RawMessage(pannier.ScriptParameters)
	if pannier.HasStdin(c.tool.Parameters) {
		tool.Parameters = pannier.WithStdin(tool.Parameters)
	}
	return &tool
}

// commandLine returns the arguments of a script as a runner takes them, `{"argv": […], "stdin": …}`. Arguments by place
// come before flags unless the script reads its words one by one, those of a subcommand after its name, and argv is
// last. required are the parameters that a call has to give.
func commandLine(options []option, required []string, arguments json.RawMessage) (json.RawMessage, error) {
	if len(options) == 0 {
		return arguments, nil
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal(arguments, &given); err != nil {
		return nil, refuse(pannier.ToolArgumentsInvalid, "the arguments are no object", "give an object")
	}
	var line struct {
		Argv  []string        `json:"argv"`
		Stdin json.RawMessage `json:"stdin,omitempty"`
	}
	if raw := given["argv"]; raw != nil {
		if err := json.Unmarshal(raw, &line.Argv); err != nil {
			return nil, refuse(pannier.ToolArgumentsInvalid, "argv is not a list of texts",
				"give argv as a list of texts")
		}
	}
	line.Stdin = given["stdin"]
	delete(given, "argv")
	delete(given, "stdin")
	if err := placed(options, required, given); err != nil {
		return nil, err
	}
	argv := words(options, "", given)
	for command, more := "", true; more; {
		i := slices.IndexFunc(options, func(o option) bool { return o.Commands && o.Command == command })
		if more = i >= 0; more {
			name := textOf(given[options[i].Name])
			if more = name != "" && name != "null"; more {
				command = strings.TrimSpace(command + " " + name)
				argv = append(append(argv, name), words(options, command, given)...)
			}
		}
		if !more {
			if err := applicable(options, command, given); err != nil {
				return nil, err
			}
		}
	}
	line.Argv = append(argv, line.Argv...)
	text, err := json.Marshal(line)
	return text, err
}

// applicable refuses arguments of subcommands that the call does not name.
func applicable(options []option, command string, given map[string]json.RawMessage) error {
	for name := range given {
		applies := func(o option) bool {
			return o.Name == name && (o.Command == "" || o.Command == command || strings.HasPrefix(command, o.Command+" "))
		}
		if !slices.ContainsFunc(options, applies) {
			return refuse(pannier.ToolArgumentsInvalid,
				fmt.Sprintf("the subcommand %.100q has no argument %.100q", command, name),
				"leave it out, or name another subcommand")
		}
	}
	return nil
}

// placed refuses an argument by place if one before it is missing, because it would be taken for that one.
func placed(options []option, required []string, given map[string]json.RawMessage) error {
	missing := map[string]string{} // by subcommand
	for _, o := range options {
		if o.Flag != "" || o.Commands || o.Kind == pytool.OptionList {
			continue
		}
		value := given[o.Name]
		before := missing[o.Command]
		switch is := len(value) > 0 && string(value) != "null"; {
		case !is && before == "":
			missing[o.Command] = o.Name
		case is && before != "" && (o.Raw || !slices.Contains(required, o.Name)) && o.Command == "":
			return refuse(pannier.ToolArgumentsInvalid,
				fmt.Sprintf("%.100q comes after %.100q on the command line, and that is missing", o.Name, before),
				fmt.Sprintf("give %.100q too, or give all arguments in argv", before))
		}
	}
	return nil
}

// words returns the words of the options of a subcommand, or of those before it.
func words(options []option, command string, given map[string]json.RawMessage) []string {
	places, flags := []string{}, []string{}
	raw := slices.ContainsFunc(options, func(o option) bool { return o.Raw })
	for _, o := range options {
		value := given[o.Name]
		if o.Command != command || o.Commands || len(value) == 0 || string(value) == "null" {
			continue
		}
		of := wordsOf(o, value)
		if o.Flag == "" && !raw {
			places = append(places, of...)
		} else {
			flags = append(flags, of...)
		}
	}
	if slices.ContainsFunc(places, func(text string) bool { return strings.HasPrefix(text, "-") }) {
		return append(append(flags, "--"), places...)
	}
	return append(places, flags...)
}

// wordsOf returns the words of one option with a value.
func wordsOf(o option, value json.RawMessage) []string {
	values := []json.RawMessage{value}
	if o.Kind == pytool.OptionList || o.Kind == pytool.OptionRepeat {
		values = nil
		_ = json.Unmarshal(value, &values) // the parameters say that it is a list
	}
	var texts []string
	for _, v := range values {
		texts = append(texts, textOf(v))
	}
	switch {
	case o.Flag == "":
		return texts
	case o.Kind == pytool.OptionSwitch, o.Kind == pytool.OptionToggle:
		if texts[0] == "true" {
			return []string{o.Flag}
		} else if o.Kind == pytool.OptionToggle {
			return []string{"--no-" + strings.TrimLeft(o.Flag, "-")}
		}
		return nil
	case o.Kind == pytool.OptionCount:
		var n int
		_ = json.Unmarshal(value, &n) // the parameters say that it is a number
		return slices.Repeat([]string{o.Flag}, max(0, min(n, 16)))
	case o.Kind == pytool.OptionList:
		return append([]string{o.Flag}, texts...)
	}
	var all []string
	for _, text := range texts {
		all = append(all, flagged(o, text)...)
	}
	return all
}

// flagged returns a flag with its value, in one word if the flag ends with `=`, or if the value could be taken for
// another flag.
func flagged(o option, value string) []string {
	switch {
	case strings.HasSuffix(o.Flag, "="):
		return []string{o.Flag + value}
	case o.Raw || !strings.HasPrefix(value, "-"):
		return []string{o.Flag, value}
	case strings.HasPrefix(o.Flag, "--"):
		return []string{o.Flag + "=" + value}
	}
	return []string{o.Flag + value}
}

// textOf returns a text as it is, and another value as JSON has it.
func textOf(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}
