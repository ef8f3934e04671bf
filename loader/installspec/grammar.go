package installspec

import (
	"regexp"
	"slices"
	"strings"
)

// grammar is how an installer writes the names in its registry.
type grammar struct {
	name *regexp.Regexp
	// notFiles are endings by which the installer tells a file from a name.
	notFiles []string
	// reason is why a word that does not match is refused.
	reason string
}

var archives = []string{".tgz", ".tar", ".gz", ".bz2", ".xz", ".zip", ".whl", ".egg", ".tbz", ".txz", ".lzma"}

// The names that the registries have. What the allowlist of characters excludes, such as `[extra]` and `>=`, is not in them.
var (
	brewNames = grammar{
		regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9@+._-]*(/[A-Za-z0-9][A-Za-z0-9@+._-]*/[A-Za-z0-9][A-Za-z0-9@+._-]*)?$`),
		append([]string{".rb"}, archives...), "it is neither the name of a formula nor user/tap/formula",
	}
	nodeNames = grammar{
		regexp.MustCompile(`^(@[A-Za-z0-9][A-Za-z0-9._~-]*/)?[A-Za-z0-9][A-Za-z0-9._~-]*(@[A-Za-z0-9~=][A-Za-z0-9.+~_-]*)?$`),
		archives, "not a name of the npm registry, such as name, @scope/name or name@1.2.3",
	}
	goNames = grammar{
		regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]*(\.[A-Za-z0-9-]+)+(/[A-Za-z0-9_~+-][A-Za-z0-9._~+-]*)*(@[A-Za-z0-9][A-Za-z0-9.+_-]*)?$`),
		nil, "not a path of a Go package, such as example.com/name/cmd/tool@latest",
	}
	pythonNames = grammar{
		regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?((===?|~=)[A-Za-z0-9][A-Za-z0-9.+_-]*)?$`),
		archives, "not a name of the Python package index, such as name or name==1.2.3",
	}
	uvNames = grammar{
		regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?(((===?|~=)|@)[A-Za-z0-9][A-Za-z0-9.+_-]*)?$`),
		archives, "not a name of the Python package index, such as name, name==1.2.3 or name@latest",
	}
	aptNames = grammar{
		regexp.MustCompile(`^[a-z0-9][a-z0-9+.-]+(:[a-z0-9]+)?(=[A-Za-z0-9.+:~-]+)?$`),
		[]string{".deb"},
		"not a name of a Debian package, such as name or name=1.2.3-1",
	}
	cargoNames = grammar{
		regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*(@[0-9=~][A-Za-z0-9.+-]*)?$`),
		nil, "not the name of a crate, such as name or name@1.2.3",
	}
)

// check returns why the installer would not take a word for the name of a package in its registry; "" if it would.
func (g grammar) check(word, installer string) string {
	isFile := slices.ContainsFunc(g.notFiles, func(ending string) bool { return strings.HasSuffix(strings.ToLower(word), ending) })
	switch {
	case installer == "brew" && strings.Contains(word, ".."):
		return "it has two dots in a row, so it may be a path"
	case installer == "apt" && strings.HasSuffix(word, "-"):
		return "it ends with a hyphen, by which apt-get removes a package"
	case isFile:
		return "it is the name of a file"
	case !g.name.MatchString(word), installer == "go" && strings.Contains(word, ".."):
		return g.reason
	}
	return ""
}
