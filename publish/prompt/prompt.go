// Package prompt renders the skills section of a system prompt. It is pure: the bodies that a format shows are handed in.
//
// Everything that comes from a skill is untrusted: it is escaped for the format and stripped of what a terminal, a
// bidirectional layout or a chat template would take for more than text; names and descriptions are folded to one line.
// The one exception is [AvailableSkillsReference], which is there to be compared with. Bodies are never part of a
// catalog, where an agent reads them when it uses the skill; [SkillsXML], [Molecule] and [MoleculeSystem] show them,
// because that is what they are, with links and examples, and [Compact] those of the skills that match the files of the turn. The files of the
// prompt are the owner's own, and stay as they are.
package prompt

import (
	"cmp"
	"path"
	"unicode/utf8"

	"pannier"
)

// The formats.
const (
	// Compact is the section "[Skills]" of Pioneer: of each skill its name, what to call `read_skill` with and when to use
	// it, and the bodies of those that match a path of the turn, as far as they fit. Without a skill it is empty.
	Compact = "compact"
	// AvailableSkills is the XML of the Agent Skills reference tool, with everything escaped and folded. Without a skill
	// it is empty.
	AvailableSkills = "available_skills"
	// AvailableSkillsReference is the same byte for byte as the reference tool writes it, for its users and for tests. It
	// is not hardened: texts keep their lines and whatever is invisible in them, and locations are not even escaped.
	// Without a skill it is an empty element.
	AvailableSkillsReference = "available_skills_reference"
	// OpenClaw is the indented XML of OpenClaw below three lines for the model. What does not fit loses its description
	// first, and a notice says so. Without a skill it is empty.
	OpenClaw = "openclaw"
	// SkillsXML is the element "skills" of Aleph, with the triggers and the body of each skill, ordered by slug. Without a
	// skill it is empty.
	SkillsXML = "skills_xml"
	// Molecule is the section "## Your Skills" of a Molecule workspace, with the body of each skill in the order of
	// config.yaml, and its peers. Without a skill and a peer it is empty.
	Molecule = "molecule"
	// MoleculeSystem is the whole system prompt of a Molecule workspace as far as a sidecar knows it: the prompt files, then
	// what Molecule gives. Without any of these it is empty.
	MoleculeSystem = "molecule_system"
)

// Formats lists the formats that there are, the default first.
func Formats() []string {
	return []string{Compact, AvailableSkills, AvailableSkillsReference, OpenClaw, SkillsXML, Molecule, MoleculeSystem}
}

// NeedsBodies reports whether a format shows the body of every skill.
func NeedsBodies(format string) bool {
	return format == SkillsXML || format == Molecule || format == MoleculeSystem
}

// Bodies returns the slugs of the skills whose bodies a format can show in a turn, in the order of the resolution: all of
// them where the format [NeedsBodies], in [Compact] those that match a path, else none.
func Bodies(format string, a Active) []string {
	compact := cmp.Or(format, Compact) == Compact
	if !compact && !NeedsBodies(format) {
		return nil
	}
	var slugs []string
	for i := range a.Named {
		if s := &a.Named[i]; !compact || s.Reason == pannier.ViaPath {
			slugs = append(slugs, s.Slug)
		}
	}
	for _, span := range a.Spans {
		for _, e := range a.Rest.items[span.From:span.To] {
			if !compact || e.byPath {
				slugs = append(slugs, e.slug)
			}
		}
	}
	return slugs
}

// DefaultMaxChars is how many code points a prompt has at most where nobody says otherwise.
const DefaultMaxChars = 24000

// Bounded reports whether a format has a limit where the turn sets none. The others are what they are elsewhere, whole,
// unless somebody asks for less.
func Bounded(format string) bool {
	switch format {
	case "", Compact, AvailableSkills, OpenClaw, SkillsXML:
		return true
	}
	return false
}

// Options are what rendering needs beside the skills.
type Options struct {
	// Format is one of [Formats]; empty is the default.
	Format string
	// MaxChars bounds the section in code points; 0 is no bound. What [MoleculeSystem] puts before it does not count.
	MaxChars int
	// Workspace is the workspace as the agent sees it, for locations.
	Workspace string
	// Show is what is told of a skill only where somebody wants it.
	Show Show
	// Peers are those that the agent can delegate to, for the formats that tell of them.
	Peers []pannier.Peer
	// Resources are the links and examples of skills by slug, for the formats that [NeedsBodies].
	Resources map[string]pannier.Resources
}

// Render returns the section for the active skills of a resolution. bodies are the texts of skills by slug, of those that
// [Bodies] names; where one is missing, the skill is omitted. The section is never longer than the limit, and every skill
// that it does not show in full is named, in the order of the resolution.
func Render(s *pannier.Snapshot, r pannier.Resolution, bodies map[string]string, o Options) pannier.Prompt {
	var section Section
	NewRenderer(s, o.Workspace).Showing(o.Show).WithPeers(o.Peers).WithResources(o.Resources).Render(r, bodies, o.Format, o.MaxChars, &section)
	return section.Prompt()
}

// Location returns where the SKILL.md of a skill is for an agent that sees the workspace at that path.
func Location(s *pannier.Skill, workspace string) string {
	if path.IsAbs(s.Path) {
		return s.FilePath()
	}
	return path.Join(workspace, s.FilePath())
}

// displayName is what a skill is called in the formats that fold names.
func displayName(e *pannier.Entry) string { return cmp.Or(fold(e.Name), e.Slug) }

func runes(text string) int { return utf8.RuneCountInString(text) }
