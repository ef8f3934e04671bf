package oracle_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pannier/internal/testbench/oracle"
	"pannier/internal/testbench/realskills"
)

// sum is the SHA-256 of the text that the function skill of a script writes.
var sum = sumOf("---\nname: x\ndescription: Does it.\n---\nDo it.\n")

func sumOf(text string) string {
	s := sha256.Sum256([]byte(text))
	return hex.EncodeToString(s[:])
}

// trees are hand-written, with what is in them.
var trees = []struct {
	name, script string
	want         oracle.Tree
}{
	{"nothing", "", nil},
	{"skills at several depths", "skill b; skill a/b/c", oracle.Tree{{Path: "skills/a/b/c", Text: sum}, {Path: "skills/b", Text: sum}}},
	{"order is that of bytes", "skill a/x; skill a-b", oracle.Tree{{Path: "skills/a-b", Text: sum}, {Path: "skills/a/x", Text: sum}}},
	{"below a skill is none", "skill a; skill a/b", oracle.Tree{{Path: "skills/a", Text: sum}}},
	{"none right in the root", "skill .; skill a", oracle.Tree{{Path: "skills/a", Text: sum}}},
	{"six deep and no deeper", "skill 1/2/3/4/5/6; skill 1/2/3/4/5/x/7", oracle.Tree{{Path: "skills/1/2/3/4/5/6", Text: sum}}},
	{"other case", "skill a skill.md; skill b Skill.md; skill b; printf x > b/Skill.md", oracle.Tree{{Path: "skills/a", Text: sum}, {Path: "skills/b", Text: sum}}},
	{"of other cases the last", "skill a SKILL.MD; skill a skill.md; printf x > a/SKILL.MD", oracle.Tree{{Path: "skills/a", Text: sum}}},
	{"a directory in another case is none", "mkdir -p a/skill.md; skill a/skill.md/b", oracle.Tree{{Path: "skills/a/skill.md/b", Text: sum}}},
	{"a directory called SKILL.md makes a skill that cannot be read", "mkdir -p a/SKILL.md", oracle.Tree{{Path: "skills/a"}}},
	{"skipped, unless they are skills themselves", "skill .hidden; skill .other/a; skill node_modules/b; skill .git skill.md; skill x/__pycache__", oracle.Tree{{Path: "skills/.hidden", Text: sum}, {Path: "skills/x/__pycache__", Text: sum}}},
	{"meta", "skill a; printf 1 > a/_meta.json; skill b; mkdir b/_meta.json; skill c; head -c 70000 /dev/zero > c/_meta.json", oracle.Tree{{Path: "skills/a", Text: sum, Meta: sumOf("1")}, {Path: "skills/b", Text: sum}, {Path: "skills/c", Text: sum}}},
	{"special files and too long ones", "mkdir a b; mkfifo a/SKILL.md; head -c 1048577 /dev/zero > b/SKILL.md; skill c; mkfifo c/_meta.json", oracle.Tree{{Path: "skills/a"}, {Path: "skills/b"}, {Path: "skills/c", Text: sum}}},
	{"links to directories", "skill .real/x; ln -s .real/x a; ln -s .. b; ln -s /etc c; ln -s ../../.. d; ln -s nowhere e; ln -s f f; skill .real/y/z; ln -s .real/y g; ln -s ../g .real/y/back", oracle.Tree{{Path: "skills/a", Text: sum}, {Path: "skills/g/z", Text: sum}}},
	{"an absolute link is not followed, wherever it leads", "skill .real/x; ln -s \"$PWD/.real/x\" a", nil},
	{"links of files", "skill .real; mkdir a b c d; ln -s ../.real/SKILL.md a/SKILL.md; ln -s nowhere b/SKILL.md; ln -s /etc/passwd c/SKILL.md; ln -s ../a d/SKILL.md", oracle.Tree{{Path: "skills/.real", Text: sum}, {Path: "skills/a", Text: sum}, {Path: "skills/b"}, {Path: "skills/c"}, {Path: "skills/d"}}},
	{"a data directory", "skill ..1/a; skill ..1/b; ln -s ..1 ..data; ln -s ..data/a a; ln -s ..data/b b", oracle.Tree{{Path: "skills/a", Text: sum}, {Path: "skills/b", Text: sum}}},
	{"tools only", "mkdir -p a/tools b/tools/x c/tools d/e/tools f/tools; touch a/tools/t.py b/tools/x/t.py c/tools/.t.py d/e/tools/t.py f/tools/t.py; skill f/g", oracle.Tree{{Path: "skills/a", ToolsOnly: true}, {Path: "skills/f/g", Text: sum}}},
	{"tools by links", "mkdir -p a/tools .real; touch .real/t; ln -s ../../.real/t a/tools/t.py; mkdir -p b/tools; ln -s nowhere b/tools/t.py; mkdir c; ln -s ../a/tools c/tools", oracle.Tree{{Path: "skills/a", ToolsOnly: true}, {Path: "skills/c", ToolsOnly: true}}},
	{"names that are no text", `d=$(printf 'a\377b'); skill "$d"; skill "$(printf 'with\nline')"`, oracle.Tree{{Path: "skills/a\xffb", Text: sum}, {Path: "skills/with\nline", Text: sum}}},
	{"frontmatter does not matter", "mkdir a; printf x > a/SKILL.md; mkdir b; : > b/SKILL.md", oracle.Tree{{Path: "skills/a", Text: sumOf("x")}, {Path: "skills/b", Text: sumOf("")}}},
}

