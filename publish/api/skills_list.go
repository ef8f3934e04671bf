package api

import (
	"bytes"
	"cmp"
	"encoding/base64"
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
	maxPage        = 1000
	maxSearchBytes = 256
	maxSlugs       = 100
)

// listQuery is what a request asks of the list of the skills.
type listQuery struct {
	state  pannier.State
	with   inclusion
	fields []entryField // nil is all
	text   string
	slugs  []string // sorted; empty is all
	page   page
}

func readListQuery(r *http.Request) (q listQuery, err error) {
	query := r.URL.Query()
	include := strings.Split(query.Get("include"), ",")
	q.state = pannier.State(query.Get("state"))
	if query.Get("fields") != "" {
		include = append(include, strings.Split(query.Get("fields"), ",")...)
		q.fields = fieldsOf(include)
	}
	q.with = inclusion{
		problems: slices.Contains(include, "problems"), policy: slices.Contains(include, "policy"),
		health: slices.Contains(include, "health"), activity: slices.Contains(include, "activity"),
	}
	if q.text = strings.TrimSpace(query.Get("q")); len(q.text) > maxSearchBytes {
		return q, invalidParameter("q", fmt.Sprintf("q has more than %d bytes", maxSearchBytes), "search for fewer words")
	}
	if slugs := query.Get("slug"); slugs != "" {
		q.slugs = slices.Compact(slices.Sorted(strings.SplitSeq(slugs, ",")))
	}
	if len(q.slugs) > maxSlugs {
		return q, invalidParameter("slug", fmt.Sprintf("slug has more than %d slugs", maxSlugs), "ask for fewer skills, or for the whole list")
	}
	q.page.ranked = q.text != ""
	q.page.limit, _ = strconv.Atoi(query.Get("limit")) // 0 where it is left out
	if q.page.cursor = query.Get("cursor"); q.page.cursor != "" && q.page.limit == 0 {
		return q, invalidParameter("cursor", "cursor is given without limit", "give both, as in the request before")
	}
	return q, nil
}

