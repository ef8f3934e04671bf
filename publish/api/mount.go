package api

import (
	"net/http"

	"pannier"
	"pannier/service"
)

// Route is a route of a module. Requests are checked as those of the core are, before Serve is called.
type Route struct {
	Pattern string // as [http.ServeMux] takes it
	// ID and Summary describe the operation in the OpenAPI document.
	ID, Summary string
	// Tag is the group of the operation in that document, such as "tools"; a new one needs no description. Without it
	// the path decides.
	Tag string
	// Scope is what a client needs; empty means [service.ScopeRead]. Denied requests are recorded.
	Scope service.Scope
	// Early routes answer before the first snapshot.
	Early bool
	// Body and Answer are zero values of the types of JSON bodies; nil means none. The request may have no body with
	// OptionalBody.
	Body, Answer any
	OptionalBody bool
	// Texts are the media types of an answer that is not JSON. Untagged is set where an answer to GET has no ETag.
	Texts    []string
	Untagged bool
	AnyQuery bool // the query is not checked
	// Others are answers without a body, by status; 101 replaces 200.
	Others map[string]string
	// Serve answers a request. The snapshot is nil only before the first. An error becomes an answer by its
	// [pannier.Refusal] or [Fail]; any other is an internal one.
	Serve func(*Handler, http.ResponseWriter, *http.Request, *pannier.Snapshot) error
}

func moduleRoutes(routes []Route) []route {
	mounted := make([]route, len(routes))
	for i, r := range routes {
		mounted[i] = route{
			pattern: r.Pattern, endpoint: endpoint{r.Serve, r.Body, r.Answer}, id: r.ID, summary: r.Summary, tag: r.Tag,
			scope: r.Scope, early: r.Early, optional: r.OptionalBody, texts: r.Texts, untagged: r.Untagged, anyQuery: r.AnyQuery,
			others: r.Others,
		}
	}
	return mounted
}

// Fail returns an error that is answered with a status, a code, and what the client can do about it.
func Fail(status int, code, detail, hint string) error {
	return &statusError{status, code, detail, hint}
}
