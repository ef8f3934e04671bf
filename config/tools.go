package config

import (
	"fmt"
	"net"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"pannier"
	"pannier/internal/yamldoc"
)

// The values of [Tools.Runner].
const (
	// RunnerNone carries nothing out.
	RunnerNone = "none"
	// RunnerAgent carries calls out in the agent's container.
	RunnerAgent = "agent"
	// RunnerSelf carries calls out in the sidecar's container.
	RunnerSelf = "self"
)

// Tools are how runtime tools of skills are planned and called.
type Tools struct {
	Enabled        bool
	Kinds          []pannier.RuntimeToolKind
	Trust          pannier.Trust // that a skill needs; empty is the default of each kind
	Runner         string        // one of the Runner constants
	Sandbox        string        // one of the Sandbox constants of package pannier
	Network        ToolNetwork
	UID            uint32 // of tools, where the runner is root
	Env            []string
	HTTPAllow      []string
	Secrets        []ToolSecret
	ProjectDirs    []string
	CallUIDs       []uint32
	RunnerUIDs     []uint32
	Timeout        time.Duration // at most [MaxToolTimeout]
	MaxMemoryBytes int64
}

// ToolNetwork is what programs of tools reach: with the zero value nothing but themselves.
type ToolNetwork struct {
	Full  bool     // every address, also of the container and its neighbors
	Hosts []string // "host", which is its ports 80 and 443, or "host:port"
}

// MaxToolTimeout bounds [Tools.Timeout].
const MaxToolTimeout = 300 * time.Second

// ToolSecret is a secret for headers of requests to one host, by tools of the skills with the slugs in Skills. Its value is in a file
// or in a variable of the sidecar; the other one is empty.
type ToolSecret struct {
	Name, Host, File, Variable string
	Skills                     []string
}

// ToolsHere returns the settings by which tools of skills run where the sidecar runs, scripts too, and may be let write below a
// directory. An empty directory is none.
func ToolsHere(dir string) Defaults {
	s, _ := settingOf("tools.kinds")
	d := Defaults{"tools.enabled": "true", "tools.kinds": s.fallback + "," + string(pannier.RuntimeScript), "tools.runner": RunnerSelf}
	if dir != "" {
		d["tools.project_dirs"] = dir
	}
	return d
}

var toolSettings = []setting{
	one(setting{key: "tools.enabled", kind: kindBool, fallback: "false"}, "let clients call tools of skills",
		func(d *draft) *bool { return &d.Tools.Enabled }, parseBool),
	list(setting{key: "tools.kinds", single: "tools.kind", kind: "kinds", fallback: "shell,http,function_proxy,python"},
		"kinds of tools that are accepted, separated by commas: shell, http, function_proxy, python, script (scripts of skills)",
		texts(func(d *draft) *[]pannier.RuntimeToolKind { return &d.Tools.Kinds }, parseToolKind)),
	word(setting{key: "tools.trust", kind: "level", told: "verified for programs, community for requests and proxies"},
		"trust that a skill needs for its tools of every kind: untrusted, community, verified or internal",
		func(d *draft) *pannier.Trust { return &d.Tools.Trust }, pannier.TrustLevels()...),
	word(setting{key: "tools.runner", kind: "where", fallback: RunnerNone},
		"where tools run: none, agent (pannier runner in the agent's container), or self (the sidecar's container)",
		func(d *draft) *string { return &d.Tools.Runner }, RunnerNone, RunnerAgent, RunnerSelf),
	list(setting{key: "tools.runner_uids", kind: "uids"}, "users whose pannier runner is accepted, separated by commas",
		texts(func(d *draft) *[]uint32 { return &d.Tools.RunnerUIDs }, parseUID)),
	list(setting{key: "tools.call_uids", kind: "uids"},
		"users that may call tools over the socket, besides root, the sidecar's own and write_uids, separated by commas",
		texts(func(d *draft) *[]uint32 { return &d.Tools.CallUIDs }, parseUID)),
	word(setting{key: "tools.sandbox", kind: "level", fallback: pannier.SandboxRequired},
		"what a tool takes of the kernel: required (Landlock ABI 6 and seccomp) or best_effort (what there is)",
		func(d *draft) *string { return &d.Tools.Sandbox }, pannier.SandboxRequired, pannier.SandboxBestEffort),
	list(setting{key: "tools.network", kind: "none|full|hosts", fallback: "none"},
		"what programs of tools reach: none (or false), full (or true), or hosts, or hosts with a port, separated by commas", readToolNetwork),
	one(setting{key: "tools.uid", kind: "uid", fallback: "65534"}, "user that tools run as, where the runner is root",
		func(d *draft) *uint32 { return &d.Tools.UID }, parseToolUID),
	list(setting{key: "tools.env", kind: "names"},
		"variables of the runner that a tool gets if its skill requires them, separated by commas",
		texts(func(d *draft) *[]string { return &d.Tools.Env }, parseVariableName)),
	list(setting{key: "tools.http_allow", kind: "hosts"},
		"hosts, or hosts with a port, that http tools and tools.network may reach although their address is private, separated by commas",
		texts(func(d *draft) *[]string { return &d.Tools.HTTPAllow }, parseHost)),
	list(setting{key: "tools.secrets", single: "tools.secret", kind: "name@host/slug=source", split: splitHeaders},
		"a secret for headers of http tools of a skill: NAME@HOST/SLUG=@FILE or NAME@HOST/SLUG=$VARIABLE of the sidecar; SLUG+SLUG for several; repeatable", readSecrets),
	list(setting{key: "tools.project_dirs", single: "tools.project_dir", kind: "dirs", split: splitPaths},
		"directories, as the runner sees them, below which a call may let a tool write; repeatable", readProjectDirs),
	one(setting{key: "tools.timeout", kind: "duration", fallback: "20s"}, "longest call of a tool; 5m at most",
		func(d *draft) *time.Duration { return &d.Tools.Timeout }, parseToolTimeout),
	one(setting{key: "tools.max_memory_bytes", kind: "bytes", fallback: "536870912"}, "most memory of a call in a control group, elsewhere of each of its processes",
		func(d *draft) *int64 { return &d.Tools.MaxMemoryBytes }, atLeast[int64](1)),
}

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func parseToolKind(text string) (pannier.RuntimeToolKind, *Fault) {
	return oneOf(pannier.RuntimeToolKinds(), text)
}

