package lint

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"iter"
	"net/url"
	"path"
	"slices"
	"strings"

	"pannier"
	"pannier/loader/scan"
)

// object is a JSON object of a log in the format that code hosts show beside the lines of a change (OASIS SARIF 2.1.0).
type object = map[string]any

const (
	sarifSchema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
	// sarifBase is what the workspace is called in a log: locations are relative to it.
	sarifBase = "WORKSPACE"
	// fingerprint names the fingerprints, with the version of how they are made.
	fingerprint = "pannierProblem/v1"
)

// WriteSARIF writes the report as a log, a line for each result. Only one result is in memory at a time. workspace is the
// directory that paths are relative to, absolute; empty where there is none. version is that of the program, and may be empty.
// encode returns a value as JSON.
func (r *Report) WriteSARIF(w io.Writer, workspace, version string, encode func(any) ([]byte, error)) error {
	rules, index := r.sarifRules()
	driver := object{"name": "pannier", "rules": rules}
	if version != "" {
		driver["version"] = version
	}
	head := object{"columnKind": "unicodeCodePoints", "tool": object{"driver": driver}}
	if workspace != "" {
		head["originalUriBaseIds"] = object{sarifBase: object{"uri": fileURI(workspace + "/")}}
	}
	text, err := encode(head)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "{\"$schema\":%q,\"version\":\"2.1.0\",\"runs\":[%s,\"results\":[", sarifSchema, bytes.TrimSuffix(text, []byte("}")))
	results := sarifWriter{index: index, again: map[string]int{}, shared: map[string]int{}, based: workspace != ""}
	separator := "\n"
	for p, s := range r.allProblems() {
		text, err := encode(results.of(p, s))
		if err != nil {
			return err
		}
		out.WriteString(separator)
		out.Write(text)
		separator = ",\n"
	}
	out.WriteString("\n]}]}\n")
	return out.Flush()
}

// allProblems returns every problem with the skill that it is of, nil for those of the workspace.
func (r *Report) allProblems() iter.Seq2[pannier.Problem, *Skill] {
	return func(yield func(pannier.Problem, *Skill) bool) {
		for _, p := range r.Problems {
			if !yield(p, nil) {
				return
			}
		}
		for i := range r.Skills {
			for _, p := range r.Skills[i].Problems {
				if !yield(p, &r.Skills[i]) {
					return
				}
			}
		}
	}
}

// sarifRules returns the rules in the order in which they come, with the place of each by its id.
func (r *Report) sarifRules() (rules []object, index map[string]int) {
	rules, index = []object{}, map[string]int{}
	for p := range r.allProblems() {
		if _, ok := index[p.Code]; !ok {
			index[p.Code] = len(rules)
			rules = append(rules, ruleOf(p))
		}
	}
	return rules, index
}

type sarifWriter struct {
	index map[string]int // of a rule, by its id
	// again is how often a fingerprint of the current skill has come, and shared that of one outside of its directory.
	again, shared map[string]int
	skill         *Skill
	based         bool
}

// of returns the result for a problem of a skill; nil is the workspace.
func (w *sarifWriter) of(p pannier.Problem, s *Skill) object {
	if s != w.skill {
		w.skill = s
		clear(w.again)
	}
	region := object{"startLine": max(1, p.Line)} // code hosts show nothing without a line
	if p.Column > 0 {
		region["startColumn"] = p.Column
	}
	place := object{"artifactLocation": w.location(p.Path), "region": region}
	sum := sha256.Sum256([]byte(p.Code + "\x00" + p.Path + "\x00" + p.Field))
	id := hex.EncodeToString(sum[:16])
	counts := w.shared
	if w.skill != nil && strings.HasPrefix(p.Path, w.skill.Path+"/") {
		counts = w.again
	}
	counts[id]++
	result := object{
		"ruleId": p.Code, "ruleIndex": w.index[p.Code], "level": levelOf(p.Severity),
		"message":             object{"text": sentence(p.Message) + " Hint: " + sentence(p.Hint)},
		"locations":           []object{{"physicalLocation": place}},
		"partialFingerprints": object{fingerprint: fmt.Sprintf("%s:%d", id, counts[id])},
	}
	if s != nil {
		result["properties"] = object{"skill": s.Slug, "listed": s.Listed}
	}
	return result
}

func (w *sarifWriter) location(file string) object {
	if path.IsAbs(file) {
		return object{"uri": fileURI(file)}
	}
	uri := (&url.URL{Path: file}).EscapedPath()
	if strings.Contains(strings.SplitN(uri, "/", 2)[0], ":") { // else it would look like the scheme of a URI
		uri = "./" + uri
	}
	if w.based {
		return object{"uri": uri, "uriBaseId": sarifBase}
	}
	return object{"uri": uri}
}

func fileURI(file string) string {
	return (&url.URL{Scheme: "file", Path: strings.ReplaceAll(file, "//", "/")}).String()
}

func levelOf(s pannier.Severity) string {
	if s == pannier.SeverityInfo {
		return "note"
	}
	return string(s)
}

// origins says whose rules those are that begin with a word.
var origins = map[string]string{
	"skill": "what pannier reads of a SKILL.md", "meta": "what pannier reads of a _meta.json",
	"config": "the config.yaml of a workspace", "root": "the directories that skills are found in", "audit": "pannier audit",
	"strict":   "the Agent Skills specification, as its reference validator reads it",
	"openclaw": "the profile openclaw of the Pioneer skills architecture",
	"molecule": "the skill audit of Molecule", "clawhub": "what ClawHub takes",
	"contract": "the fields of the skill contract", "scan": "the security scan",
}

// ruleOf describes the rule that a problem is of.
func ruleOf(p pannier.Problem) object {
	word, rest, _ := strings.Cut(p.Code, ".")
	origin := cmp.Or(origins[word], word)
	full, hint := "A rule of "+origin+".", p.Hint
	rules := scan.Rules()
	if at := slices.IndexFunc(rules, func(s scan.Rule) bool { return s.Code == p.Code }); at >= 0 {
		full, hint = sentence(rules[at].Message), rules[at].Hint
	}
	return object{
		"id":               p.Code,
		"shortDescription": object{"text": strings.NewReplacer(".", " ", "_", " ").Replace(cmp.Or(rest, word)) + " (" + origin + ")"},
		"fullDescription":  object{"text": full},
		"help":             object{"text": "To fix it: " + sentence(hint)},
	}
}

// sentence ends a text with a full stop.
func sentence(text string) string {
	if strings.HasSuffix(text, ".") {
		return text
	}
	return text + "."
}
