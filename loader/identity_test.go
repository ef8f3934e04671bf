package loader_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pannier"
)

func TestIdentity(t *testing.T) {
	hidden := pannier.FallbackSlug("技能")
	tests := []struct {
		name, dir, fields, meta  string
		slug, owner, shown, code string
	}{
		{"folder and name", "pdf-tools", "name: PDF Tools\n", "", "pdf-tools", "", "PDF Tools", ""},
		{"slug in the frontmatter", "pdf", "slug: PDF_Tools\n", "", "pdf-tools", "", "pdf", ""},
		{"slug in both", "pdf", "slug: a\n", `{"slug":"b"}`, "b", "", "pdf", ""},
		{"deeper", "acme/pdf", "", "", "pdf", "", "pdf", ""},
		{"owner", "pdf", "owner: Acme Inc\n", "", "pdf", "acme-inc", "pdf", ""},
		{"owner in both", "pdf", "owner: a\n", `{"owner":"B C"}`, "pdf", "b-c", "pdf", ""},
		{"owner by id", "pdf", "", `{"ownerId":"kn7"}`, "pdf", "kn7", "pdf", ""},
		{"no letter of ASCII", "技能", "", "", hidden, "", "技能", "skill.slug.empty"},
		{"no letter of ASCII in the slug", "pdf", "slug: 技能\n", "", "pdf", "", "pdf", ""},
		{"no letter of ASCII in _meta.json", "pdf", "slug: a\n", `{"slug":"技","owner":"技"}`, "a", "", "pdf", ""},
		{"slug of a folder without letters", "技能", "slug: a\n", "", "a", "", "技能", ""},
		{"folder of two words", "My  Skill!", "", "", "my-skill", "", "My  Skill!", ""},
		{"display name", "pdf", "", `{"displayName":"PDF"}`, "pdf", "", "PDF", ""},
		{"name before display name", "pdf", "name: N\n", `{"displayName":"PDF"}`, "pdf", "", "N", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			writeSkill(t, root, tt.dir, "---\ndescription: d\n"+tt.fields+"---\nbody\n")
			if tt.meta != "" {
				write(t, filepath.Join(root, tt.dir, "_meta.json"), tt.meta)
			}
			s := only(t, full(t, root))
			if s.Slug != tt.slug || s.Owner != tt.owner || s.Name != tt.shown || s.Folder != filepath.Base(tt.dir) || s.PathBelowRoot != tt.dir {
				t.Errorf("slug %q, owner %q, name %q, folder %q, path %q", s.Slug, s.Owner, s.Name, s.Folder, s.PathBelowRoot)
			}
			if got := strings.Join(codes(s.Problems), " "); got != tt.code {
				t.Errorf("problems %v, want %q", s.Problems, tt.code)
			}
		})
	}
}

// TestIdentityTable goes through the table of the contract. Whose slug is shadowed, and by what name a card has a skill,
// is decided by others: from slug, path and folder.
func TestIdentityTable(t *testing.T) {
	type skill struct{ dir, fields, meta string }
	type identity struct{ Slug, Owner, Path, CardID string }
	hidden := "skill-" + pannier.DigestOf([]byte("技能")).String()[len("sha256:"):][:8]
	tests := []struct {
		name   string
		skills []skill
		want   []identity
		codes  string
	}{
		{"name", []skill{{"pdf-tools", "name: PDF Tools\n", ""}}, []identity{{"pdf-tools", "", "pdf-tools", "pdf-tools"}}, ""},
		{"slug", []skill{{"pdf", "slug: PDF_Tools\n", ""}}, []identity{{"pdf-tools", "", "pdf", "pdf"}}, ""},
		{"slug in both", []skill{{"pdf", "slug: a\n", `{"slug":"b"}`}}, []identity{{"b", "", "pdf", "pdf"}}, ""},
		{"deeper", []skill{{"acme/pdf", "", ""}}, []identity{{"pdf", "", "acme/pdf", "pdf"}}, ""},
		{"two of a folder", []skill{{"acme/pdf", "", ""}, {"zeta/pdf", "", ""}}, []identity{{"pdf", "", "acme/pdf", "pdf"}, {"pdf", "", "zeta/pdf", "pdf"}}, ""},
		{"owner", []skill{{"pdf", "owner: Acme Inc\n", ""}}, []identity{{"pdf", "acme-inc", "pdf", "pdf"}}, ""},
		{"no ASCII", []skill{{"技能", "", ""}}, []identity{{hidden, "", "技能", "技能"}}, "skill.slug.empty"},
		{"one slug", []skill{{"a", "slug: b\n", ""}, {"b", "", ""}}, []identity{{"b", "", "a", "a"}, {"b", "", "b", "b"}}, ""},
		{"one name", []skill{{"x", "name: N\n", ""}, {"y", "name: N\n", ""}}, []identity{{"x", "", "x", "x"}, {"y", "", "y", "y"}}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			for _, s := range tt.skills {
				writeSkill(t, root, s.dir, "---\ndescription: d\n"+s.fields+"---\nbody\n")
				if s.meta != "" {
					write(t, filepath.Join(root, s.dir, "_meta.json"), s.meta)
				}
			}
			var got []identity
			var told []string
			for _, s := range full(t, root).Skills {
				got = append(got, identity{s.Slug, s.Owner, s.PathBelowRoot, s.Folder})
				told = append(told, codes(s.Problems)...)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || strings.Join(told, " ") != tt.codes {
				t.Errorf("want -, got +:\n%s\nproblems %v", diff, told)
			}
		})
	}
}

