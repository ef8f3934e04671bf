package files

import (
	"context"
	"net/http"
	"path"
	"strings"

	"pannier"
	"pannier/publish/molecule"
)

// Fetched is a skill of the workspace as far as the platform gives it away. All lists are sorted.
type Fetched struct {
	// Files have paths below the directory of the skill.
	Files []File
	// Restored are those that got the one line end back that the platform had left out. Trimmed have lost more around them, or
	// it is not known what, and end with a line end.
	Restored, Trimmed []string
	// Damaged are those that the platform has made something else of, because they are no UTF-8 text, or gives none of.
	Damaged []string
	// LeftOut are those whose names should not get into a directory here; they are not in Files.
	LeftOut []string
}

// Fetch reads the files of a skill, in one request where the token is an administrator's, else one by one. A skill without
// any file is a [*pannier.Refusal].
func (c *Client) Fetch(ctx context.Context, folder string) (Fetched, error) {
	dir := path.Join(skillsKey, folder)
	entries, err := c.Tree(ctx, dir)
	if err != nil {
		return Fetched{}, err
	}
	contents, err := c.trusted(ctx, folder)
	if err != nil {
		return Fetched{}, err
	}
	var got Fetched
	for _, e := range entries {
		name := strings.TrimPrefix(e.Path, dir+"/")
		if e.Dir {
			continue
		}
		if CheckName(name) != nil {
			got.LeftOut = append(got.LeftOut, name)
			continue
		}
		text, ok := contents[name]
		if !ok {
			if text, err = c.Read(ctx, e.Path); err != nil {
				return Fetched{}, err
			}
		}
		got.add(name, text, e.Size)
	}
	if len(got.Files) == 0 {
		return Fetched{}, refuse("files.not_found", "there is no skill "+folder+" in the workspace", "`pannier list --files-api` lists what is there")
	}
	return got, nil
}

// add takes in a text that should have size bytes; 0 is not known where there is a text.
func (f *Fetched) add(name, text string, size int64) {
	length := int64(len(text))
	switch {
	case strings.ContainsRune(text, '\uFFFD') || length == 0 && size > 0:
		f.Damaged = append(f.Damaged, name)
	case length == size:
	case length+1 == size:
		f.Restored = append(f.Restored, name)
		text += "\n"
	default:
		f.Trimmed = append(f.Trimmed, name)
		text = strings.TrimRight(text, "\n") + "\n"
	}
	f.Files = append(f.Files, File{name, text})
}

// trusted returns what is exported of a skill, if its SKILL.md is the one of the workspace: where that does not run, the
// platform may export some template in its place.
func (c *Client) trusted(ctx context.Context, folder string) (map[string]string, error) {
	contents, err := c.exported(ctx, folder)
	if err != nil || contents == nil {
		return nil, err
	}
	text, err := c.Read(ctx, path.Join(skillsKey, folder, pannier.SkillFile))
	if strings.TrimSpace(text) != strings.TrimSpace(contents[pannier.SkillFile]) {
		contents = nil
	}
	return contents, err
}

// exported returns the files of one skill as the export of the workspace has them, by their paths below the directory of
// the skill. It is nil where the token may not export, where the platform exports another workspace, as it does when this
// one does not run, or where the skill is not in it.
func (c *Client) exported(ctx context.Context, folder string) (map[string]string, error) {
	var bundle struct {
		ID     string `json:"id"`
		Skills []struct {
			ID    string            `json:"id"`
			Name  string            `json:"name"`
			Files map[string]string `json:"files"`
		} `json:"skills"`
	}
	err := c.ask(ctx, molecule.Call{Method: http.MethodGet, Target: c.platform.URL("bundles", "export", c.workspace), Limit: maxExportBytes}, &bundle)
	if is(err, "platform.unauthorized") || is(err, "platform.forbidden") || is(err, "platform.not_found") {
		return nil, nil // only an administrator may; others read file by file
	}
	if err != nil || !strings.EqualFold(bundle.ID, c.workspace) {
		return nil, err
	}
	for _, s := range bundle.Skills {
		if s.Name == folder {
			return s.Files, nil
		}
	}
	return nil, nil
}
