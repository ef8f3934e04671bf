package loader

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"pannier"
	"pannier/internal/fsx"
	"pannier/internal/yamldoc"
	"pannier/loader/httpspec"
	"pannier/loader/profile"
	"pannier/loader/pytool"
	"pannier/loader/schema"
	"pannier/loader/scripts"
)

// The bounds of what is read of one skill to find tools in it.
const (
	maxToolFiles = 256
	maxToolBytes = 8 << 20
)

// runtimeTools returns the runtime tools of a skill that is loaded, nil where it declares none, which is nearly always so and
// costs nothing. What is wrong with them is reported with the turn that they are kept back from, and to a client that inspects the
// skill.
func (c *contract) runtimeTools(s *pannier.Skill, p parts) []pannier.Tool {
	if c.front.Get("runtime").Get("tools").Kind() != yamldoc.List {
		return nil
	}
	silent := contract{front: c.front, path: c.path, offset: c.offset}
	return silent.declared(s.File, profile.Check(profile.NameOpenClaw, profileInput(s, c.front, p)))
}

// declared returns the runtime tools that the frontmatter in a file declares, by name, and tells what is wrong with those that
// have a fault. issues are those of the profile that has the rules for them; whatever it holds against one tool costs that
// tool alone.
func (c *contract) declared(file string, issues []pannier.Problem) []pannier.Tool {
	tools := []pannier.Tool{}
	if slices.ContainsFunc(issues, func(p pannier.Problem) bool { return p.Code == "openclaw.more" }) {
		c.warn("skill.tools.declared", "runtime.tools", c.front.Get("runtime"), "there is too much wrong with the frontmatter to tell which of the declared tools are sound, so none is listed", "fix what `pannier audit DIR --profile openclaw`, with its directory, reports")
		return tools
	}
	i := 0
	for v := range c.front.Get("runtime").Get("tools").Items() {
		field := fmt.Sprintf("runtime.tools[%d]", i)
		i++
		tool := c.declaredTool(v, field, issues, tools)
		tool.Path = file
		tool.Line, _ = c.place(v)
		tools = append(tools, tool)
	}
	slices.SortStableFunc(tools, func(a, b pannier.Tool) int { return strings.Compare(a.Name, b.Name) })
	return tools
}

// declaredTool reads a tool with what keeps it from being offered; before are those that stand before it.
func (c *contract) declaredTool(v yamldoc.Value, field string, issues []pannier.Problem, before []pannier.Tool) pannier.Tool {
	tool, fault := readTool(v)
	if faults := faultsIn(issues, field); len(faults) > 0 {
		c.problems = append(c.problems, faults...)
		tool.Fault, tool.FaultDetail = pannier.ToolInvalidDeclaration, field+": "+faults[0].Message
		if faults[0].Code == "contract.runtime.tools.tool_slug" {
			tool.Fault = pannier.ToolInvalidSlug
		}
		return tool
	}
	tool.Fault = pannier.ToolInvalidDeclaration
	if fault == "" && slices.ContainsFunc(before, func(other pannier.Tool) bool { return other.Name == tool.Name && other.Fault == "" }) {
		tool.Fault, fault = pannier.ToolDuplicateName, "there is a tool of that name before it"
	}
	if fault == "" {
		tool.Fault = ""
		return tool
	}
	tool.FaultDetail = field + ": " + fault
	c.warn("skill.tools.declared", field, v, fault+", so it is left out", "fix the tool, or remove it")
	return tool
}

// faultsIn returns the errors in a field or below it, as warnings: they cost a tool, and not the skill.
func faultsIn(issues []pannier.Problem, field string) []pannier.Problem {
	var faults []pannier.Problem
	for _, p := range issues {
		rest, ok := strings.CutPrefix(p.Field, field)
		if ok && (rest == "" || rest[0] == '.') && p.Severity == pannier.SeverityError {
			p.Severity = pannier.SeverityWarning
			faults = append(faults, p)
		}
	}
	return faults
}

