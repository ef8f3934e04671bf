package pannier_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// importRule says which of our packages a package may import besides the root package, and why no others.
type importRule struct {
	may []string
	why string
}

// importRules are the rules of docs/ARCHITECTURE.md, "Packages". cmd/pannier may import every package.
var importRules = map[string]importRule{
	"pannier":                      {nil, "the root package holds values: who needs a value must not get a package with it"},
	"pannier/config":               {[]string{"pannier/internal/fsx", "pannier/internal/yamldoc"}, "settings are read before anything else"},
	"pannier/watcher":              {[]string{"pannier/internal/fsx"}, "the watcher reports hints; only the loader decides what changed"},
	"pannier/loader":               {[]string{"pannier/internal/fsx", "pannier/internal/yamldoc", "pannier/loader/fields", "pannier/loader/httpspec", "pannier/loader/installspec", "pannier/loader/needs", "pannier/loader/profile", "pannier/loader/pytool", "pannier/loader/repair", "pannier/loader/schema", "pannier/loader/scripts"}, "a declared tool is checked by the code that calls it; the loader hands its watch set on as a value; it never calls the watcher"},
	"pannier/loader/scan":          {[]string{"pannier/internal/fsx"}, "a scan reads a directory for any caller, never on the reload path"},
	"pannier/loader/fields":        {nil, "the table of frontmatter fields holds values; every reader of a frontmatter follows it"},
	"pannier/loader/fingerprint":   {[]string{"pannier/internal/fsx", "pannier/loader/scripts"}, "a fingerprint reads a directory for any caller, never on the reload path"},
	"pannier/loader/installspec":   {[]string{"pannier/internal/yamldoc"}, "install specs are shown and never run"},
	"pannier/loader/pytool":        {nil, "the package reads the text of a Python file and can neither open nor run it"},
	"pannier/loader/scripts":       {[]string{"pannier/loader/pytool"}, "the package judges the texts of scripts and can neither open nor run them"},
	"pannier/loader/lint":          {[]string{"pannier/internal/fsx", "pannier/internal/yamldoc", "pannier/loader", "pannier/loader/fields", "pannier/loader/profile", "pannier/loader/repair", "pannier/loader/scan"}, "an audit uses the loader, and no package that serves skills"},
	"pannier/loader/profile":       {[]string{"pannier/internal/yamldoc", "pannier/loader/fields"}, "a verdict is a pure function of a skill, so every surface shows the same one"},
	"pannier/loader/repair":        {[]string{"pannier/internal/yamldoc", "pannier/loader/fields"}, "a repair is a pure function of the text, so every reader of a SKILL.md gets the same"},
	"pannier/registry":             {nil, "a snapshot is made of values, without reading the disk"},
	"pannier/registry/rank":        {nil, "ranking is pure over the skills of one snapshot"},
	"pannier/registry/resolve":     {[]string{"pannier/registry/rank"}, "resolving is pure over one snapshot"},
	"pannier/publish/card":         {[]string{"pannier/internal/plain"}, "the card is pure over one snapshot"},
	"pannier/publish/prompt":       {nil, "the prompt is pure over one resolution"},
	"pannier/publish/mcp":          {[]string{"pannier/config", "pannier/internal/plain", "pannier/publish/api", "pannier/publish/prompt", "pannier/service", "pannier/sidecar"}, "MCP hosts get what the API gives: the service answers, and no package of the engine is reached into"},
	"pannier/service":              {nil, "who may read and what is recorded is decided on domain types, for every protocol"},
	"pannier/publish/push":         {[]string{"pannier/internal/fsx", "pannier/internal/latest", "pannier/publish/card"}, "a publisher knows cards and no target"},
	"pannier/publish/molecule":     {[]string{"pannier/internal/fsx", "pannier/publish/card", "pannier/publish/push"}, "a target sends the card that it is given"},
	"pannier/publish/molecule/dev": {[]string{"pannier/publish/molecule"}, "the development platform shares the wire with the client, nothing else"},
	"pannier/publish/answer":       {nil, "every protocol encodes values in one way"},
	"pannier/publish/turn":         {[]string{"pannier/publish/answer", "pannier/publish/prompt", "pannier/service"}, "every protocol answers turns in one way"},
	"pannier/publish/api":          {[]string{"pannier/internal/fsx", "pannier/internal/onetime", "pannier/publish/answer", "pannier/publish/card", "pannier/publish/prompt", "pannier/publish/turn", "pannier/service"}, "the socket declares what it needs as interfaces; handlers never reach into loader or registry"},
	"pannier/publish/rpc":          {[]string{"pannier/publish/answer", "pannier/publish/prompt", "pannier/publish/turn", "pannier/service"}, "methods decode what the service and turns are asked for, and encode what they answer"},
	"pannier/link":                 {[]string{"pannier/config", "pannier/internal/fsx", "pannier/service", "pannier/sidecar"}, "a directory of a host gets what the service reads; nothing of the engine is reached into"},
	"pannier/publish/mcp/bridge":   {nil, "the bridge forwards messages, whatever serves them"},
	"pannier/publish/client":       {nil, "a client of the socket must not import the sidecar"},
	"pannier/console":              {[]string{"pannier/config", "pannier/publish/api", "pannier/sidecar"}, "the page is files of the binary; it knows no workspace"},
	"pannier/console/gateway":      {[]string{"pannier/console", "pannier/internal/onetime", "pannier/publish/api", "pannier/publish/client"}, "the gateway forwards requests, and decides nothing about skills"},
	"pannier/internal/onetime":     {nil, "secrets of one use are independent of what they are for"},
	"pannier/admin":                {[]string{"pannier/admin/archive", "pannier/admin/install", "pannier/admin/policy"}, "changes by clients; functions of the engine apply them"},
	"pannier/admin/archive":        {[]string{"pannier/internal/fsx", "pannier/loader/scan"}, "an archive is bytes and a directory; the scan says which names are allowed"},
	"pannier/admin/audit":          {[]string{"pannier/internal/fsx", "pannier/internal/seqlog"}, "the audit log keeps entries of any kind"},
	"pannier/admin/changes": {[]string{
		"pannier/admin",
		"pannier/admin/archive",
		"pannier/admin/audit",
		"pannier/admin/install",
		"pannier/admin/policy",
		"pannier/admin/refusals",
		"pannier/admin/upload",
		"pannier/contents",
		"pannier/internal/policyfile",
		"pannier/internal/state",
		"pannier/registry",
		"pannier/sidecar",
	}, "it is a module: it opens the changes of clients as a whole, with what the core gives"},
	"pannier/admin/install": {[]string{"pannier/internal/fsx", "pannier/internal/yamldoc", "pannier/loader", "pannier/loader/fingerprint", "pannier/loader/scan"}, "an installation is checked by the code that finds it later"},
	"pannier/admin/refusals": {[]string{
		"pannier/admin",
		"pannier/admin/audit",
		"pannier/admin/policy",
		"pannier/contents",
		"pannier/internal/policyfile",
		"pannier/internal/state",
		"pannier/registry",
	}, "policy and blocks are restored from the policy file and the audit log"},
	"pannier/admin/policy": {nil, "policies are rows of a store; the registry judges by them"},
	"pannier/contents":     {[]string{"pannier/internal/fsx", "pannier/internal/latest", "pannier/internal/plain", "pannier/loader", "pannier/loader/fingerprint", "pannier/loader/scan", "pannier/registry"}, "the files of skills are read and scanned apart from the reload path; the registry asks for what is known"},
	"pannier/admin/upload": {[]string{"pannier/internal/fsx"}, "uploads are a directory and rows of a store"},
	"pannier/sidecar": {[]string{
		"pannier/config",
		"pannier/contents",
		"pannier/internal/fsx",
		"pannier/internal/journal",
		"pannier/internal/latest",
		"pannier/internal/logpipe",
		"pannier/internal/memory",
		"pannier/internal/plain",
		"pannier/internal/state",
		"pannier/loader",
		"pannier/loader/scan",
		"pannier/publish/api",
		"pannier/publish/card",
		"pannier/publish/molecule",
		"pannier/publish/molecule/dev",
		"pannier/publish/prompt",
		"pannier/publish/answer",
		"pannier/publish/push",
		"pannier/publish/rpc",
		"pannier/publish/turn",
		"pannier/registry",
		"pannier/registry/resolve",
		"pannier/service",
		"pannier/watcher",
	}, "the engine connects the packages; it has no command and prints nothing"},
	"pannier/replay":                        {[]string{"pannier/config", "pannier/internal/seqlog", "pannier/loader/httpspec", "pannier/publish/client", "pannier/registry", "pannier/registry/resolve", "pannier/sidecar"}, "requests are repeated by the engine that answered them"},
	"pannier/internal/plain":                {nil, "texts are cleaned for a line in one way"},
	"pannier/console/e2e":                   {nil, "it has tests alone, which drive the built binary from outside"},
	"pannier/internal/testbench/browser":    {nil, "helpers of tests must not import what is tested"},
	"pannier/internal/testbench/bench":      {nil, "the bench drives the built binary from outside, as users do"},
	"pannier/internal/testbench/calls":      {nil, "it drives the built binary from outside, as agents do"},
	"pannier/internal/testbench/faults":     {[]string{"pannier/internal/seqlog"}, "a disk that fails wraps the files of a log"},
	"pannier/internal/testbench/fixture":    {nil, "helpers of tests must not import what is tested"},
	"pannier/internal/fsx":                  {nil, "files are opened, compared and replaced by one set of rules in every stage"},
	"pannier/internal/yamldoc":              {nil, "every package that reads YAML uses it"},
	"pannier/internal/journal":              {[]string{"pannier/internal/fsx", "pannier/internal/seqlog"}, "the journal keeps events of any kind"},
	"pannier/internal/latest":               {nil, "values of any type are written in the background"},
	"pannier/internal/logpipe":              {nil, "a log pipe is independent of the lines"},
	"pannier/internal/testbench/oracle":     {[]string{"pannier/publish/molecule", "pannier/publish/molecule/dev"}, "the oracle shares no code with what it checks; the endpoint uses the wire format"},
	"pannier/internal/testbench/soak":       {[]string{"pannier/internal/testbench/oracle", "pannier/publish/molecule", "pannier/publish/molecule/dev"}, "the soak test drives the built binary from outside, as users do"},
	"pannier/tools":                         {[]string{"pannier/loader/httpspec", "pannier/loader/pytool", "pannier/loader/schema"}, "calls are decided here, by the options and declarations that the loader has read; a runner carries them out, and the sidecar connects both"},
	"pannier/loader/needs":                  {nil, "the package reads what files declare, for the loader and for runners; it installs nothing"},
	"pannier/tools/egress":                  {nil, "addresses are judged by themselves; what asks for them hands in the rules"},
	"pannier/tools/execute":                 {[]string{"pannier/internal/fsx", "pannier/loader/needs", "pannier/tools/egress", "pannier/tools/output", "pannier/tools/sandbox"}, "a job has all that a call needs; nothing here decides whether it may run"},
	"pannier/tools/httptool":                {[]string{"pannier/loader/httpspec", "pannier/tools/egress", "pannier/tools/output"}, "a request is sent as declared; secrets are handed in"},
	"pannier/tools/module":                  {[]string{"pannier/config", "pannier/internal/fsx", "pannier/loader/httpspec", "pannier/loader/scan", "pannier/publish/api", "pannier/service", "pannier/sidecar", "pannier/tools", "pannier/tools/execute", "pannier/tools/httptool", "pannier/tools/runner"}, "the module connects tools with a sidecar; what it calls knows none"},
	"pannier/tools/output":                  {[]string{"pannier/internal/plain"}, "the output of every kind of tool is cleaned and masked in one way"},
	"pannier/tools/runner":                  {[]string{"pannier/tools/output"}, "both ends of the connection; what carries calls out is handed in"},
	"pannier/loader/schema":                 {nil, "the loader and calls hold a schema to the same bounds"},
	"pannier/loader/httpspec":               {nil, "the loader and calls read a declaration in one way; nothing is sent"},
	"pannier/tools/sandbox":                 {nil, "the supervisor of a program must be able to do nothing else"},
	"pannier/internal/testbench/pictures":   {nil, "pictures are values, whatever shows them"},
	"pannier/internal/testbench/size":       {nil, "it reads the source of the others as text"},
	"pannier/internal/testbench/scripts":    {[]string{"pannier/loader"}, "it measures the loader on published skills"},
	"pannier/internal/testbench/turns":      {nil, "it drives the built binary from outside, as agents do"},
	"pannier/internal/testbench/realskills": {nil, "helpers of tests must not import what is tested"},
	"pannier/internal/memory":               {nil, "memory is returned whatever the process does"},
	"pannier/internal/policyfile":           {[]string{"pannier/internal/fsx"}, "the policy file keeps rows of any owner"},
	"pannier/internal/seqlog":               {[]string{"pannier/internal/fsx"}, "segments of a log are independent of its lines"},
	"pannier/internal/state":                {[]string{"pannier/internal/fsx"}, "the store keeps values of any owner"},
}

