package tools

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"pannier"
)

// maxLeft bounds the calls whose artifacts are known. The runner bounds them by bytes as well.
const maxLeft = 1024

// leftCall is a call that left artifacts, which its runner keeps.
type leftCall struct {
	key       callKey
	job       string
	at        time.Time
	artifacts []pannier.Artifact
}

// keep remembers the artifacts of a call.
func (c *call) keep(artifacts []pannier.Artifact) {
	if len(artifacts) == 0 {
		return
	}
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	old := 0
	for old < len(s.left) && (len(s.left)-old >= maxLeft || time.Since(s.left[old].at) > pannier.MaxArtifactAge) {
		old++
	}
	s.left = append(slices.Delete(s.left, 0, old), leftCall{callKey{c.Owner, c.CallID}, c.id, time.Now(), artifacts})
}

// Artifact finds an artifact of a call by the name that its client or the sidecar gave the call. Of calls of the same name, those of
// the owner count before those of others, and newer ones before older ones. Content writes the bytes that have the digest, and fails
// before the last of them if the runner has others.
func (s *Service) Artifact(ctx context.Context, owner, callID, name string) (found pannier.Artifact, content io.WriterTo, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	isOf := func(own bool) func(leftCall) bool {
		return func(l leftCall) bool {
			return l.key.id == callID && (l.key.owner == owner || !own) && time.Since(l.at) <= pannier.MaxArtifactAge
		}
	}
	newest := slices.Clone(s.left)
	slices.Reverse(newest)
	at := slices.IndexFunc(newest, isOf(true))
	if at < 0 {
		at = slices.IndexFunc(newest, isOf(false))
	}
	if at < 0 {
		return found, nil, refuse(pannier.ToolArtifactMissing, "no call with this call_id has left artifacts in the last hour", "call the tool again")
	}
	i := slices.IndexFunc(newest[at].artifacts, func(a pannier.Artifact) bool { return a.Name == name })
	if i < 0 {
		return found, nil, refuse(pannier.ToolArtifactMissing, "the call has left no artifact of this name", "use a name of artifacts in its result")
	}
	found = newest[at].artifacts[i]
	return found, &artifactContent{ctx, s.Runner, newest[at].job, found}, nil
}

// artifactContent reads an artifact from its runner, in parts.
type artifactContent struct {
	ctx    context.Context
	runner Runner
	job    string
	pannier.Artifact
}

// WriteTo implements [io.WriterTo].
func (a *artifactContent) WriteTo(w io.Writer) (n int64, err error) {
	other := refuse(pannier.ToolArtifactMissing, "the runner no longer has the file that the call has left", "call the tool again")
	hash := sha256.New()
	for n < a.Bytes {
		part, err := a.runner.Artifact(a.ctx, a.job, a.Name, n)
		if failed, ok := errors.AsType[*pannier.ToolError](err); ok {
			return n, refuse(failed.Code, failed.Message, failed.Hint)
		}
		if err != nil {
			return n, err
		}
		hash.Write(part)
		end := n + int64(len(part))
		if len(part) == 0 || end > a.Bytes || end == a.Bytes && pannier.Digest(hash.Sum(nil)) != a.Digest {
			return n, other
		}
		if _, err := w.Write(part); err != nil {
			return n, err
		}
		n = end
	}
	return n, nil
}

// plainText are endings of names of texts.
var plainText = map[string]bool{".txt": true, ".log": true, ".tsv": true, ".py": true, ".sh": true, ".sql": true, ".toml": true, ".ini": true, ".diff": true, ".patch": true}

// withTypes returns artifacts with their media types, which no runner claims, and without those whose name holds a secret.
func (c *call) withTypes(artifacts []pannier.Artifact) (typed []pannier.Artifact) {
	for _, a := range artifacts {
		usual := "application/octet-stream"
		if plainText[strings.ToLower(path.Ext(a.Name))] {
			usual = "text/plain"
		}
		if a.MediaType = cmp.Or(pannier.MediaType(a.Name), usual); c.s.Mask(a.Name) == a.Name {
			typed = append(typed, a)
		}
	}
	return typed
}