func TestRenamedFolderKeepsItsSlug(t *testing.T) {
	root := t.TempDir()
	writeSkill(t, root, "a", "---\ndescription: d\nslug: s\n---\nbody\n")
	before := only(t, full(t, root))
	rename(t, filepath.Join(root, "a"), filepath.Join(root, "b"))
	after := only(t, full(t, root))
	if before.Slug != "s" || after.Slug != "s" || before.Path == after.Path {
		t.Errorf("%s at %s became %s at %s", before.Slug, before.Path, after.Slug, after.Path)
	}
}

func TestMetaFile(t *testing.T) {
	const clawhub = `{
  "owner": "Acme Inc", "slug": "pdf-tools", "displayName": "PDF Tools",
  "latest": {"version": "1.2.3", "publishedAt": 1737990000000, "commit": "https://example.org/c"},
  "history": [{"version": "1.2.2", "publishedAt": 1737980000000, "commit": "x"}]
}`
	const short = `{"ownerId": "kn70", "slug": "pdf-tools", "version": "2.0.0", "publishedAt": 1769668010131}`
	tests := []struct {
		name, meta           string
		slug, owner, version string
		codes, fields        []string
		line                 int
	}{
		{"with history", clawhub, "pdf-tools", "acme-inc", "1.2.3", []string{}, nil, 0},
		{"short", short, "pdf-tools", "kn70", "2.0.0", []string{}, nil, 0},
		{"version before latest", `{"version":"1.0.0","latest":{"version":"2.0.0"}}`, "pdf", "", "1.0.0", []string{}, nil, 0},
		{"null", `null`, "pdf", "", "0.1.0", []string{"meta.syntax"}, nil, 0},
		{"text", `"slug"`, "pdf", "", "0.1.0", []string{"meta.syntax"}, nil, 0},
		{"other case", `{"SLUG":"x","Owner":"o","Version":"2.0.0","Latest":{"version":"2.0.0"}}`, "pdf", "", "0.1.0", []string{}, nil, 0},
		{"both cases", `{"slug":"s","SLUG":"x","latest":{"version":"2.0.0","VERSION":"3.0.0"}}`, "s", "", "2.0.0", []string{}, nil, 0},
		{"null fields", `{"slug":null,"latest":null,"owner":null}`, "pdf", "", "0.1.0", []string{}, nil, 0},
		{"wrong types", `{"slug":5,"owner":["a"],"displayName":{},"version":true}`, "pdf", "", "0.1.0", []string{"meta.type", "meta.type", "meta.type", "meta.type"}, []string{"slug", "owner", "displayName", "version"}, 0},
		{"wrong latest", `{"slug":"s","latest":"2.0","owner":"o"}`, "s", "o", "0.1.0", []string{"meta.type"}, []string{"latest"}, 0},
		{"wrong version of latest", `{"slug":"s","latest":{"version":2}}`, "s", "", "0.1.0", []string{"meta.type"}, []string{"latest.version"}, 0},
		{"list", `[]`, "pdf", "", "0.1.0", []string{"meta.syntax"}, nil, 0},
		{"empty", ``, "pdf", "", "0.1.0", []string{"meta.syntax"}, nil, 1},
		{"torn", "{\n  \"slug\": \"s\",\n  \"own", "pdf", "", "0.1.0", []string{"meta.syntax"}, nil, 3},
		{"trailing comma", "{\"slug\": \"s\",\n}", "pdf", "", "0.1.0", []string{"meta.syntax"}, nil, 2},
		{"too long", `{"slug":"` + strings.Repeat("s", 64<<10) + `"}`, "pdf", "", "0.1.0", []string{"meta.unreadable"}, nil, 0},
		{"long", `{"slug":"s"` + strings.Repeat(" ", 60<<10) + `}`, "s", "", "0.1.0", []string{}, nil, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			writeSkill(t, root, "pdf", "---\ndescription: d\nversion: 0.1.0\n---\nbody\n")
			write(t, filepath.Join(root, "pdf/_meta.json"), tt.meta)
			s := only(t, full(t, root))
			if s.Broken || s.Slug != tt.slug || s.Owner != tt.owner || s.Version != tt.version {
				t.Errorf("broken %t, slug %q, owner %q, version %q", s.Broken, s.Slug, s.Owner, s.Version)
			}
			if diff := cmp.Diff(tt.codes, codes(s.Problems)); diff != "" {
				t.Fatalf("problems %v", s.Problems)
			}
			for i, p := range s.Problems {
				if p.Hint == "" || p.Path != s.Path+"/_meta.json" || p.Line != tt.line || strings.Contains(p.Message, "loader.") {
					t.Errorf("%v with hint %q, want line %d", p, p.Hint, tt.line)
				}
				if tt.fields != nil && p.Field != tt.fields[i] {
					t.Errorf("field %q, want %q", p.Field, tt.fields[i])
				}
			}
			readable := tt.name != "too long"
			if want := pannier.DigestOf([]byte(tt.meta)); readable != (s.MetaFileDigest == want) {
				t.Errorf("digest %s, want %s", s.MetaFileDigest, want)
			}
		})
	}
}

func TestMetaDigestCoversFrontmatterAndMetaFile(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "pdf")
	writeSkill(t, root, "pdf", good("d"))
	first := only(t, full(t, root))
	write(t, filepath.Join(dir, "SKILL.md"), good("d")+"more\n")
	body := only(t, full(t, root))
	if body.MetaDigest != first.MetaDigest || body.Digest == first.Digest {
		t.Error("the body counts as metadata, or not as content")
	}
	write(t, filepath.Join(dir, "_meta.json"), "{}")
	meta := only(t, full(t, root))
	if meta.MetaDigest == body.MetaDigest || meta.Digest != body.Digest {
		t.Error("_meta.json counts as content, or not as metadata")
	}
}
