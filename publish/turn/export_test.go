package turn

import (
	"pannier"
	"pannier/publish/prompt"
)

// AppendResolution returns the JSON of a resolution with a prompt.
func AppendResolution(r pannier.Resolution) []byte {
	a := Answer{Resolution: r, section: sectionOf(*r.Prompt)}
	return a.AppendJSON(nil)
}

// AppendPrompt returns the JSON of a prompt.
func AppendPrompt(p pannier.Prompt) []byte {
	a := Answer{Resolution: pannier.Resolution{Overrides: p.Overrides}, section: sectionOf(p)}
	return a.AppendPrompt(nil, true)
}

func sectionOf(p pannier.Prompt) prompt.Section {
	return prompt.Section{Format: p.Format, Parts: []string{p.Text}, Omitted: p.Omitted, Shortened: p.Shortened}
}