func (h *Handler) list(w http.ResponseWriter, r *http.Request, s *pannier.Snapshot) error {
	q, err := readListQuery(r)
	if err != nil {
		return err
	}
	if !q.with.activity && q.fields == nil && q.text == "" && len(q.slugs) == 0 && q.page.limit == 0 {
		return h.writeShared(w, r, s, fmt.Sprintf("list %s %v", q.state, q.with), func() (answer.Encoded, error) { return h.encodeList(s, q) })
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
	entries, paging, err := q.page.of(h.filter(s, q))
	if err != nil {
		return answer.Encoded{}, err
	}
	list.Paging = paging
	var listed pannier.Entry
	show := h.lister(s, q.with)
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

// lister returns what fills in an entry as a list shows it.
func (h *Handler) lister(s *pannier.Snapshot, with inclusion) func(from, into *pannier.Entry) {
	var uses *service.Uses
	if with.activity {
		uses = h.Service.Activity.Of(s)
	}
	return func(from, e *pannier.Entry) {
		*e = *from
		e.Fingerprint, e.ScanSummary = h.Service.Contents.Fingerprint(e.Skill), h.Service.Contents.Summary(e.Skill)
		if with.health {
			e.Health = new(pannier.HealthOf(e))
		}
		if with.activity {
			e.Activity = uses.Times(e)
		}
		if !with.problems {
			e.Problems = nil
		}
		if !with.policy {
			e.Policy = pannier.EffectivePolicy{}
		}
	}
}

type inclusion struct{ problems, policy, health, activity bool }

// filter returns the entries that a question is about: with a text the most relevant first, else by slug.
func (h *Handler) filter(s *pannier.Snapshot, q listQuery) []*pannier.Entry {
	entries := s.Entries
	if len(q.slugs) > 0 {
		entries = withSlugs(entries, q.slugs)
	}
	if q.text != "" {
		within := entries
		entries = nil
		for _, f := range h.Service.Ranked(s, q.text) {
			if len(q.slugs) == 0 || slices.Contains(within, f.Entry) {
				entries = append(entries, f.Entry)
			}
		}
	}
	if q.state == "" {
		return entries
	}
	var found []*pannier.Entry
	for _, e := range entries {
		if e.State == q.state {
			found = append(found, e)
		}
	}
	return found
}

// withSlugs returns the entries with one of some sorted slugs, those that are shadowed too. Both lists are ordered by slug.
func withSlugs(entries []*pannier.Entry, slugs []string) (found []*pannier.Entry) {
	for _, slug := range slugs {
		first, _ := slices.BinarySearchFunc(entries, slug, func(e *pannier.Entry, slug string) int { return cmp.Compare(e.Slug, slug) })
		entries = entries[first:]
		n := slices.IndexFunc(entries, func(e *pannier.Entry) bool { return e.Slug != slug })
		if n < 0 {
			n = len(entries)
		}
		found = append(found, entries[:n]...)
	}
	return found
}

// page asks for a part of a list; the zero value is all of it.
type page struct {
	limit  int
	cursor string
	ranked bool // the list is ordered by relevance, else by slug
}

// of returns the part, and what is said of the rest.
func (p page) of(entries []*pannier.Entry) ([]*pannier.Entry, pannier.Paging, error) {
	if p.limit == 0 {
		return entries, pannier.Paging{}, nil
	}
	paging := pannier.Paging{Total: new(len(entries))}
	if p.cursor != "" {
		from, err := p.after(entries)
		if err != nil {
			return nil, paging, err
		}
		entries = entries[from:]
	}
	if len(entries) > p.limit {
		entries = entries[:p.limit:p.limit]
		paging.NextCursor = cursorOf(entries[p.limit-1])
	}
	return entries, paging, nil
}

// cursorOf names an entry by its slug and, as others may have the same one, by a digest of its path.
func cursorOf(e *pannier.Entry) string {
	digest := pannier.DigestOf([]byte(e.Path))
	return base64.RawURLEncoding.EncodeToString(append(digest[:cursorDigestBytes:cursorDigestBytes], e.Slug...))
}

const cursorDigestBytes = 8

// after returns the index of the first entry after the one that the cursor names. If that one has gone, this is the first of its slug, or
// else of the next slug, and in a list by relevance the first of all: an entry may be repeated, and none is left out.
func (p page) after(entries []*pannier.Entry) (int, error) {
	text, err := base64.RawURLEncoding.DecodeString(p.cursor)
	if err != nil || len(text) <= cursorDigestBytes {
		return 0, invalidParameter("cursor", "invalid cursor", "give the next_cursor of the answer before, or begin again without a cursor")
	}
	digest, slug := text[:cursorDigestBytes], string(text[cursorDigestBytes:])
	first := 0
	if !p.ranked {
		first, _ = slices.BinarySearchFunc(entries, slug, func(e *pannier.Entry, slug string) int { return cmp.Compare(e.Slug, slug) })
	}
	for i := first; i < len(entries) && (p.ranked || entries[i].Slug == slug); i++ {
		if is := pannier.DigestOf([]byte(entries[i].Path)); entries[i].Slug == slug && bytes.Equal(is[:cursorDigestBytes], digest) {
			return i + 1, nil
		}
	}
	return first, nil
}

// entryField is a field of the JSON of an entry.
type entryField struct {
	name     string
	index    []int
	optional bool // absent if it is zero
}

var entryFields = jsonFields(reflect.TypeFor[pannier.Entry]())

// jsonFields returns the fields of a struct in the order that encoding/json writes them in.
func jsonFields(t reflect.Type) (fields []entryField) {
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" && name != "-" {
			fields = append(fields, entryField{name, f.Index, strings.Contains(options, "omit")})
		}
	}
	return fields
}

func fieldNames() (names []string) {
	for _, f := range entryFields {
		names = append(names, f.name)
	}
	return names
}

// fieldsOf returns the named fields, slug and path, each once.
func fieldsOf(names []string) []entryField {
	named := map[string]bool{"slug": true, "path": true}
	for _, name := range names {
		named[name] = true
	}
	return slices.DeleteFunc(slices.Clone(entryFields), func(f entryField) bool { return !named[f.name] })
}

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
