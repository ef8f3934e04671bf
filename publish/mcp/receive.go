package mcp

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pannier"
	"pannier/service"
)

// modernVersion is the first version of the protocol without sessions.
const modernVersion = "2026-07-28"

// modernKey is of a context whose request is of the protocol without sessions.
type modernKey struct{}

// receive answers the lists and calls that depend on the snapshot, and leaves everything else to the SDK.
func (s *Server) receive(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		params := req.GetParams()
		if params != nil && reflect.ValueOf(params).IsNil() {
			params = nil
		}
		modern := false
		if params != nil {
			version, _ := params.GetMeta()[sdk.MetaKeyProtocolVersion].(string)
			modern = version >= modernVersion
		}
		ctx, leave := s.answers.enter(context.WithValue(ctx, modernKey{}, modern), req)
		defer leave()
		result, err := s.answer(ctx, method, req, params)
		if err == nil && result == nil {
			result, err = next(ctx, method, req)
		}
		if err == nil {
			err = s.connected(ctx, method, req, result)
		}
		if err != nil {
			uri := ""
			switch p := params.(type) {
			case *sdk.ReadResourceParams:
				uri = p.URI
			case *sdk.SubscribeParams:
				uri = p.URI
			case *uriParams:
				uri = p.URI
			}
			err = s.wireError(ctx, method, uri, err)
		}
		s.metrics.count(method, modern, err)
		return result, err
	}
}

// answer returns the result of a method; nil for one that the SDK answers.
func (s *Server) answer(ctx context.Context, method string, req sdk.Request, params sdk.Params) (sdk.Result, error) {
	switch method {
	case "tools/list":
		return s.listTools(ctx, cursorOf(params))
	case "prompts/list":
		return s.listPrompts(ctx, cursorOf(params))
	case "resources/list":
		return s.listResources(ctx, cursorOf(params))
	case "tools/call":
		return s.callTool(ctx, req, params.(*sdk.CallToolParamsRaw))
	case "prompts/get":
		return s.getPrompt(ctx, params.(*sdk.GetPromptParams))
	case "resources/read":
		return s.readResource(ctx, params.(*sdk.ReadResourceParams).URI)
	}
	return nil, nil
}

// cursorOf returns the cursor of a list method of the SDK.
func cursorOf(params sdk.Params) string {
	switch p := params.(type) {
	case *sdk.ListToolsParams:
		return p.Cursor
	case *sdk.ListPromptsParams:
		return p.Cursor
	case *sdk.ListResourcesParams:
		return p.Cursor
	}
	return ""
}

// page is what the answers of all list methods have in common.
type page struct {
	sdk.ResultBase
	// ResultType, TTLMs and CacheScope are of the protocol without sessions.
	ResultType string `json:"resultType,omitempty"`
	TTLMs      *int   `json:"ttlMs,omitempty"`
	CacheScope string `json:"cacheScope,omitempty"`
	NextCursor string `json:"nextCursor,omitempty"`
}

func newPage(ctx context.Context) page {
	if resultType(ctx) == "" {
		return page{}
	}
	hint := ttl
	return page{ResultType: resultType(ctx), TTLMs: &hint, CacheScope: cacheScope}
}

// resultType returns what the protocol without sessions calls a result that needs no more of the host; empty in others.
func resultType(ctx context.Context) string {
	if modern, _ := ctx.Value(modernKey{}).(bool); modern {
		return "complete"
	}
	return ""
}

// maxPageBytes bounds the items of one answer. The first one is always there.
const maxPageBytes = 4 << 20

// paginate returns one page of items that are ordered by their keys, and the cursor of the next one. item returns an
// item with about the bytes that it is encoded as; 0 leaves it out. A cursor has the key of the last item before it, so
// it survives changes of the list.
func paginate[T, I any](
	s *Server, cursor string, items []T, keyOf func(T) string, item func(T) (I, int, error),
) (list []I, next string, err error) {
	if cursor != "" {
		text, err := base64.RawURLEncoding.DecodeString(cursor)
		after, ok := strings.CutPrefix(string(text), "after:")
		if err != nil || !ok {
			return nil, "", refuse("cursor_invalid", "invalid cursor "+strconv.Quote(cursor[:min(len(cursor), 100)]),
				"use the nextCursor of the answer before, or leave it out")
		}
		at, found := slices.BinarySearchFunc(items, after,
			func(t T, after string) int { return cmp.Compare(keyOf(t), after) })
		if found {
			at++
		}
		items = items[at:]
	}
	list = make([]I, 0, min(len(items), s.PageSize))
	size := 0
	for i, t := range items {
		next, bytes, err := item(t)
		if err != nil {
			return nil, "", err
		}
		if bytes == 0 {
			continue
		}
		if size += bytes; len(list) == s.PageSize || len(list) > 0 && size > maxPageBytes {
			return list, base64.RawURLEncoding.EncodeToString([]byte("after:" + keyOf(items[i-1]))), nil
		}
		list = append(list, next)
	}
	return list, "", nil
}

func slugOf(e *pannier.Entry) string { return e.Slug }

type toolsPage struct {
	page
	Tools []json.RawMessage `json:"tools"`
}

func (s *Server) listTools(ctx context.Context, cursor string) (sdk.Result, error) {
	v, err := s.current(ctx)
	if err != nil {
		return nil, err
	}
	result := &toolsPage{page: newPage(ctx), Tools: v.tools}
	if cursor != "" {
		return nil, refuse("cursor_invalid", "the tools are one page", "leave the cursor out")
	}
	if own := s.skillTools(v.snapshot); len(own) > 0 && s.Service.May(withCaller(ctx), service.ScopeCall) {
		result.Tools = slices.Concat(v.tools, own)
	}
	if result.Tools == nil {
		result.Tools = []json.RawMessage{}
	}
	return result, nil
}

type promptsPage struct {
	page
	Prompts []*sdk.Prompt `json:"prompts"`
}

func (s *Server) listPrompts(ctx context.Context, cursor string) (sdk.Result, error) {
	v, err := s.current(ctx)
	if err != nil {
		return nil, err
	}
	result := &promptsPage{page: newPage(ctx)}
	result.Prompts, result.NextCursor, err = paginate(s, cursor, v.prompts,
		func(p *sdk.Prompt) string { return p.Name },
		func(p *sdk.Prompt) (*sdk.Prompt, int, error) {
			return p, 128 + len(p.Name) + len(p.Description), nil
		})
	return result, err
}
