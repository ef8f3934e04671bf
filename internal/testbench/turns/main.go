// Command turns measures how well pannier finds the skill that a user's text is about: on the built binary, over its socket, with the
// texts of testdata/turns about 300 published skills. Even lines are for tuning; odd lines are only reported.
//
// The skills are not part of the project: PANNIER_CORPUS names the directory that testdata/turns/skills.txt is about.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// turn is a line of turns.jsonl: a text, and the skills that it is about.
type turn struct {
	Text   string   `json:"text"`
	Skills []string `json:"skills"`
	Kind   string   `json:"kind"`
}

// answer is what the table needs of an answer to a turn.
type answer struct {
	Active []struct {
		Slug, Reason string
		Relevance    *struct {
			Score   float64
			Matched []string
		}
	}
	Prompt struct {
		Omitted   []string
		Shortened []struct {
			Slug    string
			LeftOut string `json:"left_out"`
		}
		TokensEstimate int `json:"tokens_estimate"`
	}
}

var kinds = []string{"plain", "words", "typing", "named", "german", "french", "spanish", "chinese", "nothing"}

func main() {
	half := flag.String("half", "report", "which lines: tune (even), report (odd), all")
	misses := flag.Bool("misses", false, "print the texts whose skill is not among the first five")
	binary := flag.String("pannier", "", "the binary; empty builds one")
	flag.Parse()
	if err := run(*half, *misses, *binary); err != nil {
		fmt.Fprintln(os.Stderr, "turns:", err)
		os.Exit(1)
	}
}

