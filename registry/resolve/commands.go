package resolve

import (
	"cmp"
	"slices"
	"strings"

	"pannier"
)

// Commands returns every command of a snapshot, ordered by slug, and within a skill the skill itself first, then what it
// declares, in its order. A skill that cannot be used, that clients may not invoke by name, or that has no instructions, has
// none.
//
// A skill's own name goes before every name that is declared, so that no skill can take over another one by declaring a
// command of its name; and it is kept for the skill while that cannot be used. Among skills, and among what they declare,
// the workspace goes before the rest and what is bundled behind it, then the earlier root, then the slug in bytes.
func Commands(s *pannier.Snapshot) []pannier.SkillCommand {
	list := []pannier.SkillCommand{}
	all := candidates(s)
	slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(a.skill.Slug, b.skill.Slug) })
	for _, c := range all {
		if offered(c.skill) {
			list = append(list, c.command())
		}
	}
	return list
}

// Command returns what a name means as a command, and whether it means anything. In this order: the
// flat name of a command; a slug, "owner/slug", or either behind "skill:"; the name by which a skill declares a command,
// of which that of the highest precedence is meant. Skills that cannot be used are found too, by what would be theirs, so
// that the caller can tell why; of declared names they come last.
//
// Case does not matter, nor does a slash in front, nor the "@bot" behind a name that chats add to tell bots apart.
func Command(s *pannier.Snapshot, asked string) (pannier.FoundCommand, bool) {
	asked = trimBot(strings.TrimPrefix(strings.TrimSpace(asked), "/"))
	all := candidates(s)
	for _, c := range all {
		if strings.EqualFold(c.name, asked) {
			return c.found(), true
		}
	}
	ref, bySlug := cutPrefixFold(asked, "skill:")
	if e, ok := owner(s, ref); ok {
		i := slices.IndexFunc(all, func(c candidate) bool { return c.skill == e })
		if i < 0 { // it is shadowed, and so not a candidate
			return candidate{skill: e, declared: itself}.found(), true
		}
		return all[i].found(), true
	}
	if bySlug {
		return pannier.FoundCommand{}, false
	}
	return declared(s, all, asked)
}

// owner returns the skill that a reference means: the owner of the slug, else one that has lost it.
func owner(s *pannier.Snapshot, ref string) (*pannier.Entry, bool) {
	if e, ok := s.Lookup(ref); ok {
		return e, true
	}
	by, slug := pannier.SplitQualified(ref)
	for i := range s.Entries {
		if e := s.Entries[i]; e.Slug == slug && slug != "" && e.State == pannier.StateShadowed && (by == "" || by == e.Owner) {
			return e, true
		}
	}
	return nil, false
}

// declared returns the command that is declared by a name: of those that can be used the one of highest precedence, with
// the names of the others, else one that cannot.
func declared(s *pannier.Snapshot, all []candidate, asked string) (pannier.FoundCommand, bool) {
	var found pannier.FoundCommand
	for _, c := range all {
		if !c.declaredAs(asked) || !offered(c.skill) {
			continue
		}
		if found.Skill == nil {
			found = c.found()
			continue
		}
		found.Others = append(found.Others, c.name)
	}
	if found.Skill != nil {
		return found, true
	}
	for _, e := range byPrecedence(s) {
		for i := range e.Commands {
			c := candidate{skill: e, declared: i}
			if !offered(e) && (c.declaredAs(asked) || !c.blank() && strings.EqualFold(c.wanted(), asked)) {
				return c.found(), true
			}
		}
	}
	return pannier.FoundCommand{}, false
}

// itself stands for the skill where the index of a declared command would be.
const itself = -1

// candidate is something that can be a command: a skill itself, or what it declares.
type candidate struct {
	skill    *pannier.Entry
	declared int // index in Skill.Commands, or itself
	name     string
}

