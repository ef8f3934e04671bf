// Command scripts measures how many scripts of published skills become tools, and with which descriptions and
// parameters. Every second skill, by path, is for tuning; the others are only reported.
//
// The skills are not part of the project: PANNIER_CORPUS_WHOLE names a directory of repositories.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"pannier"
	"pannier/loader"
)

func main() {
	misses := flag.Bool("misses", false, "print what is missed in the half for tuning")
	list := flag.Bool("list", false, "print the scripts of the half for tuning")
	binary := flag.String("run", "", "compare calls by this `pannier` with plain executions of the same scripts")
	only := flag.String("only", "", "compare calls whose skill and script have this text")
	flag.Parse()
	if err := run(*misses, *list, *binary, *only); err != nil {
		fmt.Fprintln(os.Stderr, "scripts:", err)
		os.Exit(1)
	}
}

// tally counts one half.
type tally struct {
	skills, named, found     int // with scripts; whose documents name some; all of them found and described
	commands, hits           int // named scripts, and those that are found and described
	argparse, typed, scripts int
}

func run(misses, list bool, binary, only string) error {
	root := os.Getenv("PANNIER_CORPUS_WHOLE")
	if root == "" {
		return errors.New("PANNIER_CORPUS_WHOLE names no directory of repositories")
	}
	root, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	ctx := context.Background()
	if binary != "" {
		return runCalls(ctx, root, binary, only)
	}
	l := loader.New(loader.Options{Scripts: true, Rules: pannier.DiscoveryRules{
		Workspace: filepath.Dir(root),
		Roots:     []pannier.Root{{Path: root, Name: filepath.Base(root), Kind: pannier.SourceWorkspace}},
		Skip:      []string{"node_modules", ".git"}, MaxDepth: 16, MaxDirs: 100_000,
		MaxSkillBytes: 4 << 20, MaxFrontmatterBytes: 1 << 20,
	}})
	catalog, err := l.Load(ctx, pannier.Batch{Full: true})
	if err != nil {
		return err
	}
	slices.SortFunc(catalog.Skills, func(a, b *pannier.Skill) int { return strings.Compare(a.Path, b.Path) })
	var halves [2]tally
	for i, s := range catalog.Skills {
		files, _, err := l.Files(ctx, s)
		if err != nil {
			return err
		}
		contents, err := l.Contents(ctx, s)
		if err != nil {
			return err
		}
		tune := i%2 == 0
		missed := halves[i%2].skill(filepath.Join(root, s.PathBelowRoot), files, contents.Tools)
		for _, line := range missed {
			if misses && tune {
				fmt.Printf("%s: %s\n", s.PathBelowRoot, line)
			}
		}
		for _, t := range contents.Tools {
			if list && tune && t.Kind == pannier.RuntimeScript {
				fmt.Printf("%s %s (%s): %s\n", s.PathBelowRoot, t.Path, t.Name, t.Description)
			}
		}
	}
	fmt.Println("| | for tuning | only reported |\n|---|---|---|")
	for _, row := range []struct {
		text string
		of   func(*tally) (int, int)
	}{
		{"skills whose documents name a script: each is a described tool", func(t *tally) (int, int) {
			return t.found, t.named
		}},
		{"scripts that a document names: a described tool", func(t *tally) (int, int) { return t.hits, t.commands }},
		{"Python files with argparse: typed parameters", func(t *tally) (int, int) { return t.typed, t.argparse }},
	} {
		fmt.Printf("| %s |", row.text)
		for i := range halves {
			part, all := row.of(&halves[i])
			fmt.Printf(" %d of %d (%.1f %%) |", part, all, 100*float64(part)/float64(max(all, 1)))
		}
		fmt.Println()
	}
	tuned, reported := halves[0], halves[1]
	fmt.Printf("| skills with scripts; scripts | %d; %d | %d; %d |\n",
		tuned.skills, tuned.scripts, reported.skills, reported.scripts)
	return nil
}

var (
	command = regexp.MustCompile(`(?m)(?:^|[\s\x60;&|(])` +
		`(?:python3?|node|bash|sh|zsh|ruby|perl|pwsh|bun|bun run|npx tsx|tsx|uv run|uv run python3?|deno run)` +
		`[ \t]+(?:-\S+[ \t]+)*["']?([^\s\x60"'|;&<>()]+\.(?:py|sh|bash|js|mjs|ts|rb|pl|ps1))\b`)
	// notProgram matches paths of files that are never tools.
	notProgram = regexp.MustCompile(`(?:^|/)(?:tests?|__tests__|fixtures|vendor|node_modules)/|` +
		`(?:^|/)(?:__init__|conftest|test_[^/]*|[^/]*_test)\.py$`)
	variable = regexp.MustCompile(`^(?:\$\{?\w+\}?|\{\w+\}|<[\w-]+>)/`)
)

// skill counts one skill, and returns what is missed.
func (t *tally) skill(dir string, files []pannier.File, tools []pannier.Tool) (missed []string) {
	described, typed := map[string]bool{}, map[string]bool{}
	before := t.scripts
	for _, tool := range tools {
		if tool.Kind != pannier.RuntimeScript {
			continue
		}
		t.scripts++
		stem := strings.TrimSuffix(path.Base(tool.Path), path.Ext(tool.Path))
		described[tool.Path] = !slices.Contains([]string{"", stem, path.Base(tool.Path), tool.Path}, tool.Description)
		var parameters struct{ Properties map[string]json.RawMessage }
		_ = json.Unmarshal(tool.Parameters, &parameters) // none are none
		delete(parameters.Properties, "argv")
		typed[tool.Path] = len(parameters.Properties) > 0
	}
	if t.scripts > before {
		t.skills++
	}
	named := map[string]bool{}
	for _, f := range files {
		switch path.Ext(f.Path) {
		case ".md":
			text, _ := os.ReadFile(filepath.Join(dir, f.Path)) // an unreadable file names none
			for _, m := range command.FindAllStringSubmatch(string(text), -1) {
				if name := resolve(m[1], filepath.Base(dir), files); name != "" && !notProgram.MatchString(name) {
					named[name] = true
				}
			}
		case ".py":
			text, _ := os.ReadFile(filepath.Join(dir, f.Path))
			if strings.Contains(string(text), "ArgumentParser(") && !notProgram.MatchString(f.Path) {
				t.argparse++
				if typed[f.Path] {
					t.typed++
				} else {
					missed = append(missed, "no typed parameters: "+f.Path)
				}
			}
		}
	}
	hits := 0
	for name := range named {
		if described[name] {
			hits++
		} else {
			missed = append(missed, "named, and no described tool: "+name)
		}
	}
	t.commands, t.hits = t.commands+len(named), t.hits+hits
	if len(named) > 0 {
		t.named++
		if hits == len(named) {
			t.found++
		}
	}
	slices.Sort(missed)
	return missed
}

// resolve returns the file that a path in a command means: below the skill, whatever variable or directory stands
// before it.
func resolve(word, folder string, files []pannier.File) string {
	word = variable.ReplaceAllString(word, "")
	if _, after, ok := strings.Cut("/"+word, "/"+folder+"/"); ok {
		word = after
	}
	word = path.Clean(word)
	if slices.ContainsFunc(files, func(f pannier.File) bool { return f.Path == word }) {
		return word
	}
	return ""
}