func parseToolUID(text string) (uint32, *Fault) {
	uid, fault := parseUID(text)
	if fault == nil && uid == 0 {
		return 0, &Fault{Message: "tools do not run as root", Hint: "write the number of a user without rights, such as 65534"}
	}
	return uid, fault
}

func parseVariableName(text string) (string, *Fault) {
	if !variableName.MatchString(text) {
		return "", &Fault{Message: shown(text) + " is not the name of a variable", Hint: "write names alone, such as LANG"}
	}
	return text, nil
}

// parseHost takes a name or an address, with or without a port.
func parseHost(text string) (string, *Fault) {
	host := strings.ToLower(strings.TrimSuffix(text, "."))
	if net.ParseIP(host) == nil && strings.Contains(host, ":") {
		var port string
		var err error
		if host, port, err = net.SplitHostPort(host); err == nil {
			_, err = strconv.ParseUint(port, 10, 16)
		}
		if err != nil {
			host = ""
		}
	}
	if net.ParseIP(host) == nil && (host == "" || strings.ContainsAny(host, "/:@*?#[] ")) {
		return "", &Fault{Message: shown(text) + " is not a host", Hint: "write a name or an address, without a scheme"}
	}
	return strings.ToLower(strings.TrimSuffix(text, ".")), nil
}

// readToolNetwork reads a word or hosts.
func readToolNetwork(d *draft, g given) []*Fault {
	d.Tools.Network = ToolNetwork{}
	if word, fault := g.text(); fault == nil {
		if full, err := strconv.ParseBool(word); err == nil || word == "none" || word == "full" {
			d.Tools.Network.Full = full || word == "full"
			return nil
		}
		if len(g.texts) == 0 { // one host in the file
			g.texts, g.node = []string{word}, yamldoc.Value{}
		}
	}
	return texts(func(d *draft) *[]string { return &d.Tools.Network.Hosts }, func(text string) (string, *Fault) {
		if _, err := strconv.ParseBool(text); err == nil || text == "none" || text == "full" {
			return "", &Fault{Message: shown(text) + " stands among hosts", Hint: "write none or full alone, or hosts alone"}
		}
		return parseHost(text)
	})(d, g)
}

// readProjectDirs reads absolute directories.
func readProjectDirs(d *draft, g given) []*Fault {
	dirs := g
	dirs.texts = nil
	for _, text := range g.texts {
		dirs.texts = append(dirs.texts, splitPaths(text)...)
	}
	return texts(func(d *draft) *[]string { return &d.Tools.ProjectDirs }, func(text string) (string, *Fault) {
		if !filepath.IsAbs(text) || filepath.Clean(text) == "/" {
			return "", &Fault{Message: shown(text) + " is not an absolute directory", Hint: "write a directory below /, such as /home/agent/projects"}
		}
		return filepath.Clean(text), nil
	})(d, dirs)
}

