package loader

import (
	"slices"
	"strings"

	"pannier"
	"pannier/internal/fsx"
)

// toolsDir is the directory whose Python files make a skill of the one that it lies in, where no SKILL.md does.
const toolsDir = "tools"

// toolSet is what is known of a directory right below the root that holds a directory toolsDir and no SKILL.md. Whether it
// is a skill shows once everything below it was scanned.
type toolSet struct {
	// meta is the stat of _meta.json when it was last read, zero where there is none. proven says that an equal one means an
	// equal file, linked that it is a link, so that what is read changes without the directory.
	meta           fsx.Stamp
	proven, linked bool

	read  *pannier.Skill // what _meta.json makes of it
	skill *pannier.Skill // as it goes into the catalog; nil where it is none
}

// openToolSet brings what is known of a directory that may have tools only up to date, but for the tools.
func (s *treeScan) openToolSet(n *node, r *reader) {
	if n.depth != 1 || n.child(toolsDir) == nil {
		n.toolSet = nil
		return
	}
	if n.toolSet == nil {
		n.toolSet = &toolSet{}
	}
	st, linked := s.metaStat(n)
	set := n.toolSet
	set.linked = linked
	if set.read != nil && set.proven && !s.thorough && st == set.meta {
		return
	}
	r.fresh = append(r.fresh, n)
	set.read, set.meta = r.readToolSet(n, st)
	set.proven = set.meta == st && isProof(st, s.now)
}

// readToolSet returns the skill that tools without instructions make, and the stat of its _meta.json after that was read.
func (r *reader) readToolSet(n *node, metaStat fsx.Stamp) (*pannier.Skill, fsx.Stamp) {
	skill := r.blank(n, "")
	skill.ToolsOnly = true
	after, m, text := r.readMeta(n, skill, metaStat)
	if text != nil {
		skill.MetaDigest = r.metaDigest(nil, text)
	}
	c := &contract{path: skill.FilePath()}
	c.nameOnly(skill, m)
	validate(skill, r.scan.tree.rules.Block, c.front, parts{})
	skill.Problems = append(append(skill.Problems, c.problems...), pannier.Problem{
		Code: "skill.tools_only", Severity: pannier.SeverityInfo, Path: skill.Path,
		Message: "SKILL.md is missing; agents see the docstrings of the tools and no instructions",
		Hint:    "add a SKILL.md beside " + toolsDir + "/: `---`, lines with `name:` and `description:`, `---`, and what the agent shall do",
	})
	slices.SortStableFunc(skill.Problems, pannier.CompareProblems)
	r.scan.tree.applyEntry(skill)
	return skill, after
}

// commitToolSets decides which directories with tools are skills. One that holds skills groups them, and is none itself.
func (s *treeScan) commitToolSets() {
	for _, n := range s.tree.top.list().children {
		set := n.toolSet
		if set == nil {
			continue
		}
		scripts := s.scriptsIn(n.child(toolsDir))
		if len(scripts) == 0 || n.holdsSkill() {
			set.skill = nil
			continue
		}
		if sum := sum(set.read, scripts...); set.skill == nil || set.skill.Sum != sum {
			skill := *set.read
			skill.Sum = sum
			set.skill = &skill
		}
	}
}

// scriptsIn returns the names of the Python files right in a directory, by name in bytes. Links count where they lead to a
// regular file within the root.
func (s *treeScan) scriptsIn(n *node) []string {
	if n == nil {
		return nil
	}
	scripts := n.list().scripts
	for _, l := range n.list().links {
		if !isScript(l.name) {
			continue
		}
		if st, err := s.statIn(n.at(l.name)); err == nil && st.IsRegular() {
			scripts = append(slices.Clip(scripts), l.name)
		}
	}
	if len(scripts) > len(n.list().scripts) {
		slices.Sort(scripts)
	}
	return scripts
}

// holdsScripts reports whether the Python files in the directory count.
func (n *node) holdsScripts() bool { return n.depth == 2 && n.name == toolsDir }

// isScript reports whether a file of that name is a tool, as `*.py` of a shell has it.
func isScript(name string) bool {
	return strings.HasSuffix(name, ".py") && !strings.HasPrefix(name, ".")
}

// holdsSkill reports whether there is a skill below the directory.
func (n *node) holdsSkill() bool {
	return slices.ContainsFunc(n.list().children, func(c *node) bool { return c.record != nil || c.holdsSkill() })
}
