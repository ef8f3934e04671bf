package api

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"pannier"
	"pannier/publish/answer"
	"pannier/service"
)

// The bounds of a question for a part of the list.
const (
	maxSearchBytes = 256
	maxSlugs       = 100
)

// listQuery is what a request asks of the list of the skills.
type listQuery struct {
	service.Query
	with   service.Show
	fields []entryField // nil is all
}

func readListQuery(r *http.Request) (q listQuery, err error) {
	query := r.URL.Query()
	include := strings.Split(query.Get("include"), ",")
	q.State = pannier.State(query.Get("state"))
	if query.Get("fields") != "" {
		include = append(include, strings.Split(query.Get("fields"), ",")...)
		named := append([]string{"slug", "path"}, include...)
		q.fields = slices.DeleteFunc(
			slices.Clone(entryFields), func(f entryField) bool { return !slices.Contains(named, f.name) },
		)
	}
	q.with = service.Show{
		Problems: slices.Contains(include, "problems"), Policy: slices.Contains(include, "policy"),
		Health: slices.Contains(include, "health"), Activity: slices.Contains(include, "activity"),
	}
	if q.Text = strings.TrimSpace(query.Get("q")); len(q.Text) > maxSearchBytes {
		return q, invalidParameter(
			"q", fmt.Sprintf("q has more than %d bytes", maxSearchBytes), "search for fewer words",
		)
	}
	if slugs := query.Get("slug"); slugs != "" {
		q.Slugs = slices.Compact(slices.Sorted(strings.SplitSeq(slugs, ",")))
	}
	if len(q.Slugs) > maxSlugs {
		return q, invalidParameter(
			"slug", fmt.Sprintf("slug has more than %d slugs", maxSlugs),
			"ask for fewer skills, or for the whole list",
		)
	}
	q.Page.Limit, _ = strconv.Atoi(query.Get("limit")) // 0 where it is left out
	if q.Page.Cursor = query.Get("cursor"); q.Page.Cursor != "" && q.Page.Limit == 0 {
		return q, invalidParameter("cursor", "cursor is given without limit", "give both, as in the request before")
	}
	return q, nil
}

func (h *Handler) list(w http.ResponseWriter, r *http.Request, s *pannier.Snapshot) error {
	q, err := readListQuery(r)
	if err != nil {
		return err
	}
	if !q.with.Activity && q.fields == nil && q.Text == "" && len(q.Slugs) == 0 && q.Page.Limit == 0 {
		return h.writeShared(
			w, r, s, fmt.Sprintf("list %s %v", q.State, q.with),
			func() (answer.Encoded, error) { return h.encodeList(s, q) },
		)
	}
	encoded, err := h.encodeList(s, q) // there are too many such questions to keep the answers
	if err == nil {
		writeEncoded(w, r, "application/json", encoded)
	}
	return err
}

func (h *Handler) encodeList(s *pannier.Snapshot, q listQuery) (answer.Encoded, error) {
	list := pannier.List{
		SnapshotVersion: s.Version, Digest: s.Digest, TreeDigest: s.TreeDigest(), GeneratedAt: s.Time,
		EnvironmentSource: s.Environment.Source, Held: s.Held(), Problems: s.Problems, Skills: []*pannier.Entry{},
	}
	entries, paging, err := h.Service.Select(s, q.Query)
	if err != nil {
		return answer.Encoded{}, err
	}
	list.Paging = paging
	var listed pannier.Entry
	show := h.Service.Lister(s, q.with)
	if q.fields == nil {
		return answer.List(list, entries, answer.Each(func(e *pannier.Entry) any {
			show(e, &listed)
			return &listed
		}))
	}
	return answer.List(list, entries, func(dst []byte, e *pannier.Entry) ([]byte, error) {
		show(e, &listed)
		return appendFields(dst, &listed, q.fields)
	})
}

// entryField is a field of the JSON of an entry.
type entryField struct {
	name     string
	index    []int
	optional bool // absent if it is zero
}

// entryFields are those of an entry in the order that encoding/json writes them in, fieldNames their names.
var entryFields, fieldNames = func() (fields []entryField, names []string) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[pannier.Entry]()) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" && name != "-" {
			fields = append(fields, entryField{name, f.Index, strings.Contains(options, "omit")})
			names = append(names, name)
		}
	}
	return fields, names
}()

func appendFields(dst []byte, e *pannier.Entry, fields []entryField) ([]byte, error) {
	from, value := len(dst), reflect.ValueOf(e).Elem()
	for _, f := range fields {
		v := value.FieldByIndex(f.index)
		if f.optional && (v.IsZero() || v.Kind() == reflect.Slice && v.Len() == 0) {
			continue
		}
		dst = append(append(append(dst, `,"`...), f.name...), `":`...)
		if v.Kind() == reflect.String {
			dst = answer.AppendString(dst, v.String())
			continue
		}
		text, err := answer.Encode(v.Interface())
		if err != nil {
			return dst, err
		}
		dst = append(dst, text...)
	}
	dst[from] = '{' // slug is always there
	return append(dst, '}'), nil
}