// candidates returns the commands of a snapshot with their names, in the order in which they have a claim to them: every
// skill that is not shadowed, then what those declare that can be used. So no name is for a skill and for a command of
// another.
func candidates(s *pannier.Snapshot) []candidate {
	order := byPrecedence(s)
	all := make([]candidate, 0, len(order))
	for _, e := range order {
		all = append(all, candidate{skill: e, declared: itself})
	}
	for _, e := range order {
		if !offered(e) {
			continue
		}
		for i := range e.Commands {
			if c := (candidate{skill: e, declared: i}); !c.blank() {
				all = append(all, c)
			}
		}
	}
	giveNames(all)
	return all
}

// byPrecedence returns the skills that are not shadowed, the workspace before the rest and what is bundled behind it, then
// by root, then by slug.
func byPrecedence(s *pannier.Snapshot) []*pannier.Entry {
	order := make([]*pannier.Entry, 0, len(s.Entries))
	for i := range s.Entries {
		if s.Entries[i].State != pannier.StateShadowed {
			order = append(order, s.Entries[i])
		}
	}
	slices.SortStableFunc(order, func(a, b *pannier.Entry) int { // they are ordered by slug already
		return cmp.Or(cmp.Compare(kindRank(a.SourceKind), kindRank(b.SourceKind)), cmp.Compare(a.RootIndex, b.RootIndex))
	})
	return order
}

func kindRank(kind pannier.SourceKind) int {
	switch kind {
	case pannier.SourceWorkspace:
		return 0
	case pannier.SourceBundled:
		return 2
	}
	return 1
}

// offered reports whether a skill has commands: clients may name it, and it has instructions.
func offered(e *pannier.Entry) bool { return e.Usable && e.UserInvocable && !e.ToolsOnly }

// wanted returns the name that a command gets if it is free.
func (c candidate) wanted() string {
	if c.declared == itself {
		return flatName(c.skill.Slug)
	}
	return flatName(c.skill.Commands[c.declared].Name)
}

// blank reports whether the name that a command is declared by shows nothing.
func (c candidate) blank() bool { return oneLine(c.skill.Commands[c.declared].Name) == "" }

// declaredAs reports whether the command is declared by a name.
func (c candidate) declaredAs(name string) bool {
	return c.declared != itself && !c.blank() && strings.EqualFold(oneLine(c.skill.Commands[c.declared].Name), oneLine(name))
}

func (c candidate) command() pannier.SkillCommand {
	e := c.skill
	out := pannier.SkillCommand{Name: c.name, Slug: e.Slug, SourceKind: e.SourceKind, Path: e.Path}
	if c.declared == itself {
		out.Description = cmp.Or(oneLine(e.Description), oneLine(e.Name), e.Slug)
		return out
	}
	d := e.Commands[c.declared]
	out.Command, out.Args = oneLine(d.Name), oneLine(d.Args)
	out.Description = cmp.Or(oneLine(d.Description), out.Command)
	for _, a := range d.Arguments {
		if a.Name, a.Description = oneLine(a.Name), oneLine(a.Description); a.Name != "" {
			out.Arguments = append(out.Arguments, a)
		}
	}
	return out
}

func (c candidate) found() pannier.FoundCommand {
	found := pannier.FoundCommand{SkillCommand: c.command(), Skill: c.skill}
	if !offered(c.skill) {
		found.Name = ""
	}
	return found
}

// cutPrefixFold is [strings.CutPrefix] without regard to case, for a prefix of ASCII.
func cutPrefixFold(text, prefix string) (string, bool) {
	if len(text) < len(prefix) || !strings.EqualFold(text[:len(prefix)], prefix) {
		return text, false
	}
	return text[len(prefix):], true
}

// trimBot drops "@name" behind a command.
func trimBot(asked string) string {
	i := strings.LastIndexByte(asked, '@')
	other := func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}
	if i <= 0 || strings.ContainsFunc(asked[i+1:], other) {
		return asked
	}
	return asked[:i]
}
