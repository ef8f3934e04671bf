package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pannier"
	"pannier/service"
)

const (
	markdownType  = "text/markdown"
	directoryType = "inode/directory"
	bytesType     = "application/octet-stream"
)

type resourcesPage struct {
	page
	Resources []*sdk.Resource `json:"resources"`
}

// listResources lists each SKILL.md; the template covers the other files.
func (s *Server) listResources(ctx context.Context, cursor string) (sdk.Result, error) {
	v, err := s.current(ctx)
	if err != nil {
		return nil, err
	}
	result := &resourcesPage{page: newPage(ctx)}
	result.Resources, result.NextCursor, err = paginate(s, cursor, v.served, slugOf,
		func(e *pannier.Entry) (*sdk.Resource, int, error) {
			shown, err := s.listed(ctx, e)
			return shown.resource, shown.bytes, err
		})
	return result, err
}

func fileIn(m pannier.Manifest, path string) (pannier.ManifestFile, bool) {
	for _, f := range m.Files {
		if f.Path == path {
			return f, true
		}
	}
	return pannier.ManifestFile{}, false
}

// readResource answers with one file of a skill, or one that a call left.
func (s *Server) readResource(ctx context.Context, uri string) (sdk.Result, error) {
	if s.SkillTools && strings.HasPrefix(uri, artifactScheme) {
		return s.readArtifact(ctx, uri)
	}
	contents := &sdk.ResourceContents{URI: uri}
	err := s.fresh(ctx, func(v *view) error {
		e, name, inside, err := s.locate(v, uri)
		if err != nil {
			return err
		}
		if !inside || name == "" {
			return refuse(string(pannier.FileIsDirectory), fmt.Sprintf("%.100q is a directory", uri),
				"resources/directory/read lists its files")
		}
		text, err := s.readFile(ctx, e, name, maxResourceBytes, service.Agent)
		fill(contents, name, text)
		return err
	})
	if err != nil {
		return nil, err
	}
	result := &readResult{Contents: []*sdk.ResourceContents{contents}}
	result.page = newPage(ctx)
	return result, nil
}

// fill sets what a resource has of a file.
func fill(contents *sdk.ResourceContents, name string, text []byte) {
	contents.Text, contents.Blob, contents.MIMEType = "", nil, mimeType(name)
	if len(text) > 0 && utf8.Valid(text) {
		contents.Text = string(text)
	} else { // an empty text would be left out
		contents.Blob = append([]byte{}, text...)
	}
}

