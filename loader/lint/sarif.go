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

// sarifHead is what stands before the results of a log in the format that code hosts show beside the lines of a change (OASIS
// SARIF 2.1.0), of one run.
type sarifHead struct {
	Tool struct {
		Driver sarifDriver `json:"driver"`
	} `json:"tool"`
	OriginalURIBaseIDs map[string]sarifLocation `json:"originalUriBaseIds,omitempty"`
	ColumnKind         string                   `json:"columnKind"`
}

type sarifDriver struct {
	Name    string      `json:"name"`
	Version string      `json:"version,omitempty"`
	Rules   []sarifRule `json:"rules"`
}

type sarifText struct {
	Text string `json:"text"`
}

type sarifRule struct {
	ID               string    `json:"id"`
	ShortDescription sarifText `json:"shortDescription"`
	FullDescription  sarifText `json:"fullDescription"`
	Help             sarifText `json:"help"`
}

type sarifResult struct {
	RuleID              string            `json:"ruleId"`
	RuleIndex           int               `json:"ruleIndex"`
	Level               string            `json:"level"`
	Message             sarifText         `json:"message"`
	Locations           []sarifPlace      `json:"locations"`
	PartialFingerprints map[string]string `json:"partialFingerprints"`
	Properties          map[string]any    `json:"properties,omitempty"`
}

type sarifPlace struct {
	PhysicalLocation struct {
		ArtifactLocation sarifLocation `json:"artifactLocation"`
		Region           sarifRegion   `json:"region"`
	} `json:"physicalLocation"`
}

type sarifLocation struct {
	URI       string `json:"uri"`
	URIBaseID string `json:"uriBaseId,omitempty"`
}

type sarifRegion struct {
	StartLine   int `json:"startLine"`
	StartColumn int `json:"startColumn,omitempty"`
}

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
	head := sarifHead{ColumnKind: "unicodeCodePoints"}
	rules, index := r.sarifRules()
	head.Tool.Driver = sarifDriver{Name: "pannier", Version: version, Rules: rules}
	if workspace != "" {
		head.OriginalURIBaseIDs = map[string]sarifLocation{sarifBase: {URI: fileURI(workspace + "/")}}
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
func (r *Report) sarifRules() (rules []sarifRule, index map[string]int) {
	rules, index = []sarifRule{}, map[string]int{}
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
func (w *sarifWriter) of(p pannier.Problem, s *Skill) sarifResult {
	if s != w.skill {
		w.skill = s
		clear(w.again)
	}
	result := sarifResult{
		RuleID: p.Code, RuleIndex: w.index[p.Code], Level: levelOf(p.Severity),
		Message:             sarifText{sentence(p.Message) + " Hint: " + sentence(p.Hint)},
		Locations:           make([]sarifPlace, 1),
		PartialFingerprints: map[string]string{fingerprint: w.fingerprint(p)},
	}
	if s != nil {
		result.Properties = map[string]any{"skill": s.Slug, "listed": s.Listed}
	}
	physical := &result.Locations[0].PhysicalLocation
	physical.ArtifactLocation = w.location(p.Path)
	physical.Region = sarifRegion{StartLine: max(1, p.Line), StartColumn: p.Column} // code hosts show nothing without a line
	return result
}

// fingerprint tells a problem from others when lines have moved and numbers in messages are others: by rule, file, field
// and, where these repeat, by which of them it is.
func (w *sarifWriter) fingerprint(p pannier.Problem) string {
	sum := sha256.Sum256([]byte(p.Code + "\x00" + p.Path + "\x00" + p.Field))
	id := hex.EncodeToString(sum[:16])
	counts := w.shared
	if w.skill != nil && strings.HasPrefix(p.Path, w.skill.Path+"/") {
		counts = w.again
	}
	counts[id]++
	return fmt.Sprintf("%s:%d", id, counts[id])
}

func (w *sarifWriter) location(file string) sarifLocation {
	if path.IsAbs(file) {
		return sarifLocation{URI: fileURI(file)}
	}
	l := sarifLocation{URI: (&url.URL{Path: file}).EscapedPath()}
	if strings.Contains(strings.SplitN(l.URI, "/", 2)[0], ":") { // else it would look like the scheme of a URI
		l.URI = "./" + l.URI
	}
	if w.based {
		l.URIBaseID = sarifBase
	}
	return l
}

func fileURI(file string) string {
	return (&url.URL{Scheme: "file", Path: strings.ReplaceAll(file, "//", "/")}).String()
}

func levelOf(s pannier.Severity) string {
	switch s {
	case pannier.SeverityError:
		return "error"
	case pannier.SeverityWarning:
		return "warning"
	}
	return "note"
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
func ruleOf(p pannier.Problem) sarifRule {
	word, rest, _ := strings.Cut(p.Code, ".")
	origin := cmp.Or(origins[word], word)
	r := sarifRule{
		ID:               p.Code,
		ShortDescription: sarifText{strings.NewReplacer(".", " ", "_", " ").Replace(cmp.Or(rest, word)) + " (" + origin + ")"},
		FullDescription:  sarifText{"A rule of " + origin + "."},
		Help:             sarifText{"To mend it: " + sentence(p.Hint)},
	}
	rules := scan.Rules()
	if at := slices.IndexFunc(rules, func(s scan.Rule) bool { return s.Code == p.Code }); at >= 0 {
		r.FullDescription.Text, r.Help.Text = sentence(rules[at].Message), "To mend it: "+sentence(rules[at].Hint)
	}
	return r
}

// sentence ends a text with a full stop.
func sentence(text string) string {
	if strings.HasSuffix(text, ".") {
		return text
	}
	return text + "."
}
