package loader

import (
	"context"
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

// Read returns the document of a skill of a catalog, from the same bytes that its digest tells of. It returns an error
// that is [pannier.ErrChanged] where the disk has moved on, and [pannier.ErrNotServable] for a skill that can not be read.
func (l *Loader) Read(ctx context.Context, s *pannier.Skill) (pannier.Document, error) {
	if s.Broken || s.LastGood {
		return pannier.Document{}, pannier.ErrNotServable
	}
	text, err := l.readWhole(s)
	if err != nil {
		return pannier.Document{}, fmt.Errorf("read %s: %w", s.FilePath(), err)
	}
	if pannier.DigestOf(text) != s.Digest {
		return pannier.Document{}, fmt.Errorf("read %s: %w", s.FilePath(), pannier.ErrChanged)
	}
	return document(text, l.rules.MaxFrontmatterBytes), ctx.Err()
}

func (l *Loader) readWhole(s *pannier.Skill) ([]byte, error) {
	root, err := os.OpenRoot(l.rules.Roots[s.RootIndex].Path)
	if err != nil {
		return nil, pannier.ErrChanged
	}
	defer root.Close()
	file, err := root.OpenFile(path.Join(s.PathBelowRoot, s.File), os.O_RDONLY|unix.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, pannier.ErrChanged
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	st, err := statOpen(int(file.Fd()))
	if err != nil || !st.isRegular() || st.size > l.rules.MaxSkillBytes {
		return nil, pannier.ErrChanged
	}
	return io.ReadAll(io.LimitReader(file, l.rules.MaxSkillBytes))
}

func document(text []byte, limit int64) pannier.Document {
	p, _, _ := cut(text, true, limit)
	var d pannier.Document
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
