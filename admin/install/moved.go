package install

import (
	"context"
	"errors"
	"fmt"

	"pannier"
	"pannier/loader/fingerprint"
)

// checkMoved refuses a change whose old directory, now that it is out of its place and in staging, is not the one that the
// change was decided by: somebody has written to it meanwhile, and nothing of that may be lost. Nothing there is fine.
func (p *place) checkMoved(ctx context.Context, in *intent, rel string) error {
	if rel == "" || !p.exists(rel) {
		return nil
	}
	moved, same, err := p.asDecided(ctx, in, rel)
	if err != nil || same {
		return err
	}
	found := "it can no longer be told by a fingerprint"
	if !moved.IsZero() {
		found = fmt.Sprintf("its fingerprint is %s now, and was %s", moved, in.Old)
	}
	return refuse("install.fingerprint", in.Slug+" was changed while it was being replaced or removed: "+found, "look at the skill again, and decide by what it is now; nothing was changed")
}

// asDecided returns the fingerprint of a directory, and whether it is the one that an intent moves out of its place.
func (p *place) asDecided(ctx context.Context, in *intent, rel string) (print pannier.Digest, same bool, err error) {
	if in.Unprinted {
		info, err := p.dir.Lstat(rel)
		return pannier.Digest{}, err == nil && info.IsDir(), err
	}
	print, err = p.printOther(ctx, rel)
	return print, print == in.Old && !print.IsZero(), err
}

// printOther is as print where all that counts is whether a directory is a certain one: one that is too large for a fingerprint
// is another.
func (p *place) printOther(ctx context.Context, rel string) (pannier.Digest, error) {
	print, err := p.print(ctx, rel)
	if errors.Is(err, fingerprint.ErrTooLarge) {
		return pannier.Digest{}, nil
	}
	return print, err
}
