package fingerprint_test

import (
	"strings"
	"testing"

	"pannier/loader/fingerprint"
)

// TestManifestLinks: files are listed also by links within the skill, as in volumes of Kubernetes, and never by others.
func TestManifestLinks(t *testing.T) {
	for name, tt := range map[string]struct{ script, want string }{
		"volume":           {"mkdir -p ..1/scripts; echo 1 > ..1/SKILL.md; echo 2 > ..1/scripts/a; chmod +x ..1/scripts/a; ln -s ..1 ..data; ln -s ..data/SKILL.md SKILL.md; ln -s ..data/scripts scripts", "..1/SKILL.md ..1/scripts/a* ..data/SKILL.md ..data/scripts/a* SKILL.md scripts/a*"},
		"out of the skill": {"echo 1 > a; ln -s ../other/x b; ln -s /etc/passwd c; ln -s ../skill/a d; ln -s /etc e; ln -s .. f", "a"},
		"circles":          {"mkdir d; echo 1 > d/a; ln -s . x; ln -s .. d/up; ln -s z y; ln -s y z; ln -s ../d d/self; ln -s none gone", "d/a"},
		"through links":    {"mkdir -p d/e; echo 1 > d/a; ln -s d l; ln -s l/e/../a b; ln -s l/e/../../../a c; ln -s d/ m", "b d/a l/a m/a"},
		"names alike":      {"mkdir d; echo 1 > d/a; echo 2 > d.b; echo 3 > dd; ln -s d l", "d.b d/a dd l/a"},
		"pannier's own":    {"mkdir .pannier; echo 1 > .pannier/x; echo 2 > a; ln -s .pannier p; ln -s .pannier/x q", "a"},
		"past the bound":   {"mkdir d; for i in $(seq 70); do : > d/$i; ln -s d l$i; done", ""},
		"a FIFO":           {"mkfifo p; ln -s p q; echo 1 > a; ln -s a b", "a b"},
	} {
		t.Run(name, func(t *testing.T) {
			root, _ := open(t, tt.script)
			var got []string
			for _, f := range of(t, root, fingerprint.Options{Manifest: true}).Manifest {
				mark := ""
				if f.Executable {
					mark = "*"
				}
				got = append(got, f.Path+mark)
			}
			if name == "past the bound" {
				if len(got) != 70 {
					t.Errorf("%d files, want the 70 that are no links", len(got))
				}
			} else if text := strings.Join(got, " "); text != tt.want {
				t.Errorf("%s, want %s", text, tt.want)
			}
		})
	}
}
