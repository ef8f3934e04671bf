package loader

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"pannier"
	"pannier/internal/fsx"
	"pannier/internal/yamldoc"
)

const examplesDir = "examples"

// The bounds of what is read of one skill for a prompt beside its body.
const (
	maxLinksBytes     = 64 << 10
	maxLinkCount      = 100
	maxLinkURL        = 2048
	maxLinkText       = 1024
	maxExampleFiles   = 64
	maxExampleBytes   = 64 << 10
	maxExamplesBytes  = 256 << 10
	maxExampleEntries = 1024
	// maxResourceProblems bounds what is reported of one skill.
	maxResourceProblems = 20
)

const (
	linksHint    = "write a YAML list of http or https addresses, of at most 64 KiB"
	examplesHint = "make it a directory with at most 64 text files of at most 64 KiB each, 256 KiB together"
)

// Resources reads the links.yaml and the files right in examples/ of a skill of a catalog. Neither has a digest in the
// snapshot, so both are as the disk has them now. What cannot be read sets [pannier.Resources.Incomplete] and costs nothing
// else. It fails where ctx is done, or the skill directory cannot be opened.
func (l *Loader) Resources(ctx context.Context, s *pannier.Skill) (pannier.Resources, error) {
	dir, err := l.placeOf(s).Dir(path.Clean(s.PathBelowRoot))
	if err != nil {
		return pannier.Resources{}, fmt.Errorf("open %s: %w", s.Path, changedUnlessBusy(err))
	}
	defer dir.Close()
	return l.resourcesIn(ctx, dir, s)
}

// resourcesIn reads the links and examples of a skill in its open directory.
func (l *Loader) resourcesIn(ctx context.Context, dir *os.Root, s *pannier.Skill) (pannier.Resources, error) {
	r := resourceReader{loader: l, dir: dir, path: s.Path}
	r.links()
	err := r.examples(ctx)
	return r.found, err
}

// resourceReader reads the resources of one skill.
type resourceReader struct {
	loader *Loader
	dir    *os.Root // of the skill
	path   string   // of the skill
	found  pannier.Resources
}

// omit reports that something is left out.
func (r *resourceReader) omit(code, file string, line int, message, hint string) {
	r.found.Incomplete = true
	if len(r.found.Problems) < maxResourceProblems {
		r.found.Problems = append(r.found.Problems, pannier.Problem{
			Code: code, Severity: pannier.SeverityWarning, Path: path.Join(r.path, file), Line: line,
			Message: message + ", so prompts leave it out", Hint: hint,
		})
	}
}

// links reads links.yaml.
func (r *resourceReader) links() {
	text, err := r.read(pannier.LinksFile, maxLinksBytes)
	if err == nil {
		r.found.LinksDigest = pannier.DigestOf(text)
		r.found.Links, err = readLinks(text, func(line int, message string) {
			r.omit(pannier.CodeLinks, pannier.LinksFile, line, message, linksHint)
		})
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.omit(pannier.CodeLinks, pannier.LinksFile, 0, readFault(err), linksHint)
	}
}

// readFault returns the message of an error without the path of a file.
func readFault(err error) string {
	return "it cannot be read: " + fsx.Cause(err).Error()
}

// The reasons why a file is not read.
var (
	errNotRegular = errors.New("not a regular file")
	errTooLarge   = errors.New("too large")
	errNotText    = errors.New("not UTF-8 text")
	errTooMany    = errors.New("too many files")
)

// readLinks returns the links in a links.yaml. It takes a list, a list under `links` or `references`, and a mapping of titles to
// links. A link is an address, or a mapping with an address. omit is called for each link that is left out.
func readLinks(text []byte, omit func(line int, message string)) (links []pannier.Link, err error) {
	text = linesToLF(bytes.TrimPrefix(text, []byte("\ufeff")))
	offset := 0
	if list := blockList(text); list != nil {
		offset = bytes.Count(text[:len(text)-len(list)], []byte("\n")) - 1
		text = append([]byte("links:\n"), list...)
	}
	front, _, err := yamldoc.Parse(text)
	if err != nil {
		return nil, err
	}
	for _, key := range []string{"links", "references"} {
		if v := front.Get(key); v.Kind() == yamldoc.List || v.Kind() == yamldoc.Map && !(firstOf(v, addressKeys) != "") {
			front = v
			break
		}
	}
	add := func(title string, v yamldoc.Value) {
		link, ok := readLink(title, v)
		switch {
		case !ok:
			omit(v.Line()+offset, "a link is not an absolute http or https address, or is too long")
		case len(links) == maxLinkCount:
			omit(v.Line()+offset, fmt.Sprintf("there are more than %d links", maxLinkCount))
		case !slices.Contains(links, link):
			links = append(links, link)
		}
	}
	if front.Kind() == yamldoc.Map {
		for pair := range front.Pairs() {
			add(pair.Key, pair.Value)
		}
		return links, err
	}
	for v := range front.Items() {
		add("", v)
	}
	return links, err
}

