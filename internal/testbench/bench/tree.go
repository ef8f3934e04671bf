package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"
)

// timed is the first skill of each tree, which the bench edits. A card leaves it out last.
const timed = "aaa-timed"

// Words of texts, and forms as often as published skills have them.
var (
	words = strings.Fields(`agent api audit backup branch browser build cache calendar chart check client cloud cluster
		code commit config container convert csv data debug deploy design diff docker draft email event export file format
		git graph image import index invoice json kube label ledger lint log map merge meter model network note office
		order parse patch pdf plan plot policy profile prompt proxy query queue recipe release report review route sales`)
	tools        = strings.Fields("jq curl gh ffmpeg pdftotext kubectl docker rg uv node python3 git")
	descriptions = []string{`"%s"`, `"%s"`, `"%s"`, `"%s"`, "%s", "%s", "%s", ">-\n  %s", ">-\n  %s", "|\n  %s"}
	optional     = []string{"version: 1.2.0", "license: MIT", "homepage: https://a.example", "allowed-tools: [Read, Bash]"}
	metadata     = []string{inline, inline, inline, inline, lines, lines, block, block, block}
	parts        = []string{"\n## %s\n\n", "```bash\njq '.%s'\n```\n\n", "- **%s**: %s\n", "%s %s %s\n\n", "%s %s %s\n\n"}
)

const (
	inline = `{"openclaw":{"emoji":"🔧","requires":{"bins":[%q,%q],"env":["API_KEY"]},"primaryEnv":"API_KEY",` +
		`"install":[{"id":"brew","kind":"brew","formula":%[1]q,"bins":[%[1]q],"label":"Install"}]}}`
	lines = "\n  {\n    \"openclaw\": {\n      \"requires\": {\n        \"bins\": [%q, %q]\n      },\n" +
		"      \"os\": [\"linux\"]\n    }\n  }"
	block = "\n  author: example\n  openclaw:\n    emoji: \"🔧\"\n    requires:\n      bins:\n        - %s\n" +
		"        - %s\n    os: [linux]"
)

// tree is a workspace, and the directories of its skills.
type tree struct {
	dir   string
	names []string
}

func (t tree) root() string { return filepath.Join(t.dir, "skills") }

// makeTree writes a workspace of so many skills, unless it is there. The same number gives the same files.
func makeTree(dir string, skills int) (tree, error) {
	r, t := rand.New(rand.NewPCG(uint64(skills), 0)), tree{dir: dir, names: []string{timed}[:min(skills, 1)]}
	for n := 1; n < skills; n++ {
		t.names = append(t.names, fmt.Sprintf("%s-%s-%d", pick(r, words), pick(r, words), n))
	}
	config := filepath.Join(dir, "config.yaml")
	if _, err := os.Stat(config); err == nil {
		return t, nil
	}
	if err := os.MkdirAll(t.root(), 0o755); err != nil {
		return t, err
	}
	var all errgroup.Group
	all.SetLimit(8)
	for i, name := range t.names {
		all.Go(func() error { return writeSkill(rand.New(rand.NewPCG(uint64(skills), uint64(i+1))), t.root(), name) })
	}
	if err := all.Wait(); err != nil {
		return t, err
	}
	return t, put(config, "name: Bench\nversion: \"1.0\"\nruntime: langgraph\n") // last: the tree is complete
}

func put(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

// writeSkill writes a SKILL.md of 2 to 30 kB, references, scripts and a _meta.json, as published skills have them.
func writeSkill(r *rand.Rand, root, name string) error {
	size := 2000 * math.Exp(r.Float64()*math.Log(15))
	files := map[string]string{"SKILL.md": frontmatter(r, name) + body(r, int(size))}
	for i := range r.IntN(5) {
		files[fmt.Sprintf("references/%s-%d.md", pick(r, words), i)] = body(r, 1000+r.IntN(11000))
	}
	for i := range r.IntN(4) {
		line := "# " + sentence(r, 8) + "\n"
		files[fmt.Sprintf("scripts/%s_%d.sh", pick(r, words), i)] = "#!/bin/sh\n" + strings.Repeat(line, 5+r.IntN(55))
	}
	if r.Float64() < .6 {
		files["_meta.json"] = fmt.Sprintf(`{"owner":"example","slug":%q,"latest":{"version":"1.0.%d"}}`, name, r.IntN(30))
	}
	for path, text := range files {
		if err := put(filepath.Join(root, name, path), text); err != nil {
			return err
		}
	}
	return nil
}

// frontmatter returns 300 to 1,000 bytes.
func frontmatter(r *rand.Rand, name string) string {
	description := fmt.Sprintf(pick(r, descriptions), sentence(r, 15+r.IntN(45)))
	all := "---\nname: " + name + "\ndescription: " + description + "\n"
	for _, line := range optional {
		if r.IntN(2) == 0 {
			all += line + "\n"
		}
	}
	all += "metadata: " + fmt.Sprintf(pick(r, metadata), pick(r, tools), pick(r, tools))
	return all + "\nkeywords: " + sentence(r, max(1, (300-len(all))/5)) + "\n---\n"
}

// body returns headings, code, lists and paragraphs of that size or a little more.
func body(r *rand.Rand, size int) string {
	text := "\n# " + sentence(r, 3) + "\n\n"
	for len(text) < size {
		long, longer := sentence(r, 5+r.IntN(20)), sentence(r, 5+r.IntN(20))
		text += fmt.Sprintf(pick(r, parts)+"%.0[3]s", sentence(r, 3), long, longer) // not all parts have three
	}
	return text
}

func sentence(r *rand.Rand, count int) string {
	text := "The"
	for range count {
		text += " " + pick(r, words)
	}
	return text + "."
}

func pick(r *rand.Rand, from []string) string { return from[r.IntN(len(from))] }
