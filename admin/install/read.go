package install

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"pannier"
	"pannier/loader"
)

// slug reads the skill as it came, and returns what it is to be called.
func (st *Staged) slug(ctx context.Context, folder string) (string, error) {
	skill, err := st.read(ctx, folder)
	if err == nil {
		err = acceptable(skill, skill.Slug)
	}
	if err != nil {
		return "", err
	}
	if skill.Slug != pannier.Slugify(st.area.id) {
		return skill.Slug, nil
	}
	if slug := pannier.Slugify(skill.Name); len(slug) > maxSlugBytes {
		return "", longSlug(slug)
	} else if slug != skill.Slug && slug != "" {
		return slug, nil
	}
	return "", refuse("install.slug", "the skill does not say what it is called", "add `name:` or `slug:` to its frontmatter, or put it into a directory with its name")
}

// read returns the skill as the loader finds it in a root that holds nothing else.
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
	return nil, refuse("install.no_skill", "there is no "+pannier.SkillFile+" in it", "put one right into the directory of the skill")
}

// acceptable refuses a skill that could not be used, or that would not be found under its slug.
func acceptable(s *pannier.Skill, slug string) error {
	if s.Broken {
		return refuse("install.invalid", "the skill can not be used: "+worst(s.Problems), "mend the file, and install it again")
	}
	if i := slices.IndexFunc(s.Problems, func(p pannier.Problem) bool { return p.Code == pannier.CodeEmptyBody }); i >= 0 {
		return refuse("install.invalid", "the skill is empty: "+s.Problems[i].Message, s.Problems[i].Hint)
	}
	if len(s.Slug) > maxSlugBytes {
		return longSlug(s.Slug)
	}
	if s.Slug != slug {
		return refuse("install.slug", fmt.Sprintf("the skill is called %q at one time and %q at another", slug, s.Slug), "add `slug:` to its frontmatter")
	}
	return nil
}

// maxSlugBytes is the longest name that a file system has for a directory.
const maxSlugBytes = 255

func longSlug(slug string) error {
	return refuse("install.slug", fmt.Sprintf("the slug has %d bytes, and a directory is called by it: at most %d", len(slug), maxSlugBytes), "give a shorter one")
}

// namedAtMost bounds how many problems or findings a refusal names.
const namedAtMost = 3

func worst(problems []pannier.Problem) string {
	var named []string
	for _, p := range problems {
		if p.Severity == pannier.SeverityError {
			named = append(named, fmt.Sprintf("%s: %s (%s)", p.Place(), p.Message, p.Code))
		}
	}
	return some(named)
}

// blocked refuses blocking findings of rules that are not accepted. It reports a rule that is accepted and was not found.
func blocked(findings []pannier.Finding, accepted ...string) error {
	if err := (pannier.AcceptRequest{Rules: accepted}).CheckFound(findings); err != nil {
		return err
	}
	var named []string
	for _, f := range findings {
		if f.Blocking && !slices.Contains(accepted, f.Rule) {
			named = append(named, fmt.Sprintf("%s:%d: %s (%s)", f.Path, f.Line, f.Message, f.Rule))
		}
	}
	if len(named) == 0 {
		return nil
	}
	return refuse("install.security", "the security scan says no: "+some(named), "take out what it found, and install it again; or accept its rule with a reason, if you know that it does no harm")
}

func some(texts []string) string {
	more := ""
	if left := len(texts) - namedAtMost; left > 0 {
		more = fmt.Sprintf("; and %d more", left)
	}
	return strings.Join(texts[:min(len(texts), namedAtMost)], "; ") + more
}
