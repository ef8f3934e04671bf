package loader_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pannier"
	"pannier/loader"
)

func TestMountPoints(t *testing.T) {
	tests := []struct {
		name, text string
		want       []string
	}{
		{"nothing", "", nil},
		{"usual", "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue\n", []string{"/mnt2"}},
		{"several", "1 0 0:1 / / rw - ext4 a rw\n2 1 0:2 / /proc rw - proc p rw\n", []string{"/", "/proc"}},
		{"escapes", `1 0 0:1 / /a\040b\134c\011d\012 rw - ext4 a rw`, []string{"/a b\\c\td\n"}},
		{"no escapes", `1 0 0:1 / /a\04\999\477\ rw - ext4 a rw`, []string{`/a\04\999\477\`}},
		{"no mountinfo", "one two\n\n", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := loader.MountPoints([]byte(tt.text)); !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func FuzzMountPoints(f *testing.F) {
	f.Add([]byte(`1 0 0:1 / /a\040b rw - ext4 a rw`))
	f.Fuzz(func(t *testing.T, text []byte) {
		points := loader.MountPoints(text)
		if lines := strings.Count(string(text), "\n") + 1; len(points) > lines {
			t.Errorf("%d points of %d lines", len(points), lines)
		}
		for _, p := range points {
			if p == "" || len(p) > len(text) {
				t.Errorf("point %q", p)
			}
		}
	})
}

func TestFilesThatAreMountedAlone(t *testing.T) {
	root := tree(t, "a", "g/b")
	workspace := filepath.Dir(root)
	write(t, filepath.Join(workspace, "config.yaml"), "name: n\n")
	write(t, filepath.Join(root, "a/notes.md"), "")
	write(t, filepath.Join(root, "a/_meta.json"), "{}")
	real, err := filepath.EvalSymlinks(workspace)
	if err != nil {
		t.Fatal(err)
	}
	alias := filepath.Join(t.TempDir(), "alias") // mounts are told by paths without links
	link(t, real, alias)
	for name, workspace := range map[string]string{"by its own path": real, "behind a link": alias} {
		t.Run(name, func(t *testing.T) { mountsAlone(t, filepath.Join(workspace, "skills"), real) })
	}
}

// mountsAlone tells a loader of mounts in the workspace at a path without links.
func mountsAlone(t *testing.T, root, real string) {
	l := loader.New(loader.Options{Rules: rulesFor(root)})
	list := filepath.Join(t.TempDir(), "mountinfo")
	l.SetMountsFile(list)
	write(t, list, "")
	wantCodes(t, load(t, l, pannier.Batch{Full: true}).Problems)

	var text strings.Builder
	for _, point := range []string{"/", "/proc", real, root, "/elsewhere/SKILL.md", real + "/skills/a", real + "/config.yaml", real + "/skills/g/b/SKILL.md", real + "/skills/a/_meta.json", real + "/skills/a/notes.md", real + "/skills/gone/SKILL.md"} {
		text.WriteString("1 0 0:1 / " + point + " rw - ext4 a rw\n")
	}
	write(t, list, text.String())
	var told []string
	for _, p := range load(t, l, pannier.Batch{Full: true}).Problems {
		told = append(told, p.Code+" "+p.Path)
	}
	want := []string{"mount.single_file config.yaml", "mount.single_file skills/a/_meta.json", "mount.single_file skills/g/b/SKILL.md"}
	if !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}

	write(t, list, "")
	wantCodes(t, load(t, l, pannier.Batch{Full: true}).Problems)
	remove(t, list)
	wantCodes(t, load(t, l, pannier.Batch{Full: true}).Problems)
}
