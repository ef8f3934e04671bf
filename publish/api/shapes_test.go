package api_test

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pannier"
)

// shape is what a page says of a JSON value: its fields by name, nil if it does not name any.
type shape map[string]field

type field struct {
	optional bool
	below    shape
}

// readShape reads a shape such as {a, b?, c[{d}]?, e: x|y} and returns what follows it.
func readShape(text string) (s shape, rest string) {
	s = shape{}
	rest = strings.TrimPrefix(text, "{")
	for rest != "" && rest[0] != '}' {
		name := fieldName.FindString(rest)
		if rest = rest[len(name):]; name == "" {
			rest = rest[1:]
			continue
		}
		var f field
		for rest != "" && !strings.ContainsRune(",}", rune(rest[0])) {
			switch {
			case rest[0] == '{':
				f.below, rest = readShape(rest)
			default:
				f.optional = f.optional || rest[0] == '?'
				rest = rest[1:]
			}
		}
		s[name] = f
	}
	return s, strings.TrimPrefix(rest, "}")
}

var fieldName = regexp.MustCompile(`^[a-z_]+`)

// compare compares a shape with a Go type. Fields of a type that the shape does not name are errors if whole is set.
func (s shape) compare(t *testing.T, place string, kind reflect.Type, whole bool) {
	t.Helper()
	for kind.Kind() == reflect.Pointer || kind.Kind() == reflect.Slice {
		kind = kind.Elem()
	}
	if kind.Kind() != reflect.Struct {
		return
	}
	fields := map[string]reflect.StructField{}
	for _, f := range reflect.VisibleFields(kind) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			fields[name] = f
		}
	}
	for name, f := range s {
		is, ok := fields[name]
		if !ok {
			t.Errorf("%s.%s is documented, and there is no such field", place, name)
			continue
		}
		if optional := strings.Contains(is.Tag.Get("json"), ",omit"); optional != f.optional {
			t.Errorf("%s.%s: documented as optional %t, is %t", place, name, f.optional, optional)
		}
		if len(f.below) > 0 {
			f.below.compare(t, place+"."+name, is.Type, whole)
		}
	}
	for name := range fields {
		if _, ok := s[name]; whole && !ok {
			t.Errorf("%s.%s is not documented", place, name)
		}
	}
}

// TestShapes compares the shapes of answers in docs/API.md and docs/PLATFORM.md with the types of the answers.
func TestShapes(t *testing.T) {
	shapes := regexp.MustCompile("(?s)\n```text\n(\\{.*?)\n```\n")
	for _, tt := range []struct {
		page, begin string
		kind        reflect.Type
		whole       bool
	}{
		{"API", "{snapshot_version, digest, tree_digest", reflect.TypeFor[pannier.List](), true},
		{"API", "{requirements{", reflect.TypeFor[pannier.Detail](), false},
		{"API", "{slug, name, digest,", reflect.TypeFor[pannier.Content](), true},
		{"API", "{snapshot_version, digest,\n commands", reflect.TypeFor[pannier.CommandList](), true},
		{"API", "{os, arch,", reflect.TypeFor[pannier.Environment](), true},
		{"API", "{snapshot_version, policies", reflect.TypeFor[pannier.PolicyList](), true},
		{"API", "{snapshot_version, digest, enabled", reflect.TypeFor[pannier.ToolList](), true},
		{"API", "{slug, source_kind, path, trust_level", reflect.TypeFor[pannier.ToolPermission](), true},
		{"API", "{name, model_name, call_id, ok", reflect.TypeFor[pannier.ToolResult](), true},
		{"API", "{entries", reflect.TypeFor[pannier.AuditList](), true},
		{"API", "{status: ok|", reflect.TypeFor[pannier.Health](), true},
		{"API", "{status, dry_run?", reflect.TypeFor[pannier.InstallResult](), true},
		{"PLATFORM", "{peers", reflect.TypeFor[pannier.PeerList](), true},
	} {
		text, err := os.ReadFile("../../docs/" + tt.page + ".md")
		if err != nil {
			t.Fatal(err)
		}
		found := shapes.FindAllStringSubmatch(string(text), -1)
		at := slices.IndexFunc(found, func(m []string) bool { return strings.HasPrefix(m[1], tt.begin) })
		if at < 0 {
			t.Errorf("docs/%s.md has no shape %s", tt.page, tt.begin)
			continue
		}
		s, _ := readShape(found[at][1])
		s.compare(t, tt.begin, tt.kind, tt.whole)
	}
}

// TestShapesOfEvents compares the shapes of data in docs/EVENTS.md with the types of the events.
func TestShapesOfEvents(t *testing.T) {
	text, err := os.ReadFile("../../docs/EVENTS.md")
	if err != nil {
		t.Fatal(err)
	}
	compared := map[pannier.EventType]bool{}
	for _, m := range regexp.MustCompile("(?s)\\*\\*`([a-z_]+)`\\*\\*:\\s+`(\\{.*?)`").FindAllStringSubmatch(string(text), -1) {
		at := slices.Index(toldTypes, pannier.EventType(m[1]))
		if at < 0 {
			continue // has the data of another type
		}
		s, _ := readShape(m[2])
		s.compare(t, m[1], reflect.TypeOf(told[at]), false) // some types are shared with other events
		compared[toldTypes[at]] = true
	}
	if len(compared) < 10 {
		t.Errorf("only %d types were compared", len(compared))
	}
}
