package prompt

import (
	"strings"

	"pannier"
)

// Options are what rendering needs beside the skills.
type Options struct {
	// Format is one of [Formats]; empty is the default.
	Format string
	// MaxChars bounds the section in code points; 0 means unbounded. What [MoleculeSystem] puts before it does not count.
	MaxChars int
	// MaxTokens bounds it in estimated tokens.
	MaxTokens int
	// Workspace is the workspace as the agent sees it, for locations.
	Workspace string
	// Peers are those that the agent can delegate to, for the formats that tell of them.
	Peers []pannier.Peer
	// Resources are the links and examples of skills by slug, for the formats that [NeedsBodies].
	Resources map[string]pannier.Resources
	// Unread are the skills whose bodies could not be read.
	Unread map[string]bool
}

// Render returns the section for the active skills of a resolution. bodies are the texts of skills by slug, of those that
// [Bodies] names; where one is missing, the skill is described. The section is never longer than the limit, and every skill
// that it does not show in full is named, in the order of the resolution.
func Render(s *pannier.Snapshot, r pannier.Resolution, bodies map[string]string, o Options) pannier.Prompt {
	var section Section
	NewRenderer(s, o.Workspace).WithPeers(o.Peers).Render(r, Texts{Bodies: bodies, Unread: o.Unread, Resources: o.Resources}, o.Format, Budget{MaxChars: o.MaxChars, MaxTokens: o.MaxTokens}, &section)
	return section.Prompt()
}

// Render renders a resolution.
func (r *Renderer) Render(resolution pannier.Resolution, texts Texts, format string, budget Budget, into *Section) {
	r.RenderActive(Active{Named: resolution.Active}, texts, format, budget, into)
}

// Prompt returns the prompt in memory of its own.
func (s *Section) Prompt() pannier.Prompt {
	chars, tokens := s.Length()
	return pannier.Prompt{
		Format: s.Format, Text: strings.Join(s.Parts, ""), Omitted: append([]string{}, s.Omitted...), Shortened: append([]pannier.Shortened{}, s.Shortened...), Truncated: s.Truncated(),
		Chars: chars, TokensEstimate: tokens,
	}
}
