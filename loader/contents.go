package loader

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"pannier"
)

// The bounds of [pannier.Contents].
const (
	maxContentTools       = 128
	maxContentDescription = 1024 // characters
	maxContentParameters  = 16 << 10
)

// LacksDescription reports whether a skill has no description of its own, whatever it is shown with.
func LacksDescription(s *pannier.Skill) bool {
	return s.ToolsOnly || slices.ContainsFunc(s.Problems, func(p pannier.Problem) bool { return p.Code == codeNoDescription })
}

// Contents reads the files of a skill of a catalog for tools, links and examples and, if it lacks a description, for words to
// describe it. It opens Markdown files and what may be a tool, within the bounds of [Loader.Inspect], and runs nothing. It returns an
// error that is [pannier.ErrChanged] where the disk has moved on from what the catalog says.
func (l *Loader) Contents(ctx context.Context, s *pannier.Skill) (pannier.Contents, error) {
	in := &inspector{canceled: ctx.Err, skill: s, place: l.placeOf(s), contract: contract{path: s.FilePath()}}
	var err error
	if in.dir, err = l.openDir(s); err != nil {
		return pannier.Contents{}, fmt.Errorf("read %s: %w", s.Path, changedUnlessBusy(err))
	}
	defer in.dir.close()
	serves := l.servedOf(s)
	w := lister{rules: l.rules, serves: serves, skill: s, place: in.place, dir: in.dir}
	if err := w.listAll(ctx); err != nil {
		return pannier.Contents{}, err
	}
	in.files = slices.DeleteFunc(w.files, func(f pannier.File) bool { return !serves(f.Path) })
	tools := in.toolFiles(l.scripts || s.ToolsOnly) // prompts list the scripts of a skill that has tools only
	tools = tools[:min(len(tools), maxContentTools)]
	for i := range tools {
		if len(tools[i].Parameters) > maxContentParameters {
			tools[i].Parameters = nil
		}
	}
	found := pannier.Contents{Tools: slices.Clip(tools)}
	if LacksDescription(s) {
		if found.Description, err = l.describe(ctx, s, found.Tools); err != nil {
			return pannier.Contents{}, err
		}
	}
	resources, err := l.resourcesIn(ctx, in.dir.root, s)
	if err != nil {
		return pannier.Contents{}, err
	}
	if resources.Incomplete || len(resources.Files()) > 0 {
		text, err := json.Marshal(resources)
		if err != nil {
			return pannier.Contents{}, err
		}
		found.Resources = pannier.DigestOf(text)
	}
	if found.Description != "" || len(found.Tools) > 0 || !found.Resources.IsZero() {
		text, err := json.Marshal(found)
		if err != nil {
			return pannier.Contents{}, err
		}
		found.Digest = pannier.DigestOf(text)
	}
	return found, ctx.Err()
}

// describe returns the words that stand in for a description that is missing.
func (l *Loader) describe(ctx context.Context, s *pannier.Skill, tools []pannier.Tool) (string, error) {
	if s.ToolsOnly {
		return describeTools(tools), nil
	}
	doc, err := l.Read(ctx, s)
	if errors.Is(err, pannier.ErrNotServable) {
		return "", nil
	}
	return firstBodyLine(doc.Body), err
}

// firstBodyLine returns the first line of a body that says something, without the marks of a heading (Pioneer skills
// architecture, "description").
func firstBodyLine(body string) string {
	for line := range strings.Lines(pannier.CleanLines(body)) {
		if text := strings.Join(strings.Fields(strings.TrimLeft(strings.TrimSpace(line), "#")), " "); text != "" {
			return pannier.Truncate(text, maxContentDescription)
		}
	}
	return ""
}

// describeTools returns the first sentence of each docstring, as many of them as fit.
func describeTools(tools []pannier.Tool) string {
	text := ""
	for _, t := range tools {
		sentence := firstSentence(t.Description)
		if sentence == "" {
			continue
		}
		if text == "" {
			text = pannier.Truncate(sentence, maxContentDescription)
		} else if longer := text + " " + sentence; longer == pannier.Truncate(longer, maxContentDescription) {
			text = longer
		}
	}
	return text
}

// firstSentence returns the first sentence of the first paragraph of a text, on one line and with a full stop.
func firstSentence(text string) string {
	paragraph, _, _ := strings.Cut(strings.TrimSpace(pannier.CleanLines(text)), "\n\n")
	line := strings.Join(strings.Fields(paragraph), " ")
	if sentence, _, more := strings.Cut(line, ". "); more {
		return sentence + "."
	}
	if line != "" && !strings.ContainsAny(line[len(line)-1:], ".!?") {
		line += "."
	}
	return line
}
