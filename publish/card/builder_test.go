package card_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pannier"
	"pannier/publish/card"
)

// library returns n skills whose cards are trimmed at different levels.
func library(n int) []*pannier.Entry {
	var entries []*pannier.Entry
	for i := range n {
		e := skill(fmt.Sprintf("skill-%04d", i), i%3)
		e.Description = strings.Repeat("Describes ä thing. ", i%20)
		e.Tags, e.Examples = []string{"t", "tag"}[:i%3], []string{"Do it.", "Do it again."}[:i%2]
		entries = append(entries, e)
	}
	return entries
}

func edited(e *pannier.Entry, text string) *pannier.Entry {
	skill, changed := *e.Skill, *e
	skill.Description, changed.Skill = text, &skill
	return &changed
}

// TestBuilderMakesTheSameCards holds the cards of one builder against those that are made anew.
func TestBuilderMakesTheSameCards(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, most := range []int{0, 200, 1500, 4000, 6000, 9000, 1 << 20} {
		o := card.Options{MaxBytes: most}
		b, entries := card.NewBuilder(o), library(60)
		for range 100 {
			s := &pannier.Snapshot{Workspace: pannier.Workspace{Description: strings.Repeat("x", r.IntN(400))}, Entries: entries}
			got, want := b.Build(s), card.Build(s, o)
			if !bytes.Equal(got.JSON, want.JSON) || got.Digest != want.Digest || !slices.Equal(got.Trimmed, want.Trimmed) {
				t.Fatalf("most %d: got\n%s %q\nwant\n%s %q", most, got.JSON, got.Trimmed, want.JSON, want.Trimmed)
			}
			if most > 400 && len(got.JSON) > most {
				t.Fatalf("%d bytes, want %d at most", len(got.JSON), most)
			}
			entries = slices.Clone(entries)
			switch i := r.IntN(len(entries)); r.IntN(4) {
			case 0:
				entries = slices.Delete(entries, i, i+1)
			case 1:
				entries = slices.Insert(entries, i, skill(fmt.Sprintf("new-%d", r.IntN(1000)), 1))
			default:
				entries[i] = edited(entries[i], strings.Repeat("y", r.IntN(300)))
			}
		}
	}
}

// TestOneChangeEncodesOneSkill counts the allocations of a card of 1,000 skills of which one changed: those of encoding one skill, not
// of all.
func TestOneChangeEncodesOneSkill(t *testing.T) {
	for _, most := range []int{0, 20_000, 100_000} {
		entries := library(1000)
		b := card.NewBuilder(card.Options{MaxBytes: most})
		b.Build(&pannier.Snapshot{Entries: entries})
		n := testing.AllocsPerRun(50, func() {
			entries[3] = edited(entries[3], "It is another.")
			b.Build(&pannier.Snapshot{Entries: entries})
		})
		if n > 150 {
			t.Errorf("most %d: %v allocations", most, n)
		}
	}
}

func BenchmarkBuilderOneChanged10k(b *testing.B) {
	entries := library(10_000)
	builder := card.NewBuilder(card.Options{MaxBytes: 256 << 10})
	builder.Build(&pannier.Snapshot{Entries: entries})
	for i := 0; b.Loop(); i++ {
		entries[3] = edited(entries[3], fmt.Sprint(i))
		builder.Build(&pannier.Snapshot{Entries: entries})
	}
}

// TestMembers are the parts of the JSON, so that nobody parses the card to push it.
func TestMembers(t *testing.T) {
	s := &pannier.Snapshot{Workspace: pannier.Workspace{Name: "A <b> & \"c\"", Streaming: true}}
	for _, o := range []card.Options{{}, {URL: "https://a.example/?x&y"}, {MaxBytes: 1}} {
		for range 3 {
			c := card.Build(s, o)
			var want map[string]json.RawMessage
			if err := json.Unmarshal(c.JSON, &want); err != nil || !reflect.DeepEqual(c.Members, want) {
				t.Errorf("%+v: %s, want %s, %v", o, c.Members, want, err)
			}
			slug := fmt.Sprintf("s%d", len(s.Entries))
			s.Entries = append(s.Entries, &pannier.Entry{Skill: &pannier.Skill{Slug: slug, Name: slug, Tags: []string{"</x>"}}, ID: slug, Usable: true})
		}
	}
}