// blockList returns a text from its first line on that is neither blank, nor a comment, nor a document mark, where that line
// begins an item of a list, else nil: a document is read as a mapping.
func blockList(text []byte) []byte {
	at := 0
	for line := range bytes.Lines(text) {
		trimmed := bytes.TrimRight(line, " \t\n")
		if len(trimmed) > 0 && trimmed[0] != '#' && string(trimmed) != "---" {
			if bytes.HasPrefix(trimmed, []byte("- ")) {
				return text[at:]
			}
			return nil
		}
		at += len(line)
	}
	return nil
}

// The keys that the parts of a link are found under; the first that has a text counts.
var (
	addressKeys     = []string{"url", "href", "link"}
	titleKeys       = []string{"title", "name", "label"}
	descriptionKeys = []string{"description", "note", "summary"}
)

func firstOf(v yamldoc.Value, keys []string) string {
	for _, key := range keys {
		if text, _ := v.Get(key).Text(); strings.TrimSpace(text) != "" {
			return strings.TrimSpace(text)
		}
	}
	return ""
}

// readLink reads one link. An address that is not one of the web as it stands is refused rather than changed.
func readLink(title string, v yamldoc.Value) (pannier.Link, bool) {
	link := pannier.Link{Title: title}
	if text, ok := v.Text(); ok {
		link.URL = strings.TrimSpace(text)
	} else {
		link.URL = firstOf(v, addressKeys)
		link.Description = firstOf(v, descriptionKeys)
		if own := firstOf(v, titleKeys); own != "" {
			link.Title = own
		}
	}
	if len(link.Title) > maxLinkText || len(link.Description) > maxLinkText {
		return link, false
	}
	return link, isWebAddress(link.URL)
}

// isWebAddress reports whether a text is an http or https address with a host, and shows as what it is.
func isWebAddress(text string) bool {
	if text == "" || len(text) > maxLinkURL || strings.ContainsAny(text, " <>\"`\\") || pannier.CleanLine(text) != text {
		return false
	}
	u, err := url.Parse(text)
	return err == nil && u.Host != "" && u.User == nil && (u.Scheme == "https" || u.Scheme == "http")
}

// examples reads the text files right in examples/, by name in bytes.
func (r *resourceReader) examples(ctx context.Context) error {
	names, err := r.exampleNames()
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			r.omit(pannier.CodeExamples, examplesDir, 0, readFault(err), examplesHint)
		}
		return ctx.Err()
	}
	size := 0
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		text, err := r.read(name, min(maxExampleBytes, maxExamplesBytes-size))
		switch {
		case err == nil && (!utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0):
			err = errNotText
		case err == nil && len(r.found.Examples) == maxExampleFiles:
			err = errTooMany
		}
		if err != nil {
			r.omit(pannier.CodeExamples, name, 0, readFault(err), examplesHint)
			continue
		}
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		size += len(text)
		r.found.Examples = append(r.found.Examples, pannier.ExampleFile{Path: name, Text: string(text)})
	}
	return nil
}

// exampleNames returns the paths of the files right in examples/ that are served, in bytes.
func (r *resourceReader) exampleNames() ([]string, error) {
	dir, err := r.dir.OpenFile(examplesDir, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	entries, err := dir.ReadDir(maxExampleEntries + 1)
	if err != nil && !errors.Is(err, io.EOF) || len(entries) > maxExampleEntries {
		r.omit(pannier.CodeExamples, examplesDir, 0, fmt.Sprintf("a part of it cannot be read, or it has more than %d entries", maxExampleEntries), examplesHint)
	}
	var names []string
	for _, e := range entries {
		name := examplesDir + "/" + e.Name()
		if e.IsDir() || !r.loader.rules.Serves(name) {
			continue
		}
		if kind := e.Type(); kind.IsRegular() || kind == fs.ModeSymlink {
			names = append(names, name)
		} else {
			r.omit(pannier.CodeExamples, name, 0, readFault(errNotRegular), examplesHint)
		}
	}
	slices.Sort(names)
	return names, nil
}

// read returns a file that has no more than limit bytes.
func (r *resourceReader) read(name string, limit int) ([]byte, error) {
	file, err := openServed(name, r.dir, name, r.dir, r.loader.rules.Serves)
	if err != nil {
		return nil, err
	}
	defer file.close()
	st, err := file.stat()
	if err != nil {
		return nil, err
	}
	switch {
	case !st.IsRegular():
		return nil, errNotRegular
	case st.Size > int64(limit):
		return nil, errTooLarge
	}
	text, err := io.ReadAll(io.LimitReader(file, int64(limit)+1))
	if err == nil && len(text) > limit {
		err = errTooLarge
	}
	return text, err
}
