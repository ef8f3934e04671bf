package install

import (
	"errors"
	"fmt"
	"path"
	"syscall"

	"pannier"
)

func refuse(code, message, hint string) error {
	return &pannier.Refusal{Code: code, Message: message, Hint: hint}
}

// errFill says that an error came from whoever writes the files of a skill. What may not be read then need not lie in a root.
var errFill = errors.New("write the files of the skill")

// explain makes a refusal of an error of the disk that somebody can mend. What caused it stays in the chain.
func explain(root pannier.Root, err error) error {
	if _, already := errors.AsType[*pannier.Refusal](err); already || err == nil {
		return err
	}
	for _, e := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT} {
		if errors.Is(err, e) {
			return fmt.Errorf("%w: %w", refuse("install.disk_full", "there is no room left for "+root.Path, "make room on its file system, and try again; nothing was changed"), err)
		}
	}
	for _, e := range []syscall.Errno{syscall.EROFS, syscall.EACCES, syscall.EPERM} {
		if errors.Is(err, e) && (e == syscall.EROFS || !errors.Is(err, errFill)) {
			return fmt.Errorf("%w: %w", refuse("install.read_only", "the workspace can not be written: "+root.Path, "mount it writable, and make it writable for the user that pannier runs as"), err)
		}
	}
	return fmt.Errorf("change what is installed in %s: %w", root.Path, err)
}

// inTheWay refuses a change of what is no directory: nothing can be asked for that would replace it.
func inTheWay(code string, root pannier.Root, slug string, c current) error {
	return refuse(code, path.Join(root.Name, slug)+" is there, and is "+c.strange, "move it away first; pannier neither replaces nor removes it")
}

// isThere refuses an installation over another skill, and says by which update it would be replaced.
func isThere(root pannier.Root, slug string, c current) error {
	hint := "update it in the place of installing it"
	switch {
	case c.large:
		hint = "move it away first; it is too large to be updated"
	case c.entry == nil:
		hint = fmt.Sprintf("it is somebody's own; to replace it all the same, update it with %s as the expected fingerprint", c.print)
	}
	return refuse("install.exists", path.Join(root.Name, slug)+" is there already, with something else in it", hint)
}

// notManaged refuses a change of somebody's own.
func notManaged(root pannier.Root, slug string, c current) error {
	hint := "change it by hand; an update replaces it where its fingerprint is given as the expected one, which is " + c.print.String()
	if c.large {
		hint = "change it by hand"
	}
	return refuse("install.not_managed", path.Join(root.Name, slug)+" was not installed by pannier: it is somebody's own", hint)
}

// tooLarge refuses to keep a directory as the version before that could not be told from another one.
func tooLarge(root pannier.Root, slug string) error {
	return refuse("install.too_large", path.Join(root.Name, slug)+" is too large for a fingerprint, so it can not be kept as the version before", "uninstall it first, or take out what has grown in it")
}

// unreadable refuses a change that what may not be read has a say in. The error names it.
func unreadable(err error) error {
	return fmt.Errorf("%w: %w", refuse("install.unreadable", "not everything can be read: "+err.Error(), "let the user that pannier runs as read it; nothing was changed"), err)
}
