package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/tailscale/hujson"

	"pannier/internal/fsx"
)

// installFlags are the flags of `pannier mcp --install`.
type installFlags struct{ install, user, remove, dryRun bool }

func (f *installFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.install, "install", false, "add pannier to the configuration of HOST")
	cmd.Flags().BoolVar(&f.user, "user", false, "with --install: the file for all projects")
	cmd.Flags().BoolVar(&f.remove, "remove", false, "with --install: remove pannier from the file")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "with --install: print the change, and write nothing")
	cmd.MarkFlagsMutuallyExclusive("install", "print-config")
}

// maxHostFile bounds the configuration file of a host, in bytes.
const maxHostFile = 16 << 20

// installHost adds the server to the configuration file of a host, or removes it.
func (p *program) installHost(flags *pflag.FlagSet, f installFlags, name string) error {
	h, _, lines, err := p.hostLines(flags, name)
	if err != nil {
		return err
	}
	file, err := h.path(f.user)
	if err != nil {
		return err
	}
	before, info, err := readHostFile(file)
	if err != nil {
		return err
	}
	after, err := h.edit(before, lines, f.remove)
	switch {
	case err != nil:
		hint := "add these lines to it by hand"
		if f.remove {
			hint = "remove the entry pannier from it by hand"
		} else {
			fmt.Fprint(p.out, lines)
		}
		return failure(fmt.Sprintf("%s is not changed: %v", file, err), hint)
	case bytes.Equal(before, after):
		fmt.Fprintf(p.err, "pannier: nothing to change in %s\n", file)
		return nil
	case f.dryRun && f.remove:
		fmt.Fprintf(p.err, "pannier: would remove pannier from %s\n", file)
		return nil
	case f.dryRun:
		fmt.Fprint(p.out, lines)
		fmt.Fprintf(p.err, "pannier: would add these lines to %s\n", file)
		return nil
	}
	return p.writeHostFile(file, before, after, info)
}

// path returns the configuration file for a project or a user, without symlinks, so that one of a directory of dotfiles
// is changed there.
func (h hostConfig) path(user bool) (string, error) {
	base, file := "", h.project
	switch {
	case user && h.user == "":
		return "", failure(h.title+" has no file for all projects that others may write",
			fmt.Sprintf(`run "pannier mcp --print-config %s", and add the server by the program`, h.name))
	case user || h.project == "":
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		base, file = home, h.user
		if below, ok := strings.CutPrefix(file, ".config/"); ok {
			if base, err = os.UserConfigDir(); err != nil {
				return "", err
			}
			file = below
		}
	default:
		here, err := os.Getwd()
		if err != nil {
			return "", fmt.Errorf("working directory: %w", err)
		}
		base = projectOf(here)
	}
	at := filepath.Join(base, filepath.FromSlash(file))
	real, err := filepath.EvalSymlinks(at)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(at); err == nil {
			return "", failure(at+" is a symlink to a file that does not exist", "create that file, or remove the symlink")
		}
		return at, nil
	}
	return real, err
}

