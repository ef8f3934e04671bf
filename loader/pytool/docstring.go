package pytool

import (
	"regexp"
	"strings"

	"pannier"
)

// The lines of a docstring that begin the description of a parameter, and those that begin a section with such lines.
var (
	sphinxParam   = regexp.MustCompile(`^:(?:param|parameter|arg|argument|key|keyword)\s+(?:[^:]*\s)?\\?\*{0,2}([\pL\pN_]+)\s*:(.*)`)
	googleParam   = regexp.MustCompile(`^\*{0,2}([\pL\pN_]+)\s*(?:\(.*?\))?\s*:(.*)`)
	numpyParam    = regexp.MustCompile(`^\*{0,2}([\pL\pN_]+)\s*(?::.*)?$`)
	googleSection = regexp.MustCompile(`^(?:Args|Arguments|Params|Parameters|Keyword Args|Keyword Arguments):\s*$`)
	numpySection  = regexp.MustCompile(`^(?:Other )?Parameters\s*$`)
	underline     = regexp.MustCompile(`^-{3,}\s*$`)
)

// docReader collects the descriptions of parameters from the lines of a docstring.
type docReader struct {
	found   map[string]string
	param   *regexp.Regexp // begins a parameter in the section; nil outside of sections
	name    string         // of the parameter that the next lines describe
	indent  int            // of the lines with names; -1 if none was read yet
	pending int            // the indent that text of the parameter exceeds
}

// describedParams returns the descriptions of parameters in a docstring of the style of Google, NumPy or Sphinx.
func describedParams(doc string) map[string]string {
	r := docReader{found: map[string]string{}}
	lines := strings.Split(doc, "\n")
	for i, line := range lines {
		text := strings.TrimSpace(line)
		indent := len(line) - len(strings.TrimLeft(line, " "))
		underlined := i+1 < len(lines) && underline.MatchString(lines[i+1])
		switch {
		case text == "":
			if r.param == nil {
				r.name = ""
			}
		case indent == 0 && googleSection.MatchString(text):
			r = docReader{found: r.found, param: googleParam, indent: -1}
		case indent == 0 && underlined:
			r = docReader{found: r.found, indent: -1}
			if numpySection.MatchString(text) {
				r.param = numpyParam
			}
		case underline.MatchString(line):
		default:
			r.line(text, indent)
		}
	}
	return r.found
}

// line reads a line with a name, or one of the text after it.
func (r *docReader) line(text string, indent int) {
	if m := sphinxParam.FindStringSubmatch(text); m != nil && r.param == nil {
		r.begin(m[1], m[2], indent)
		return
	}
	if r.param != nil && (r.indent < 0 || indent <= r.indent) {
		if r.indent < 0 {
			r.indent = indent
		}
		m := r.param.FindStringSubmatch(text)
		if m == nil || indent < r.indent || r.param == googleParam && indent == 0 {
			*r = docReader{found: r.found} // the section ends
			return
		}
		r.begin(m[1], strings.Join(m[2:], ""), indent)
		return
	}
	if r.name != "" && indent > r.pending {
		r.found[r.name] = pannier.Truncate(strings.TrimSpace(r.found[r.name]+" "+text), maxDescription)
		return
	}
	r.name = ""
}

func (r *docReader) begin(name, text string, indent int) {
	r.name, r.pending = name, indent
	r.found[name] = pannier.Truncate(strings.TrimSpace(text), maxDescription)
}