// core are the packages of the core, each with the packages below it. All others are modules, or are used by modules and
// commands alone.
var core = []string{
	"pannier/config", "pannier/contents", "pannier/internal", "pannier/loader", "pannier/publish/answer",
	"pannier/publish/api", "pannier/publish/card", "pannier/publish/molecule", "pannier/publish/prompt",
	"pannier/publish/push", "pannier/publish/rpc", "pannier/publish/turn", "pannier/registry", "pannier/service",
	"pannier/sidecar", "pannier/watcher",
}

func ofCore(path string) bool {
	return path != "pannier/loader/lint" && (path == "pannier" || slices.ContainsFunc(core, func(p string) bool {
		return path == p || strings.HasPrefix(path, p+"/")
	}))
}

// TestCoreImportsNoModule: cmd/pannier hands the modules to the sidecar.
func TestCoreImportsNoModule(t *testing.T) {
	for _, p := range listPackages(t) {
		for _, imported := range p.Imports {
			switch {
			case !ofCore(p.ImportPath):
			case imported == "pannier/sidecar":
				t.Errorf("%s imports the sidecar, as modules do: take it out of the core", p.ImportPath)
			case strings.HasPrefix(imported, "pannier/") && !ofCore(imported):
				t.Errorf("%s is of the core and imports %s, which is not: add to sidecar.Module what it needs", p.ImportPath, imported)
			}
		}
	}
}

