package files

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"pannier"
)

// The bounds of what is sent: the platform's own of the files in a request, that of its editor of a file, and ours of all.
const (
	MaxFileBytes  = 1_000_000
	MaxFiles      = 1000
	MaxBytes      = 16 << 20
	filesAtOnce   = 200
	contentAtOnce = 4 << 20
)

// nested is where the platform's fault puts what is written.
const nested = "configs"

// File is a text of the workspace.
type File struct {
	// Path is below the configuration directory, with slashes.
	Path    string
	Content string
}

// Arrival says how files were found that had been sent. Paths are sorted.
type Arrival struct {
	// Exact are those that were read back byte for byte, Trimmed those that were up to the blanks and line ends around them,
	// which the platform leaves out.
	Exact   []string `json:"verified_exact,omitempty"`
	Trimmed []string `json:"verified_trimmed,omitempty"`
	// Source is where the platform says that they went: "container", "template", or empty.
	Source string `json:"source,omitempty"`
}

// Check refuses files that the API cannot carry.
func Check(files []File) error {
	total := 0
	for _, f := range files {
		if err := CheckName(f.Path); err != nil {
			return err
		}
		if !utf8.ValidString(f.Content) || strings.ContainsRune(f.Content, 0) {
			return refuse("files.text", f.Path+" is not UTF-8 text, and the platform's API would change it", "leave it out, or copy the skill into the workspace itself")
		}
		if len(f.Content) > MaxFileBytes {
			return refuse("files.size", fmt.Sprintf("%s has more than %d bytes", f.Path, MaxFileBytes), "leave it out, or copy the skill into the workspace itself")
		}
		total += len(f.Content)
	}
	if total > MaxBytes || len(files) > MaxFiles {
		return refuse("files.size", fmt.Sprintf("the skill has more than %d files or %d bytes", MaxFiles, MaxBytes), "leave out what it does not need, or copy it into the workspace itself")
	}
	return nil
}

// CheckName refuses a path that the API does not take, or that a directory here should not get.
func CheckName(name string) error {
	// The API refuses two dots wherever they stand.
	if !fs.ValidPath(name) || name == "." || strings.Contains(name, "..") || strings.ContainsFunc(name, func(r rune) bool {
		return r == '\\' || r == utf8.RuneError || unicode.IsControl(r)
	}) {
		return refuse("files.name", fmt.Sprintf("the platform's API does not take the name %q", name), "give it a relative path without two dots in a row, backslashes and control characters")
	}
	return nil
}

// Put writes files and reads every one back. The first goes ahead, and nothing else is sent where it does not arrive; SKILL.md
// goes last, so that no agent loads a skill that is incomplete. What [Check] refuses is not sent. After an error some of the
// files may have been written.
func (c *Client) Put(ctx context.Context, files []File) (Arrival, error) {
	if err := Check(files); err != nil || len(files) == 0 {
		return Arrival{}, err
	}
	files = inOrder(files)
	var arrived Arrival
	for len(files) > 0 {
		n := 1
		if len(arrived.Exact)+len(arrived.Trimmed) > 0 {
			n = batch(files)
		}
		source, err := c.write(ctx, files[:n])
		if err != nil {
			return Arrival{}, err
		}
		arrived.Source = source
		if err := c.verify(ctx, files[:n], &arrived); err != nil {
			return Arrival{}, err
		}
		files = files[n:]
	}
	slices.Sort(arrived.Exact)
	slices.Sort(arrived.Trimmed)
	return arrived, nil
}

// inOrder sorts files: one that has something to be read back goes first, SKILL.md last.
func inOrder(files []File) []File {
	files = slices.Clone(files)
	slices.SortFunc(files, func(a, b File) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a.Path, b.Path))
	})
	return files
}

func rank(f File) int {
	switch {
	case pannier.IsSkillFile(path.Base(f.Path)):
		return 2
	case strings.TrimSpace(f.Content) == "":
		return 1
	}
	return 0
}

// batch returns how many files fit into one request. SKILL.md never comes with others, which are looked for first.
func batch(files []File) int {
	n, size := 0, 0
	for _, f := range files {
		if n > 0 && (n == filesAtOnce || size+len(f.Content) > contentAtOnce || rank(f) == 2) {
			break
		}
		n, size = n+1, size+len(f.Content)
	}
	return n
}

func (c *Client) verify(ctx context.Context, files []File, arrived *Arrival) error {
	for _, f := range files {
		got, err := c.Read(ctx, f.Path)
		if err != nil {
			return fmt.Errorf("read %s back: %w", f.Path, err)
		}
		there := got != ""
		if !there && strings.TrimSpace(f.Content) == "" {
			if there, err = c.listed(ctx, f.Path); err != nil {
				return fmt.Errorf("read %s: %w", f.Path, err)
			}
		}
		switch {
		case there && got == f.Content:
			arrived.Exact = append(arrived.Exact, f.Path)
		case there && strings.TrimSpace(got) == strings.TrimSpace(f.Content):
			arrived.Trimmed = append(arrived.Trimmed, f.Path)
		default:
			return c.astray(ctx, f, got)
		}
	}
	return nil
}

func (c *Client) listed(ctx context.Context, name string) (bool, error) {
	dir := path.Dir(name)
	if dir == "." {
		dir = ""
	}
	entries, err := c.Children(ctx, dir)
	return slices.ContainsFunc(entries, func(e Entry) bool { return e.Path == name && !e.Dir }), err
}

func (c *Client) astray(ctx context.Context, f File, got string) error {
	below := path.Join(nested, f.Path)
	text, err := c.Read(ctx, below)
	misplaced := err == nil && text != "" && strings.TrimSpace(text) == strings.TrimSpace(f.Content)
	if err == nil && !misplaced && got == "" {
		misplaced, err = c.listed(ctx, below)
	}
	switch {
	case err != nil && !is(err, "platform.not_found"):
		return fmt.Errorf("read %s: %w", f.Path, err)
	case misplaced:
		return refuse("files.misplaced", fmt.Sprintf("the platform has put %s to /configs/%s, where no agent looks for it", f.Path, below),
			fmt.Sprintf("this is a fault of the platform's files API: use a platform in which it is fixed, or install beside the workspace; remove the directory %s of the workspace by hand", nested))
	case got == "":
		return refuse("files.not_stored", "the platform said that it saved "+f.Path+", and it is not there", "check the platform's log, and that the workspace runs")
	}
	return refuse("files.not_stored", "the platform has something else in "+f.Path+" than was sent", "check whether another writer changes the workspace, and try again")
}