func run(half string, misses bool, binary string) error {
	corpus := os.Getenv("PANNIER_CORPUS")
	if corpus == "" {
		return errors.New("PANNIER_CORPUS names no directory of repositories with skills")
	}
	dir, err := os.MkdirTemp("", "turns-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	turns, err := readTurns("testdata/turns/turns.jsonl", half)
	if err != nil {
		return err
	}
	if err := copySkills(corpus, "testdata/turns/skills.txt", filepath.Join(dir, "w")); err != nil {
		return err
	}
	if binary == "" {
		binary = filepath.Join(dir, "pannier")
		if err := build(binary); err != nil {
			return err
		}
	}
	unrelated := filepath.Join(dir, "unrelated")
	if err := build(unrelated, "-ldflags=-X=pannier/registry/rank.relatedTable="); err != nil {
		return err
	}
	s, err := start(binary, dir)
	if err != nil {
		return err
	}
	defer func() { s.stop() }()
	skills, err := s.skills()
	if err != nil {
		return err
	}
	slugs := map[string]string{}
	for _, k := range skills {
		slugs[filepath.Base(k.Path)] = k.Slug
	}
	for i := range turns {
		for j, folder := range turns[i].Skills {
			turns[i].Skills[j] = slugs[folder]
		}
	}

	found, err := s.find(turns, misses)
	if err != nil {
		return err
	}
	fmt.Printf("%d skills, %d texts (%s)\n\n| texts | | first | in five | in twenty |\n|---|---|---|---|---|\n", len(skills), len(turns), half)
	for _, kind := range kinds {
		found.print(kind, kind)
	}
	if n := len(found.ranks["nothing"]); n > 0 {
		fmt.Printf("| nothing: no claim | %d | %d %% | | |\n", n, 100*(n-found.claims)/n)
	}
	fmt.Printf("| a skill stuffed with words comes first | %d | %d %% | | |\n", found.ranked, 100*found.outranked/max(1, found.ranked))
	s.stop()
	if s, err = start(unrelated, dir); err != nil {
		return err
	}
	without, err := s.find(turns, false)
	if err != nil {
		return err
	}
	for _, kind := range kinds {
		if kind != "named" {
			without.print(kind, kind+", without the table of related words")
		}
	}
	s.stop()
	if s, err = start(binary, dir); err != nil {
		return err
	}
	fmt.Printf("\n| visible with description | 1,000 | 2,000 | 6,000 tokens |\n|---|---|---|---|\n")
	of := func(kinds ...string) []turn {
		return slices.DeleteFunc(slices.Clone(turns), func(t turn) bool { return !slices.Contains(kinds, t.Kind) })
	}
	named, all := map[int]int{}, map[int]int{} // skills of all answers, by tokens
	english := of("plain", "words", "typing")
	for _, format := range []string{"compact", "available_skills", "openclaw", "skills_xml", "molecule"} {
		for _, group := range []struct {
			name  string
			turns []turn
		}{{"English", english}, {"those that share a word", of("plain", "typing")}} {
			row := "| `" + format + "`, " + group.name + " |"
			for _, tokens := range []int{1000, 2000, 6000} {
				seen := 0
				for _, t := range group.turns {
					a, err := s.ask(t.Text, format, tokens)
					if err != nil {
						return err
					}
					if a.Prompt.TokensEstimate > tokens {
						return fmt.Errorf("a prompt in the format %s has %d tokens, more than %d", format, a.Prompt.TokensEstimate, tokens)
					}
					if slices.ContainsFunc(t.Skills, func(slug string) bool { return visible(a, slug) }) {
						seen++
					}
					named[tokens] += len(a.Active) - len(a.Prompt.Omitted)
					all[tokens] += len(a.Active)
				}
				row += fmt.Sprintf(" %d %% |", 100*seen/max(1, len(group.turns)))
			}
			fmt.Println(row)
		}
	}
	row := "| named at least, of all skills |"
	for _, tokens := range []int{1000, 2000, 6000} {
		row += fmt.Sprintf(" %d %% |", 100*named[tokens]/max(1, all[tokens]))
	}
	fmt.Println(row)
	for _, other := range baselines(skills) {
		row := "| " + other.name + " |"
		for _, tokens := range []int{1000, 2000, 6000} {
			seen := 0
			for _, t := range english {
				shown := other.shows(t.Text, 4*tokens)
				if slices.ContainsFunc(t.Skills, func(slug string) bool { return shown[slug] }) {
					seen++
				}
			}
			row += fmt.Sprintf(" %d %% |", 100*seen/max(1, len(english)))
		}
		fmt.Println(row)
	}
	return nil
}

func build(binary string, flags ...string) error {
	cmd := exec.Command("go", slices.Concat([]string{"build"}, flags, []string{"-o", binary, "./cmd/pannier"})...)
	cmd.Stderr = os.Stderr
	return cmd.Run()
}

// found is how well skills were found.
type found struct {
	ranks             map[string][]int // by kind, the rank of the first right skill, from 1; 0 is none
	claims            int              // texts about nothing for which some skill is said to be relevant
	ranked, outranked int              // texts that can be ranked, and those in which the stuffed skill comes before the right one
}

// find asks with each text once.
func (s *sidecar) find(turns []turn, misses bool) (found, error) {
	f := found{ranks: map[string][]int{}}
	for _, t := range turns {
		a, err := s.ask(t.Text, "compact", 2000)
		if err != nil {
			return f, err
		}
		rank, canRank := 0, t.Kind != "nothing" && t.Kind != "words"
		if canRank {
			f.ranked++
		}
		for i, s := range a.Active {
			if s.Slug == stuffed && canRank {
				f.outranked++
			}
			if slices.Contains(t.Skills, s.Slug) {
				rank = i + 1
				break
			}
		}
		f.ranks[t.Kind] = append(f.ranks[t.Kind], rank)
		if t.Kind != "nothing" {
			if misses && rank > 5 {
				fmt.Printf("%s rank %d, %v before it, wants %v: %s\n", t.Kind, rank, a.Active[:min(len(a.Active), 3)], t.Skills, t.Text)
			}
			continue
		}
		for _, s := range a.Active {
			if s.Relevance != nil {
				f.claims++
				if misses {
					fmt.Printf("claims %s %v: %s\n", s.Slug, s.Relevance, t.Text)
				}
				break
			}
		}
	}
	return f, nil
}

// print prints a row about the texts of a kind.
func (f *found) print(kind, title string) {
	list := f.ranks[kind]
	if len(list) == 0 || kind == "nothing" {
		return
	}
	within := func(k int) int {
		n := 0
		for _, r := range list {
			if r > 0 && r <= k {
				n++
			}
		}
		return 100 * n / len(list)
	}
	fmt.Printf("| %s | %d | %d %% | %d %% | %d %% |\n", title, len(list), within(1), within(5), within(20))
}

// visible reports whether a prompt has a skill with its description, whole or cut.
func visible(a answer, slug string) bool {
	active := false
	for _, s := range a.Active {
		active = active || s.Slug == slug
	}
	for _, s := range a.Prompt.Shortened {
		if s.Slug == slug && s.LeftOut == "description" {
			return false
		}
	}
	return active && !slices.Contains(a.Prompt.Omitted, slug)
}

func readTurns(file, half string) (turns []turn, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		var t turn
		if err := json.Unmarshal([]byte(line), &t); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, i+1, err)
		}
		if half == "all" || (half == "tune") == (i%2 == 1) {
			turns = append(turns, t)
		}
	}
	return turns, nil
}

