package files

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"pannier"
	"pannier/publish/molecule"
)

// Entry is a file or directory of the workspace.
type Entry struct {
	// Path is below the configuration directory, with slashes. It is as the platform sent it; see [CheckName].
	Path string `json:"path"`
	// Size is in bytes, as it lies there, and means nothing of a directory.
	Size int64 `json:"size"`
	Dir  bool  `json:"dir"`
}

// The depth of one listing, which is the platform's bound, and how many listings and entries one tree takes at most.
const (
	listDepth   = 5
	maxListings = 200
	maxEntries  = 10_000
)

func (c *Client) target(name string) *url.URL {
	parts := []string{"workspaces", c.workspace, "files"}
	if name != "" {
		parts = append(parts, strings.Split(name, "/")...)
	}
	return c.platform.URL(parts...)
}

func (c *Client) list(ctx context.Context, dir string, depth int) ([]Entry, error) {
	target := c.target("")
	target.RawQuery = url.Values{"root": {"/configs"}, "path": {dir}, "depth": {strconv.Itoa(depth)}}.Encode()
	var entries []Entry
	if err := c.ask(ctx, molecule.Call{Method: http.MethodGet, Target: target, Limit: maxAnswerBytes}, &entries); err != nil {
		return nil, c.unlessMissing(ctx, dir, err)
	}
	for i := range entries {
		entries[i].Path = strings.TrimPrefix(dir+"/"+entries[i].Path, "/") // not cleaned: callers check it
	}
	return entries, nil
}

// unlessMissing returns why a directory cannot be listed, and nil if it does not exist: what a platform answers then is
// left to it, and the same answers have other causes.
func (c *Client) unlessMissing(ctx context.Context, dir string, why error) error {
	if dir == "" || !is(why, "platform.not_found") && !is(why, "platform.answer") {
		return why
	}
	parent := path.Dir(dir)
	if parent == "." {
		parent = ""
	}
	beside, err := c.list(ctx, parent, 1)
	if err != nil || slices.ContainsFunc(beside, func(e Entry) bool { return e.Path == dir }) {
		return why
	}
	return nil
}

// Tree returns every file and directory below a directory, sorted by path; none where it is not there. What the platform never
// lists, such as .git and node_modules, is missing.
func (c *Client) Tree(ctx context.Context, dir string) ([]Entry, error) {
	var all []Entry
	for dirs, asked := []string{dir}, 0; len(dirs) > 0; asked++ {
		from := dirs[0]
		dirs = dirs[1:]
		entries, err := c.list(ctx, from, listDepth)
		if err != nil {
			return nil, err
		}
		all = append(all, entries...)
		if asked == maxListings || len(all) > maxEntries {
			return nil, refuse("files.size", "there are more files than are listed here", "check the directory itself")
		}
		dirs = append(dirs, deepest(from, entries)...)
	}
	slices.SortFunc(all, func(a, b Entry) int { return strings.Compare(a.Path, b.Path) })
	return slices.CompactFunc(all, func(a, b Entry) bool { return a.Path == b.Path }), nil
}

// deepest returns the directories at the bottom of a listing, which does not list their content.
func deepest(from string, entries []Entry) []string {
	var dirs []string
	for _, e := range entries {
		below := strings.TrimPrefix(strings.TrimPrefix(e.Path, from), "/")
		if e.Dir && CheckName(e.Path) == nil && strings.Count(below, "/") == listDepth-1 {
			dirs = append(dirs, e.Path)
		}
	}
	return dirs
}

// Children returns what lies right in a directory.
func (c *Client) Children(ctx context.Context, dir string) ([]Entry, error) {
	entries, err := c.list(ctx, dir, 1)
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Path, b.Path) })
	return entries, err
}

// Nested reports whether something lies where the platform's fault puts what is written, below configs/.
func (c *Client) Nested(ctx context.Context) (bool, error) {
	entries, err := c.Children(ctx, nested)
	return slices.ContainsFunc(entries, func(e Entry) bool {
		return e.Path == nested+"/"+pannier.WorkspaceFile || e.Path == nested+"/"+skillsKey
	}), err
}

// Read returns a file, without the blanks and line ends around it. It is empty where the file is missing, or has nothing else.
func (c *Client) Read(ctx context.Context, name string) (string, error) {
	var got struct {
		Content string `json:"content"`
	}
	if err := CheckName(name); err != nil {
		return "", err
	}
	err := c.ask(ctx, molecule.Call{Method: http.MethodGet, Target: c.target(name), Limit: maxAnswerBytes}, &got)
	return got.Content, err
}

// write sends files in one request and returns where the platform says that they went: "container", or "template" where the
// workspace does not run.
func (c *Client) write(ctx context.Context, files []File) (string, error) {
	contents := map[string]string{}
	for _, f := range files {
		contents[f.Path] = f.Content
	}
	body, err := json.Marshal(map[string]any{"files": contents})
	if err != nil {
		return "", err
	}
	var got struct {
		Source string `json:"source"`
	}
	err = c.ask(ctx, molecule.Call{Method: http.MethodPut, Target: c.target(""), Body: body, Limit: maxErrorBytes}, &got)
	return got.Source, err
}
