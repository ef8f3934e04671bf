package install

import (
	"context"
	"errors"
	"fmt"
	"path"

	"pannier"
	"pannier/loader/fingerprint"
)

// checkMoved refuses a change if the old directory, which is in staging now, was changed after the decision. A missing
// directory is fine.
func (p *place) checkMoved(ctx context.Context, in *intent, rel string) error {
	if rel == "" || !p.exists(rel) {
		return nil
	}
	moved, same, err := p.isOld(ctx, in, rel)
	if err != nil || same {
		return err
	}
	found := "it is too large for a fingerprint now"
	if !moved.IsZero() {
		found = fmt.Sprintf("its fingerprint is %s now, and was %s", moved, in.Old)
	}
	lock, err := p.lock()
	managed := err == nil && lock.has(in.Slug)
	return refuseConflict("install.fingerprint", in.Slug+" was changed while it was being replaced or removed: "+found, "check the skill and retry with its present fingerprint; nothing was changed",
		pannier.InstallConflict{Slug: in.Slug, Path: path.Join(p.root.Name, in.Slug), Fingerprint: moved, Managed: managed})
}

// isOld returns the fingerprint of a directory, and whether it is the old directory of an intent.
func (p *place) isOld(ctx context.Context, in *intent, rel string) (print pannier.Digest, same bool, err error) {
	if in.Unprinted {
		info, err := p.dir.Lstat(rel)
		return pannier.Digest{}, err == nil && info.IsDir(), err
	}
	print, err = p.fingerprintOrZero(ctx, rel)
	return print, print == in.Old && !print.IsZero(), err
}

// fingerprintOrZero is [place.fingerprint] with zero for a directory that is too large.
func (p *place) fingerprintOrZero(ctx context.Context, rel string) (pannier.Digest, error) {
	print, err := p.fingerprint(ctx, rel)
	if errors.Is(err, fingerprint.ErrTooLarge) {
		return pannier.Digest{}, nil
	}
	return print, err
}
