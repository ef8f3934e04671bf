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
	content, digest, err = c.file(ctx, SkillPath(slug)+"/files/", path)
	if errors.Is(err, ErrTorn) {
		err = fmt.Errorf("read %s of %s: %w", path, slug, err)
	}
	return content, digest, err
}

// Artifact returns a file that a call left, byte for byte, with its digest, which has been compared.
func (c *Client) Artifact(ctx context.Context, callID, name string) (content []byte, digest pannier.Digest, err error) {
	return c.file(ctx, "/v1/tools/calls/"+escapeSegment(callID)+"/artifacts/", name)
}

// file returns a file below a path, with its digest.
func (c *Client) file(ctx context.Context, below, name string) (content []byte, digest pannier.Digest, err error) {
	segments := strings.Split(name, "/")
	for i := range segments {
		segments[i] = escapeSegment(segments[i])
	}
	header, content, err := c.large().getText(ctx, below+strings.Join(segments, "/"), "*/*")
	if err != nil {
		return nil, digest, err
	}
	if err := digest.UnmarshalText([]byte(strings.Trim(header.Get("ETag"), `"`))); err != nil {
		return nil, digest, fmt.Errorf("read the digest of %s: %w", name, err)
	}
	if pannier.DigestOf(content) != digest {
		return nil, digest, ErrTorn
	}
	return content, digest, nil
}
