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
)

// modernVersion is the first version of the protocol without sessions.
const modernVersion = "2026-07-28"

type modernKey struct{}

// isModern reports whether the request of a context is of the protocol without sessions.
func isModern(ctx context.Context) bool {
	modern, _ := ctx.Value(modernKey{}).(bool)
	return modern
}

// paramsOf returns the parameters of a request, nil where there are none.
func paramsOf(req sdk.Request) sdk.Params {
	params := req.GetParams()
	if params == nil || reflect.ValueOf(params).IsNil() {
		return nil
	}
	return params
}

// receive answers the lists and calls that depend on the snapshot, and leaves everything else to the SDK.
func (s *Server) receive(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		params := paramsOf(req)
		modern := false
		if params != nil {
			version, _ := params.GetMeta()[sdk.MetaKeyProtocolVersion].(string)
			modern = version >= modernVersion
		}
		ctx, leave := s.answers.enter(context.WithValue(ctx, modernKey{}, modern), req)
		defer leave()
		result, err := s.answer(ctx, method, req, func() (sdk.Result, error) { return next(ctx, method, req) })
		if err == nil {
			err = s.connected(ctx, method, req, result)
		}
		if err != nil {
			err = s.wireError(ctx, method, uriOf(params), err)
		}
		s.metrics.count(method, modern, err)
		return result, err
	}
}

func (s *Server) answer(ctx context.Context, method string, req sdk.Request, next func() (sdk.Result, error)) (sdk.Result, error) {
	params := paramsOf(req)
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
	result, err := next()
	if err != nil {
		return nil, err
	}
	switch result := result.(type) {
	case *sdk.InitializeResult:
		result.Instructions, err = s.instructions(ctx)
	case *sdk.DiscoverResult:
		result.Instructions, err = s.instructions(ctx)
	}
	return result, err
}

func (s *Server) instructions(ctx context.Context) (string, error) {
	v, err := s.current(ctx)
	if err != nil {
		return "", err
	}
	return v.instructions(), nil
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

// uriOf returns the URI that parameters name, if any.
func uriOf(params sdk.Params) string {
	switch p := params.(type) {
	case *sdk.ReadResourceParams:
		return p.URI
	case *sdk.SubscribeParams:
		return p.URI
	case *uriParams:
		return p.URI
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
	if !isModern(ctx) {
		return page{}
	}
	hint := ttl
	return page{ResultType: "complete", TTLMs: &hint, CacheScope: cacheScope}
}

// maxPageBytes bounds the items of one answer. The first one is always there.
const maxPageBytes = 4 << 20

// cursor tells where a list goes on: after the item with that key. It survives changes of the list.
func encodeCursor(key string) string {
	return base64.RawURLEncoding.EncodeToString([]byte("after:" + key))
}

func decodeCursor(cursor string) (key string, err error) {
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	key, ok := strings.CutPrefix(string(text), "after:")
	if err != nil || !ok {
		return "", refuse("cursor_invalid", "invalid cursor "+strconv.Quote(cursor[:min(len(cursor), 100)]), "use the nextCursor of the answer before, or leave it out")
	}
	return key, nil
}

// sized is an item of a list with about the bytes that it is encoded as; 0 is an item that is left out.
type sized[I any] struct {
	item  I
	bytes int
}

// paginate returns one page of items that are ordered by their keys, and the cursor of the next one.
func paginate[T, I any](s *Server, cursor string, items []T, keyOf func(T) string, item func(T) (sized[I], error)) (list []I, next string, err error) {
	if cursor != "" {
		after, err := decodeCursor(cursor)
		if err != nil {
			return nil, "", err
		}
		at, found := slices.BinarySearchFunc(items, after, func(t T, after string) int { return cmp.Compare(keyOf(t), after) })
		if found {
			at++
		}
		items = items[at:]
	}
	list = make([]I, 0, min(len(items), s.PageSize))
	size := 0
	for i, t := range items {
		next, err := item(t)
		if err != nil {
			return nil, "", err
		}
		if next.bytes == 0 {
			continue
		}
		if size += next.bytes; len(list) == s.PageSize || len(list) > 0 && size > maxPageBytes {
			return list, encodeCursor(keyOf(items[i-1])), nil
		}
		list = append(list, next.item)
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
	own := s.skillTools(v.snapshot)
	digest := digestOf(own)
	s.toolsTold.CompareAndSwap(nil, &digest)
	if len(own) > 0 && s.MayCall(withCaller(ctx)) {
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
	result.Prompts, result.NextCursor, err = paginate(s, cursor, v.prompts, func(p *sdk.Prompt) string { return p.Name }, func(p *sdk.Prompt) (sized[*sdk.Prompt], error) {
		return sized[*sdk.Prompt]{p, 128 + len(p.Name) + len(p.Description)}, nil
	})
	return result, err
}
