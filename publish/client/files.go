package client

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"pannier"
)

// ErrTorn means that the content does not match its digest.
var ErrTorn = errors.New("the file changed while it was sent")

// File returns a file of a skill, byte for byte, with its digest, which has been compared. path is below the skill directory.
// It fails with [ErrTorn] where another try may succeed.
func (c *Client) File(ctx context.Context, slug, path string) (content []byte, digest pannier.Digest, err error) {
	segments := strings.Split(path, "/")
	for i := range segments {
		segments[i] = escapeSegment(segments[i])
	}
	header, content, err := c.large().getText(ctx, SkillPath(slug)+"/files/"+strings.Join(segments, "/"), "*/*")
	if err != nil {
		return nil, digest, err
	}
	if err := digest.UnmarshalText([]byte(strings.Trim(header.Get("ETag"), `"`))); err != nil {
		return nil, digest, fmt.Errorf("read the digest of %s: %w", path, err)
	}
	if pannier.DigestOf(content) != digest {
		return nil, digest, fmt.Errorf("read %s of %s: %w", path, slug, ErrTorn)
	}
	return content, digest, nil
}
