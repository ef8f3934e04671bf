package registry_test

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"pannier"
	"pannier/registry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// roots are those of the tests, in order of precedence.
var roots = []pannier.Root{
	{Path: "/w/skills", Name: "skills", Kind: pannier.SourceWorkspace, Implicit: true},
	{Path: "/w/managed", Name: "managed", Kind: pannier.SourceManaged},
	{Path: "/opt/skills", Name: "/opt/skills", Kind: pannier.SourceBundled},
}

// skillAt returns a skill as the loader makes one, at a path that begins with the name of a root.
func skillAt(where string, change ...func(*pannier.Skill)) *pannier.Skill {
	i := slices.IndexFunc(roots, func(r pannier.Root) bool { return strings.HasPrefix(where, r.Name+"/") })
	root := roots[i]
	below := strings.TrimPrefix(where, root.Name+"/")
	s := &pannier.Skill{
		Path: where, Root: root.Name, SourceKind: root.Kind, Implicit: root.Implicit, RootIndex: i,
		PathBelowRoot: below, Folder: path.Base(below), File: pannier.SkillFile,
		Name: path.Base(below), Description: "what it does", UserInvocable: true,
	}
	s.Slug = cmp.Or(pannier.Slugify(s.Folder), pannier.FallbackSlug(below))
	s.Digest = pannier.DigestOf([]byte(where))
	s.FileDigest = s.Digest
	for _, c := range change {
		c(s)
	}
	return seal(s)
}

// seal gives a skill the digest of everything in it.
func seal(s *pannier.Skill) *pannier.Skill {
	s.Sum = pannier.Digest{}
	s.Sum = pannier.DigestOf(fmt.Appendf(nil, "%+v", *s))
	return s
}

func skillsAt(paths ...string) []*pannier.Skill {
	var skills []*pannier.Skill
	for _, p := range paths {
		skills = append(skills, skillAt(p))
	}
	return skills
}

func broken(s *pannier.Skill) {
	s.Broken = true
	s.Problems = append(s.Problems, pannier.Problem{
		Code: "skill.frontmatter.missing", Severity: pannier.SeverityError, Path: s.FilePath(), Message: "there is none", Hint: "add it",
	})
}

func locked(s *pannier.Skill) { s.Managed, s.Locked = true, true }

// listing returns a config.yaml with a list.
func listing(names ...string) pannier.Workspace {
	return pannier.Workspace{Listed: true, Skills: names}
}

// build returns the snapshot of inputs.
func build(t testing.TB, in registry.Inputs) *pannier.Snapshot {
	t.Helper()
	return registry.New(registry.Options{}).Update(func(to *registry.Inputs) { *to = in })
}

// of returns inputs without requirements that anything could miss.
func of(w pannier.Workspace, skills ...*pannier.Skill) registry.Inputs {
	return registry.Inputs{
		Catalog: pannier.Catalog{Skills: skills}, Workspace: w,
		Environment: pannier.Environment{OS: "linux", Arch: "amd64", Source: pannier.EnvironmentSidecar},
	}
}

// known is what the judges of tests know, by the paths of skills.
type known struct {
	reasons map[string][]pannier.Reason
	found   map[string]*pannier.Contents
	all     []pannier.Reason // against skills that are not in reasons
	problem string
}

var versions atomic.Uint64

// judges returns one judge, unlike all others.
func (k known) judges() []func() registry.Judge {
	j := registry.Judge{Version: versions.Add(1), Of: func(s *pannier.Skill) registry.Judgement {
		reasons, ok := k.reasons[s.Path]
		if !ok {
			reasons = k.all
		}
		return registry.Judgement{Reasons: reasons, Found: k.found[s.Path]}
	}}
	if k.problem != "" {
		j.Problems = []pannier.Problem{{Code: k.problem, Severity: pannier.SeverityError}}
	}
	return []func() registry.Judge{func() registry.Judge { return j }}
}

func reasons(codes ...string) []pannier.Reason {
	list := []pannier.Reason{}
	for _, code := range codes {
		code, subject, _ := strings.Cut(code, " ")
		list = append(list, pannier.Reason{Code: code, Subject: subject, Remedy: "mend it"})
	}
	return list
}

// states returns one line for each skill, in the snapshot's order: slug, path, state.
func states(s *pannier.Snapshot) string {
	var lines []string
	for _, e := range s.Entries {
		line := fmt.Sprintf("%s %s %s", e.Slug, e.Path, e.State)
		if e.ShadowedBy != "" {
			line += " by " + e.ShadowedBy
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// ranked returns the paths of the usable skills in the order of the card.
func ranked(s *pannier.Snapshot) string {
	var paths []string
	for _, e := range s.Ranked() {
		paths = append(paths, e.Path)
	}
	return strings.Join(paths, " ")
}
