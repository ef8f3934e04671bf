package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pannier"
	"pannier/internal/plain"
	"pannier/loader/profile"
	"pannier/publish/client"
)

func (p *program) publishCommand() *cobra.Command {
	var to, by string
	cmd := &cobra.Command{
		Use:   "publish SLUG --to DIR",
		Short: "Copy a skill of the workspace into a directory",
		Long: `Copies a skill into DIR/<slug>, byte for byte, without hidden files and without what
.clawhubignore and .gitignore match. It writes all files or none. --profile=clawhub requires what
ClawHub accepts: a slug that fits a URL, text files only, at most 50 MB.`,
		Example: `  pannier publish pdf-forms --to ./out
  pannier publish pdf-forms --to ./out --profile=clawhub`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if to == "" {
				return failure("publish needs a directory", "name it with --to")
			}
			if by != "" && by != profile.NameClawHub {
				return failure(fmt.Sprintf("--profile is %q", by), "leave it out, or write clawhub")
			}
			return p.reading(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				return p.publish(ctx, c, args[0], to, by)
			})
		},
	}
	cmd.Flags().StringVar(&to, "to", "", "`directory` for the folder of the skill")
	cmd.Flags().StringVar(&by, "profile", "", "refuse a skill that this `profile` does not accept: clawhub")
	return p.share(p.jsonFlag(cmd), readsSkills...)
}

// published is what `pannier publish --json` prints.
type published struct {
	Slug      string   `json:"slug"`
	Directory string   `json:"directory"`
	Files     []string `json:"files"`
	LeftOut   []string `json:"left_out"`
}

// publishTries is how often a skill is read that changes meanwhile.
const publishTries = 3

func (p *program) publish(ctx context.Context, c *client.Client, slug, to, by string) error {
	for try := 1; ; try++ {
		out, err := p.publishOnce(ctx, c, slug, to, by)
		switch {
		case err == nil:
			return output(p, p.printPublished)(out, nil)
		case !errors.Is(err, errMoved):
			return err
		case try == publishTries:
			return failure(slug+" keeps changing; nothing was written", "try again when it does not change")
		}
	}
}

// errMoved says that the files which were read are not all of one version.
var errMoved = errors.New("the skill changed while it was read")

func (p *program) publishOnce(ctx context.Context, c *client.Client, slug, to, by string) (published, error) {
	skill, err := c.Skill(ctx, slug, "")
	if err == nil {
		err = p.mayPublish(skill, by)
	}
	if err != nil {
		return published{}, err
	}
	source := publishedSkill{c, slug, map[string]pannier.Digest{}}
	read := func(name string) ([]byte, error) { return source.read(ctx, name) }
	files := profile.Bundle(profile.Skill{Files: skill.Files, ReadFile: read})
	out := published{Slug: skill.Slug, Directory: filepath.Join(to, skill.Slug), Files: []string{}, LeftOut: []string{}}
	if err := source.writeTo(ctx, out.Directory, files); err != nil {
		return published{}, err
	}
	for _, f := range skill.Files {
		if slices.Contains(files, f) {
			out.Files = append(out.Files, f.Path)
		} else {
			out.LeftOut = append(out.LeftOut, f.Path)
		}
	}
	return out, nil
}

// publishedSkill reads the files of a skill, and remembers what they were.
type publishedSkill struct {
	c    *client.Client
	slug string
	was  map[string]pannier.Digest
}

func (s publishedSkill) read(ctx context.Context, name string) ([]byte, error) {
	content, digest, err := s.c.File(ctx, s.slug, name)
	if was, again := s.was[name]; err == nil && again && was != digest {
		err = errMoved
	}
	s.was[name] = digest
	return content, err
}

func (p *program) printPublished(out published) error {
	fmt.Fprintf(p.out, "%s: %s\n", plain.Text(out.Directory), plain.Count(len(out.Files), "file"))
	if len(out.LeftOut) > 0 {
		fmt.Fprintf(p.err, "left out: %s\n", plain.Text(strings.Join(out.LeftOut, ", ")))
	}
	return nil
}

// mayPublish refuses what a profile does, and a skill that is not known as a whole.
func (p *program) mayPublish(skill pannier.Detail, by string) error {
	if skill.Slug != pannier.Slugify(skill.Slug) || skill.Slug == "" { // it becomes the name of a directory
		return failure(fmt.Sprintf("unexpected slug %q in the response", skill.Slug),
			"check that the address is that of a pannier server")
	}
	if skill.FilesTruncated {
		return answerNo(fmt.Sprintf("%s has too many files to list; nothing was written", skill.Slug),
			"copy its directory, "+skill.Path)
	}
	verdict := skill.Conformance[by]
	if by == "" || verdict.Compliant {
		return nil
	}
	p.printProblems(verdict.Issues)
	return answerNo(skill.Slug+" does not comply with "+by+"; nothing was written", "")
}

// writeTo writes files of the skill into a new directory: all of them, or none, and none if they are not of one version.
func (s publishedSkill) writeTo(ctx context.Context, dir string, files []pannier.File) error {
	if _, err := os.Lstat(dir); err == nil {
		return answerNo(dir+" exists", "remove it, or name another directory with --to")
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return failure(err.Error(), "")
	}
	half, err := os.MkdirTemp(filepath.Dir(dir), "."+filepath.Base(dir)+"-")
	if err != nil {
		return failure(err.Error(), "")
	}
	defer os.RemoveAll(half) // nothing is there any more once it has got its name
	root, err := os.OpenRoot(half)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, f := range files {
		content, err := s.read(ctx, f.Path)
		if err != nil {
			return err
		}
		if err := writeFile(root, f, content); err != nil {
			return failure(err.Error(), "")
		}
	}
	// A file that was the same before all others were read and after it is of one version with them.
	for _, name := range slices.Sorted(maps.Keys(s.was)) {
		if _, err := s.read(ctx, name); err != nil {
			return errors.Join(errMoved, err)
		}
	}
	if err := os.Chmod(half, 0o755); err != nil {
		return err
	}
	return os.Rename(half, dir)
}

func writeFile(root *os.Root, f pannier.File, content []byte) error {
	mode := fs.FileMode(0o644)
	if f.Executable {
		mode = 0o755
	}
	if err := root.MkdirAll(path.Dir(f.Path), 0o755); err != nil {
		return err
	}
	file, err := root.OpenFile(f.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	return errors.Join(err, file.Close())
}
