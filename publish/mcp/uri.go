package mcp

import (
	"fmt"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"pannier"
	"pannier/service"
)

const (
	scheme      = "skill://"
	maxURIBytes = 4096
)

// artifactScheme begins the URI of a file that a call left.
const artifactScheme = "pannier://calls/"

// artifactURI returns the URI of a file that a call left.
func artifactURI(callID, name string) string {
	parts := strings.Split(name, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return artifactScheme + url.PathEscape(callID) + "/artifacts/" + strings.Join(parts, "/")
}

// rootURI returns the URI of the directory of a skill. Its last part is the name, as SEP-2640 asks; the first one is
// the slug, which no two usable skills share.
func rootURI(e *pannier.Entry) string {
	if e.Name == e.Slug {
		return scheme + e.Slug
	}
	return scheme + e.Slug + "/" + e.Name
}

// fileURI returns the URI of a file of a skill, or of a directory in it.
func fileURI(e *pannier.Entry, path string) string {
	var uri strings.Builder
	uri.WriteString(rootURI(e))
	for part := range strings.SplitSeq(path, "/") {
		uri.WriteString("/" + url.PathEscape(part))
	}
	return uri.String()
}

// parseURI returns the decoded parts of a URI after its beginning.
func parseURI(uri, scheme string) ([]string, error) {
	switch {
	case len(uri) > maxURIBytes:
		return nil, refuse("uri_too_long", fmt.Sprintf("the URI has more than %d bytes", maxURIBytes),
			"use a URI of resources/list or skills/list")
	case !utf8.ValidString(uri) || strings.ContainsFunc(uri, unicode.IsControl):
		return nil, refuse("uri_invalid", fmt.Sprintf("URI %.100q has control characters or is not UTF-8", uri),
			"percent-encode special characters")
	case !strings.HasPrefix(uri, scheme):
		return nil, refuse("uri_scheme", fmt.Sprintf("URI %.100q does not begin with %s", uri, scheme),
			"use a URI of resources/list or skills/list")
	case strings.ContainsAny(uri, "?#"):
		return nil, refuse("uri_invalid", fmt.Sprintf("URI %.100q has a query or a fragment", uri),
			"write ? as %3F and # as %23 in file names")
	}
	parts := strings.Split(strings.TrimPrefix(uri, scheme), "/")
	for i, part := range parts {
		decoded, err := url.PathUnescape(part)
		if err != nil || !utf8.ValidString(decoded) || strings.ContainsFunc(decoded, unicode.IsControl) {
			return nil, refuse("uri_invalid", fmt.Sprintf("URI %.100q has an invalid escape", uri),
				"percent-encode UTF-8 text without control characters")
		}
		if decoded == "" || decoded == "." || decoded == ".." || strings.Contains(decoded, "/") {
			return nil, refuse("uri_path", fmt.Sprintf("URI %.100q has an empty part, a dot part or an encoded slash", uri),
				"name the file by its path below the skill directory, without . and .. and without a slash at the end")
		}
		parts[i] = decoded
	}
	return parts, nil
}

// locate returns the skill that a URI points into and the path below its directory, empty for the directory itself.
// inside is false for the directory above that of a skill whose name is not its slug.
func (s *Server) locate(v *view, uri string) (e *pannier.Entry, path string, inside bool, err error) {
	parts, err := parseURI(uri, scheme)
	if err != nil {
		return nil, "", false, err
	}
	e, err = service.Find(v.snapshot, parts[0], "")
	if err == nil && e.Slug != parts[0] {
		err = refuse("skill_not_found", fmt.Sprintf("no skill at %.100q", uri), "skills/list lists all skills")
	}
	if err == nil {
		err = service.CheckUsable(e)
	}
	if err != nil {
		return nil, "", false, err
	}
	if fault := nameFault(e); fault != "" && !e.ToolsOnly {
		return nil, "", false, refuse(pannier.CodeMCPName, fmt.Sprintf("%s is not served as a resource: %s", e.Slug, fault),
			"use the tools activate_skill and read_skill_file, or correct its SKILL.md")
	}
	rest := parts[1:]
	if e.Name != e.Slug {
		if len(rest) == 0 {
			return e, "", false, nil
		}
		if rest[0] != e.Name {
			return nil, "", false, refuse("skill_not_found", fmt.Sprintf("no skill at %.100q", uri),
				"its directory is "+rootURI(e))
		}
		rest = rest[1:]
	}
	return e, strings.Join(rest, "/"), true, nil
}
