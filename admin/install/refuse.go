package install

import (
	"errors"
	"fmt"
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
