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
	"pannier":                               {nil, "the root package holds values: who needs a value must not get a package with it"},
	"pannier/config":                        {[]string{"pannier/internal/fsx", "pannier/internal/yamldoc", "pannier/publish/prompt"}, "settings are read before anything else; of prompts, they know the names of the formats"},
	"pannier/watcher":                       {[]string{"pannier/internal/fsx"}, "a watcher that knows the loader would believe its own events"},
	"pannier/loader":                        {[]string{"pannier/internal/fsx", "pannier/internal/yamldoc", "pannier/loader/fields", "pannier/loader/installspec", "pannier/loader/profile", "pannier/loader/pytool", "pannier/loader/repair"}, "the loader hands its watch set on as a value; it never calls the watcher"},
	"pannier/loader/scan":                   {[]string{"pannier/internal/fsx"}, "a scan judges a directory, whoever asks; discovery and reload never pay for it"},
	"pannier/loader/fields":                 {nil, "the table of frontmatter fields holds values; every reader of a frontmatter follows it"},
	"pannier/loader/fingerprint":            {[]string{"pannier/internal/fsx"}, "a fingerprint is of a directory, whoever asks; discovery and reload never pay for it"},
	"pannier/loader/installspec":            {[]string{"pannier/internal/yamldoc"}, "an install spec is values from values: it is shown, and nothing here can run it"},
	"pannier/loader/pytool":                 {nil, "what is read of a Python file is its text; nothing here can open or run one"},
	"pannier/loader/lint":                   {[]string{"pannier/internal/fsx", "pannier/internal/yamldoc", "pannier/loader", "pannier/loader/fields", "pannier/loader/profile", "pannier/loader/repair", "pannier/loader/scan"}, "an audit asks the loader for what it reads, and no stage that serves it"},
	"pannier/loader/profile":                {[]string{"pannier/internal/yamldoc", "pannier/loader/fields"}, "a verdict is a pure function of what it is handed, so that every surface comes to the same one"},
	"pannier/loader/repair":                 {[]string{"pannier/internal/yamldoc", "pannier/loader/fields"}, "a repair is a pure function of the text, so that whoever reads a SKILL.md reads the same"},
	"pannier/registry":                      {nil, "a snapshot is made of values, never by asking the disk"},
	"pannier/registry/resolve":              {nil, "resolving is pure over one snapshot"},
	"pannier/publish/card":                  {nil, "the card is pure over one snapshot"},
	"pannier/publish/prompt":                {nil, "the prompt is pure over one resolution"},
	"pannier/publish/push":                  {[]string{"pannier/internal/fsx", "pannier/internal/latest", "pannier/publish/card"}, "a publisher knows cards and no target"},
	"pannier/publish/molecule":              {[]string{"pannier/internal/fsx", "pannier/publish/card", "pannier/publish/push"}, "a target sends the card that it is given"},
	"pannier/publish/molecule/dev":          {[]string{"pannier/publish/molecule"}, "the development platform shares the wire with the client, nothing else"},
	"pannier/publish/molecule/files":        {[]string{"pannier/internal/yamldoc", "pannier/publish/molecule"}, "moving files over a platform's API knows neither what a skill is judged by nor the cards that are pushed"},
	"pannier/publish/api":                   {[]string{"pannier/internal/fsx", "pannier/publish/api/psu1", "pannier/publish/api/rpc", "pannier/publish/card", "pannier/publish/prompt"}, "the socket declares what it needs as interfaces; handlers never reach into loader or registry"},
	"pannier/publish/api/psu1":              {nil, "the header of a frame is bytes to values, for whoever sends frames and whoever takes them in"},
	"pannier/publish/api/rpc":               {nil, "framing and connections know no method, so that no method knows the wire"},
	"pannier/publish/client":                {nil, "a client of the socket must not bring the sidecar along"},
	"pannier/admin":                         {[]string{"pannier/admin/archive", "pannier/admin/install", "pannier/admin/policy"}, "the door changes what is kept and hands it on as functions; it knows neither the registry nor whoever knocks"},
	"pannier/admin/archive":                 {[]string{"pannier/internal/fsx", "pannier/loader/scan"}, "an archive is bytes and a directory that are handed in; what its names may be, the scan says"},
	"pannier/admin/audit":                   {[]string{"pannier/internal/fsx", "pannier/internal/seqlog"}, "the audit log keeps entries, whatever they are about"},
	"pannier/admin/install":                 {[]string{"pannier/internal/fsx", "pannier/internal/yamldoc", "pannier/loader", "pannier/loader/fingerprint", "pannier/loader/scan"}, "what is installed is judged by the code that finds it later; it knows neither the door nor where a skill comes from"},
	"pannier/admin/policy":                  {nil, "what clients set is rows of a store that is handed in; the registry judges by them"},
	"pannier/admin/scans":                   {nil, "what scans have found is rows of a store that is handed in, whoever scanned"},
	"pannier/admin/upload":                  {[]string{"pannier/internal/fsx"}, "uploads are a directory, and rows of a store that is handed in; it knows neither the wire nor what is installed"},
	"pannier/sidecar":                       {[]string{"pannier/admin", "pannier/admin/archive", "pannier/admin/audit", "pannier/admin/install", "pannier/admin/policy", "pannier/admin/scans", "pannier/admin/upload", "pannier/config", "pannier/internal/fsx", "pannier/internal/journal", "pannier/internal/latest", "pannier/internal/logpipe", "pannier/internal/plain", "pannier/internal/policyfile", "pannier/internal/state", "pannier/loader", "pannier/loader/fingerprint", "pannier/loader/scan", "pannier/publish/api", "pannier/publish/card", "pannier/publish/molecule", "pannier/publish/molecule/dev", "pannier/publish/prompt", "pannier/publish/push", "pannier/registry", "pannier/registry/resolve", "pannier/watcher"}, "the engine connects the stages; it knows no command and prints nothing"},
	"pannier/internal/plain":                {nil, "a text is made fit for a line the same way wherever it is shown"},
	"pannier/internal/testbench/bench":      {nil, "the bench drives the built binary from outside, as users do"},
	"pannier/internal/testbench/fixture":    {nil, "what tests share knows nothing that is tested"},
	"pannier/internal/fsx":                  {nil, "files are opened, compared and replaced by one set of rules in every stage"},
	"pannier/internal/yamldoc":              {nil, "the ground that stages stand on knows no stage"},
	"pannier/internal/journal":              {[]string{"pannier/internal/fsx", "pannier/internal/seqlog"}, "the journal keeps events, whatever they are about"},
	"pannier/internal/latest":               {nil, "a value is written in the background the same way whatever it is"},
	"pannier/internal/logpipe":              {nil, "how lines reach a slow reader is the same whatever they say"},
	"pannier/internal/testbench/oracle":     {[]string{"pannier/publish/molecule", "pannier/publish/molecule/dev"}, "what says whether the stages are right shares no code with them; the endpoint speaks the wire"},
	"pannier/internal/testbench/soak":       {[]string{"pannier/internal/testbench/oracle", "pannier/publish/molecule", "pannier/publish/molecule/dev"}, "the soak drives the built binary from outside, as anybody does"},
	"pannier/internal/testbench/realskills": {nil, "what tests share knows nothing that is tested"},
	"pannier/internal/policyfile":           {[]string{"pannier/internal/fsx"}, "the policy file keeps rows, for whoever owns them"},
	"pannier/internal/seqlog":               {nil, "the segments of a log are the same whatever its lines are about"},
	"pannier/internal/state":                {[]string{"pannier/internal/fsx"}, "the store keeps what it is given, for whoever owns it"},
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
