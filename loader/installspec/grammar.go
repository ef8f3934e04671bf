package installspec

import (
	"regexp"
	"strings"
)

// The names that the registries have. What the allowlist of characters excludes, such as `[extra]` and `>=`, is not in them.
var (
	brewName   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9@+._-]*(/[A-Za-z0-9][A-Za-z0-9@+._-]*/[A-Za-z0-9][A-Za-z0-9@+._-]*)?$`)
	nodeName   = regexp.MustCompile(`^(@[A-Za-z0-9][A-Za-z0-9._~-]*/)?[A-Za-z0-9][A-Za-z0-9._~-]*(@[A-Za-z0-9~=][A-Za-z0-9.+~_-]*)?$`)
	goName     = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]*(\.[A-Za-z0-9-]+)+(/[A-Za-z0-9_~+-][A-Za-z0-9._~+-]*)*(@[A-Za-z0-9][A-Za-z0-9.+_-]*)?$`)
	pythonName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?((===?|~=)[A-Za-z0-9][A-Za-z0-9.+_-]*)?$`)
	uvName     = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?(((===?|~=)|@)[A-Za-z0-9][A-Za-z0-9.+_-]*)?$`)
	aptName    = regexp.MustCompile(`^[a-z0-9][a-z0-9+.-]+(:[a-z0-9]+)?(=[A-Za-z0-9.+:~-]+)?$`)
	cargoName  = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*(@[0-9=~][A-Za-z0-9.+-]*)?$`)
)

// archives are the endings by which installers tell a file from a name.
var archives = []string{".tgz", ".tar", ".gz", ".bz2", ".xz", ".zip", ".whl", ".egg", ".tbz", ".txz", ".lzma"}

func isArchive(word string) bool {
	for _, ending := range archives {
		if strings.HasSuffix(strings.ToLower(word), ending) {
			return true
		}
	}
	return false
}

func checkBrew(word string) string {
	switch {
	case strings.Contains(word, ".."):
		return "it has two dots in a row, so it may be a path"
	case strings.HasSuffix(word, ".rb"), isArchive(word):
		return "it is the name of a file"
	case !brewName.MatchString(word):
		return "it is neither the name of a formula nor user/tap/formula"
	}
	return ""
}

func checkNode(word string) string {
	switch {
	case isArchive(word):
		return "it is the name of a file"
	case !nodeName.MatchString(word):
		return "not a name of the npm registry, such as name, @scope/name or name@1.2.3"
	}
	return ""
}

func checkGo(word string) string {
	if strings.Contains(word, "..") || !goName.MatchString(word) {
		return "not a path of a Go package, such as example.com/name/cmd/tool@latest"
	}
	return ""
}

func checkPython(word string) string { return checkPackage(word, pythonName, "name or name==1.2.3") }

func checkUV(word string) string {
	return checkPackage(word, uvName, "name, name==1.2.3 or name@latest")
}

func checkPackage(word string, grammar *regexp.Regexp, such string) string {
	switch {
	case isArchive(word):
		return "it is the name of a file"
	case !grammar.MatchString(word):
		return "not a name of the Python package index, such as " + such
	}
	return ""
}

func checkApt(word string) string {
	switch {
	case strings.HasSuffix(word, "-"):
		return "it ends with a hyphen, by which apt-get removes a package"
	case strings.HasSuffix(word, ".deb"):
		return "it is the name of a file"
	case !aptName.MatchString(word):
		return "not a name of a Debian package, such as name or name=1.2.3-1"
	}
	return ""
}

func checkCargo(word string) string {
	if !cargoName.MatchString(word) {
		return "not the name of a crate, such as name or name@1.2.3"
	}
	return ""
}
