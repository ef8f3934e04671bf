package install

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"pannier"
	"pannier/loader"
)

// slugOf reads the staged skill and returns the slug to install it under.
func (st *Staged) slugOf(ctx context.Context, folder string) (string, error) {
	skill, err := st.read(ctx, folder)
	if err == nil {
		err = st.checkUsable(skill, skill.Slug)
	}
	if err != nil {
		return "", err
	}
	if skill.Slug != pannier.Slugify(st.area.id) {
		return skill.Slug, nil
	}
	if slug := pannier.Slugify(skill.Name); len(slug) > maxSlugBytes {
		return "", refuseLongSlug(slug)
	} else if slug != skill.Slug && slug != "" {
		return slug, nil
	}
	return "", refuse("install.slug", "the skill has no name", "add `name:` or `slug:` to its frontmatter, or pack it in a directory with its name")
}

// read reads the skill with the loader from a root that contains nothing else.
func (st *Staged) read(ctx context.Context, folder string) (*pannier.Skill, error) {
	rules := st.store.rules
	root := st.root
	root.Path, root.Trust = filepath.Join(st.area.p.root.Path, st.area.rel(), "new"), st.store.trust
	rules.Roots = []pannier.Root{root}
	c, err := loader.New(loader.Options{Rules: rules}).Load(ctx, pannier.Batch{Full: true, Trigger: pannier.TriggerManual})
	if err != nil {
		return nil, err
	}
	for _, skill := range c.Skills {
		if skill.PathBelowRoot == folder && !skill.ToolsOnly {
			s := *skill
			s.Path, s.Managed, s.Locked, s.Implicit = path.Join(st.root.Name, folder), true, true, false
			s.RootIndex = slices.IndexFunc(st.store.rules.Roots, func(r pannier.Root) bool { return r.Path == st.root.Path })
			return &s, nil
		}
	}
	return nil, refuse("install.no_skill", cmp.Or(st.dropped, "the skill")+" has no "+pannier.SkillFile, "add one to the top of the skill directory")
}

// checkUsable refuses a skill that is broken, or that the loader would find under another slug.
func (st *Staged) checkUsable(s *pannier.Skill, slug string) error {
	if s.Broken {
		var named []string
		for _, p := range s.Problems {
			if below, ok := strings.CutPrefix(p.Path, path.Join(st.root.Name, s.PathBelowRoot)+"/"); ok {
				p.Path = path.Join(st.dropped, below) // as in the archive
			}
			if p.Severity == pannier.SeverityError {
				named = append(named, fmt.Sprintf("%s: %s (%s)", p.Place(), p.Message, p.Code))
			}
		}
		return refuse("install.invalid", "the skill is invalid: "+joinFirst(named), "fix the file and install it again")
	}
	if i := slices.IndexFunc(s.Problems, func(p pannier.Problem) bool { return p.Code == pannier.CodeEmptyBody }); i >= 0 {
		return refuse("install.invalid", "the skill is empty: "+s.Problems[i].Message, s.Problems[i].Hint)
	}
	if len(s.Slug) > maxSlugBytes {
		return refuseLongSlug(s.Slug)
	}
	if s.Slug != slug {
		return refuse("install.slug", fmt.Sprintf("the slug of the skill is ambiguous: %q or %q", slug, s.Slug), "add `slug:` to its frontmatter")
	}
	return nil
}

// maxSlugBytes is the longest name of a directory.
const maxSlugBytes = 255

func refuseLongSlug(slug string) error {
	return refuse("install.slug", fmt.Sprintf("the slug has %d bytes; a directory name has at most %d", len(slug), maxSlugBytes), "use a shorter slug")
}

// maxListed bounds the problems or findings in a message.
const maxListed = 3

// refuseBlocked refuses blocking findings of rules that are not accepted, and accepted rules without a finding.
func (st *Staged) refuseBlocked(findings []pannier.Finding, accepted ...string) error {
	if err := (pannier.AcceptRequest{Rules: accepted}).CheckFound(findings); err != nil {
		return err
	}
	blocking := slices.DeleteFunc(slices.Clone(findings), func(f pannier.Finding) bool {
		return !f.Blocking || slices.Contains(accepted, f.Rule)
	})
	if len(blocking) == 0 {
		return nil
	}
	var named []string
	for _, f := range blocking {
		named = append(named, fmt.Sprintf("%s:%d: %s (%s)", path.Join(st.dropped, f.Path), f.Line, f.Message, f.Rule))
	}
	return &pannier.Refusal{
		Code: "install.security", Message: "the security scan blocks the skill: " + joinFirst(named),
		Hint: "remove what was found and install it again; or accept the rule with a reason, if it is harmless", Findings: blocking,
	}
}

func joinFirst(texts []string) string {
	more := ""
	if left := len(texts) - maxListed; left > 0 {
		more = fmt.Sprintf("; and %d more", left)
	}
	return strings.Join(texts[:min(len(texts), maxListed)], "; ") + more
}
