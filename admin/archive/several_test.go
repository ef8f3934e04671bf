package archive_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"pannier"
	"pannier/admin/archive"
)

// unpackSeveral returns, for each folder of an archive, its path and the files of the skill or the code of its refusal;
// or the code of the refusal of the whole.
func unpackSeveral(tb testing.TB, packed []byte, format pannier.ArchiveFormat, each archive.Limits) (told []string) {
	tb.Helper()
	codeOf := func(err error) string {
		r, ok := errors.AsType[*pannier.Refusal](err)
		if !ok {
			tb.Fatalf("%v is no refusal", err)
		}
		return r.Code
	}
	all := each
	all.MaxEntries *= 4
	dir := tb.TempDir()
	folders, err := archive.UnpackSeveral(context.Background(), archive.File{From: bytes.NewReader(packed), Size: int64(len(packed)), Format: format}, openRoot(tb, dir), all, each)
	checkTree(tb, dir, all)
	if err != nil {
		return []string{codeOf(err)}
	}
	for _, f := range folders {
		into := tb.TempDir()
		c, err := f.Unpack(context.Background(), openRoot(tb, into), nil)
		checkTree(tb, into, each)
		if err != nil {
			told = append(told, fmt.Sprintf("%q %s", f.Path, codeOf(err)))
			continue
		}
		if info, err := os.Lstat(into + "/SKILL.md"); err != nil || !info.Mode().IsRegular() || c.Top != f.Path {
			tb.Errorf("%q: %+v without SKILL.md: %v", f.Path, c, err)
		}
		told = append(told, fmt.Sprintf("%q %d", f.Path, c.Files))
	}
	return told
}