// readTool reads a tool, with what keeps it from being called even where the profile finds no fault with it (Pioneer skills
// architecture, "Runtime tools").
func readTool(v yamldoc.Value) (tool pannier.Tool, fault string) {
	slug, _ := v.Get("tool_slug").Text()
	kind, _ := v.Get("kind").Text()
	description, _ := v.Get("description").Text()
	tool = pannier.Tool{Name: pannier.Slugify(slug), Description: strings.TrimSpace(description), Declaration: v.JSON()}
	if k := pannier.RuntimeToolKind(kind); slices.Contains(pannier.DeclaredToolKinds(), k) {
		tool.Kind = k
	}
	switch parameters := v.Get("parameters"); parameters.Kind() {
	case yamldoc.Missing, yamldoc.Null:
	case yamldoc.Map:
		tool.Parameters = parameters.JSON()
		if _, err := schema.Compile(tool.Parameters); err != nil {
			return tool, "its parameters cannot be used as a JSON Schema: " + err.Error()
		}
	default:
		return tool, "its parameters are " + parameters.Kind().String() + " where a JSON Schema of an object belongs"
	}
	config := v.Get("config")
	switch tool.Kind {
	case pannier.RuntimeShell:
		var command []string
		if json.Unmarshal(config.Get("command").JSON(), &command) != nil || len(command) == 0 || command[0] == "" {
			return tool, "it is a program, and config.command is not a list of texts that begins with its name"
		}
	case pannier.RuntimeHTTP:
		if err := httpspec.Check(config.JSON()); err != nil {
			return tool, "it is a request, and " + err.Error()
		}
	case pannier.RuntimeProxy:
		if target, _ := config.Get("target_tool").Text(); strings.TrimSpace(target) == "" {
			return tool, "it stands for another tool, and config.target_tool does not say for which"
		} else if pannier.NamesSkillTool(target) {
			return tool, "it stands for a tool of the agent, and config.target_tool names one of a skill"
		}
	}
	return tool, ""
}

// toolFiles returns the functions in the Python files right in tools/ and scripts/, and the scripts of the skill if they
// are wanted, by path.
func (in *inspector) toolFiles(withScripts bool) []pannier.Tool {
	var tools []pannier.Tool
	texts := map[string][]byte{}
	looked := 0
	for _, f := range in.files {
		name := path.Base(f.Path)
		if !scripts.IsRightInDir(f.Path) || !isScript(name) || strings.HasPrefix(name, "_") {
			continue
		}
		looked++
		if looked > maxToolFiles || in.read > maxToolBytes {
			in.report("skill.tools.bounds", f.Path, 0, fmt.Sprintf("more than %d Python files, or %d bytes of them, lie before it, so it is not searched for tools", maxToolFiles, maxToolBytes), "keep files without tools in a directory of their own")
			continue
		}
		text, err := in.readFile(f.Path, pytool.MaxFileBytes+1)
		if err != nil {
			in.report("skill.tools.unreadable", f.Path, 0, "the file cannot be read: "+fsx.Cause(err).Error(), "make it readable for the user that pannier runs as")
			continue
		}
		in.read += int64(len(text))
		texts[f.Path] = text
		functions, faults := pytool.Read(text)
		for i := range functions {
			functions[i].Path = f.Path
		}
		tools = append(tools, functions...)
		for _, fault := range faults {
			in.report("skill.tools.python", f.Path, fault.Line, fault.Message, "write what the decorator @tool is given as plain texts, in a file that Python can read")
		}
	}
	if withScripts {
		tools = append(tools, in.scripts(texts, tools)...)
	}
	slices.SortStableFunc(tools, func(a, b pannier.Tool) int { return strings.Compare(a.Path, b.Path) })
	return tools
}

// report adds a problem of a file below the skill directory, "" for the directory itself.
func (in *inspector) report(code, file string, line int, message, hint string) {
	in.problems = append(in.problems, pannier.Problem{
		Code: code, Severity: pannier.SeverityWarning, Path: path.Join(in.skill.Path, file), Line: line, Message: message, Hint: hint,
	})
}

// readFile returns at most limit bytes of a file below the skill directory.
func (in *inspector) readFile(file string, limit int64) ([]byte, error) {
	if err := in.canceled(); err != nil {
		return nil, err
	}
	f, err := in.open(file)
	if err != nil {
		return nil, err
	}
	defer f.close()
	st, err := f.stat()
	if err != nil || !st.IsRegular() {
		return nil, errors.New("it is " + st.KindName())
	}
	text := make([]byte, min(st.Size, limit))
	n, err := io.ReadFull(f, text)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil // it has become shorter
	}
	return text[:n], err
}
