package install_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"pannier"
)

func TestListOfConfig(t *testing.T) {
	for _, tt := range []struct{ name, before, after, gone string }{
		{"a list", "skills:\n  - own # x\n", "skills:\n  - own # x\n  - pdf\n", ""},
		{"Windows", "\ufeffskills:\r\n- own\r\nname: 'n'\r\n", "\ufeffskills:\r\n- own\r\n- pdf\r\nname: 'n'\r\n", ""},
		{"brackets", "skills: [own, \"b\"] # x\n", "skills: [own, \"b\", pdf] # x\n", ""},
		{"empty", "skills: []\n", "skills: [pdf]\n", ""},
		{"listed already", "skills:\n- pdf\n- own\n", "skills:\n- pdf\n- own\n", "skills:\n- own\n"},
		{"listed with ornaments", "skills: [own, './pdf/']\n", "skills: [own, './pdf/']\n", "skills: [own]\n"},
		{"listed as a mapping", "skills:\n- name: pdf\n  x: 1\n- own\n", "skills:\n- name: pdf\n  x: 1\n- own\n", "skills:\n- own\n"},
		{"listed twice", "skills: [pdf, own, pdf]\n", "skills: [pdf, own, pdf]\n", "skills: [own]\n"},
		{"listed alone", "skills:\n- pdf\nx: 1\n", "skills:\n- pdf\nx: 1\n", "skills: []\nx: 1\n"},
		{"no list", "name: x\n", "name: x\n", ""},
		{"a list of nothing", "skills:\nname: x\n", "skills:\nname: x\n", ""},
		{"empty file", "", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := workspace(t, "")
			config := filepath.Join(dir, "config.yaml")
			write(t, config, tt.before)
			if err := os.Chmod(config, 0o640); err != nil {
				t.Fatal(err)
			}
			s := open(t, optionsFor(dir))
			r, err := put(t.Context(), s, skillOf("pdf", "1.0.0"), pannier.InstallRequest{}, false)
			if got := read(t, config); err != nil || got != tt.after || (r.Config == "added") != (tt.before != tt.after) {
				t.Errorf("%q, %q, %v", got, r.Config, err)
			}
			want := tt.gone
			if want == "" {
				want = tt.before
			}
			u, err := s.Uninstall(t.Context(), pannier.RemoveRequest{Slug: "pdf"}, actor)
			if got := read(t, config); err != nil || got != want || (u.Config == "removed") != (tt.after != want) || len(u.Problems) > 0 {
				t.Errorf("%q, %q, %v, %v", got, u.Config, u.Problems, err)
			}
			if info, err := os.Stat(config); err != nil || info.Mode().Perm() != 0o640 {
				t.Errorf("its mode is %v, %v", info, err)
			}
		})
	}
}

func TestConfigThatIsLeftAlone(t *testing.T) {
	for name, text := range map[string]string{
		"no YAML":       "skills: [\n",
		"a text":        "skills: '[own]'\n",
		"a mapping":     "skills: {own: x}\n",
		"an anchor":     "skills: &s [own]\n",
		"listed twice":  "skills: [own]\nskills: [own]\n",
		"old line ends": "skills: [own]\rname: x\r",
		"too long":      "skills: [own]\n#" + string(make([]byte, 1<<20)),
	} {
		t.Run(name, func(t *testing.T) {
			configProblem(t, workspace(t, text), text)
		})
	}
	t.Run("a link", func(t *testing.T) {
		dir := workspace(t, "")
		write(t, filepath.Join(dir, "real.yaml"), listing)
		if err := os.Symlink("real.yaml", filepath.Join(dir, "config.yaml")); err != nil {
			t.Fatal(err)
		}
		configProblem(t, dir, listing)
	})
	t.Run("read-only", func(t *testing.T) {
		dir := workspace(t, listing)
		if err := os.Chmod(filepath.Join(dir, "config.yaml"), 0o444); err != nil {
			t.Fatal(err)
		}
		configProblem(t, dir, listing)
	})
}

// TestConfigThatMoves: somebody writes to config.yaml at the last moment.
func TestConfigThatMoves(t *testing.T) {
	dir := workspace(t, listing)
	config := filepath.Join(dir, "config.yaml")
	o := optionsFor(dir)
	o.Step = func(name string) error {
		if name == "config.commit" {
			return errors.Join(os.Remove(config), os.WriteFile(config, []byte("name: other\n"), 0o644))
		}
		return nil
	}
	r, err := put(t.Context(), open(t, o), skillOf("pdf", "1.0.0"), pannier.InstallRequest{}, false)
	if err != nil || r.Config != "" || len(r.Problems) == 0 || read(t, config) != "name: other\n" {
		t.Errorf("%+v, %v, %q", r, err, read(t, config))
	}
	clean(t, dir)
}