const (
	stuffed    = "stuffed"
	maxStuffed = 6 << 10
)

func copySkills(corpus, file, workspace string) error {
	list, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var words strings.Builder
	for _, rel := range strings.Fields(string(list)) {
		text, err := os.ReadFile(filepath.Join(corpus, rel, "SKILL.md"))
		if err != nil {
			return err
		}
		_, description, _ := strings.Cut(string(text), "\ndescription:")
		description, _, _ = strings.Cut(description, "\n")
		for _, word := range strings.FieldsFunc(description, func(r rune) bool { return !unicode.IsLetter(r) }) {
			if len(word) > 5 {
				words.WriteString(word + " ")
			}
		}
		dir := filepath.Join(workspace, "skills", filepath.Base(rel))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, "SKILL.md"), text, 0o644); err != nil {
			return err
		}
	}
	// One skill has the words of all descriptions, each ten times. It must not come before the right one.
	dir := filepath.Join(workspace, "skills", stuffed)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	text := "---\nname: " + stuffed + "\ndescription: " + strconv.Quote(strings.Repeat(strings.ToValidUTF8(words.String()[:min(words.Len(), maxStuffed)], ""), 10)) + "\n---\n\nx\n"
	if err := os.WriteFile(filepath.Join(dir, "SKILL.md"), []byte(text), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(workspace, "config.yaml"), []byte("name: turns\n"), 0o644)
}

// sidecar is a running sidecar.
type sidecar struct {
	client *http.Client
	stop   func()
}

// skill is what the baselines know of one.
type skill struct{ Slug, Path, Description string }

func start(binary, dir string) (*sidecar, error) {
	socket := filepath.Join(dir, "s")
	cmd := exec.Command(binary, "run", "--workspace", filepath.Join(dir, "w"), "--socket", socket, "--state-dir", filepath.Join(dir, "state"), "--scan", "off", "--environment-own", "warn")
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "PANNIER_") })
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &sidecar{stop: func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	}}
	s.client = &http.Client{Timeout: time.Minute, Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if resp, err := s.client.Get("http://pannier/readyz"); err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return s, nil
			}
		}
		if time.Now().After(deadline) {
			s.stop()
			return nil, fmt.Errorf("not ready:\n%s", log.String())
		}
	}
}

func (s *sidecar) read(resp *http.Response, err error, into any) error {
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", resp.Status, got)
	}
	return json.Unmarshal(got, into)
}

// skills returns those that are offered.
func (s *sidecar) skills() ([]skill, error) {
	var list struct {
		Skills []struct {
			skill
			Usable bool
		}
	}
	resp, err := s.client.Get("http://pannier/v1/skills")
	if err := s.read(resp, err, &list); err != nil {
		return nil, err
	}
	var usable []skill
	for _, e := range list.Skills {
		if e.Usable {
			usable = append(usable, e.skill)
		}
	}
	return usable, nil
}

// ask asks for a turn.
func (s *sidecar) ask(text, format string, tokens int) (a answer, err error) {
	body, err := json.Marshal(map[string]any{"text": text, "format": format, "limits": map[string]int{"max_tokens": tokens}})
	if err != nil {
		return a, err
	}
	resp, err := s.client.Post("http://pannier/v1/resolve?dry_run=1", "application/json", bytes.NewReader(body))
	return a, s.read(resp, err, &a)
}
