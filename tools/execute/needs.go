package execute

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"pannier"
	"pannier/internal/fsx"
	"pannier/loader/needs"
)

// need is what a file of the skill declares that scripts need of packages.
type need struct {
	file string // that declares it, below the skill
	key  string // of the packages, by all that decides which they are
	node bool   // of package.json; else of Python

	// requirements of a header, requiresPython with it; none for a file that pip reads itself. Names for Node.js.
	requirements   []string
	requiresPython string
	// pins are the versions of the lock.
	pins []string
	// fault says why the declaration cannot be read.
	fault error
}

// needOf returns what a script or a Python function of the copy declares to need; nil for nothing. The header of the
// file comes first, then the nearest requirements.txt. JavaScript has the nearest package.json with dependencies.
func (c *call) needOf(ctx context.Context, file string) *need {
	names := interpreters[path.Ext(file)]
	switch {
	case slices.Contains(names, "python3"):
		return c.pythonNeed(ctx, file)
	case slices.Contains(names, "node"):
		for dir := path.Dir(file); ; dir = path.Dir(dir) {
			if n := nodeNeed(c.skill, c.job.Files, path.Join(dir, "package.json")); n != nil {
				return n
			}
			if dir == "." {
				return nil
			}
		}
	}
	return nil
}

func (c *call) pythonNeed(ctx context.Context, file string) *need {
	text, err := c.read(file)
	if err != nil {
		return nil
	}
	version := ""
	if python, err := c.e.lookPath("python3"); err == nil {
		version = c.e.versionOf(ctx, python) // compiled packages are for one version
	}
	header, err := needs.ReadHeader(text)
	switch {
	case err != nil:
		return &need{file: file, fault: err}
	case header != nil:
		lock := file + ".lock"
		n := &need{
			file: file, key: c.keyOf("python", version, file, lock),
			requirements: header.Dependencies, requiresPython: header.RequiresPython,
		}
		if c.has(lock, false) {
			if text, n.fault = c.read(lock); n.fault == nil {
				n.pins, n.fault = needs.ReadLock(text)
			}
		}
		return n
	}
	for dir := path.Dir(file); ; dir = path.Dir(dir) {
		if name := path.Join(dir, "requirements.txt"); c.has(name, false) {
			return &need{file: name, key: c.keyOf("requirements", version, name)}
		}
		if dir == "." {
			return nil
		}
	}
}

// nodeNeed returns what a package.json of a copy declares; nil for nothing, or if the skill brings the packages itself.
func nodeNeed(skill string, files []pannier.ToolFile, name string) *need {
	modules := path.Join(path.Dir(name), "node_modules") + "/"
	found := false
	for i := range files {
		if strings.HasPrefix(files[i].Path, modules) {
			return nil
		}
		found = found || files[i].Path == name
	}
	if !found {
		return nil
	}
	text, _, err := fsx.ReadRegular(filepath.Join(skill, name), unix.O_NOFOLLOW, needs.MaxBytes)
	if err != nil {
		return &need{file: name, node: true, fault: err}
	}
	declared, err := needs.ReadPackage(text)
	switch {
	case err != nil:
		return &need{file: name, node: true, fault: err}
	case len(declared.Dependencies) == 0:
		return nil
	}
	n := &need{file: name, node: true, requirements: slices.Sorted(maps.Keys(declared.Dependencies))}
	parts := []string{name, path.Join(path.Dir(name), "package-lock.json")}
	for _, range_ := range declared.Dependencies {
		if strings.HasPrefix(range_, "file:") { // the packages are files of the skill
			parts = nil
		}
	}
	n.key = keyOf(files, "node", path.Dir(name), parts...)
	return n
}

func (c *call) keyOf(kind, version string, names ...string) string {
	return keyOf(c.job.Files, kind, version, names...)
}

// keyOf returns the key of packages: a digest of some files of the manifest, all of them if none is named.
func keyOf(files []pannier.ToolFile, kind, version string, names ...string) string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%s\x00%s\x00", kind, version)
	for i := range files {
		if len(names) == 0 || slices.Contains(names, files[i].Path) {
			fmt.Fprintf(sum, "%s\x00%x", path.Base(files[i].Path), files[i].SHA256)
		}
	}
	return fmt.Sprintf("%x", sum.Sum(nil)[:16])
}

// read returns a file of the copy.
func (c *call) read(name string) ([]byte, error) {
	f, err := os.Open(filepath.Join(c.skill, filepath.FromSlash(name)))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, needs.MaxBytes))
}

// maxComplete bounds the keys of declarations that the runner is known to fulfil.
const maxComplete = 256

// usePackages finds the prepared packages of the script or function of the call. Without them, what its own
// declaration names has to be there already. A requirements.txt or a package.json is for all scripts of a skill, and a
// single one can do without most of it.
func (c *call) usePackages(ctx context.Context) *pannier.ToolError {
	file := c.job.Script + c.job.PythonFile
	c.need = c.needOf(ctx, file)
	switch {
	case c.need == nil:
		return nil
	case c.need.node && isSyntax(c.need.fault): // Node.js starts nothing beside it
		return toolError(pannier.ToolFailed, fmt.Sprintf("%.100s cannot start: %v", file, c.need.fault), "fix "+c.need.file)
	case c.need.fault != nil:
		return nil // a script may run without what it declares; if not, its failure says so
	}
	c.packages, c.release = c.e.prepared.use(c.need.key)
	known, key := &c.e.known, c.need.key+c.packages+file
	known.Lock()
	complete := known.complete[key]
	known.Unlock()
	if complete {
		return nil
	}
	var missing []string
	switch {
	case c.packages == "" && c.need.node:
		missing = c.missingPackages(file)
	case !c.need.node:
		missing = c.missingDistributions(ctx)
	}
	if len(missing) > 0 {
		hint := c.prepareHint()
		if slices.ContainsFunc(missing, func(name string) bool { return strings.HasPrefix(name, "Python ") }) {
			hint = "install such a version in a directory of the system in the container of the runner"
		}
		return toolError(pannier.ToolDependencyMissing,
			fmt.Sprintf("%.100s needs what the runner does not have: %s", file, strings.Join(missing, ", ")), hint)
	}
	// Only what is there is remembered: what is missing can be installed at any time.
	known.Lock()
	defer known.Unlock()
	if len(known.complete) >= maxComplete {
		clear(known.complete)
	}
	known.complete[key] = true
	return nil
}

