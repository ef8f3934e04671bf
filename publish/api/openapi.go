package api

import (
	"cmp"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"pannier"
)

func (h *Handler) writeOpenAPI(w http.ResponseWriter, r *http.Request, _ *pannier.Snapshot) error {
	document, err := h.openAPIText()
	if err != nil {
		return err
	}
	writeEncoded(w, r, "application/json", document)
	return nil
}

// openAPI returns the OpenAPI document (OpenAPI Specification 3.1.1) of the routes that the handler has.
func (h *Handler) openAPI() object {
	s := schemas{named: object{}}
	paths := object{}
	for pattern, route := range h.routes {
		method, path, _ := strings.Cut(pattern, " ")
		path = strings.ReplaceAll(path, "...}", "}")
		item, ok := paths[path].(object)
		if !ok {
			item = object{}
			paths[path] = item
		}
		item[strings.ToLower(method)] = route.describe(s, method, path)
	}
	var described []any
	for _, tag := range tags {
		described = append(described, object{"name": tag.name, "description": tag.description})
	}
	failed := object{
		"description": "An error (RFC 9457).",
		"content": object{
			"application/problem+json": object{"schema": s.of(reflect.TypeFor[pannier.ErrorDocument]())},
		},
	}
	return object{
		"openapi": "3.1.1",
		"info": object{
			"title": "pannier", "version": "v1", "license": object{"name": "Apache-2.0", "identifier": "Apache-2.0"},
			"description": "The socket of pannier, the sidecar that keeps an agent's skills live: HTTP/1.1 on a unix socket. " +
				"Every GET answers HEAD too. Requests with an Origin or a Referer are refused, and so is what a route does not know: parameters and fields.",
		},
		"servers": []any{
			object{
				"url":         "http://pannier",
				"description": "The host is ignored: the connection is the unix socket, as with curl --unix-socket.",
			},
		},
		"tags":  described,
		"paths": paths,
		// Either suffices: the empty one is the unix socket.
		"security": []any{object{}, object{"token": []string{}}},
		"components": object{
			"schemas": s.named, "responses": object{"Failed": failed},
			"securitySchemes": object{"token": object{
				"type": "http", "scheme": "bearer",
				"description": "A token of the file that --api-tokens names, for the TCP listener of --api-listen. The unix socket needs none: its file mode decides who can connect.",
			}},
		},
	}
}

var tags = []struct {
	name, description string
	paths             []string // nil where the routes are of modules, which name the tag
}{
	{
		"skills", "The catalog, the files of skills, and installations.",
		[]string{"/v1/skills", "/v1/promotions", "/v1/rescan"},
	},
	{
		"turns", "What an agent gets for a turn: prompts, active skills, commands.",
		[]string{"/v1/prompt", "/v1/resolve", "/v1/find", "/v1/commands"},
	},
	{"cards", "The agent card, and those of peers.", []string{"/v1/card", "/.well-known/", "/v1/peers"}},
	{"tools", "Tools of skills, and calls of them.", nil},
	{
		"policy", "Policy, and the environment that skills are checked against.",
		[]string{"/v1/policy", "/v1/environment"},
	},
	{"events", "The event stream and the audit log.", []string{"/v1/events", "/v1/audit"}},
	{"rpc", "JSON-RPC 2.0.", []string{"/v1/rpc"}},
	{"mcp", "The Model Context Protocol.", nil},
	{"session", "What the caller may do.", []string{"/v1/session", "/v1/tickets"}},
	{
		"health", "Health, probes, metrics and this document.",
		[]string{"/v1/health", "/v1/stats", "/healthz", "/readyz", "/livez", "/metrics", "/openapi.json"},
	},
}

func (rt *route) describe(s schemas, method, path string) object {
	tagged := []string{} // the document has no null
	if rt.tag != "" {
		tagged = append(tagged, rt.tag)
	}
	for _, tag := range tags {
		if len(tagged) == 0 &&
			slices.ContainsFunc(tag.paths, func(prefix string) bool { return strings.HasPrefix(path, prefix) }) {
			tagged = append(tagged, tag.name)
		}
	}
	described := object{
		"operationId": rt.id, "summary": rt.summary, "tags": tagged, "parameters": rt.describeParameters(s, path),
		"responses": rt.describeAnswers(s, method),
	}
	if body := cmp.Or(rt.bodySchema, rt.body); body != nil {
		described["requestBody"] = object{
			"required": !rt.optional, "content": object{"application/json": object{"schema": s.shape(body)}},
		}
	}
	if len(rt.raw) > 0 {
		content := object{}
		for _, media := range rt.raw {
			content[media] = object{"schema": object{}}
		}
		described["requestBody"] = object{"required": true, "content": content}
	}
	return described
}

func (rt *route) describeParameters(s schemas, path string) []any {
	all := []any{}
	for rest := path; ; {
		_, after, ok := strings.Cut(rest, "{")
		if !ok {
			break
		}
		var name string
		name, rest, _ = strings.Cut(after, "}")
		all = append(all, object{
			"name":        name,
			"in":          "path",
			"required":    true,
			"description": pathParameters[name],
			"schema":      object{"type": "string"},
		})
	}
	for _, p := range rt.parameters {
		described := object{"name": p.name, "in": p.in, "description": p.description, "schema": s.shape(p.schema)}
		if _, ok := p.schema.(listOf); ok {
			described["style"], described["explode"] = "form", false
		}
		all = append(all, described)
	}
	return all
}

var pathParameters = map[string]string{
	"slug": "The slug of a skill, or owner and slug with %2F between.",
	"path": "The path of a file below the skill directory; its slashes may stand as they are.",
	"id":   "The call_id of a call.",
	"name": "The name of a tool; or that of a command, a slug, or the name that a skill declares a command by; a slash is written %2F.",
}

func (rt *route) describeAnswers(s schemas, method string) object {
	content := object{}
	if rt.answer != nil {
		content["application/json"] = object{"schema": s.shape(rt.answer)}
	}
	for _, media := range rt.texts {
		content[media] = object{"schema": s.text(media)}
	}
	ok := object{"description": "The answer.", "content": content}
	failed := object{"$ref": "#/components/responses/Failed"}
	answers := object{"200": ok, "4XX": failed, "5XX": failed}
	if method == http.MethodGet && !rt.untagged {
		ok["headers"] = object{
			"ETag": object{
				"description": "Strong, and another one for other bytes.",
				"schema":      object{"type": "string"},
			},
		}
		answers["304"] = object{"description": "The caller has the answer already: its ETag is among If-None-Match."}
	}
	for status, description := range rt.others {
		answers[status] = object{"description": description}
	}
	if answers["101"] != nil {
		delete(answers, "200")
	}
	return answers
}

// text returns the schema of an answer that is not JSON. OpenAPI 3.1 has none for streams: that of server-sent events
// is the schema of the data of each.
func (s schemas) text(media string) object {
	switch media {
	case "application/octet-stream":
		return object{} // bytes
	case "text/event-stream":
		return s.event()
	}
	return object{"type": "string"}
}
