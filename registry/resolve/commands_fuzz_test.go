package resolve_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pannier"
	"pannier/registry/resolve"
)

var flat = regexp.MustCompile(`^[a-z0-9]([a-z0-9_]{0,30}[a-z0-9])?$`)

// namesOf checks the commands of a snapshot, and returns their names by what they are.
func namesOf(t *testing.T, s *pannier.Snapshot) map[string]string {
	t.Helper()
	byName, byCommand := map[string]bool{}, map[string]string{}
	repeated := map[string]int{}
	for _, c := range resolve.Commands(s) {
		if !flat.MatchString(c.Name) || byName[c.Name] {
			t.Errorf("name %q, taken %t", c.Name, byName[c.Name])
		}
		byName[c.Name] = true
		texts := []string{c.Command, c.Description, c.Args}
		for _, a := range c.Arguments {
			texts = append(texts, a.Name, a.Description)
		}
		for _, text := range texts {
			if utf8.RuneCountInString(text) > 100 || strings.ContainsAny(text, "\n\r\x1b\u202e\u2028") || !utf8.ValidString(text) {
				t.Errorf("%s: %q", c.Name, text)
			}
		}
		if c.Description == "" {
			t.Errorf("%s has no description", c.Name)
		}
		if found, ok := resolve.Command(s, c.Name); !ok || !reflect.DeepEqual(found.SkillCommand, c) {
			t.Errorf("%s finds %+v", c.Name, found.SkillCommand)
		}
		key := c.Slug + ":" + c.Command
		repeated[key]++
		byCommand[fmt.Sprint(key, repeated[key])] = c.Name
	}
	return byCommand
}

// TestCommandNamesAreStable adds a skill to many snapshots. Where it gets no name that another had, all keep theirs.
func TestCommandNamesAreStable(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	words := []string{"a", "b-2", "B", "b", "b 2", "b 3", "技", strings.Repeat("x", 31), strings.Repeat("x", 32), strings.Repeat("x", 40), strings.Repeat("x", 30) + "-2", ""}
	word := func() string { return words[r.IntN(len(words))] }
	some := func(n int) *pannier.Entry {
		changes := []func(*pannier.Entry){root(r.IntN(3)), declares(word(), word())}
		for _, change := range []func(*pannier.Entry){bundled, managed} {
			if r.IntN(4) == 0 {
				changes = append(changes, change)
			}
		}
		return entry(pannier.Slugify(fmt.Sprint(word(), " ", word(), " ", n)), changes...)
	}
	unmoved := 0
	for range 600 {
		var entries []*pannier.Entry
		for n := range 1 + r.IntN(8) {
			entries = append(entries, some(n))
		}
		before := namesOf(t, snapshot(slices.Clone(entries)...))
		newcomer := some(99)
		after := namesOf(t, snapshot(append(entries, newcomer)...))
		if clash(before, after, newcomer.Slug) {
			continue
		}
		unmoved++
		for command, name := range before {
			if after[command] != name {
				t.Fatalf("%s was %s and is %s beside %s %v", command, name, after[command], newcomer.Slug, newcomer.Commands)
			}
		}
	}
	if unmoved < 150 {
		t.Errorf("only %d of the newcomers wanted no name that was there", unmoved)
	}
}

// TestSkillsKeepTheirNames switches skills off: no other skill's name moves by it.
func TestSkillsKeepTheirNames(t *testing.T) {
	long := strings.Repeat("x", 40)
	entries := []*pannier.Entry{entry("pdf"), entry(long + "1"), entry(long + "2"), entry(long + "3"), entry("csv", declares("pdf", long))}
	all := namesOf(t, snapshot(slices.Clone(entries)...))
	for i := range entries {
		now := slices.Clone(entries)
		now[i] = entry(now[i].Slug, disabled, func(e *pannier.Entry) { e.Commands = entries[i].Commands })
		for command, name := range namesOf(t, snapshot(now...)) {
			if all[command] != name {
				t.Errorf("without %s, %s is %s and was %s", entries[i].Slug, command, name, all[command])
			}
		}
	}
}

// clash reports whether the newcomer has a name that was another's.
func clash(before, after map[string]string, newcomer string) bool {
	taken := map[string]bool{}
	for _, name := range before {
		taken[name] = true
	}
	for command, name := range after {
		if strings.HasPrefix(command, newcomer+":") && taken[name] {
			return true
		}
	}
	return false
}

// TestManyClashes names a great many commands that all want the same.
func TestManyClashes(t *testing.T) {
	var entries []*pannier.Entry
	for i := range 100 {
		e := entry(fmt.Sprintf("s%03d", i))
		for j := range 120 {
			e.Commands = append(e.Commands, pannier.Command{Name: strings.Repeat("x", 30) + fmt.Sprint(j%7)})
		}
		entries = append(entries, e)
	}
	commands := resolve.Commands(snapshot(entries...))
	seen := map[string]bool{}
	for _, c := range commands {
		if seen[c.Name] || !flat.MatchString(c.Name) {
			t.Fatalf("%q", c.Name)
		}
		seen[c.Name] = true
	}
	if len(seen) != 100+100*120 {
		t.Errorf("%d names", len(seen))
	}
}

func FuzzCommand(f *testing.F) {
	for _, text := range []string{"pdf", "/skill:acme/csv@bot", "技能", "\u202e\xff", strings.Repeat("-a", 5000), "skill", "a_2", "@", "/"} {
		f.Add(text, "csv", "", "x\n\u2028y")
	}
	f.Fuzz(func(t *testing.T, asked, one, other, text string) {
		s := snapshot(
			entry(cmp.Or(pannier.Slugify(one), "one"), declares(one, other, asked), func(e *pannier.Entry) {
				e.Description, e.Commands[0].Args = text, text
				e.Commands[0].Arguments = []pannier.CommandArgument{{Name: asked, Description: text}}
			}),
			entry("fixed", bundled, declares(other)),
			entry("gone", disabled, declares(asked)),
		)
		if s.Entries[0].Slug == s.Entries[1].Slug || s.Entries[1].Slug == s.Entries[2].Slug {
			return // the registry lets no two have one slug
		}
		namesOf(t, s)
		found, ok := resolve.Command(s, asked)
		if ok && (found.Name == "") == (found.Skill.Usable && found.Skill.UserInvocable) {
			t.Errorf("%q finds %+v", asked, found.SkillCommand)
		}
		if _, again := resolve.Command(s, asked); again != ok {
			t.Errorf("%q is found only sometimes", asked)
		}
	})
}

func BenchmarkCommands10k(b *testing.B) {
	s := &pannier.Snapshot{}
	for i := range 10_000 {
		e := entry(fmt.Sprintf("skill-%05d", i), declares("go"))
		e.Description = strings.Repeat("what it does ", 20)
		s.Entries = append(s.Entries, e)
	}
	b.Run("list", func(b *testing.B) {
		for b.Loop() {
			resolve.Commands(s)
		}
	})
	b.Run("find", func(b *testing.B) {
		for b.Loop() {
			resolve.Command(s, "/skill:skill-00042")
		}
	})
}
