package install

import (
	"errors"
	"fmt"
	"path"
	"syscall"

	"pannier"
	"pannier/internal/fsx"
)

func refuse(code, message, hint string) error {
	return &pannier.Refusal{Code: code, Message: message, Hint: hint}
}

// errFill marks errors of the function that writes the files: its permission errors need not be about a root.
var errFill = errors.New("write the files of the skill")

// explain turns a disk error that an operator can fix into a refusal that wraps it.
func explain(root pannier.Root, err error) error {
	if _, already := errors.AsType[*pannier.Refusal](err); already || err == nil {
		return err
	}
	if foreign, ok := errors.AsType[*fsx.OwnerError](err); ok {
		return fmt.Errorf("%w: %w", refuse("install.foreign_owner", foreign.Message, foreign.Hint), err)
	}
	for _, e := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT} {
		if errors.Is(err, e) {
			return fmt.Errorf("%w: %w", refuse("install.disk_full", "no space left for "+root.Path, "free space on its file system and retry; nothing was changed"), err)
		}
	}
	for _, e := range []syscall.Errno{syscall.EROFS, syscall.EACCES, syscall.EPERM} {
		if errors.Is(err, e) && (e == syscall.EROFS || !errors.Is(err, errFill)) {
			return fmt.Errorf("%w: %w", refuse("install.read_only", "the workspace is not writable: "+root.Path, "mount it writable, and give the user that pannier runs as write permission"), err)
		}
	}
	return fmt.Errorf("change what is installed in %s: %w", root.Path, err)
}

// refuseConflict refuses a change because of what is in the way.
func refuseConflict(code, message, hint string, conflict pannier.InstallConflict) error {
	return &pannier.Refusal{Code: code, Message: message, Hint: hint, Conflict: &conflict}
}

// conflict describes what a root has of a slug. A version is known of what pannier installed and was not changed since.
func (c current) conflict(root pannier.Root, slug string) pannier.InstallConflict {
	is := pannier.InstallConflict{Slug: slug, Path: path.Join(root.Name, slug), Fingerprint: c.print, Managed: c.entry != nil}
	if is.Managed && !c.changedByHand() {
		is.Version = c.entry.Version
	}
	return is
}

// refuseNotDirectory refuses a change of what is not a directory.
func refuseNotDirectory(code string, root pannier.Root, slug string, c current) error {
	return refuseConflict(code, path.Join(root.Name, slug)+" is "+c.otherKind, "move it away first; pannier neither replaces nor removes it", c.conflict(root, slug))
}

// refuseNotManaged refuses a change of a directory that pannier did not install.
func refuseNotManaged(root pannier.Root, slug string, c current) error {
	hint := "change it by hand, or update it with its fingerprint as the expected one: " + c.print.String()
	if c.large {
		hint = "change it by hand"
	}
	return refuseConflict("install.not_managed", path.Join(root.Name, slug)+" was not installed by pannier", hint, c.conflict(root, slug))
}

// refuseTooLarge refuses to keep a directory without a fingerprint as the previous version.
func refuseTooLarge(root pannier.Root, slug string) error {
	return refuse("install.too_large", path.Join(root.Name, slug)+" is too large for a fingerprint, so it cannot be kept as the previous version", "uninstall it first, or remove large data from it")
}

// refuseUnreadable refuses a change that depends on an unreadable file, which err names.
func refuseUnreadable(err error) error {
	return fmt.Errorf("%w: %w", refuse("install.unreadable", "a file is not readable: "+err.Error(), "give the user that pannier runs as read permission; nothing was changed"), err)
}