func readHostFile(file string) ([]byte, fs.FileInfo, error) {
	text, info, err := fsx.ReadRegular(file, 0, maxHostFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err == nil && len(text) > maxHostFile {
		err = fmt.Errorf("%s has more than %d bytes", file, maxHostFile)
	}
	return text, info, err
}

// writeHostFile replaces the file, after a copy of it as it was.
func (p *program) writeHostFile(file string, before, after []byte, info fs.FileInfo) error {
	o := fsx.WriteOptions{Prepare: func(f *os.File) error { return f.Chmod(0o644) }}
	kept := ""
	if info != nil {
		o.Prepare = fsx.KeepOwner(info) // it may hold tokens
		kept = file + ".before-pannier"
		if err := fsx.WriteFile(kept, before, o); err != nil {
			return fmt.Errorf("keep %s as it was: %w", file, err)
		}
	} else if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	if err := fsx.WriteFile(file, after, o); err != nil {
		return err
	}
	fmt.Fprintf(p.err, "pannier: changed %s\n", file)
	if kept != "" {
		fmt.Fprintf(p.err, "pannier: %s has it as it was\n", kept)
	}
	return nil
}

// edit returns the text of a configuration file with the server of some lines, or without one.
func (h hostConfig) edit(before []byte, lines string, remove bool) ([]byte, error) {
	empty := len(bytes.TrimSpace(before)) == 0
	edit, decode := editJSON, decodeJSON
	switch path.Ext(h.user + h.project) {
	case ".toml":
		edit, decode = editTOML, decodeTOML
	case ".yaml":
		if !empty {
			return nil, errors.New("pannier does not edit YAML")
		}
	}
	switch {
	case empty && remove:
		return before, nil
	case empty:
		return []byte(lines), nil
	}
	want, err := decode(before)
	if err != nil {
		return nil, err
	}
	added, err := decode([]byte(lines))
	if err != nil {
		return nil, err
	}
	servers, ok := want[h.servers].(map[string]any)
	if !ok && want[h.servers] != nil {
		return nil, fmt.Errorf("%s in it is not a table of servers", h.servers)
	}
	entry := added[h.servers].(map[string]any)["pannier"]
	if now, ok := servers["pannier"]; remove && !ok || !remove && reflect.DeepEqual(now, entry) {
		return before, nil
	}
	after, err := edit(before, h.servers, lines, remove)
	if err != nil {
		return nil, err
	}
	// The text is edited in place, so that comments stay: what it says now must be what was meant.
	if servers == nil {
		servers = map[string]any{}
		want[h.servers] = servers
	}
	if servers["pannier"] = entry; remove {
		delete(servers, "pannier")
	}
	got, err := decode(after)
	if len(servers) == 0 && got[h.servers] == nil {
		delete(want, h.servers)
		delete(got, h.servers)
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		return nil, errors.New("it has a form that pannier does not edit")
	}
	return after, nil
}

// decodeJSON reads JSON with comments and trailing commas.
func decodeJSON(text []byte) (value map[string]any, err error) {
	standard, err := hujson.Standardize(bytes.Clone(text))
	if err == nil {
		err = json.Unmarshal(standard, &value)
	}
	if err == nil && value == nil {
		err = errors.New("it is not a JSON object")
	}
	return value, err
}

// editJSON adds or removes the server in JSON with comments.
func editJSON(text []byte, servers, lines string, remove bool) ([]byte, error) {
	root, err := hujson.Parse(text)
	if err != nil {
		return nil, err
	}
	added, err := hujson.Parse([]byte(lines))
	if err != nil {
		return nil, err
	}
	at := "/" + servers + "/pannier"
	if remove {
		err = root.Patch(fmt.Appendf(nil, `[{"op": "remove", "path": %q}]`, at))
		return root.Pack(), err
	}
	indent := indentOf(&root)
	depth, parent, value := 2, root.Find("/"+servers), added.Find(at)
	if parent == nil {
		at, depth, parent, value = "/"+servers, 1, &root, added.Find("/"+servers)
	}
	isNew := root.Find(at) == nil
	standard, err := hujson.Standardize(bytes.TrimSpace(value.Pack()))
	if err != nil {
		return nil, err
	}
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, standard, strings.Repeat(indent, depth), indent); err != nil {
		return nil, err
	}
	if err := root.Patch(fmt.Appendf(nil, `[{"op": "add", "path": %q, "value": %s}]`, at, pretty.Bytes())); err != nil {
		return nil, err
	}
	if o, ok := parent.Value.(*hujson.Object); ok && isNew {
		breakLast(o, "\n"+strings.Repeat(indent, depth), "\n"+strings.Repeat(indent, depth-1))
	}
	return root.Pack(), nil
}

// breakLast puts the last member of an object on a line of its own.
func breakLast(o *hujson.Object, before, after string) {
	last := &o.Members[len(o.Members)-1]
	last.Name.BeforeExtra = append(bytes.TrimRight(last.Name.BeforeExtra, " \t\r\n"), before...)
	last.Value.BeforeExtra = hujson.Extra(" ")
	if !bytes.Contains(o.AfterExtra, []byte("\n")) {
		o.AfterExtra = append(o.AfterExtra, after...)
	}
}

// indentOf returns the indentation of the members of a file, two spaces where there is none.
func indentOf(root *hujson.Value) string {
	if o, ok := root.Value.(*hujson.Object); ok && len(o.Members) > 0 {
		extra := string(o.Members[0].Name.BeforeExtra)
		if i := strings.LastIndexByte(extra, '\n'); i >= 0 && i+1 < len(extra) && strings.Trim(extra[i:], "\n \t") == "" {
			return extra[i+1:]
		}
	}
	return "  "
}

func decodeTOML(text []byte) (value map[string]any, err error) {
	return value, toml.Unmarshal(text, &value)
}

// tableOfServer is the header of the table of the server, or of one in it.
var tableOfServer = regexp.MustCompile(`^\s*\[\s*mcp_servers\s*\.\s*(?:pannier|"pannier"|'pannier')\s*[].]`)

// editTOML removes the tables of the server, and adds the lines at the end.
func editTOML(text []byte, _, lines string, remove bool) ([]byte, error) {
	var kept, passed strings.Builder
	inTable := false
	for line := range strings.Lines(string(text)) {
		trimmed := strings.TrimSpace(line)
		if strings.HasPrefix(trimmed, "[") {
			inTable = tableOfServer.MatchString(line)
			if !inTable {
				kept.WriteString(passed.String())
			}
			passed.Reset()
		}
		switch {
		case !inTable:
			kept.WriteString(line)
		case trimmed == "" || strings.HasPrefix(trimmed, "#"): // may be about the next table
			passed.WriteString(line)
		default:
			passed.Reset()
		}
	}
	kept.WriteString(passed.String())
	result := kept.String()
	if remove {
		return []byte(strings.TrimRight(result, "\n") + "\n"), nil
	}
	if result = strings.TrimRight(result, "\n"); result != "" {
		result += "\n\n"
	}
	return []byte(result + lines), nil
}
