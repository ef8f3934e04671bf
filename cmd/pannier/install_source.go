package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"pannier"
	"pannier/admin/archive"
)

// sourceBody is the archive of an installation, as it is read from a file or packed from a folder.
type sourceBody struct {
	io.Reader
	name   string
	format pannier.ArchiveFormat
	// skipped are the entries of a folder that are not packed, sorted.
	skipped []string
	// packed has what packing came to, once Reader has ended; nil where nothing is packed.
	packed chan error
	close  func()
}

// openSource opens what is to be installed: `-` is standard input, a folder is packed as it is read.
func (p *program) openSource(ctx context.Context, from string) (*sourceBody, error) {
	if from == "-" {
		return &sourceBody{Reader: os.Stdin, close: func() {}}, nil
	}
	info, err := os.Stat(from)
	if err != nil {
		return nil, failure(err.Error(), "name the skill's folder, an archive of it, or - for standard input")
	}
	if info.IsDir() {
		return packFolder(ctx, from)
	}
	file, err := os.Open(from)
	if err != nil {
		return nil, failure(err.Error(), "")
	}
	return &sourceBody{Reader: file, name: filepath.Base(from), close: func() { file.Close() }}, nil
}

func packFolder(ctx context.Context, dir string) (*sourceBody, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, failure(err.Error(), "")
	}
	files, skipped, err := filesToPack(root)
	if err == nil && !slices.ContainsFunc(files, pannier.IsSkillFile) {
		err = answerNo("no SKILL.md found in "+dir, "name the folder of the skill")
	}
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	out, in := io.Pipe()
	src := &sourceBody{Reader: out, name: filepath.Base(dir), format: pannier.TarGz, skipped: skipped, packed: make(chan error, 1)}
	go func() {
		err := archive.Pack(ctx, in, root, filepath.Base(dir), files)
		in.CloseWithError(err)
		src.packed <- err
	}()
	src.close = func() {
		out.Close() // ends the packing at any position
		<-src.packed
		root.Close()
	}
	return src, nil
}

// notPacked are directories that no skill is made of.
var notPacked = append([]string{pannier.OwnDir, "__MACOSX", "node_modules", ".venv", "venv", "__pycache__"}, archive.VersionControl...)

// filesToPack lists the files of a folder, and what is left out of it. A link is refused, because what it leads to would be
// missing, or would be something else, where the skill is installed.
func filesToPack(root *os.Root) (files, skipped []string, err error) {
	err = fs.WalkDir(root.FS(), ".", func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && slices.Contains(notPacked, e.Name()):
			skipped = append(skipped, path+"/")
			return fs.SkipDir
		case e.Name() == ".DS_Store", e.Name() == ".git": // the latter leads to the repository of a submodule or a worktree
			skipped = append(skipped, path)
			return nil
		case e.IsDir():
			return nil
		case !e.Type().IsRegular():
			kind := "not a regular file"
			if e.Type()&fs.ModeSymlink != 0 {
				kind = "a link"
			}
			return answerNo(fmt.Sprintf("%s is %s; a skill can contain regular files only", path, kind),
				"replace it by the file itself, or remove it")
		}
		files = append(files, path)
		return nil
	})
	return files, skipped, err
}

// fault returns why an installation failed: where packing the folder did, that is the reason, and not what the other side
// makes of half an archive.
func (s *sourceBody) fault(err error) error {
	if s.packed == nil {
		return err
	}
	select {
	case packing := <-s.packed:
		s.packed <- packing // for close
		if packing != nil && !errors.Is(packing, io.ErrClosedPipe) {
			return answerNo(packing.Error(), "")
		}
	default:
	}
	return err
}
