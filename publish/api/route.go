package api

import (
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"pannier"
	"pannier/service"
)

// route declares a route. The router, the checks of its requests, the scope that a token needs, its operation in the
// OpenAPI document and the check of docs/API.md follow from it.
type route struct {
	pattern string // as [http.ServeMux] takes it
	endpoint
	id, summary string
	// tag groups the operation in the OpenAPI document; without it, the path decides.
	tag string
	// scope is what a token must allow; empty is ScopeRead.
	scope service.Scope
	// parameters are those of the query and the header. Those of the path follow from the pattern.
	parameters []parameter
	// has reports whether a handler with these options has the route; nil is always.
	has func(*Options) bool
	// early routes answer before the first snapshot.
	early bool

	bodySchema any      // in the place of the type of the body, where that says too little
	optional   bool     // the request may have no body
	raw        []string // the media types of a body that is bytes
	// texts are the media types of an answer that is not JSON.
	texts []string
	// untagged is set where an answer to GET has no ETag.
	untagged bool
	// others are answers without a body, by status; 101 replaces 200.
	others map[string]string
	// anyQuery is set where the query is not checked.
	anyQuery bool
}

type serveFunc func(*Handler, http.ResponseWriter, *http.Request, *pannier.Snapshot) error

type endpoint struct {
	serve        serveFunc
	body, answer any // zero values; nil for none
}

// returns is an endpoint that answers with what a function returns, as JSON.
func returns[T any](answer func(*Handler, *http.Request, *pannier.Snapshot) (T, error)) endpoint {
	return writes[T](func(h *Handler, w http.ResponseWriter, r *http.Request, s *pannier.Snapshot) error {
		value, err := answer(h, r, s)
		if err != nil {
			return err
		}
		return WriteJSON(w, r, value)
	})
}

// takes is an endpoint that reads a body of JSON and answers with what a function returns for it, as JSON.
func takes[B, T any](answer func(*Handler, *http.Request, *pannier.Snapshot, B) (T, error)) endpoint {
	e := returns(func(h *Handler, r *http.Request, s *pannier.Snapshot) (answered T, err error) {
		var body B
		if err := readJSON(r, &body); err != nil {
			return answered, err
		}
		return answer(h, r, s, body)
	})
	e.body = *new(B)
	return e
}

func writes[T any](serve serveFunc) endpoint { return endpoint{serve: serve, answer: *new(T)} }

func routes() []route {
	return slices.Concat(skillRoutes, turnRoutes, changeRoutes, installRoutes, streamRoutes, sessionRoutes, probeRoutes)
}

// parameter is one of the query or of the header. Its schema says which values are accepted.
type parameter struct {
	name, in, description string
	schema                any // as [schemas.shape] takes it
}

func query(name, kind, description string) parameter {
	return parameter{name, "query", description, object{"type": kind}}
}

func queryList(name string, items any, description string) parameter {
	return parameter{name, "query", description, listOf{items}}
}

func (p parameter) checkValue(schema any, text string) error {
	if text == "" {
		return nil
	}
	kind, _ := schema.(object)
	hint := ""
	switch kind["type"] {
	case "boolean":
		if _, err := strconv.ParseBool(text); err != nil {
			hint = "give 1 or 0"
		}
	case "integer":
		n, err := strconv.Atoi(text)
		least, bounded := kind["minimum"].(int)
		most, _ := kind["maximum"].(int)
		if err != nil || bounded && (n < least || n > most) {
			hint = "give a whole number"
			if bounded {
				hint = fmt.Sprintf("give a number from %d to %d", least, most)
			}
		}
	default:
		if values := allowedTexts(schema); values != nil && !slices.Contains(values, text) {
			hint = "give one of " + strings.Join(values, ", ")
		}
	}
	if hint == "" {
		return nil
	}
	return invalidParameter(p.name, fmt.Sprintf("invalid %s %.40q", p.name, text), hint)
}

// allowedTexts returns the values of an enumeration; nil of any other schema.
func allowedTexts(schema any) (texts []string) {
	if kind, ok := schema.(object); ok {
		texts, _ = kind["enum"].([]string)
		return texts
	}
	for _, value := range words[reflect.TypeOf(schema)] {
		texts = append(texts, reflect.ValueOf(value).String())
	}
	return texts
}

// isSet reads a boolean parameter of the query, which has been checked.
func isSet(r *http.Request, name string) bool {
	value, _ := strconv.ParseBool(r.URL.Query().Get(name))
	return value
}

func (h *Handler) add(route route) {
	for _, status := range []int{http.StatusOK, http.StatusInternalServerError, http.StatusServiceUnavailable} {
		// people look at these, or alert on them, before the first request
		h.metrics.requests.WithLabelValues(route.pattern, strconv.Itoa(status))
	}
	h.routes[route.pattern] = route
	h.mux.HandleFunc(route.pattern, func(w http.ResponseWriter, r *http.Request) {
		s := h.Service.Snapshot()
		err := h.check(&route, r, s)
		if err == nil {
			if len(route.raw) > 0 {
				r.Body = &progressBody{http.NewResponseController(w), r.Body}
			}
			err = route.serve(h, w, r, s)
		}
		if err != nil {
			h.fail(w, r, err)
		}
	})
}

// check refuses what must not reach the handler of a route.
func (h *Handler) check(route *route, r *http.Request, s *pannier.Snapshot) error {
	values, err := route.readQuery(r)
	if err != nil {
		return err
	}
	if s == nil && !route.early {
		return service.ErrNotReady
	}
	if route.scope != "" {
		if err := h.Service.Require(r.Context(), requestOf(r, route.pattern), route.scope); err != nil {
			return err
		}
	}
	if len(values) == 0 {
		return nil
	}
	for _, p := range route.parameters {
		if p.in != "query" {
			continue
		}
		schema, texts := p.schema, []string{values.Get(p.name)}
		if list, ok := schema.(listOf); ok {
			schema, texts = list.items, strings.Split(texts[0], ",")
		}
		for _, text := range texts {
			if err := p.checkValue(schema, text); err != nil {
				return err
			}
		}
	}
	return nil
}

// readQuery refuses a query that cannot be parsed, a parameter that the route does not have, and a second value of
// one that it has.
func (rt *route) readQuery(r *http.Request) (url.Values, error) {
	if r.URL.RawQuery == "" || rt.anyQuery {
		return nil, nil
	}
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, &statusError{
			http.StatusBadRequest, "invalid_query", "invalid query: " + err.Error(),
			"escape what is special in a URL",
		}
	}
	known := rt.query()
	for name, given := range values {
		if !slices.Contains(known, name) {
			hint := "this route has no parameters"
			if len(known) > 0 {
				hint = "this route has " + strings.Join(known, ", ")
			}
			return nil, &statusError{
				http.StatusBadRequest, "unknown_parameter", fmt.Sprintf("unknown parameter %.40q", name), hint,
			}
		}
		if len(given) > 1 {
			return nil, invalidParameter(name, name+" is given more than once", "give it once")
		}
	}
	return values, nil
}

func (rt *route) query() (names []string) {
	for _, p := range rt.parameters {
		if p.in == "query" {
			names = append(names, p.name)
		}
	}
	return names
}
