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
	r := resourceReader{loader: l, dir: dir}
	r.links()
	err = r.examples(ctx)
	return r.found, err
}

// resourceReader reads the resources of one skill.
type resourceReader struct {
	loader *Loader
	dir    *os.Root // of the skill
	found  pannier.Resources
}

// links reads links.yaml.
func (r *resourceReader) links() {
	text, err := r.read(pannier.LinksFile, maxLinksBytes)
	if err == nil {
		var links []pannier.Link
		links, err = readLinks(text)
		r.found.Links, r.found.LinksDigest = links, pannier.DigestOf(text)
	}
	r.found.Incomplete = r.found.Incomplete || err != nil && !errors.Is(err, fs.ErrNotExist)
}

// errIncomplete says that a file holds more than is read of it.
var errIncomplete = errors.New("a part of it cannot be read or is past a bound")

// readLinks returns the links in a links.yaml. It takes a list, a list under `links` or `references`, and a mapping of titles to
// links. A link is an address, or a mapping with an address.
func readLinks(text []byte) (links []pannier.Link, err error) {
	text = linesToLF(bytes.TrimPrefix(text, []byte("\ufeff")))
	if list := blockList(text); list != nil {
		text = append([]byte("links:\n"), list...)
	}
	front, _, err := yamldoc.Parse(text)
	if err != nil {
		return nil, err
	}
	for _, key := range []string{"links", "references"} {
		if v := front.Get(key); v.Kind() == yamldoc.List || v.Kind() == yamldoc.Map && !hasAddress(v) {
			front = v
			break
		}
	}
	add := func(title string, v yamldoc.Value) {
		link, ok := readLink(title, v)
		switch {
		case !ok, len(links) == maxLinkCount:
			err = errIncomplete
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

func hasAddress(v yamldoc.Value) bool { return firstOf(v, addressKeys) != "" }

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
		r.found.Incomplete = r.found.Incomplete || !errors.Is(err, fs.ErrNotExist)
		return ctx.Err()
	}
	size := 0
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		text, err := r.read(name, min(maxExampleBytes, maxExamplesBytes-size))
		if err != nil || !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0 || len(r.found.Examples) == maxExampleFiles {
			r.found.Incomplete = true
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
		r.found.Incomplete = true
	}
	var names []string
	for _, e := range entries {
		name := examplesDir + "/" + e.Name()
		if kind := e.Type(); (kind.IsRegular() || kind == fs.ModeSymlink) && r.loader.rules.Serves(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// read returns a file that has no more than limit bytes.
func (r *resourceReader) read(name string, limit int) ([]byte, error) {
	file, err := r.loader.openServed(name, r.dir, name, r.dir)
	if err != nil {
		return nil, err
	}
	defer file.close()
	st, err := file.stat()
	if err != nil {
		return nil, err
	}
	if !st.IsRegular() || st.Size > int64(limit) {
		return nil, errIncomplete
	}
	text, err := io.ReadAll(io.LimitReader(file, int64(limit)+1))
	if err == nil && len(text) > limit {
		err = errIncomplete
	}
	return text, err
}