// rootMayNot lists what the root package must stay free of: it has no goroutine, no file, no socket and no logger.
var rootMayNot = []string{"os", "io/fs", "net", "net/http", "sync", "sync/atomic", "context", "log", "log/slog", "os/exec", "github.com/hashicorp/go-hclog"}

// listedPackage is what `go list` tells of a package.
type listedPackage struct {
	ImportPath string
	Doc        string
	Imports    []string
	GoFiles    []string
}

func listPackages(t *testing.T) []listedPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Doc,Imports,GoFiles", "./...")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var packages []listedPackage
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listedPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}

func TestImports(t *testing.T) {
	packages := listPackages(t)
	if len(packages) < len(importRules) {
		t.Fatalf("go list found %d packages, the rules have %d", len(packages), len(importRules))
	}
	for _, p := range packages {
		if p.ImportPath == "pannier/cmd/pannier" {
			continue
		}
		r, ok := importRules[p.ImportPath]
		if !ok {
			t.Errorf("%s has no import rule: add it to this test and to docs/ARCHITECTURE.md, with a reason", p.ImportPath)
			continue
		}
		for _, imported := range p.Imports {
			ours := imported == "pannier" || strings.HasPrefix(imported, "pannier/")
			if ours && imported != "pannier" && !slices.Contains(r.may, imported) {
				t.Errorf("%s imports %s: %s", p.ImportPath, imported, r.why)
			}
			if p.ImportPath == "pannier" && slices.Contains(rootMayNot, imported) {
				t.Errorf("the root package imports %s: it holds values and pure functions only", imported)
			}
			if imported == "gopkg.in/yaml.v3" && p.ImportPath != "pannier/internal/yamldoc" {
				t.Errorf("%s imports the YAML library: it is reached through internal/yamldoc only, so that it can be changed in one place", p.ImportPath)
			}
		}
	}
}

func TestPackagesAreDocumented(t *testing.T) {
	for _, p := range listPackages(t) {
		if p.Doc == "" && len(p.GoFiles) > 0 {
			t.Errorf("%s has no package documentation", p.ImportPath)
		}
	}
}

func TestModuleIsPlain(t *testing.T) {
	text, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		for _, word := range []string{"replace", "exclude", "tool"} {
			if strings.HasPrefix(line, word) {
				t.Errorf("go.mod has %q: users of the packages would not get it, or would get more than they asked for", strings.TrimSpace(line))
			}
		}
	}
}