func parseToolTimeout(text string) (time.Duration, *Fault) {
	d, fault := parseDuration(text)
	if fault == nil && (d < time.Second || d > MaxToolTimeout) {
		return 0, &Fault{Message: shown(text) + " is not between 1s and 5m", Hint: "write 20s, for example"}
	}
	return d, fault
}

// readSecrets reads where secrets are. No fault shows a source: it may be the secret itself.
func readSecrets(d *draft, g given) (faults []*Fault) {
	d.Tools.Secrets = nil
	for i, text := range withoutBlanks(g.texts) {
		key, source, ok := strings.Cut(text, "=")
		if !ok {
			faults = append(faults, g.fault(fmt.Sprintf("entry %d is not of the form NAME@HOST/SLUG=SOURCE", i+1), secretHint))
			continue
		}
		key, slugs, _ := strings.Cut(key, "/")
		file, isFile := strings.CutPrefix(strings.TrimSpace(source), "@")
		variable, isVariable := strings.CutPrefix(strings.TrimSpace(source), "$")
		s := ToolSecret{Skills: withoutBlanks(strings.Split(slugs, "+"))}
		if isFile {
			s.File = file
		} else if isVariable {
			s.Variable = variable
		}
		faults = append(faults, d.addSecret(g, strings.TrimSpace(key), s, secretHint)...)
	}
	return append(faults, g.pairs("write lines of the form "+secretLine+", indented", func(at given, key string) (faults []*Fault) {
		if at.node.Kind() != yamldoc.Map {
			at.name = g.name // without the key, which may be in the wrong place
			return []*Fault{at.fault("a secret names no skills that may use it", "write "+secretLine)}
		}
		var s ToolSecret
		for pair := range at.node.Pairs() {
			value, read := at.below("."+pair.Key, pair.Value, pair.Line), reader(nil)
			value.name = g.name
			switch pair.Key {
			case "file":
				read = scalar(func(*draft) *string { return &s.File }, parseText)
			case "variable":
				read = scalar(func(*draft) *string { return &s.Variable }, parseText)
			case "skills":
				read = texts(func(*draft) *[]string { return &s.Skills }, parseText)
			default:
				faults = append(faults, value.fault("a secret has file or variable, and skills", "write "+secretLine))
				continue
			}
			faults = append(faults, read(nil, value)...)
		}
		if at.name = g.name; len(faults) > 0 {
			return faults
		}
		return d.addSecret(at, key, s, "write "+secretLine)
	})...)
}

const (
	secretHint = "write NAME@HOST/SLUG=@FILE, or NAME@HOST/SLUG=$VARIABLE for a variable of the sidecar"
	secretLine = "`NAME@HOST: {file: /run/secrets/file, skills: [slug]}`"
)

func (d *draft) addSecret(g given, key string, s ToolSecret, hint string) []*Fault {
	name, host, bound := strings.Cut(key, "@")
	if !variableName.MatchString(name) {
		return []*Fault{g.fault("a secret has a name that is not letters, digits and underscores", hint)}
	}
	host, fault := parseHost(host)
	if !bound || fault != nil {
		return []*Fault{g.fault("the secret "+name+" names no host that it is for", hint)}
	}
	s.Name, s.Host = name, host
	switch {
	case slices.ContainsFunc(d.Tools.Secrets, func(other ToolSecret) bool { return other.Name == name && other.Host == host }):
		return []*Fault{g.fault("the secret "+name+" is there already for this host", "remove one of the two, and name all skills in the other")}
	case (s.File == "") == (s.Variable == ""), s.File != "" && !strings.HasPrefix(s.File, "/"), s.Variable != "" && !variableName.MatchString(s.Variable):
		return []*Fault{g.fault("the secret "+name+" has no source", hint+"; the path of a file is absolute")}
	case len(s.Skills) == 0:
		return []*Fault{g.fault("the secret "+name+" names no skills that may use it", hint)}
	}
	for _, slug := range s.Skills {
		if slug == "" || pannier.Slugify(slug) != slug {
			return []*Fault{g.fault("the secret "+name+" names a skill that is not a slug", "write slugs as \"pannier list\" shows them")}
		}
	}
	d.Tools.Secrets = append(d.Tools.Secrets, s)
	return nil
}
