package card_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"pannier"
	"pannier/publish/card"
)

var update = flag.Bool("update", false, "write the golden files anew")

// skill returns a usable skill whose folder is its slug.
func skill(slug string, rank int) *pannier.Entry {
	return &pannier.Entry{
		Skill: &pannier.Skill{Slug: slug, Name: slug, Folder: slug, Path: "skills/" + slug, Description: "Does " + slug + "."},
		ID:    slug, State: pannier.StateEligible, Usable: true, Rank: rank,
	}
}

func build(t *testing.T, s *pannier.Snapshot, o card.Options) card.Card {
	t.Helper()
	return card.Build(s, o)
}

func TestGolden(t *testing.T) {
	pdf, tea, gone := skill("pdf-tools", 1), skill("brew", 0), skill("gone", 2)
	pdf.ID, pdf.Name, pdf.Tags, pdf.Examples = "PDF_Tools", "PDF Tools", []string{"pdf", "forms"}, []string{"Fill in \"W-9\"", "<b>Merge</b> two files"}
	gone.Usable, gone.State = false, pannier.StateUnlisted
	s := &pannier.Snapshot{
		Version:   9,
		Workspace: pannier.Workspace{Name: "Ops", Description: "Keeps things running", Version: "2.10", Streaming: true},
		Entries:   []*pannier.Entry{tea, gone, pdf},
	}
	c := build(t, s, card.Options{URL: "http://agent:8000"})
	var got bytes.Buffer
	if err := json.Indent(&got, append(bytes.Clone(c.JSON), '\n'), "", "  "); err != nil {
		t.Fatal(err)
	}
	const file = "testdata/card.json"
	if *update {
		if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("got\n%s\nwant\n%s", &got, want)
	}
	if c.Digest != pannier.DigestOf(c.JSON) || c.SnapshotVersion != 9 {
		t.Errorf("digest %s, version %d", c.Digest, c.SnapshotVersion)
	}
}

func TestEmptyWorkspace(t *testing.T) {
	const want = `{"name":"Workspace","description":"","version":"1.0.0","skills":[],"capabilities":{"streaming":false,"pushNotifications":false}}`
	blank := &pannier.Snapshot{Workspace: pannier.Workspace{Name: " \t", Version: "\x00"}}
	for _, s := range []*pannier.Snapshot{{}, blank} {
		if got := string(build(t, s, card.Options{URL: " "}).JSON); got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
	}
}

func TestOrderIsThatOfConfig(t *testing.T) {
	s := &pannier.Snapshot{Entries: []*pannier.Entry{skill("a", 2), skill("b", 0), skill("c", 1), skill("d", 1)}}
	var ids []string
	for _, sk := range decode(t, build(t, s, card.Options{}).JSON).Skills {
		ids = append(ids, *sk.ID)
	}
	if got := strings.Join(ids, " "); got != "b c d a" {
		t.Errorf("order %s", got)
	}
}

// Only what a card shows makes it another.
func TestSameSkillsSameBytes(t *testing.T) {
	s := &pannier.Snapshot{Version: 1, Entries: []*pannier.Entry{skill("a", 0), skill("b", 1)}}
	before := build(t, s, card.Options{})
	s.Version, s.Digest = 2, pannier.DigestOf(nil)
	s.Entries[0].Problems = []pannier.Problem{{Code: "p"}}
	after := build(t, s, card.Options{})
	if !bytes.Equal(before.JSON, after.JSON) || before.Digest != after.Digest || after.SnapshotVersion != 2 {
		t.Errorf("before %s\nafter %s", before.JSON, after.JSON)
	}
}

// document is the card as a strict peer reads it: a null, or a missing key, leaves a nil pointer.
type document struct {
	Name        *string `json:"name"`
	Description *string `json:"description"`
	Version     *string `json:"version"`
	URL         string  `json:"url"`
	Skills      []struct {
		ID          *string    `json:"id"`
		Name        *string    `json:"name"`
		Description *string    `json:"description"`
		Tags        *[]*string `json:"tags"`
		Examples    *[]*string `json:"examples"`
	} `json:"skills"`
	Capabilities *struct {
		Streaming         *bool `json:"streaming"`
		PushNotifications *bool `json:"pushNotifications"`
	} `json:"capabilities"`
}

// decode reads a card and fails where a consumer would choke on it.
func decode(t *testing.T, text []byte) document {
	t.Helper()
	if !utf8.Valid(text) || bytes.Contains(text, []byte(`\u0000`)) || bytes.Contains(text, []byte("null,")) {
		t.Errorf("poison: %q", text)
	}
	var d document
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&d); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	full := func(texts ...*string) {
		t.Helper()
		for _, s := range texts {
			if s == nil || strings.TrimSpace(*s) == "" {
				t.Errorf("empty or null in %s", text)
			}
		}
	}
	full(d.Name, d.Version)
	if d.Skills == nil || d.Description == nil || d.Capabilities == nil || d.Capabilities.Streaming == nil || d.Capabilities.PushNotifications == nil {
		t.Errorf("null in %s", text)
	}
	for _, s := range d.Skills {
		full(s.ID, s.Name)
		if s.Description == nil || s.Tags == nil || s.Examples == nil {
			t.Fatalf("null in %s", text)
		}
		full(*s.Tags...)
		full(*s.Examples...)
	}
	return d
}

func TestPoison(t *testing.T) {
	nasty := skill("slug", 0)
	nasty.ID, nasty.Name, nasty.Description = "\x00 ", " \xff\x00", "a\x00b"
	nasty.Tags, nasty.Examples = []string{"", " ", "\x00", "ok\xff"}, nil
	d := decode(t, build(t, &pannier.Snapshot{Entries: []*pannier.Entry{nasty}}, card.Options{URL: "http://a\x00"}).JSON)
	s := d.Skills[0]
	if *s.ID != "slug" || *s.Name != "\ufffd" || *s.Description != "ab" || len(*s.Tags) != 1 || *(*s.Tags)[0] != "ok\ufffd" || len(*s.Examples) != 0 || d.URL != "http://a" {
		t.Errorf("got %+v", s)
	}
	nasty.Name = "\x00"
	if d := decode(t, build(t, &pannier.Snapshot{Entries: []*pannier.Entry{nasty}}, card.Options{}).JSON); *d.Skills[0].Name != "slug" {
		t.Errorf("a name of nothing became %q", *d.Skills[0].Name)
	}
}

func FuzzBuild(f *testing.F) {
	f.Add("name", "1.0", "id", "Name", "description", "tag")
	f.Add("\x00", " ", "\xff", "\u2028", "</script>", "\x00 ")
	f.Fuzz(func(t *testing.T, name, version, id, display, description, tag string) {
		e := skill("slug", 0)
		e.ID, e.Name, e.Description, e.Tags, e.Examples = id, display, description, []string{tag, ""}, []string{tag}
		s := &pannier.Snapshot{Workspace: pannier.Workspace{Name: name, Version: version, Description: description}, Entries: []*pannier.Entry{e}}
		c := build(t, s, card.Options{URL: description})
		if d := decode(t, c.JSON); len(d.Skills) != 1 {
			t.Errorf("%d skills", len(d.Skills))
		}
		if again := build(t, s, card.Options{URL: description}); !bytes.Equal(again.JSON, c.JSON) {
			t.Errorf("not the same bytes: %s, %s", c.JSON, again.JSON)
		}
	})
}
