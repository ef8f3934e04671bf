package installspec

import (
	"encoding/hex"
	"fmt"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"pannier/internal/yamldoc"
)

// The bounds of an address, and of the directories that are cut off the files in an archive.
const (
	maxURL             = 2048
	maxStripComponents = 16
)

var unpackers = []struct {
	archive string
	endings []string
	command []string
}{
	{"tar.gz", []string{".tar.gz", ".tgz"}, []string{"tar", "-xzf"}},
	{"tar.bz2", []string{".tar.bz2", ".tbz2"}, []string{"tar", "-xjf"}},
	{"zip", []string{".zip"}, []string{"unzip", "-q"}},
}

// download returns the commands that fetch a file by https and unpack it where it is an archive, below the directory that
// they are run in.
func (s *spec) download() ([][]string, string) {
	if refused := s.onlyKeys([]string{"url", "package", "sha256", "archive", "extract", "stripComponents", "targetDir"}); refused != "" {
		return nil, refused
	}
	address := s.text(s.v, s.field, "url")
	if refused := checkURL(address); refused != "" {
		return nil, "url: " + refused
	}
	if sum := s.text(s.v, s.field, "sha256"); sum != "" {
		if b, err := hex.DecodeString(sum); err != nil || len(b) != 32 {
			return nil, "sha256: it is not 64 hexadecimal digits"
		}
	}
	dir, file, refused := s.destination(address)
	if refused != "" {
		return nil, refused
	}
	target := path.Join(dir, file)
	fetch := []string{"curl", "--proto", "=https", "-fsSL", "--create-dirs", "-o", target, address}
	unpack, refused := s.unpack(dir, target)
	if refused != "" {
		return nil, refused
	}
	if unpack == nil {
		return [][]string{fetch}, ""
	}
	return [][]string{fetch, unpack}, ""
}

// checkURL returns why an address is not fetched.
func checkURL(address string) string {
	if address == "" || len(address) > maxURL {
		return fmt.Sprintf("it is missing or longer than %d bytes", maxURL)
	}
	for _, c := range address {
		// Curl makes several addresses of one with brackets or braces.
		if c <= ' ' || c >= 0x7f || strings.ContainsRune("\"'`<>\\^{|}[]", c) {
			return fmt.Sprintf("it has the character %q", c)
		}
	}
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return "not an address"
	case u.Scheme != "https":
		return "it does not begin with https://"
	case u.User != nil:
		return "it has a name or a password in it"
	case u.Fragment != "" || strings.Contains(address, "#"):
		return "it has a fragment, which no server sees"
	}
	return checkHost(u)
}

// checkHost refuses what is not a public name: an address inside of the network is for those who are inside.
func checkHost(u *url.URL) string {
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	_, err := netip.ParseAddr(host)
	labels := strings.Split(host, ".")
	last := labels[len(labels)-1]
	switch {
	case host == "":
		return "it has no host"
	case err == nil || last == "" || strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x"):
		return "its host is a number, not a name"
	case len(labels) < 2 || slices.Contains([]string{"localhost", "local", "internal"}, last):
		return "its host is not a public name"
	}
	for _, label := range labels {
		if label == "" || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return "its host is not a name"
		}
	}
	return ""
}

// destination returns the directory and the file that a download is written to: Aleph's package, else OpenClaw's targetDir
// and the last part of the address.
func (s *spec) destination(address string) (dir, file, refused string) {
	if to := s.text(s.v, s.field, "package"); to != "" {
		if refused := checkPath(to); refused != "" {
			return "", "", fmt.Sprintf("package %.80q: %s", to, refused)
		}
		return path.Dir(to), path.Base(to), ""
	}
	dir = "."
	if given := s.text(s.v, s.field, "targetDir"); given != "" {
		if refused := checkPath(given); refused != "" {
			return "", "", fmt.Sprintf("targetDir %.80q: %s", given, refused)
		}
		dir = path.Clean(given)
	}
	u, err := url.Parse(address)
	if err != nil {
		return "", "", "url: not an address"
	}
	file = path.Base(u.Path)
	if file == "." || file == "/" || checkPath(file) != "" {
		return "", "", fmt.Sprintf("url: its last part %.80q is not a name for a file", file)
	}
	return dir, file, ""
}

// checkPath returns why a path may not be written to: it must stay below the directory that the commands are run in.
func checkPath(to string) string {
	if refused := checkWord(to); refused != "" {
		return refused
	}
	for part := range strings.SplitSeq(to, "/") {
		if part == "" || part == "." || part == ".." || part[0] == '-' || part[0] == '~' || part[0] == '.' {
			return "it is not a path below a directory, or has a hidden name"
		}
	}
	return ""
}

// unpack returns the command that unpacks a download, nil where there is nothing to unpack.
func (s *spec) unpack(dir, target string) (command []string, refused string) {
	archive := strings.ToLower(s.text(s.v, s.field, "archive"))
	extract, given := s.v.Get("extract").Bool()
	if v := s.v.Get("extract"); !given && v.Kind() != yamldoc.Missing && v.Kind() != yamldoc.Null {
		s.warn("skill.type", s.field+".extract", v, "this is neither true nor false, and counts as absent", "write true or false, without quotes")
	}
	for _, u := range unpackers {
		byName := slices.ContainsFunc(u.endings, func(ending string) bool { return strings.HasSuffix(target, ending) })
		if archive != u.archive && (archive != "" || !byName) {
			continue
		}
		if given && !extract {
			return nil, ""
		}
		command = append(slices.Clone(u.command), target)
		return s.into(command, u.archive, dir)
	}
	switch {
	case archive != "":
		return nil, fmt.Sprintf("archive %.80q: it is none of tar.gz, tar.bz2 and zip", archive)
	case given && extract:
		return nil, "it is to be unpacked, and its archive format is unknown"
	}
	return nil, ""
}

// into adds where an archive is unpacked, and how many directories of its files are cut off.
func (s *spec) into(command []string, archive, dir string) ([]string, string) {
	strip := 0
	if text := s.text(s.v, s.field, "stripComponents"); text != "" {
		var err error
		if strip, err = strconv.Atoi(text); err != nil || strip < 0 || strip > maxStripComponents {
			return nil, fmt.Sprintf("stripComponents %.80q: it is not a number from 0 to %d", text, maxStripComponents)
		}
	}
	if archive == "zip" {
		if strip > 0 {
			return nil, "stripComponents: unzip cannot do this"
		}
		return append(command, "-d", dir), ""
	}
	command = append(command, "-C", dir)
	if strip > 0 {
		command = append(command, "--strip-components="+strconv.Itoa(strip))
	}
	return command, ""
}