// readArtifact answers with a file that a call left, to hosts that may call tools.
func (s *Server) readArtifact(ctx context.Context, uri string) (sdk.Result, error) {
	client := withCaller(ctx)
	if err := s.Service.Require(client, service.Request{Name: "resources/read of an artifact"}, service.ScopeCall); err != nil {
		return nil, err
	}
	parts, err := parseURI(uri, artifactScheme)
	if err != nil {
		return nil, err
	}
	if len(parts) < 3 || parts[1] != "artifacts" {
		return nil, refuse(pannier.ToolArtifactMissing, fmt.Sprintf("no artifact at %.100q", uri), "use a resource link in the result of a tool")
	}
	name := strings.Join(parts[2:], "/")
	f, err := s.Service.OpenArtifact(client, parts[0], name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if f.Size() > maxResourceBytes {
		return nil, refuse(string(pannier.FileTooLarge), fmt.Sprintf("%.200q has more than %d bytes", name, maxResourceBytes),
			"get it with GET /v1/tools/calls/{id}/artifacts/{name}")
	}
	text, err := s.readWhole(ctx, f)
	if err != nil {
		return nil, err
	}
	contents := &sdk.ResourceContents{URI: uri}
	fill(contents, name, text)
	result := &readResult{Contents: []*sdk.ResourceContents{contents}}
	result.page = newPage(ctx)
	return result, nil
}

type readResult struct {
	page
	Contents []*sdk.ResourceContents `json:"contents"`
}

// The bounds of files. A file over the limit of the SEP is for the HTTP API.
const (
	maxResourceBytes = 16 << 20
	maxToolBytes     = 1 << 20
	// largeRead is a file that takes one of maxLargeReads places until its answer is written.
	largeRead     = 1 << 20
	maxLargeReads = 4
)

// codeNotListed is of a file below a link whose own path is not in the manifest.
const codeNotListed = "file_not_listed"

// readFile returns the bytes of a file of a skill, which have the digest of its manifest.
func (s *Server) readFile(
	ctx context.Context, e *pannier.Entry, name string, limit int64, by service.Reader,
) ([]byte, error) {
	m, err := s.manifest(ctx, e, 0)
	if err != nil {
		return nil, err
	}
	f, err := s.Service.OpenFile(ctx, e, name, by)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	listed, ok := fileIn(m, name)
	linked := !ok && f.Path() != name // below a link to a directory, whose files have digests by their own paths
	if linked {
		listed, ok = fileIn(m, f.Path())
	}
	switch {
	case f.Size() > limit:
		return nil, tooLarge(e, name, limit)
	case linked && !ok && !m.Dynamic:
		return nil, refuse(codeNotListed,
			fmt.Sprintf("%.200q of %s lies below a link to a directory, and its own path is not in the list of files",
				name, e.Slug), "replace the link by the directory")
	case !ok && !m.Dynamic:
		return nil, fmt.Errorf("%w: %s is not in the manifest yet", pannier.ErrChanged, name)
	case ok && listed.Digest != f.Digest():
		return nil, fmt.Errorf("%w: %s has another digest than in the manifest", pannier.ErrChanged, name)
	}
	text, err := s.readWhole(ctx, f)
	if err != nil {
		return nil, err
	}
	f.Record()
	return text, nil
}

// readWhole returns the bytes of a file. A large one takes one of the places for large reads.
func (s *Server) readWhole(ctx context.Context, f service.File) ([]byte, error) {
	if f.Size() > largeRead {
		release, err := s.answers.holdPlace(ctx)
		if err != nil {
			return nil, err
		}
		defer release()
	}
	var text bytes.Buffer
	text.Grow(int(f.Size()))
	_, err := f.WriteTo(&text)
	return text.Bytes(), err
}

// manifest returns the manifest of a skill as it was at most maxAge ago. That of a skill without readable instructions
// lists no files.
func (s *Server) manifest(ctx context.Context, e *pannier.Entry, maxAge time.Duration) (pannier.Manifest, error) {
	m, err := s.Manifest(ctx, e.Skill, maxAge)
	if errors.Is(err, pannier.ErrNotServable) {
		return pannier.Manifest{Dynamic: true}, nil
	}
	return m, err
}

func tooLarge(e *pannier.Entry, name string, limit int64) error {
	return refuse(string(pannier.FileTooLarge), fmt.Sprintf("%.200q of %s has more than %d bytes", name, e.Slug, limit),
		"read it from the directory of the skill")
}

// readDirectory lists what lies right in a directory of a skill.
func (s *Server) readDirectory(ctx context.Context, _ *sdk.ServerSession, params *uriParams) (*directoryPage, error) {
	if params == nil || params.URI == "" {
		return nil, refuse("uri_missing", "the parameter uri is missing", "name the URI of a directory of a skill")
	}
	result := &directoryPage{page: newPage(ctx)}
	err := s.fresh(ctx, func(v *view) error {
		e, dir, inside, err := s.locate(v, params.URI)
		if err != nil {
			return err
		}
		children := []*sdk.Resource{{URI: rootURI(e), Name: e.Name, MIMEType: directoryType}}
		if inside {
			m, err := s.manifest(ctx, e, 0)
			files := m.Files
			if err == nil && m.Dynamic {
				var found []pannier.File
				found, _, err = s.Service.Texts.Files(ctx, e.Skill)
				for _, f := range found { // without their digests
					files = append(files, pannier.ManifestFile{Path: f.Path, Size: f.Size})
				}
			}
			if err != nil {
				return err
			}
			if children = childrenOf(e, files, dir); children == nil && !s.isDirectory(ctx, e, files, dir) {
				return refuse("directory_not_found", fmt.Sprintf("%.100q is not a directory", params.URI),
					"resources/directory/read of "+rootURI(e)+" lists the files of the skill")
			}
		}
		result.Resources, result.NextCursor, err = paginate(s, params.Cursor, children,
			func(r *sdk.Resource) string { return r.Name }, func(r *sdk.Resource) (*sdk.Resource, int, error) {
				return r, 128 + len(r.URI), nil
			})
		return err
	})
	if err != nil {
		return nil, err
	}
	return result, nil
}

// isDirectory reports whether a skill has a directory, also one without files that are served.
func (s *Server) isDirectory(ctx context.Context, e *pannier.Entry, files []pannier.ManifestFile, name string) bool {
	if slices.ContainsFunc(files, func(f pannier.ManifestFile) bool { return f.Path == name }) {
		return false
	}
	f, err := s.Service.OpenFile(ctx, e, name, service.Agent)
	if err == nil {
		f.Close()
	}
	refusal, ok := asRefusal(err)
	return ok && refusal.Code == string(pannier.FileIsDirectory)
}

// childrenOf returns what lies right in a directory, by name; nil if the skill has no such directory.
func childrenOf(e *pannier.Entry, files []pannier.ManifestFile, dir string) (children []*sdk.Resource) {
	prefix := ""
	if dir != "" {
		prefix = dir + "/"
	}
	seen := map[string]bool{}
	for _, f := range files {
		rest, below := strings.CutPrefix(f.Path, prefix)
		if !below {
			continue
		}
		name, _, deeper := strings.Cut(rest, "/")
		if seen[name] {
			continue
		}
		seen[name] = true
		child := &sdk.Resource{URI: fileURI(e, prefix+name), Name: name, MIMEType: directoryType}
		if _, err := parseURI(child.URI, scheme); err != nil { // no host can read it
			continue
		}
		if !deeper {
			child.MIMEType, child.Size = mimeType(name), f.Size
		}
		children = append(children, child)
	}
	slices.SortFunc(children, func(a, b *sdk.Resource) int { return cmp.Compare(a.Name, b.Name) })
	return children
}

func mimeType(name string) string {
	return cmp.Or(pannier.MediaType(name), "text/plain")
}

// The SDK announces the change of a list when an entry is replaced. Nothing else is of use in the entries: lists and
// calls are answered before they reach the SDK, so that the entries need no handlers.

func (s *Server) touchResources() {
	s.sdk.AddResourceTemplate(&sdk.ResourceTemplate{
		URITemplate: scheme + "{+path}", Name: "skill file", Title: "File of a skill",
		Description: "A file of a skill by its path below the directory of the skill, as skills/get lists it.",
	}, nil)
}

func (s *Server) touchPrompts() { s.sdk.AddPrompt(&sdk.Prompt{Name: "skills"}, nil) }

func (s *Server) touchTools() {
	s.sdk.AddTool(&sdk.Tool{Name: toolActivate, InputSchema: json.RawMessage(`{"type":"object"}`)}, nil)
}