func TestWalkFindsWhatIsThere(t *testing.T) {
	for _, tree := range trees {
		t.Run(tree.name, func(t *testing.T) {
			got, err := oracle.Walk(oracle.Defaults(lay(t, tree.script)))
			if diff := cmp.Diff(tree.want, got); diff != "" || err != nil {
				t.Errorf("want -, got + (%v):\n%s", err, diff)
			}
		})
	}
}

func TestBinaryAgreesOnHandWrittenTrees(t *testing.T) {
	for _, tree := range trees {
		t.Run(tree.name, func(t *testing.T) {
			workspace := lay(t, tree.script)
			if err := oracle.Compare(listed(t, workspace), oracle.Defaults(workspace)); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestBinaryAgreesOnRealSkills(t *testing.T) {
	workspace := t.TempDir()
	if err := os.Symlink(realskills.Dir(t), filepath.Join(workspace, "skills")); err != nil {
		t.Fatal(err)
	}
	rules := oracle.Defaults(workspace)
	tree, err := oracle.Walk(rules)
	if err != nil || len(tree) == 0 {
		t.Fatalf("%d skills, %v", len(tree), err)
	}
	if err := oracle.Compare(listed(t, workspace), rules); err != nil {
		t.Errorf("of %d skills: %v", len(tree), err)
	}
}

// TestDigestIsAsDocumented computes the digest of a tree as docs/SKILLS.md tells it, in a shell.
func TestDigestIsAsDocumented(t *testing.T) {
	workspace := lay(t, "skill b; skill a; printf 1 > a/_meta.json")
	tree, err := oracle.Walk(oracle.Defaults(workspace))
	if err != nil {
		t.Fatal(err)
	}
	run(t, workspace, `for d in skills/a skills/b; do
	printf '%s\000%s\000' "$d" "$(sha256sum "$d/SKILL.md" | cut -d' ' -f1)"
	if [ -e "$d/_meta.json" ]; then printf '%s' "$(sha256sum "$d/_meta.json" | cut -d' ' -f1)"; fi
	printf '\n'
done | sha256sum | cut -d' ' -f1 > sum`)
	want, err := os.ReadFile(filepath.Join(workspace, "sum"))
	if got := tree.Digest(); err != nil || got != "sha256:"+strings.TrimSpace(string(want)) {
		t.Errorf("digest %s, want %s (%v)", got, want, err)
	}
}

func TestBoundOnDirectoriesIsThatOfTheBinary(t *testing.T) {
	rules := oracle.Defaults(lay(t, "skill a; skill b; skill c; skill a.d/e"))
	rules.MaxDirs = 4 // the root, a, a.d and b
	tree, err := oracle.Walk(rules)
	want := oracle.Tree{{Path: "skills/a", Text: sum}, {Path: "skills/b", Text: sum}}
	if diff := cmp.Diff(want, tree); diff != "" || err != nil {
		t.Errorf("want -, got + (%v):\n%s", err, diff)
	}
}

func TestWalkFailsWhereItCanNotTell(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("nothing is unreadable for root")
	}
	workspace := lay(t, "skill a/b; chmod 0 a")
	t.Cleanup(func() { os.Chmod(filepath.Join(workspace, "skills", "a"), 0o755) })
	if _, err := oracle.Walk(oracle.Defaults(workspace)); err == nil || !strings.Contains(err.Error(), "skills/a") {
		t.Errorf("error %v does not name the directory", err)
	}
}

func TestMissingRootHoldsNothing(t *testing.T) {
	tree, err := oracle.Walk(oracle.Defaults(t.TempDir()))
	if err != nil || tree != nil {
		t.Errorf("%v, %v", tree, err)
	}
}
