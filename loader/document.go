package loader

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"pannier"
	"pannier/internal/yamldoc"
)

// ErrChanged says that a file is not what the catalog says any more. The answer to it is to look again.
var ErrChanged = errors.New("the file has changed since it was last looked at")

// ErrNotServable says that there is nothing to serve of a skill, because it can not be read.
var ErrNotServable = errors.New("the skill has no readable text")

// Document is the whole of a SKILL.md.
type Document struct {
	// Frontmatter is typed JSON in source order, unknown fields included; nil where there is none.
	Frontmatter json.RawMessage
	// Body is the text behind the frontmatter, with bytes that are not UTF-8 replaced.
	Body string
	// Warnings tell what was changed of the body.
	Warnings []string
}

// Read returns the document of a skill of a catalog, from the same bytes that its digest tells of. It returns an error
// that is [ErrChanged] where the disk has moved on, and [ErrNotServable] for a skill that can not be read.
func (l *Loader) Read(ctx context.Context, s *pannier.Skill) (Document, error) {
	if s.Broken || s.LastGood {
		return Document{}, ErrNotServable
	}
	text, err := l.readWhole(s)
	if err != nil {
		return Document{}, fmt.Errorf("read %s: %w", s.FilePath(), err)
	}
	if pannier.DigestOf(text) != s.Digest {
		return Document{}, fmt.Errorf("read %s: %w", s.FilePath(), ErrChanged)
	}
	return document(text, l.rules.MaxFrontmatterBytes), ctx.Err()
}

func (l *Loader) readWhole(s *pannier.Skill) ([]byte, error) {
	root, err := os.OpenRoot(l.rules.Roots[s.RootIndex].Path)
	if err != nil {
		return nil, ErrChanged
	}
	defer root.Close()
	file, err := root.OpenFile(path.Join(s.PathBelowRoot, s.File), os.O_RDONLY|unix.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrChanged
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	st, err := statOpen(int(file.Fd()))
	if err != nil || !st.isRegular() || st.size > l.rules.MaxSkillBytes {
		return nil, ErrChanged
	}
	return io.ReadAll(io.LimitReader(file, l.rules.MaxSkillBytes))
}

func document(text []byte, limit int64) Document {
	p, _, _ := cut(text, true, limit)
	var d Document
	if p.line > 0 {
		if front, _, err := yamldoc.Parse(linesToLF(p.front)); err == nil {
			d.Frontmatter = front.JSON()
		}
	}
	d.Body = string(p.body)
	if !utf8.ValidString(d.Body) {
		d.Body = strings.ToValidUTF8(d.Body, "\uFFFD")
		d.Warnings = append(d.Warnings, "the body is not UTF-8; what can not be read is replaced")
	}
	return d
}

// MaxFiles bounds how many files of a skill are listed.
const MaxFiles = 1000

// maxFileDepth bounds how deep below the skill directory files are listed.
const maxFileDepth = 8

// Files lists the files of a skill of a catalog, by path in bytes, SKILL.md included. truncated says that there are more
// than [MaxFiles], or deeper ones. Links are not followed, and what is neither a file nor a directory is left out.
func (l *Loader) Files(ctx context.Context, s *pannier.Skill) (files []pannier.File, truncated bool, err error) {
	root, err := os.OpenRoot(l.rules.Roots[s.RootIndex].Path)
	if err != nil {
		return nil, false, fmt.Errorf("list %s: %w", s.Path, err)
	}
	defer root.Close()
	dir, err := root.OpenRoot(s.PathBelowRoot)
	if err != nil {
		return nil, false, fmt.Errorf("list %s: %w", s.Path, err)
	}
	defer dir.Close()
	err = fs.WalkDir(dir.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			truncated = true // a directory that can not be read
			return nil
		case e.IsDir() && strings.Count(name, "/") >= maxFileDepth:
			truncated = true
			return fs.SkipDir
		case !e.Type().IsRegular():
			return nil
		case len(files) == MaxFiles:
			truncated = true
			return fs.SkipAll
		}
		if info, err := e.Info(); err == nil {
			files = append(files, pannier.File{Path: name, Size: info.Size(), Executable: info.Mode()&0o111 != 0})
		}
		return nil
	})
	if err != nil {
		return nil, false, fmt.Errorf("list %s: %w", s.Path, err)
	}
	return files, truncated, nil
}