func TestUnpackSeveral(t *testing.T) {
	link := tarOf(tar.Header{Name: "a/SKILL.md"}, tar.Header{Name: "a/l", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}, tar.Header{Name: "b/SKILL.md"})
	large := tarOf(tar.Header{Name: "a/SKILL.md"}, tar.Header{Name: "a/x", Size: 600 << 10}, tar.Header{Name: "b/SKILL.md"})
	var many []string
	for i := range 120 {
		many = append(many, fmt.Sprintf("a/%d", i))
	}
	names := strings.Fields
	for _, tt := range []struct {
		name  string
		files []string
		want  string
	}{
		{"two", names("b/SKILL.md a/SKILL.md a/x/y"), `"a" 2; "b" 1`},
		{"deeper", names("pack/b/SKILL.md pack/README.md pack/x/a/SKILL.md LICENSE"), `"pack/b" 1; "pack/x/a" 1`},
		{"one at the top", names("SKILL.md a/SKILL.md b"), `"" 3`},
		{"a skill within another", names("a/SKILL.md a/examples/b/SKILL.md"), `"a" 2`},
		{"a folder without one", names("a/SKILL.md b/c/x __MACOSX/a/._SKILL.md"), `"a" 1; "b" archive.no_skill`},
		{"none", names("b/c/x x"), `"b" archive.no_skill`},
		{"files only", names("x y"), "archive.no_skill"},
		{"a wrong spelling", names("a/SKILL.md b/skill.md"), `"a" 1; "b" archive.no_skill`},
		{"path out of it", names("a/SKILL.md b/SKILL.md a/../../x"), "archive.traversal"},
		{"absolute path", names("a/SKILL.md /x"), "archive.absolute_path"},
		{"reserved", names("a/SKILL.md b/SKILL.md b/.git/config"), `"a" 1; "b" archive.reserved`},
		{"reserved beside them", names("pack/a/SKILL.md pack/.git/config"), `"pack/a" 1`},
		{"reserved for pannier", names("a/SKILL.md b/SKILL.md b/.Pannier/x"), `"a" 1; "b" archive.reserved`},
		{"bare repository", names("a/SKILL.md b/SKILL.md b/r/HEAD b/r/objects/x b/r/refs/x"), `"a" 1; "b" archive.reserved`},
		{"case", names("a/SKILL.md b/SKILL.md b/x b/X"), `"a" 1; "b" archive.collision`},
		{"case of folders", names("a/SKILL.md A/SKILL.md"), `"A" 1; "a" 1`},
		{"twice", names("a/SKILL.md b/SKILL.md b/x b/x"), `"a" 1; "b" archive.duplicate`},
		{"SKILL.md twice", names("a/SKILL.md b/SKILL.md b/SKILL.md"), `"a" 1; "b" archive.duplicate`},
		{"a file with files", names("a/SKILL.md b/SKILL.md b/x b/x/y"), `"a" 1; "b" archive.conflict`},
		{"a directory that becomes a file", names("a/SKILL.md b/SKILL.md b/x/y b/x"), `"a" 1; "b" archive.conflict`},
		{"a file where another skill is", names("a b/SKILL.md a/SKILL.md"), `"a" archive.conflict; "b" 1`},
		{"backslashes", names(`a/SKILL.md b\SKILL.md b\x`), `"a" 1; "b" archive.name_backslash`},
		{"control characters", []string{"a/SKILL.md", "b/SKILL.md", "b/\x01"}, `"a" 1; "b" archive.name_control`},
		{"no UTF-8", []string{"a/SKILL.md", "b/SKILL.md", "b/\xff"}, `"a" 1; "b" archive.name_encoding`},
		{"many entries", append(many, "a/SKILL.md", "b/SKILL.md"), `"a" archive.entries; "b" 1`},
	} {
		for format, packed := range map[pannier.ArchiveFormat][]byte{pannier.TarGz: tarFiles(tt.files...), pannier.Zip: zipFiles(tt.files...)} {
			if got := strings.Join(unpackSeveral(t, packed, format, small), "; "); got != tt.want {
				t.Errorf("%s, %s: %s, want %s", tt.name, format, got, tt.want)
			}
		}
	}
	for name, packed := range map[string][]byte{"archive.link": link, "archive.file_size": large} {
		if got, want := strings.Join(unpackSeveral(t, gzipped(packed), pannier.TarGz, small), "; "), `"a" `+name+`; "b" 1`; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	damaged := zipRaw("x/SKILL.md") // the second file is in a skill of its own
	at := bytes.LastIndex(damaged[:bytes.Index(damaged, []byte(central))], []byte("text"))
	copy(damaged[at:], "tuxt")
	if got, want := strings.Join(unpackSeveral(t, damaged, pannier.Zip, small), "; "), `"sk" 1; "x" archive.damaged`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestBoundsOfSeveral: the archive as a whole has bounds too, whatever its skills have.
func TestBoundsOfSeveral(t *testing.T) {
	var skills, entries []string
	for i := range 201 {
		skills = append(skills, fmt.Sprintf("s%d/SKILL.md", i))
	}
	for i := range 441 {
		entries = append(entries, fmt.Sprintf("x/%d", i))
	}
	links := make([]tar.Header, 441)
	for i := range links {
		links[i] = tar.Header{Name: "a/SKILL.md", Typeflag: tar.TypeSymlink, Linkname: "x"}
	}
	for name, tt := range map[string]struct {
		packed []byte
		want   string
	}{
		"skills":  {tarFiles(skills...), "archive.skills"},
		"entries": {tarFiles(entries...), "archive.entries"},
		"faults":  {gzipped(tarOf(links...)), "archive.entries"},
		"bytes":   {gzipped(tarOf(tar.Header{Name: "a/SKILL.md"}, tar.Header{Name: "a/x", Size: 500 << 10}, tar.Header{Name: "b/SKILL.md"}, tar.Header{Name: "b/x", Size: 500 << 10}, tar.Header{Name: "c/x", Size: 500 << 10})), "archive.total_size"},
		"cut off": {goodTar[:len(goodTar)/2], "archive.truncated"},
		"no zip":  {[]byte("garbage"), "archive.format"},
	} {
		limits := archive.Limits{MaxUncompressed: 1 << 20, MaxFile: 512 << 10, MaxEntries: 110}
		if got := strings.Join(unpackSeveral(t, tt.packed, pannier.TarGz, limits), "; "); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

// TestSeveralAgreesWithOne: an archive with one skill gives the same files and the same refusal, whichever way it is
// unpacked.
func TestSeveralAgreesWithOne(t *testing.T) {
	for format, tests := range map[pannier.ArchiveFormat][]struct {
		name, code string
		packed     []byte
	}{pannier.TarGz: refusedTar, pannier.Zip: refusedZip} {
		for _, test := range tests {
			got := strings.Join(unpackSeveral(t, test.packed, format, small), "; ")
			switch test.code {
			case "archive.top_level", "archive.entries": // of one skill only
			case "archive.no_skill", "archive.empty": // a skill may lie deeper here
				if !strings.Contains(got, "archive.no_skill") && got != test.code && !strings.HasPrefix(got, `"sk/`) {
					t.Errorf("%s: %s, want %s", test.name, got, test.code)
				}
			case "archive.directory_data", "archive.file_size": // what is declared is skipped, and then something else is found
				if !strings.Contains(got, test.code) && got != "archive.damaged" && got != "archive.truncated" {
					t.Errorf("%s: %s, want %s", test.name, got, test.code)
				}
			default:
				if !strings.Contains(got, test.code) && got != "archive.no_skill" {
					t.Errorf("%s %s: %s, want %s", format, test.name, got, test.code)
				}
			}
		}
	}
}

// FuzzUnpackSeveral feeds bytes as FuzzUnpack does.
func FuzzUnpackSeveral(f *testing.F) {
	for _, test := range refusedTar {
		f.Add(test.packed, uint8(0))
	}
	for _, test := range refusedZip {
		f.Add(test.packed, uint8(2))
	}
	f.Add(tarFiles("a/SKILL.md", "b/SKILL.md"), uint8(0))
	f.Add(zipFiles("a/SKILL.md", "p/b/SKILL.md"), uint8(2))
	limits := archive.Limits{MaxUncompressed: 64 << 10, MaxFile: 32 << 10, MaxEntries: 20}
	f.Fuzz(func(t *testing.T, packed []byte, as uint8) {
		format := pannier.TarGz
		switch as % 3 {
		case 1:
			packed = gzipped(packed)
		case 2:
			format = pannier.Zip
		}
		unpackSeveral(t, packed, format, limits)
	})
}