func isSyntax(err error) bool {
	_, ok := errors.AsType[*json.SyntaxError](err)
	return ok
}

func (c *call) prepareHint() string {
	return "run \"pannier tool allow " + c.job.Skill + " --prepare\" to install it for this skill"
}

// asksDistributions prints those of its arguments, requirements of Python, that are not fulfilled; the first is what
// the version of Python has to be.
const asksDistributions = `
import re, sys
from importlib import metadata
try:
    from packaging import requirements, specifiers
except ImportError:
    try:
        from pip._vendor.packaging import requirements, specifiers
    except ImportError:
        requirements = None
version = "%d.%d.%d" % sys.version_info[:3]
def lacks(text):
    name = re.match(r"[\w.-]*", text).group()
    if requirements:
        need = requirements.Requirement(text)
        if need.marker and not need.marker.evaluate():
            return False
        name = need.name
    try:
        found = metadata.version(name)
    except metadata.PackageNotFoundError:
        return True
    return bool(requirements) and not need.specifier.contains(found, prereleases=True)
for at, text in enumerate(sys.argv[1:]):
    try:
        if at == 0:
            if text and requirements and not specifiers.SpecifierSet(text).contains(version):
                print("Python " + text)
        elif lacks(text.strip()):
            print(text.strip())
    except Exception as error:
        print(text.strip(), "(" + type(error).__name__ + ")")
`

// missingDistributions returns the requirements of a header that Python does not find. Where packages are prepared,
// only its version is checked. If Python cannot be asked, nothing is missing: the script will say more.
func (c *call) missingDistributions(ctx context.Context) []string {
	wanted := c.need.requirements
	if c.packages != "" {
		wanted = nil
	}
	python, err := c.e.lookPath("python3")
	if err != nil || c.need.requiresPython == "" && len(wanted) == 0 {
		return nil
	}
	argv := []string{python, "-I", "-B", "-c", asksDistributions, c.need.requiresPython}
	answer, err := c.e.ask(ctx, append(argv, wanted...)...)
	if err != nil {
		return nil
	}
	var missing []string
	for line := range strings.Lines(answer) {
		missing = append(missing, strings.TrimSpace(line))
	}
	return missing
}

// missingPackages returns the packages of package.json that a script names and the runner does not have.
func (c *call) missingPackages(script string) []string {
	text, err := c.read(script)
	if err != nil {
		return nil
	}
	globals := c.e.nodePath()
	var missing []string
	for _, name := range c.need.requirements {
		imported := slices.ContainsFunc([]string{`'`, `"`}, func(quote string) bool {
			return strings.Contains(string(text), quote+name+quote) || strings.Contains(string(text), quote+name+"/")
		})
		there := slices.ContainsFunc(globals, func(dir string) bool {
			_, err := os.Stat(filepath.Join(dir, name))
			return err == nil
		})
		if imported && !there {
			missing = append(missing, name)
		}
	}
	return missing
}

// nodePath returns the directories of packages that are installed for every script.
func (e *Executor) nodePath() []string {
	dirs := []string{"/usr/local/lib/node_modules", "/usr/lib/node_modules", "/usr/share/nodejs"}
	for _, dir := range e.Read {
		dirs = append(dirs, filepath.Join(dir, "node_modules"), filepath.Join(dir, "lib/node_modules"))
	}
	return slices.DeleteFunc(dirs, func(dir string) bool {
		_, err := os.Stat(dir)
		return err != nil
	})
}

// searchPaths returns the variables by which Python and Node.js find what the skill brings, and its packages.
func (c *call) searchPaths() []string {
	python := strings.TrimSuffix(c.skill+":"+c.sitePackages(), ":")
	return []string{"PYTHONPATH=" + python, "NODE_PATH=" + strings.Join(append([]string{c.skill}, c.e.nodePath()...), ":")}
}

// sitePackages returns the directory of the prepared packages of Python, empty for none.
func (c *call) sitePackages() string {
	if c.packages == "" || c.need.node {
		return ""
	}
	return filepath.Join(c.packages, pythonPackages)
}

// linkPackages makes node_modules beside each package.json of a copy that declares dependencies: a link to where they
// are once they are prepared, since modules of JavaScript are found by no variable.
func (p *prepared) linkPackages(to *os.Root, skill string, files []pannier.ToolFile) error {
	for i := range files {
		name := files[i].Path
		if path.Base(name) != "package.json" {
			continue
		}
		if n := nodeNeed(skill, files, name); n != nil && n.fault == nil {
			err := to.Symlink(filepath.Join(p.dir, n.key, nodePackages), path.Join(path.Dir(name), nodePackages))
			if err != nil {
				return err
			}
		}
	}
	return nil
}
